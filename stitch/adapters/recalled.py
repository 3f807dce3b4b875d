"""Steps as an adapter hands them out, and as it takes them in: quoted as data, and never the same twice."""

from __future__ import annotations

from collections.abc import Sequence

from stitch.core import MemorySnippet, ScoredSnippet
from stitch.retrieve import PieceCounter, fit_context

_ALL_TOKENS = 1_000_000


def recalled_steps(snippets: Sequence[MemorySnippet], *, budget_tokens: int = _ALL_TOKENS) -> str:
    """Quote steps as a search does, in the order in which they happened; nothing if there are none.

    `stitch.retrieve.context.recalled` knows the text again, wherever it comes back.
    """
    hits = [ScoredSnippet(snippet, frozenset(), {}, 0.0) for snippet in snippets]
    return fit_context(hits, budget_tokens=budget_tokens, counter=PieceCounter()).text if hits else ""
