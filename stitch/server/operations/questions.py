"""Questions, and why a step answers one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from stitch.core import (
    IntentFilter,
    MemorySnippet,
    RetrievalResult,
    ScoredSnippet,
    SearchRequest,
    matched_by_kind,
)
from stitch.core.ranking import DECIMALS, Cause, SupersededValue
from stitch.core.results import Decision, Piece
from stitch.core.steps import Name
from stitch.memory import Memory
from stitch.retrieve import WhyNot
from stitch.retrieve.reasons import reasons
from stitch.server.operations.answers import Answer, Object, ToldStep, find_step, gathered
from stitch.server.operations.operation import operation


def _by_kind(labels: Any) -> Any:
    return labels if isinstance(labels, Mapping) else matched_by_kind(labels)


LabelsByKind = Annotated[Mapping[str, Sequence[str]], BeforeValidator(_by_kind)]
"""Labels by kind; of labels each with its kind, it is made."""
K = Annotated[int, Field(ge=1, le=10_000)]
_TIES = ("trajectory", "position", "step")


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

    superseded: tuple[Object[SupersededValue], ...] = ()
    """Which of its values no longer hold."""
    because_of: Object[Cause] | None = None
    """What made the agent do it; null where nothing says so."""


class Hit(ToldStep, Ties):
    """A step that answers a question; see `MemorySnippet` and `ScoredSnippet`."""

    rank: int
    """From 1."""
    trajectory: str
    origin: str
    trust: str
    parts: Mapping[str, float]
    """What each scorer said of it."""
    score: float
    reasons: tuple[str, ...]
    """Why it is a hit, in words: at most three, the one that counts most first."""
    in_context: bool
    """Whether at least a part of it stands in the context."""
    above_next_by: str | None
    """The part of the order by which it stands above the next hit; null for the last."""
    density: int | float
    """Number of labels of the filter it carries, or their weight."""
    matched: LabelsByKind
    similarity: float
    relevance: float | None
    """How likely it is that the step bears on the question; null where nobody can tell."""
    resolved: str
    """The text with its references replaced."""
    summary: str
    superseded_by: str | None = None
    """The id of the last step that tells one of its values otherwise; null where all still hold."""
    embedded: bool
    """Whether its vector is there; if it follows, words and labels alone speak for it until then."""
    snippet: MemorySnippet | None = None
    """All that the memory keeps of it; only where `whole` was asked for."""


_OF_WHOLE = ("context_hits", "mode", "intent_filter", "pieces", "request")


class SearchAnswer(Answer):
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
    """Whether no step is likely enough to bear on the question, so that nothing came back."""
    context_tokens: int
    milliseconds: float
    context: str
    """The hits as text for a prompt: quoted data, for a user message and never for a system message."""
    trace: tuple[Object[Decision], ...] = ()
    """What was decided on the way, in order; where anything was."""
    context_hits: tuple[str, ...] = ()
    """The ids of the snippets of which at least a part stands in the context."""
    mode: str = ""
    """The retriever that answered."""
    intent_filter: IntentFilter | None = None
    pieces: tuple[Object[Piece], ...] = ()
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
) -> SearchAnswer:
    """Find the steps that answer a question; see `Memory.search`. With `whole` each hit holds its whole snippet too."""
    return answer_of(memory.search(query, trajectory=trajectory, k=k, **options), whole=whole)


def answer_of(result: RetrievalResult, *, whole: bool = False) -> SearchAnswer:
    """The answer of a result."""
    rule = result.rule
    return gathered(
        SearchAnswer,
        result,
        without=_OF_WHOLE,
        query=result.request.query,
        filter=result.intent_filter,
        rule=Rule(tiers=rule.tiers, summed=rule.summed, ties=_TIES, decimals=DECIMALS),
        hits=tuple(_hit(rank, hit, result, whole=whole) for rank, hit in enumerate(result.hits, start=1)),
        milliseconds=round(result.milliseconds, 3),
        context=result.context(),
        **({name: getattr(result, name) for name in _OF_WHOLE} if whole else {}),
    )


def _hit(rank: int, hit: ScoredSnippet, result: RetrievalResult, *, whole: bool) -> Hit:
    below = result.hits[rank : rank + 1]
    return gathered(
        Hit,
        hit,
        hit.snippet,
        hit.snippet.intent,
        without=() if whole else ("snippet",),
        rank=rank,
        reasons=tuple(reasons(hit, result)),
        in_context=hit.snippet.id in result.context_hits,
        above_next_by=result.rule.lead(hit, below[0]) or "order" if below else None,
        density=int(hit.density) if hit.density == int(hit.density) else round(hit.density, 4),
        similarity=round(hit.similarity, 6),
    )


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
    """Number of ranked steps."""
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
    """The reasons why a step came back, or did not."""

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


@operation("POST", "/v1/why", "read", takes=Memory.why, is_search=True)
def why(
    memory: Memory,
    *,
    query: str,
    step: str,
    trajectory: Name | None = None,
    k: K | None = None,
    everywhere: bool = False,
    whole: bool = False,
    **options: Any,
) -> Explanation:
    """Say why a step comes back for a question, or why it does not; STEP is an id, its beginning, or a place.

    Where no trajectory is named, all are searched, as by a search.
    """
    meant = find_step(memory, step, trajectory=trajectory)
    everywhere = everywhere or trajectory is None
    found = memory.why(query, step=meant.step, trajectory=meant.trajectory, k=k, everywhere=everywhere, **options)
    return gathered(
        Explanation,
        found,
        without=() if whole else ("intent_filter",),
        step=meant.step,
        trajectory=meant.trajectory,
        filter=found.intent_filter.labels(),
        ranked=None if found.place is None else _ranked(found.place, whole=whole),
        explanation=found.sentences,
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
    more = {"hit": gathered(Scored, place.hit), "last": gathered(Scored, place.last)} if whole else {}
    return gathered(
        Ranked,
        place,
        place.hit,
        without=("hit", "last"),
        of=place.ranked,
        similarity=round(place.hit.similarity, 6),
        lost_by=place.lost_by or None,
        **more,
    )
