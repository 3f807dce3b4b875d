"""Questions, and why a step answers one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stitch.core import RetrievalResult, ScoredSnippet, matched_by_kind
from stitch.core.ranking import DECIMALS
from stitch.server.api.models import (
    Because,
    Decided,
    FilterChangeModel,
    FilterLabels,
    Hit,
    NoLonger,
    QueryRequest,
    QueryResponse,
    Ranked,
    Rule,
    Scored,
    ShownPiece,
    WhyNotRequest,
    WhyRequest,
    WhyResponse,
)
from stitch.server.api.naming import find_step, known_trajectory

if TYPE_CHECKING:
    from stitch.memory import Memory
    from stitch.retrieve import WhyNot
    from stitch.retrieve.rank.explain import Why


def query(memory: Memory, request: QueryRequest) -> QueryResponse:
    """Find the steps that answer a question."""
    options = {name: getattr(request, name) for name in request.model_fields_set if name not in ("query", "whole")}
    return answer_of(memory.search(request.query, **options), whole=request.whole)


def answer_of(result: RetrievalResult, *, whole: bool = False) -> QueryResponse:
    """What is answered of a result.

    Of a whole answer each hit holds its whole snippet, too, so that the result can be made of it again.
    """
    chosen, rule = result.intent_filter, result.rule
    more: dict[str, Any] = {}
    if whole:
        more = {
            "context_hits": result.context_hits,
            "mode": result.mode,
            "intent_filter": chosen,
            "request": result.request,
            "pieces": tuple(map(ShownPiece.made_of, result.pieces)),
        }
    if result.trace:
        more["trace"] = tuple(map(Decided.made_of, result.trace))
    return QueryResponse(
        query=result.request.query,
        filter=FilterLabels(scopes=chosen.scopes, event_types=chosen.event_types, entity_types=chosen.entity_types),
        ranking=result.ranking.value,
        decided_by=result.decided_by.value,
        rule=Rule(tiers=rule.tiers, summed=rule.summed, ties=("trajectory", "position", "step"), decimals=DECIMALS),
        reasons=result.reasons,
        hits=tuple(_hit(rank, hit, result, whole=whole) for rank, hit in enumerate(result.hits, start=1)),
        relevance=result.relevance,
        nothing_relevant=result.nothing_relevant,
        context_tokens=result.context_tokens,
        milliseconds=round(result.milliseconds, 3),
        context=result.context(),
        **more,
    )


def _hit(rank: int, hit: ScoredSnippet, result: RetrievalResult, *, whole: bool) -> Hit:
    snippet, below = hit.snippet, result.hits[rank : rank + 1]
    return Hit(
        rank=rank,
        trajectory=snippet.trajectory,
        step=snippet.step,
        position=snippet.position,
        role=snippet.role,
        happened=snippet.happened,
        recorded=snippet.recorded,
        origin=snippet.origin.value,
        trust=snippet.trust.value,
        parts=hit.parts,
        score=hit.score,
        above_next_by=result.rule.lead(hit, below[0]) or "order" if below else None,
        density=_plain(hit.density),
        matched=matched_by_kind(hit.matched),
        similarity=round(hit.similarity, 6),
        relevance=hit.relevance,
        scope=snippet.intent.scope,
        event_types=snippet.intent.event_types,
        entity_types=snippet.intent.entity_types,
        text=snippet.text,
        resolved=snippet.resolved,
        summary=snippet.summary,
        embedded=hit.embedded,
        **_links(hit),
        **({"snippet": snippet} if whole else {}),
    )


def _links(hit: ScoredSnippet) -> dict[str, Any]:
    """What ties a hit to other steps; nothing of one that has no such ties."""
    links: dict[str, Any] = {}
    if hit.superseded:
        links |= {"superseded_by": hit.superseded_by, "superseded": tuple(map(NoLonger.made_of, hit.superseded))}
    if hit.because_of is not None:
        links["because_of"] = Because.made_of(hit.because_of)
    return links


def _plain(density: float) -> int | float:
    return int(density) if density == int(density) else round(density, 4)


def why(memory: Memory, request: WhyRequest) -> WhyResponse:
    """Say why a step comes back for a question, or why it does not."""
    meant = find_step(request.step, memory, trajectory=known_trajectory(memory, request.trajectory))
    options = {name: getattr(request, name) for name in ("k", "min_trust", "as_of", "asked_at", "ranking")}
    found = memory.why(request.query, step=meant.step, trajectory=meant.trajectory, **options)
    return explanation_of(found, step=meant.step, trajectory=meant.trajectory, whole=request.whole)


def why_not(memory: Memory, request: WhyNotRequest) -> Ranked:
    """Say where a step stands in the ranking for a question, what it lacks, and what would have admitted it."""
    options = {name: getattr(request, name) for name in ("query", "trajectory", "k", "intent_filter")}
    return _ranked(memory.why_not(request.step, **options), whole=True)


def explanation_of(found: Why, *, step: str, trajectory: str, whole: bool = False) -> WhyResponse:
    """What is answered of an explanation."""
    return WhyResponse(
        step=step,
        trajectory=trajectory,
        found=found.found,
        in_context=found.in_context,
        state=found.state.value,
        trust=found.trust.value,
        filter=matched_by_kind(found.intent_filter.labels()),
        reasons=found.reasons,
        ranked=None if found.place is None else _ranked(found.place, whole=whole),
        explanation=found.sentences,
        **({"intent_filter": found.intent_filter} if whole else {}),
    )


def _ranked(place: WhyNot, *, whole: bool) -> Ranked:
    change = place.change
    more = {"hit": _scored(place.hit), "last": _scored(place.last)} if whole else {}
    return Ranked(
        rank=place.rank,
        of=place.ranked,
        k=place.k,
        parts=place.hit.parts,
        density=place.hit.density,
        similarity=round(place.hit.similarity, 6),
        matched=matched_by_kind(place.hit.matched),
        lacking=matched_by_kind(place.lacking),
        lost_by=place.lost_by or None,
        change=change and FilterChangeModel(drop=matched_by_kind(change.drop), add=matched_by_kind(change.add)),
        **more,
    )


def _scored(hit: ScoredSnippet) -> Scored:
    links = _links(hit)
    links.pop("superseded_by", None)
    return Scored(snippet=hit.snippet, matched=matched_by_kind(hit.matched), parts=hit.parts, score=hit.score, **links)
