"""From snippets to what a store keeps: their vectors and lexical weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from stitch.core import Embedder, MemorySnippet, SnippetRecord
from stitch.core.summaries import is_canonical
from stitch.embed.lexical import LexicalEncoder

if TYPE_CHECKING:
    from stitch.core.protocols import Vectors

_LEXICAL = LexicalEncoder()
_BESIDE_SHARE = 0.5
"""What counts beside the text in a vector: the question before a short step, and what the step answers."""

_SHORT_CHARS = 100
"""Up to so many characters a step is short; from there on its context counts the less, the longer it is."""


def make_records(snippets: Sequence[MemorySnippet], *, embedder: Embedder) -> list[SnippetRecord]:
    """Return the records of snippets, in order; all are embedded at once, each text once.

    Raises:
        EmbedderError: They cannot be embedded.
    """
    # The text of a vector is the step's own, with the canonical summary c_t behind it if there is one.
    texts = ["\n".join(filter(None, (snippet.resolved, _summary(snippet)))) for snippet in snippets]
    beside = [(number, *each) for number, snippet in enumerate(snippets) for each in _shares_beside(snippet)]
    # What a step answers is a step before it, as a rule: in talk that is half of the texts.
    places = {text: place for place, text in enumerate(dict.fromkeys([*texts, *(text for _, text, _ in beside)]))}
    embedded = embedder.embed(list(places))
    vectors = embedded[[places[text] for text in texts]]
    for number, text, share in beside:
        vectors[number] += np.float32(share) * embedded[places[text]]
    return [
        SnippetRecord(snippet, vector, words_of(snippet))
        for snippet, vector in zip(snippets, _unit(vectors), strict=True)
    ]


def words_of(snippet: MemorySnippet) -> dict[int, float]:
    """The lexical weights of a snippet.

    Text, canonical summary and asks have each a length of their own, and a word counts as it does where it counts most:
    in one text with a long output, what is said of it in a sentence would count next to nothing.
    """
    said = " ".join(snippet.text[reference.start : reference.end] for reference in snippet.references)
    beside = f"{snippet.role} {_context(snippet)} {said}"  # the speaker, and phrases for names
    weights = _LEXICAL.document(snippet.resolved, context=beside)
    for text in filter(None, (_summary(snippet), "\n".join(snippet.asks))):
        for index, weight in _LEXICAL.document(text).items():
            weights[index] = max(weight, weights.get(index, 0.0))
    return weights


def _unit(vectors: Vectors) -> Vectors:
    lengths = np.sqrt(np.add.reduce(vectors * vectors, axis=1, keepdims=True))  # `np.linalg.norm`, without its checks
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0), dtype=np.float32)


def _summary(snippet: MemorySnippet) -> str:
    return snippet.summary if is_canonical(snippet.summary, role=snippet.role) else ""


def _context(snippet: MemorySnippet) -> str:
    """The words that a step leans on; a canonical summary says them already."""
    return "" if _summary(snippet) else snippet.context


def _shares_beside(snippet: MemorySnippet) -> Iterator[tuple[str, float]]:
    """Texts beside its own in the vector of a snippet, each with its share."""
    if context := _context(snippet):
        # The shorter a step, the more it leans on what was said before: "It is $76.22".
        yield context, _BESIDE_SHARE / max(1.0, len(snippet.resolved) / _SHORT_CHARS)
    if snippet.asks:
        yield "\n".join(snippet.asks), _BESIDE_SHARE
