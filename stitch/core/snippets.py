"""Snippets: a step with its labels as the memory keeps it, and the label space of trajectories."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from html import escape
from itertools import chain
from typing import Annotated, Any, NamedTuple, overload

from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    WrapSerializer,
)

from stitch.core.html import Lane, lanes, table
from stitch.core.intent import PHASE_MARK, ContextualIntent, Label, LabelKind, LabelMerge, LabelVocabulary, goal_of
from stitch.core.text_cache import text_cache
from stitch.core.trust import Origin, Trust

_NAMESPACE = uuid.UUID("0d2c1f1e-5a0e-5f6e-9d55-6c5a2c1b7a10")
_NAMING = frozenset(("tenant", "trajectory", "step"))
"""The fields of a snippet of which its id is made."""

SCHEMA_VERSION = 1
"""The version of everything that is written: snippets, payloads, the journal.

A field that may be absent does not raise it: what was written before the field reads as its docstring says.
"""


@text_cache(maxsize=4096)
def snippet_id(tenant: str, trajectory: str, step: str) -> str:
    """The id of the snippet of a step: a UUIDv5, so that storing twice changes nothing."""
    name = f"{len(tenant)}:{tenant}{len(trajectory)}:{trajectory}{len(step)}:{step}"
    return str(uuid.uuid5(_NAMESPACE, name))


class ReferenceRewrite(BaseModel, frozen=True):
    """One entry of the ledger of resolved references (§2.2.3, "Coreference Resolution")."""

    start: int
    """Start of the reference in the original text, in characters."""
    end: int
    replacement: str
    antecedent: str | None = None
    """The id of the step that named the thing."""
    confidence: float = 1.0


def apply_rewrites(text: str, rewrites: tuple[ReferenceRewrite, ...]) -> str:
    """Return `text` with every rewrite applied; rewrites must not overlap."""
    for rewrite in sorted(rewrites, key=lambda r: r.start, reverse=True):
        text = text[: rewrite.start] + rewrite.replacement + text[rewrite.end :]
    return text


def annotate_rewrites(text: str, rewrites: tuple[ReferenceRewrite, ...]) -> str:
    """Return `text` with what each phrase stands for behind it, in brackets: "the first hotel [Kassaros]".

    A reading may be wrong; the step's own words stay beside it, for whoever searches and for whoever reads.
    """
    for rewrite in sorted(rewrites, key=lambda r: r.start, reverse=True):
        text = f"{text[: rewrite.end]} [{rewrite.replacement.strip()}]{text[rewrite.end :]}"
    return text


class EntityMention(BaseModel, frozen=True):
    """A value with its class: *price* with "$76.22"."""

    entity_type: str
    value: str


MAX_ASKS = 10
"""The most questions and search words of a step; those beyond are left out."""
MAX_ASK_CHARS = 200
"""The length of the longest; what is longer is left out, not cut."""


def _bounded(asks: tuple[str, ...]) -> tuple[str, ...]:
    said = dict.fromkeys(" ".join(each.split()) for each in asks)
    return tuple(each for each in said if 0 < len(each) <= MAX_ASK_CHARS)[:MAX_ASKS]


MOST_DRAWN = 10
"""Trajectories whose scopes a notebook draws."""


class StepLabels(BaseModel, frozen=True):
    """The labels of one step, with its references and summary."""

    intent: ContextualIntent
    made_by: str
    """The maker of the labels: `local`, a model's name, a person."""
    references: tuple[ReferenceRewrite, ...] = ()
    """Resolved references; applied to the step's content it gives s'_t."""
    summary: str = ""
    """The canonical summary c_t (§2.2.4)."""
    mentions: tuple[EntityMention, ...] = ()
    """Values beside their classes; they never become labels."""
    context: str = ""
    """Words of earlier steps without which this one cannot be found, such as the question that a bare answer answers.

    Indexed with the step, at a lower weight; not part of its text.
    """
    asks: Annotated[tuple[str, ...], AfterValidator(_bounded)] = ()
    """Questions that the step answers and words to search it by, in other words than its own.

    Indexed with the step and never shown in a context. At most `MAX_ASKS`, of at most `MAX_ASK_CHARS` characters.
    """
    reason: str = ""
    """The reason why local labels stand in for a model's; empty if they do not."""
    trust: Trust | None = None
    """The lowest trust of the steps whose words the rewriting and summarizing took in; the ingestor finds it.

    None in what was written before there was trust: then words of others count as least trusted.
    """


class MemorySnippet(BaseModel, frozen=True):
    """The memory snippet m_t = (s_t, ι_t, c_t) (§2.2.4). Immutable: merges of labels are applied when it is read."""

    tenant: str
    trajectory: str
    step: str
    position: int
    """The place of the step in its trajectory, from 0."""
    role: str
    text: str
    """The words, as they were said."""
    resolved: str
    """The text with its references replaced; equal to `text` where there were none."""
    summary: str = ""
    context: str = ""
    """See `StepLabels.context`."""
    asks: tuple[str, ...] = ()
    """See `StepLabels.asks`."""
    intent: ContextualIntent = Field(default_factory=ContextualIntent)
    entities: tuple[str, ...] = ()
    """The values that the step names, whose classes are its key entity types (`StepLabels.mentions`)."""
    references: tuple[ReferenceRewrite, ...] = ()
    session: str | None = None
    happened: float | str | None = None
    """Time, as the source says it."""
    recorded: float
    """Time at which the memory accepted it, in Unix seconds."""
    labeled_by: str | None = None
    """The maker of the labels; None while the step waits for them."""
    tools: tuple[str, ...] = ()
    """Names of the tools called, or of the tool that answered."""
    origin: Origin = Origin.AGENT
    trust: Trust = Trust.LOW
    """Trust in the resolved text: never more than its origin, nor than what it took in."""
    tokens: int = 0
    """Of the resolved text, as contexts count them; 0 if they were not counted."""
    metadata: Mapping[str, JsonValue] = Field(default_factory=dict)

    @cached_property  # a search asks for it half a dozen times
    def id(self) -> str:
        """The id under which the snippet is stored."""
        return snippet_id(self.tenant, self.trajectory, self.step)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> MemorySnippet:
        """As of any model; a copy that stands elsewhere has an id of its own."""
        copied = super().model_copy(update=update, deep=deep)
        if update and not _NAMING.isdisjoint(update):
            copied.__dict__.pop("id", None)
        return copied


class Moment(NamedTuple):
    """A moment of the past: by the clock of the memory and, where a step is meant, up to this step."""

    recorded: float
    """Unix seconds: what was accepted later was not known."""
    trajectory: str | None = None
    """The trajectory in which a step is meant; None if only the clock counts."""
    position: int = 0
    """Of that step: what comes after it in this trajectory was not known."""

    def knows(self, snippet: MemorySnippet) -> bool:
        """Whether a snippet was there."""
        if snippet.trajectory == self.trajectory and snippet.position > self.position:
            return False
        return snippet.recorded <= self.recorded


class ScopeSummary(BaseModel, frozen=True):
    """A scope: its name, where it runs, and what tells it from the others (Σ_σ of §2.2.1)."""

    name: str
    trajectory: str
    spans: tuple[tuple[int, int], ...]
    """First and last position of each stretch: more than one when the scope was left and resumed."""
    steps: int
    summary: str = ""
    terms: Mapping[str, float] = Field(default_factory=dict)
    """Stemmed words that are typical of the scope, with their weights."""
    values: Mapping[str, int] = Field(default_factory=dict)
    """Values named in the scope (places, dates, names, numbers), folded to lower case, with counts."""


class UnitedScopes(Sequence[ScopeSummary]):
    """The scopes of many trajectories one after the other, as each trajectory has them: none is copied or looked at.

    `phases` names those that are phases of goals.
    """

    def __init__(self, parts: Sequence[tuple[ScopeSummary, ...]], *, phases: Sequence[str]) -> None:
        self.parts = parts
        self.phases = phases

    def __iter__(self) -> Iterator[ScopeSummary]:
        return chain.from_iterable(self.parts)

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    @overload
    def __getitem__(self, place: int) -> ScopeSummary: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[ScopeSummary, ...]: ...
    def __getitem__(self, place: int | slice) -> ScopeSummary | tuple[ScopeSummary, ...]:
        return tuple(self)[place]

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]


class EntityTypeSummary(BaseModel, frozen=True):
    """A key entity type: its steps and values."""

    steps: int
    values: tuple[str, ...] = ()
    """Some recent values, folded to lower case."""


def _listed(scopes: Sequence[ScopeSummary], write: SerializerFunctionWrapHandler) -> Any:
    """United scopes are written as the tuple that they read as."""
    return write(tuple(scopes))


class LabelInventory(BaseModel, frozen=True):
    """Everything a question can be matched against: the label space of one trajectory, or of several."""

    scopes: Annotated[Sequence[ScopeSummary], AfterValidator(tuple), WrapSerializer(_listed)] = ()
    event_types: Mapping[str, int] = Field(default_factory=dict)
    """Canonical event types with the number of steps that carry them."""
    entity_types: Mapping[str, EntityTypeSummary] = Field(default_factory=dict)
    merges: tuple[LabelMerge, ...] = ()
    steps: int = 0

    def _repr_html_(self) -> str:
        """The scopes of each trajectory as lanes, under the other labels."""
        named: dict[str, list[Lane]] = {}
        for scope in self.scopes:
            named.setdefault(scope.trajectory, []).append(Lane(scope.name, scope.spans))
        drawn = "".join(f"<p><b>{escape(name)}</b></p>{lanes(own)}" for name, own in [*named.items()][:MOST_DRAWN])
        more = f"<p>and {len(named) - MOST_DRAWN} more trajectories</p>" if len(named) > MOST_DRAWN else ""
        counts = [("event type", name, str(count)) for name, count in self.event_types.items()]
        counts += [("entity type", name, str(kind.steps)) for name, kind in self.entity_types.items()]
        return f"{drawn}{more}{table(('kind', 'label', 'steps'), counts)}"

    def vocabulary(self) -> LabelVocabulary:
        """The merges, ready to be applied."""
        return LabelVocabulary(self.merges, scopes=self.phases())

    def phases(self) -> Sequence[str]:
        """The names of those scopes that are phases of goals."""
        if isinstance(self.scopes, UnitedScopes):
            return self.scopes.phases
        return [scope.name for scope in self.scopes if PHASE_MARK in scope.name]

    def count(self, label: Label) -> int:
        """The number of steps that carry a label."""
        if label.kind is LabelKind.SCOPE:
            own = [scope for scope in self.scopes if scope.name.startswith(label.value)]  # few of many thousand
            return sum(scope.steps for scope in own if label.value in (scope.name, goal_of(scope.name)))
        if label.kind is LabelKind.EVENT_TYPE:
            return self.event_types.get(label.value, 0)
        summary = self.entity_types.get(label.value)
        return summary.steps if summary else 0
