"""Questions, and why a step answers one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from stitch.core import (
    IntentFilter,
    MemorySnippet,
    Ranking,
    RetrievalResult,
    ScoredSnippet,
    SearchRequest,
    Trust,
    matched_by_kind,
)
from stitch.core.ranking import DECIMALS
from stitch.core.steps import Name
from stitch.memory import Memory
from stitch.retrieve import WhyNot
from stitch.server.operations.answers import Answer, find_step
from stitch.server.operations.operation import operation

LabelsByKind = Mapping[str, Sequence[str]]
K = Annotated[int, Field(ge=1, le=10_000)]
_TIES = ("trajectory", "position", "step")


class NoLonger(Answer):
    """A value of a step that a later step tells otherwise; see `SupersededValue`."""

    thing: str
    field: str
    value: str
    now: str
    step: str
    position: int


class Because(Answer):
    """The result that made an agent do a step; see `Cause`."""

    step: str
    position: int
    outcome: str
    value: str


class FilterLabels(Answer):
    """The labels that were chosen for a question."""

    scopes: tuple[str, ...]
    event_types: tuple[str, ...]
    entity_types: tuple[str, ...]


class Rule(Answer):
    """The rule by which the parts of scores made the order; see `RankingRule`."""

    tiers: tuple[tuple[str, ...], ...]
    summed: tuple[str, ...]
    ties: tuple[str, ...]
    """What orders equals."""
    decimals: int
    """So many decimals of a sum count."""


class Ties(Answer):
    """Ties of a hit to other steps."""

    superseded: tuple[NoLonger, ...] = ()
    """Which of its values no longer hold."""
    because_of: Because | None = None
    """What made the agent do it; null where nothing says so."""


class Hit(Ties):
    """A step that answers a question; see `MemorySnippet` and `ScoredSnippet`."""

    rank: int
    """From 1."""
    trajectory: str
    step: str
    position: int
    role: str
    happened: float | str | None
    """When it happened, as its source says it."""
    recorded: float
    """When the memory accepted it, in Unix seconds."""
    origin: str
    trust: str
    parts: Mapping[str, float]
    """What each scorer said of it."""
    score: float
    above_next_by: str | None
    """The part of the order by which it stands above the next hit; null for the last."""
    density: int | float
    """How many labels of the filter it carries, or their weight."""
    matched: LabelsByKind
    similarity: float
    relevance: float | None
    """How likely it is that the step bears on the question; null where nobody can tell."""
    scope: str | None
    event_types: tuple[str, ...]
    entity_types: tuple[str, ...]
    text: str
    resolved: str
    """The text with its references replaced."""
    summary: str
    superseded_by: str | None = None
    """The id of the last step that tells one of its values otherwise; null where all still hold."""
    embedded: bool
    """Whether its vector is there; if it follows, words and labels alone speak for it until then."""
    snippet: MemorySnippet | None = None
    """All that the memory keeps of it; only where `whole` was asked for."""


class Decided(Answer):
    """A decision of a search on its way."""

    what: str
    figures: Mapping[str, float]
    reason: str = ""


class ShownPiece(Answer):
    """A text that a context is made of, where that is less than a step; see `Piece`."""

    text: str
    snippets: tuple[str, ...]
    steps: tuple[str, ...]
    tokens: int
    statement: str | None
    theme: str | None


class Found(Answer):
    """The answer to a question. The fields behind `trace` are there where `whole` was asked for."""

    query: str
    filter: FilterLabels
    ranking: str
    """What was really used: strict or weighed."""
    decided_by: str
    rule: Rule
    reasons: tuple[str, ...]
    """Why each label was chosen."""
    hits: tuple[Hit, ...]
    """Best first."""
    relevance: float | None
    """How likely it is that anything in the memory bears on the question; null where nobody can tell."""
    nothing_relevant: bool
    """Whether steps with a least chance were asked for (`min_relevance`), and none has it."""
    context_tokens: int
    milliseconds: float
    context: str
    """The hits as text for a prompt: quoted data, for a user message and never for a system message."""
    trace: tuple[Decided, ...] = ()
    """What was decided on the way, in order; where anything was."""
    context_hits: tuple[str, ...] = ()
    """The ids of the snippets of which at least a part stands in the context."""
    mode: str = ""
    """The retriever that answered."""
    intent_filter: IntentFilter | None = None
    pieces: tuple[ShownPiece, ...] = ()
    request: SearchRequest | None = None
    """The question as it was answered, defaults filled in."""


@operation("POST", "/v1/search", "read", takes=Memory.search, is_search=True)
def search(
    memory: Memory,
    *,
    query: str,
    trajectory: Name | None = None,
    k: K | None = None,
    whole: bool = False,
    **options: Any,
) -> Found:
    """Find the steps that answer a question; see `Memory.search`. With `whole` each hit holds its whole snippet too."""
    return answer_of(memory.search(query, trajectory=trajectory, k=k, **options), whole=whole)


def answer_of(result: RetrievalResult, *, whole: bool = False) -> Found:
    """The answer of a result."""
    chosen, more = result.intent_filter, {}
    if whole:
        names = ("context_hits", "mode", "intent_filter", "request", "pieces")
        more = {name: getattr(result, name) for name in names}
    if result.trace:
        more["trace"] = result.trace
    return Found(
        query=result.request.query,
        filter=FilterLabels.model_validate(chosen),
        ranking=result.ranking.value,
        decided_by=result.decided_by.value,
        rule=Rule(tiers=result.rule.tiers, summed=result.rule.summed, ties=_TIES, decimals=DECIMALS),
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
    ties = _ties(hit)
    if ties:
        ties["superseded_by"] = hit.superseded_by
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
        density=int(hit.density) if hit.density == int(hit.density) else round(hit.density, 4),
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
        **ties,
        **({"snippet": snippet} if whole else {}),
    )


def _ties(hit: ScoredSnippet) -> dict[str, Any]:
    """Ties of a hit to other steps; nothing of one that has none."""
    told = {"superseded": hit.superseded, "because_of": hit.because_of}
    return {name: value for name, value in told.items() if value}


class Scored(Ties):
    """A step in a ranking, whole."""

    snippet: MemorySnippet
    matched: LabelsByKind
    parts: Mapping[str, float]
    score: float


class FilterChange(Answer):
    """A change of a filter, by kinds of labels."""

    drop: LabelsByKind
    add: LabelsByKind


class Ranked(Answer):
    """The place of a step in a ranking."""

    rank: int
    of: int
    """How many were ranked."""
    k: int
    parts: Mapping[str, float]
    density: float
    similarity: float
    matched: LabelsByKind
    lacking: LabelsByKind
    lost_by: str | None
    """The part of the score by which it lost most to the last hit."""
    change: FilterChange | None
    """The smallest change of the filter that would bring it among the hits."""
    hit: Scored | None = None
    """The step; where `whole` was asked for."""
    last: Scored | None = None
    """The last hit; where `whole` was asked for."""


class Explanation(Answer):
    """Why a step came back, or why it did not."""

    step: str
    trajectory: str
    found: bool
    in_context: bool
    state: str
    trust: str
    filter: LabelsByKind
    """The labels that were chosen for the question."""
    reasons: tuple[str, ...]
    ranked: Ranked | None
    """Null if it was not ranked at all."""
    explanation: tuple[str, ...]
    """All of it in sentences."""
    intent_filter: IntentFilter | None = None
    """The labels that were chosen, as a search takes them; where `whole` was asked for."""


@operation("POST", "/v1/why", "read", is_search=True)
def why(
    memory: Memory,
    *,
    query: str,
    step: str,
    trajectory: Name | None = None,
    k: K | None = None,
    min_trust: Annotated[Trust, Field(strict=False)] | None = None,
    as_of: float | str | None = None,
    asked_at: float | str | None = None,
    ranking: Annotated[Ranking, Field(strict=False)] | None = None,
    whole: bool = False,
) -> Explanation:
    """Say why a step comes back for a question, or why it does not; STEP is an id, its beginning, or a place."""
    meant = find_step(memory, step, trajectory=trajectory)
    options = {"k": k, "min_trust": min_trust, "as_of": as_of, "asked_at": asked_at, "ranking": ranking}
    found = memory.why(query, step=meant.step, trajectory=meant.trajectory, **options)  # type: ignore[arg-type]
    return Explanation(
        step=meant.step,
        trajectory=meant.trajectory,
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


@operation("POST", "/v1/why_not", "read", is_search=True)
def why_not(
    memory: Memory,
    *,
    step: str,
    query: str,
    trajectory: Name,
    k: K | None = None,
    intent_filter: IntentFilter | None = None,
) -> Ranked:
    """Say where a step stands in the ranking for a question, what it lacks, and what would have admitted it."""
    place = memory.why_not(step, query=query, trajectory=trajectory, k=k, intent_filter=intent_filter)
    return _ranked(place, whole=True)


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
        change=change and FilterChange(drop=matched_by_kind(change.drop), add=matched_by_kind(change.add)),
        **more,
    )


def _scored(hit: ScoredSnippet) -> Scored:
    return Scored(
        snippet=hit.snippet, matched=matched_by_kind(hit.matched), parts=hit.parts, score=hit.score, **_ties(hit)
    )
