"""Search results: the hits, and the context made of them within the budget."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from stitch.core import (
    Decision,
    IntentFilter,
    Ranking,
    RankingRule,
    RetrievalResult,
    ScoredSnippet,
    SearchRequest,
    Selection,
)
from stitch.core.ranking import GOAL
from stitch.core.results import WITHHELD
from stitch.retrieve.context.budget import fit_context
from stitch.retrieve.context.excerpts import excerpt_hits
from stitch.retrieve.context.outputs import shorten_long
from stitch.retrieve.context.stopping import STOPPED, densest
from stitch.retrieve.question import read_request


def milliseconds_since(started: float) -> float:
    """Milliseconds since a reading of `time.perf_counter`."""
    return (time.perf_counter() - started) * 1000


def bare(
    request: SearchRequest,
    selection: Selection,
    hits: Sequence[ScoredSnippet],
    *,
    rule: RankingRule,
    mode: str,
    started: float,
) -> RetrievalResult:
    """The result of a search, best hits first, without a context. `started` is a reading of `time.perf_counter`."""
    return RetrievalResult(
        request=request,
        intent_filter=selection.intent_filter,
        reasons=selection.reasons,
        hits=tuple(hits),
        context_text="",
        context_tokens=0,
        context_hits=(),
        milliseconds=milliseconds_since(started),
        mode=mode,
        rule=rule,
    )


class EmptyRetriever:
    """Finds nothing, for a reason: what cannot be answered, and is asked all the same."""

    def __init__(self, *, mode: str, reason: str) -> None:
        self.mode, self._reason = mode, reason

    def search(self, request: SearchRequest) -> RetrievalResult:
        """Answer a question with nothing."""
        selection, started = Selection(request.intent_filter or IntentFilter()), time.perf_counter()
        found = bare(request, selection, (), rule=RankingRule(), mode=self.mode, started=started)
        return replace(found, relevance=0.0, trace=(Decision(WITHHELD, {}, self._reason),))


def with_context(found: RetrievalResult) -> RetrievalResult:
    """A result with the context of its hits: `SearchRequest.depth` of them, if there are as many.

    Where the request fills its budget, hits are given back down to the last one that the context shows.
    """
    began = time.perf_counter()
    request, hits, trace = found.request, found.hits, found.trace
    left = hits
    if request.min_share is None and found.rule.is_strict and request.ranking is not Ranking.STRICT:
        left = densest(hits)
        if len(left) < len(hits):
            trace = (*trace, Decision(STOPPED, {"left": float(len(left))}, "other hits have too few of the labels"))
    whole = excerpt_hits(left, read_request(request))
    shown = shorten_long(whole, request.query, budget_tokens=request.budget_tokens)
    scopes = any(hit.density or hit.parts.get(GOAL) for hit in hits)  # what results are of, which read alike
    context = fit_context(shown, budget_tokens=request.budget_tokens, scopes=scopes)
    if request.fill_budget:
        ids = frozenset(context.ids)
        last = max((place for place, hit in enumerate(hits) if hit.snippet.id in ids), default=-1)
        hits = hits[: max(request.k, last + 1)]
    return replace(
        found,
        hits=hits,
        context_text=context.text,
        context_tokens=context.tokens,
        context_hits=context.ids,
        milliseconds=found.milliseconds + milliseconds_since(began),
        trace=trace,
    )
