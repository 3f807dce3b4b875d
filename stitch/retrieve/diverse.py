"""Hits that say different things, of any lens: `search(..., diverse=True)`."""

from __future__ import annotations

from dataclasses import replace

from stitch.core import Decision, Embedder, RetrievalResult, Retriever, ScoredSnippet, SearchRequest
from stitch.core.cancellation import check_canceled
from stitch.retrieve.context.answer import with_context
from stitch.retrieve.diversity import choose_diverse

COVERING = "covering"
"""The part of a hit's score that says how early it was chosen: from 1 for the first down to 0."""
_AMONG = 3
"""Among so many times as many hits as are asked for is chosen."""
_READ_CHARS = 2_000


class DiverseRetriever:
    """Chooses among the hits of another retriever those that together cover them, each weighed by its score."""

    def __init__(self, retriever: Retriever, *, embedder: Embedder) -> None:
        self.mode = retriever.mode
        self._retriever, self._embedder = retriever, embedder

    def search(self, request: SearchRequest) -> RetrievalResult:
        """Answer a question; what chooses pieces that cover has done so already, and answers as it does."""
        found = self._retriever.search(
            request.model_copy(update={"k": min(_AMONG * request.k, 10_000), "fill_budget": False, "min_share": 0.0})
        )
        if found.pieces:
            return self._retriever.search(request)
        check_canceled()
        vectors = self._embedder.embed([hit.snippet.resolved[:_READ_CHARS] for hit in found.hits])
        scores = [1.0 / (1.0 + place / max(1, request.k)) for place in range(len(found.hits))]
        chosen = [found.hits[place] for place in choose_diverse(scores, vectors @ vectors.T, most=request.k)]
        hits = tuple(_placed(hit, 1 - place / len(chosen)) for place, hit in enumerate(chosen))
        rule = found.rule._replace(tiers=((COVERING,), *found.rule.tiers))
        figures = {"among": float(len(found.hits))}
        trace = (*found.trace, Decision("diverse", figures, "hits that say different things"))
        return with_context(replace(found, request=request, hits=hits, rule=rule, trace=trace))


def _placed(hit: ScoredSnippet, value: float) -> ScoredSnippet:
    return hit._replace(parts={**hit.parts, COVERING: value})
