"""Requests and responses: what is asked of a memory and what it answers, the same over every wire and with `--json`.

Here are those that add, ask and forget; see also `listing_models` and `maintenance_models`. More than 400 lines because
what a search answers is told whole, field by field.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, JsonValue
from typing_extensions import Self

from stitch.core import (
    IntentFilter,
    MemorySnippet,
    Ranking,
    Receipt,
    SearchRequest,
    Step,
    Trust,
)
from stitch.core.steps import Name

PAGE_ITEMS = 100
"""How many items a page has, if nobody says."""
MOST_PAGE_ITEMS = 1000
MOST_PAGE_CHARS = 4_000_000
"""A page of whole steps ends behind the one with which they have more text than this."""
MOST_STEPS = 10_000
"""How many steps one request may add."""


class Request(BaseModel, frozen=True, extra="forbid"):
    """What is asked; a field that no request has is an error."""


class Response(BaseModel, frozen=True):
    """What is answered. Fields that were not set are left out of its JSON."""

    @classmethod
    def made_of(cls, value: object, **others: Any) -> Self:
        """What is told of a value of the library: its attributes of the same names, and others that are said here.

        What the library calls a thing is told under that name, so that each is defined once.
        """
        left_out = object()
        own = {
            name: getattr(value, name) if field.is_required() else getattr(value, name, left_out)
            for name, field in cls.model_fields.items()
            if name not in others
        }
        return cls(**{name: said for name, said in own.items() if said is not left_out}, **others)


class PageRequest(Request):
    """Asks for a part of a list."""

    limit: Annotated[int, Field(ge=1, le=MOST_PAGE_ITEMS)] = PAGE_ITEMS
    """How many items at most."""
    after: str | None = None
    """The `next` of the page before; the beginning if there is none."""


class PageResponse(Response):
    """A part of a list."""

    next: str | None = None
    """What to give as `after` for the items that follow; null behind the last."""


class Nothing(Request):
    """Asks without saying anything."""


class About(Response):
    """What a memory is like."""

    tenant: str
    """Whose it is."""
    labeler: str
    """Who makes the labels."""
    uses_model: bool
    """Whether a language model labels."""
    workers: int
    """How many trajectories are best worked on side by side."""


class Done(Response):
    """Says that it is done."""

    done: Literal[True] = True


class FlushResponse(Done):
    """Says that labels are made and kept, and whether a model read what it is to read."""

    statements_failure: str = ""
    """Why a model did not read all steps for statements; empty if it did."""


# What is added.


class AddRequest(Request):
    """The next steps of a trajectory, in order."""

    trajectory: Name
    steps: Annotated[Sequence[Step], Field(max_length=MOST_STEPS)]
    wait: bool = True
    """Whether labels are waited for."""
    again: bool = False
    """Whether steps that were erased are stored again."""
    each: bool = False
    """Whether the others are stored if one is rejected; if not, all are or none is."""


class RejectedStep(Response):
    """A step that was not accepted."""

    index: int
    """Its place in the request."""
    message: str
    hint: str = ""


class AddResponse(Response):
    """How far each step came."""

    receipts: tuple[Receipt, ...]
    """In the order of the steps, without those that were rejected."""
    rejected: tuple[RejectedStep, ...] = ()
    """Only where `each` was asked for."""


class MessagesRequest(Request):
    """Messages as providers of models have them, in order; the growing list of a conversation may come again."""

    trajectory: Name
    messages: Annotated[Sequence[Mapping[str, JsonValue]], Field(max_length=MOST_STEPS)]
    """Of the OpenAI (chat and responses), Anthropic or Gemini kind; `{"stitch_step": {...}}` is a step as in `add`."""
    start: Annotated[int, Field(ge=0)] | None = None
    """At which place of the conversation the first of them stands, counted in steps, if it is known."""
    edited: Literal["refuse", "keep", "revise"] = "refuse"
    """What to do where a message says something else than when it was stored."""
    wait: bool = True
    """Whether labels are waited for."""
    again: bool = False
    """Whether steps that were erased are stored again."""


# What is asked.


class QueryRequest(Request):
    """A question."""

    query: str
    trajectory: Name | None = None
    """Search this one only."""
    k: Annotated[int, Field(ge=1, le=10_000)] | None = None
    """How many steps to return at most; by default what the settings say, or what the context has room for."""
    budget_tokens: Annotated[int, Field(ge=1)] | None = None
    """How many tokens the context may have; what the settings say by default."""
    asked_at: float | str | None = None
    """When the question is asked; "last week" is read against it."""
    intent_filter: IntentFilter | None = None
    """Labels to use instead of those that the question licenses."""
    ranking: Annotated[Ranking, Field(strict=False)] | None = None
    """What the settings say by default."""
    retriever: str | None = None
    """Which one answers; what the settings say by default."""
    min_trust: Annotated[Trust, Field(strict=False)] | None = None
    """Only steps of this trust or more."""
    min_relevance: Annotated[float, Field(ge=0.0, le=1.0)] | None = None
    """Only steps that bear on the question with this chance or more; nothing if none does."""
    min_share: Annotated[float, Field(ge=0.0, le=1.0)] | None = None
    """Only steps whose score is at least this share of the best one's; 0 fills the context with all that it has room
    for. By default all steps are returned, and the context stops where more would not help."""
    as_of: float | str | None = None
    """Answer as the memory would have then: Unix seconds, a time as ISO 8601 writes it, or the id of a step."""
    include_setup: bool = False
    """Whether system prompts and other instructions given before an agent's run may be hits."""
    diverse: bool = False
    """Whether hits have to say different things."""
    whole: bool = False
    """Whether each hit holds its whole snippet too."""


class NoLonger(Response):
    """A value of a step that a later step tells otherwise."""

    thing: str
    """The identifier of what it is told of."""
    field: str
    value: str
    now: str
    """What was told last."""
    step: str
    """The id of the step that told it."""
    position: int


class Because(Response):
    """The result that made an agent do a step."""

    step: str
    """Its id."""
    position: int
    outcome: str
    """How it came out, where that was it: a failure, a refusal, nothing; else empty."""
    value: str
    """The identifier that both name; else empty."""


class Scored(Response):
    """A step in a ranking, whole."""

    snippet: MemorySnippet
    matched: Mapping[str, Sequence[str]]
    parts: Mapping[str, float]
    score: float
    superseded: tuple[NoLonger, ...] = ()
    because_of: Because | None = None


class FilterLabels(Response):
    """The labels that were chosen for a question."""

    scopes: tuple[str, ...]
    event_types: tuple[str, ...]
    entity_types: tuple[str, ...]


class Rule(Response):
    """How the parts of scores made the order."""

    tiers: tuple[tuple[str, ...], ...]
    """Compared first, one after the other; each is a sum of parts."""
    summed: tuple[str, ...]
    """The parts whose sum is the score."""
    ties: tuple[str, ...]
    """What orders equals."""
    decimals: int
    """So many decimals of a sum count."""


class Hit(Response):
    """A step that answers a question."""

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
    matched: Mapping[str, Sequence[str]]
    """Which, by kind."""
    similarity: float
    relevance: float | None = None
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
    superseded: tuple[NoLonger, ...] = ()
    """Which of its values no longer hold, where programs wrote them."""
    because_of: Because | None = None
    """What made the agent do it; null where nothing says so."""
    embedded: bool = True
    """Whether its vector is there; if it follows, words and labels alone speak for it until then."""
    snippet: MemorySnippet | None = None
    """All that the memory keeps of it; only where `whole` was asked for."""


class ShownPiece(Response):
    """A text that a context is made of, where that is less than a step."""

    text: str
    snippets: tuple[str, ...]
    """The ids of the snippets of the steps that it is taken from."""
    steps: tuple[str, ...]
    """The ids of these steps."""
    tokens: int
    statement: str | None = None
    theme: str | None = None


class Decided(Response):
    """What a search decided on its way."""

    what: str
    figures: Mapping[str, float]
    reason: str = ""


class QueryResponse(Response):
    """The answer to a question."""

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
    relevance: float | None = None
    """How likely it is that anything in the memory bears on the question; null where nobody can tell."""
    nothing_relevant: bool = False
    """Whether steps with a least chance were asked for (`min_relevance`), and none has it."""
    context_tokens: int
    milliseconds: float
    context: str = ""
    """The hits as text for a prompt: quoted data, for a user message and never for a system message."""
    context_hits: tuple[str, ...] = ()
    """The ids of the snippets of which at least a part stands in the context; where `whole` was asked for."""
    mode: str = ""
    """The retriever that answered; where `whole` was asked for."""
    intent_filter: IntentFilter | None = None
    """The labels that were chosen, as a search takes them; where `whole` was asked for."""
    trace: tuple[Decided, ...] = ()
    """What was decided on the way, in order; where anything was."""
    pieces: tuple[ShownPiece, ...] = ()
    """What the context is made of, where that is less than steps; where `whole` was asked for."""
    request: SearchRequest | None = None
    """The question as it was answered, defaults filled in; where `whole` was asked for."""


class WhyRequest(Request):
    """Asks why a step comes back for a question, or why it does not."""

    query: str
    step: str
    """Its id, the beginning of its id, or its position in the trajectory."""
    trajectory: Name | None = None
    """Needed if several have such a step."""
    k: Annotated[int, Field(ge=1, le=10_000)] | None = None
    """How many steps count as hits; what the settings say by default."""
    min_trust: Annotated[Trust, Field(strict=False)] | None = None
    as_of: float | str | None = None
    asked_at: float | str | None = None
    ranking: Annotated[Ranking, Field(strict=False)] | None = None
    whole: bool = False
    """Whether the hits that are compared are told whole."""


class WhyNotRequest(Request):
    """Asks where a step stands in the ranking for a question."""

    step: str
    query: str
    trajectory: Name
    k: Annotated[int, Field(ge=1, le=10_000)] | None = None
    intent_filter: IntentFilter | None = None


class FilterChangeModel(Response):
    """A change of a filter, by kinds of labels."""

    drop: Mapping[str, Sequence[str]]
    add: Mapping[str, Sequence[str]]


class Ranked(Response):
    """Where a step stands in a ranking."""

    rank: int
    of: int
    """How many were ranked."""
    k: int
    parts: Mapping[str, float]
    density: float
    similarity: float
    matched: Mapping[str, Sequence[str]]
    lacking: Mapping[str, Sequence[str]]
    lost_by: str | None
    """The part of the score by which it lost most to the last hit."""
    change: FilterChangeModel | None
    """The smallest change of the filter that would bring it among the hits."""
    hit: Scored | None = None
    """The step; where `whole` was asked for."""
    last: Scored | None = None
    """The last hit; where `whole` was asked for."""


class WhyResponse(Response):
    """Why a step came back, or why it did not."""

    step: str
    trajectory: str
    found: bool
    in_context: bool
    state: str
    trust: str
    filter: Mapping[str, Sequence[str]]
    """The labels that were chosen for the question, by kind."""
    reasons: tuple[str, ...]
    ranked: Ranked | None
    """Null if it was not ranked at all."""
    explanation: tuple[str, ...]
    """All of it in sentences."""
    intent_filter: IntentFilter | None = None
    """The labels that were chosen, as a search takes them; where `whole` was asked for."""


# What is forgotten.


class ForgetRequest(Request):
    """Which steps are forgotten, and how: those to which everything applies that is given."""

    action: Literal["erase", "retire"] = "erase"
    """Erase them everywhere, with proof; or only take them out of retrieval, and keep them for audit."""
    trajectory: Name | None = None
    step: Name | None = None
    """An id; together with `trajectory`."""
    scope: str | None = None
    event_type: str | None = None
    accepted_before: float | None = None
    """Unix seconds."""
    everything: bool = False
    """Really all steps of the tenant. Without this, a request that names nothing is an error."""
    dry_run: bool = False
    """Only say how many steps these are."""
    reason: str = ""
    """Why they are retired; goes into their receipts."""
    trust_clock: bool = False
    """Go by `accepted_before` though the clock may have jumped ahead."""
    missing_ok: bool = False
    """Whether a trajectory or step that is not there is nothing to forget, and no error."""


class ProofModel(Response):
    """What traces of erased steps were searched for in all files of the memory, and what was found."""

    traces: int
    """How many fragments of texts, names and ids were searched for."""
    said_elsewhere: int
    """How many of them other steps say too."""
    found: tuple[str, ...]
    """The files in which others were found; none if the erasure is complete."""
    not_searched: tuple[str, ...]
    """Where something may be left that the memory cannot search."""


class ForgetResponse(Response):
    """What was forgotten, or would be."""

    steps: int
    trajectories: int | None = None
    """Of what was erased."""
    dry_run: bool
    proof: ProofModel | None = None
    """Of what was erased, that it is gone."""
