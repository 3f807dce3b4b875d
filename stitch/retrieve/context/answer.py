"""Search results: the hits, and the context made of them within the budget."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import replace

from stitch.core import Decision, Ranking, RankingRule, RetrievalResult, ScoredSnippet, SearchRequest, Selection
from stitch.core.ranking import GOAL
from stitch.retrieve.context.budget import TokenCounter, fit_context
from stitch.retrieve.context.excerpts import excerpt_hits
from stitch.retrieve.context.outputs import shorten_long
from stitch.retrieve.context.stopping import STOPPED, densest
from stitch.retrieve.question import read_request


def answer(
    request: SearchRequest,
    selection: Selection,
    hits: Sequence[ScoredSnippet],
    *,
    rule: RankingRule,
    counter: TokenCounter,
    mode: str,
    started: float,
) -> RetrievalResult:
    """The result of a search.

    Hits are best first, `SearchRequest.depth` of them if there are as many. `started` is a reading of
    `time.perf_counter`.
    """
    left = tuple(hits)
    trace: tuple[Decision, ...] = ()
    if request.min_share is None and rule.is_strict and request.ranking is not Ranking.STRICT:
        left = densest(hits)
        if len(left) < len(hits):
            trace = (Decision(STOPPED, {"left": float(len(left))}, "other hits have too few of the labels"),)
    whole = excerpt_hits(left, read_request(request))
    shown = shorten_long(whole, request.query, budget_tokens=request.budget_tokens)
    scopes = any(hit.density or hit.parts.get(GOAL) for hit in hits)  # what results are of, which read alike
    context = fit_context(shown, budget_tokens=request.budget_tokens, counter=counter, scopes=scopes)
    hits = returned(request, hits, shown=context.ids)
    made = bare(request, selection, hits, rule=rule, mode=mode, started=started)
    return replace(
        made, context_text=context.text, context_tokens=context.tokens, context_hits=context.ids, trace=trace
    )


def returned(
    request: SearchRequest, hits: Sequence[ScoredSnippet], *, shown: Collection[str]
) -> Sequence[ScoredSnippet]:
    """The hits that are given back: so many as were asked for, or down to the last one that a context shows."""
    if not request.fill_budget:
        return hits
    ids = frozenset(shown)
    last = max((place for place, hit in enumerate(hits) if hit.snippet.id in ids), default=-1)
    return hits[: max(request.k, last + 1)]


def bare(
    request: SearchRequest,
    selection: Selection,
    hits: Sequence[ScoredSnippet],
    *,
    rule: RankingRule,
    mode: str,
    started: float,
) -> RetrievalResult:
    """The result of a search without a context, for whoever makes one of its own; see `answer`."""
    return RetrievalResult(
        request=request,
        intent_filter=selection.intent_filter,
        reasons=selection.reasons,
        hits=tuple(hits),
        context_text="",
        context_tokens=0,
        context_hits=(),
        milliseconds=(time.perf_counter() - started) * 1000,
        mode=mode,
        rule=rule,
    )
