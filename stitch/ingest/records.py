"""From snippets to what a store keeps: their vectors and lexical weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from stitch.core import Embedder, MemorySnippet, SnippetRecord
from stitch.embed.lexical import LexicalEncoder

if TYPE_CHECKING:
    from stitch.core.protocols import Vectors

_CONTEXT_SHARE = 0.5
"""What the words that a short step leans on count in its vector, beside its own."""

_SHORT_CHARS = 100
"""Up to so many characters a step is short; from there on its context counts the less, the longer it is."""


def make_records(
    snippets: Sequence[MemorySnippet], *, embedder: Embedder, lexical: LexicalEncoder
) -> list[SnippetRecord]:
    """Return the records of snippets, in order; all are embedded at once.

    Raises:
        EmbedderError: They cannot be embedded.
    """
    leaning = [number for number, snippet in enumerate(snippets) if snippet.context]
    texts = [snippet.resolved for snippet in snippets] + [snippets[number].context for number in leaning]
    vectors = embedder.embed(texts)
    vectors, contexts = vectors[: len(snippets)], vectors[len(snippets) :]
    if leaning:
        # The shorter a step, the more it leans on what was said before: "It is $76.22".
        leans = [_CONTEXT_SHARE / max(1.0, len(snippets[number].resolved) / _SHORT_CHARS) for number in leaning]
        vectors = vectors.copy()
        vectors[leaning] += np.asarray(leans, dtype=np.float32)[:, None] * contexts
    return [
        SnippetRecord(snippet, vector, words_of(snippet, lexical=lexical))
        for snippet, vector in zip(snippets, _unit(vectors), strict=True)
    ]


def records_without_vectors(
    snippets: Sequence[MemorySnippet], *, dimension: int, lexical: LexicalEncoder
) -> list[SnippetRecord]:
    """Return the records of snippets whose vectors follow, in order: zeros stand for these, which are like nothing."""
    missing = np.zeros(dimension, dtype=np.float32)
    return [SnippetRecord(snippet, missing, words_of(snippet, lexical=lexical)) for snippet in snippets]


def words_of(snippet: MemorySnippet, *, lexical: LexicalEncoder) -> dict[int, float]:
    """The lexical weights of a snippet."""
    return lexical.document(snippet.resolved, context=_beside(snippet))


def _unit(vectors: Vectors) -> Vectors:
    lengths = np.sqrt(np.add.reduce(vectors * vectors, axis=1, keepdims=True))  # `np.linalg.norm`, without its checks
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0), dtype=np.float32)


def _beside(snippet: MemorySnippet) -> str:
    """What a snippet is found by beside its text: who speaks, what it leans on, and what was said for a name."""
    said = " ".join(snippet.text[reference.start : reference.end] for reference in snippet.references)
    return f"{snippet.role} {snippet.context} {said}"
