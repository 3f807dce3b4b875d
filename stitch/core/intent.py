"""Contextual intent: the three kinds of labels that say what a step was about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, BaseModel

from stitch.core.html import table

MAX_LABEL_CHARS = 120
"""The longest label; what is longer is cut at a word."""

MAX_LABELS_PER_KIND = 16
"""The most labels of one kind on one step; a flood of labels would drown the ranking."""

SETUP_SCOPE = "setup"
"""The scope of system prompts and other instructions that an agent was given before its work: no question licenses it,
and hits leave it out unless it is asked for."""

PHASE_MARK = " / "
"""Stands in a scope between a goal and its phase: "fix the login timeout / verify"."""

INSTRUCTS = "instruct"
"""The event type of instructions that an agent is given beforehand."""

GOAL_OPENED = "state task"
"""The event type of a step that opens a goal of an agent's run."""

_NOT_IN_LABELS = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u2028\u2029<>{}`\ud800-\udfff\ufe64\ufe65\uff1c\uff1e]+|\[\[|\]\]|#{2,}"
)
_INVISIBLE = re.compile(
    "[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e01ef]+"
)
_BLANKS = re.compile(r"\s+")
_CLEAN = re.compile(r"[a-zA-Z0-9,.'&-]+(?: [a-zA-Z0-9,.'&-]+)*")
"""Form of most labels, of which nothing has to be taken out."""


class LabelKind(str, Enum):
    """The kinds of labels. The paper has three (§2.1); the authors' code adds `TARGET`."""

    SCOPE = "scope"
    """Thematic scope: the goal a step serves (§2.2.1). A partonomy: a step is in one scope."""
    EVENT_TYPE = "event_type"
    """Event type: what was done, whatever the goal (§2.2.2). A taxonomy."""
    ENTITY_TYPE = "entity_type"
    """Key entity type: a class of information that matters, such as *price* (§2.2.3)."""
    TARGET = "target"
    """The very thing a step is about. Not in the paper; only for comparison with the authors' code."""

    __hash__ = str.__hash__  # that of an enumeration is Python code, and every look-up of a label calls it


class Label(NamedTuple):
    """A label value with its kind."""

    kind: LabelKind
    value: str


def labels_in_words(labels: Iterable[Label]) -> str:
    """Labels for a person, by kind and value: "scope 'day 2', event_type 'ask price'"."""
    return ", ".join(f"{kind.value} {value!r}" for kind, value in sorted(labels))


def clean_label(value: str) -> str:
    """Return `value` fit for storing and for showing to a model.

    Labels are made from untrusted text and go back into prompts, so markup, control characters, turned directions and
    signs that nobody sees are removed and the length is bounded. May return an empty string: then there is no label.
    """
    if len(value) <= MAX_LABEL_CHARS and _CLEAN.fullmatch(value):
        return value
    seen = value if value.isascii() else _INVISIBLE.sub("", value)
    cleaned = _BLANKS.sub(" ", _NOT_IN_LABELS.sub(" ", seen)).strip()
    if len(cleaned) > MAX_LABEL_CHARS:
        cut = cleaned[:MAX_LABEL_CHARS]
        cleaned = (cut.rsplit(" ", 1)[0] if " " in cut else cut).strip()
    return cleaned


def goal_of(scope: str) -> str:
    """The goal that a scope is or is a phase of: what stands before `PHASE_MARK`."""
    return scope.split(PHASE_MARK, 1)[0]


def is_setup(intent: ContextualIntent) -> bool:
    """Whether a step is a system prompt or other instructions given before a run, and no scope that is called so."""
    return intent.scope == SETUP_SCOPE and INSTRUCTS in intent.event_types


def _distinct(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, map(clean_label, values))))


def _bounded(values: Iterable[str]) -> tuple[str, ...]:
    return _distinct(values)[:MAX_LABELS_PER_KIND]


def _clean_scope(value: str | None) -> str | None:
    return clean_label(value) or None if value else None


LABEL_FIELDS: Mapping[LabelKind, str] = {
    LabelKind.SCOPE: "scope",
    LabelKind.EVENT_TYPE: "event_types",
    LabelKind.ENTITY_TYPE: "entity_types",
    LabelKind.TARGET: "targets",
}
"""The field of an intent, and of a stored payload, that has the labels of each kind."""

StepLabelValues = Annotated[tuple[str, ...], AfterValidator(_bounded)]
FilterLabelValues = Annotated[tuple[str, ...], AfterValidator(_distinct)]


class ContextualIntent(BaseModel, frozen=True):
    """The intent tuple ι_t = (σ_t, ε_t, κ_t) of one step (§2.1)."""

    scope: Annotated[str | None, AfterValidator(_clean_scope)] = None
    """Thematic scope σ_t; None until the step is labeled, and if nothing of the name is left when it is cleaned."""
    event_types: StepLabelValues = ()
    entity_types: StepLabelValues = ()
    targets: StepLabelValues = ()
    """See `LabelKind.TARGET`; empty unless a labeler was asked for it."""

    def labels(self) -> frozenset[Label]:
        """All labels of this step, of every kind."""
        return frozenset(Label(kind, value) for kind in LabelKind for value in self.of(kind))

    def _repr_html_(self) -> str:
        return table(("kind", "label"), ((kind.value, value) for kind, value in sorted(self.labels())))

    def of(self, kind: LabelKind) -> tuple[str, ...]:
        """The labels of one kind."""
        if kind is LabelKind.SCOPE:
            return (self.scope,) if self.scope else ()
        if kind is LabelKind.EVENT_TYPE:
            return self.event_types
        return self.entity_types if kind is LabelKind.ENTITY_TYPE else self.targets


class IntentFilter(BaseModel, frozen=True, extra="forbid"):
    """The filter configuration F_q = (S_q, E_q, K_q) of a question (§2.3).

    Values are canonical labels of the memory that is asked. An empty filter leaves the ranking to similarity; a kind of
    labels that there is not is an error, for it would be an empty filter.
    """

    scopes: FilterLabelValues = ()
    event_types: FilterLabelValues = ()
    entity_types: FilterLabelValues = ()
    targets: FilterLabelValues = ()

    def labels(self) -> frozenset[Label]:
        """All selected labels, of every kind."""
        kinds = (self.scopes, self.event_types, self.entity_types, self.targets)
        return frozenset(Label(kind, value) for kind, values in zip(LabelKind, kinds, strict=True) for value in values)

    def __bool__(self) -> bool:
        return bool(self.scopes or self.event_types or self.entity_types or self.targets)


class LabelMerge(BaseModel, frozen=True):
    """One recorded merge: from now on `alias` reads as `into`."""

    kind: LabelKind
    alias: str
    into: str
    position: int = 0
    """The step at which the merge was made."""
    made_by: str = "local"
    trajectory: str = ""
    """In the label space of several trajectories, the one whose scopes it merges; other kinds are merged in all."""


class LabelVocabulary:
    """Labels that mean the same: the merges of one trajectory or tenant, applied at query time.

    Snippets keep the labels they were stored with; a merge is a recorded event and can be undone (§2.2.2,
    "consolidate semantically overlapping labels").
    """

    def __init__(self, merges: Iterable[LabelMerge] = (), *, scopes: Iterable[str] = ()) -> None:
        """Start with merges, and with scopes that are known: those that are phases belong to their goals."""
        self._merges: list[LabelMerge] = []
        self._into: dict[Label, str] = {}
        self._scopes_into: dict[tuple[str, str], str] = {}
        """Scopes by trajectory and name that are merged in this trajectory alone."""
        self._merged_kinds = set[LabelKind]()
        self._aliases: dict[Label, frozenset[str]] | None = None
        self._phases: dict[str, list[str]] = {}
        for scope in scopes:
            if PHASE_MARK in scope:
                self._phases.setdefault(goal_of(scope), []).append(scope)
        for merge in merges:
            self.merge(merge)

    @property
    def merges(self) -> tuple[LabelMerge, ...]:
        """All merges in force, oldest first."""
        return tuple(self._merges)

    @property
    def has_merges(self) -> bool:
        """Whether any label reads as another."""
        return bool(self._merges)

    @property
    def by_trajectory(self) -> bool:
        """Whether it depends on its trajectory how a scope reads."""
        return bool(self._scopes_into)

    def merge(self, merge: LabelMerge) -> None:
        """Record that `merge.alias` reads as `merge.into`.

        Raises:
            ValueError: The alias already is an alias, or the merge would close a circle.
        """
        into: dict[Any, str] = self._scopes_into if merge.trajectory else self._into
        alias = (merge.trajectory, merge.alias) if merge.trajectory else Label(merge.kind, merge.alias)
        if alias in into:
            raise ValueError(f"{merge.alias!r} is already merged into {into[alias]!r}")
        if self.canonical(merge.kind, merge.into, trajectory=merge.trajectory) == merge.alias:
            raise ValueError(f"{merge.alias!r} cannot be merged into its own alias {merge.into!r}")
        self._merges.append(merge)
        self._merged_kinds.add(merge.kind)
        into[alias] = merge.into
        self._aliases = None

    def undo(self, kind: LabelKind, alias: str) -> bool:
        """Take back the merge of `alias`; False if there is none."""
        if self._into.pop(Label(kind, alias), None) is None:
            return False
        self._merges = [m for m in self._merges if (m.kind, m.alias) != (kind, alias)]
        self._aliases = None
        return True

    def canonical(self, kind: LabelKind, value: str, *, trajectory: str = "") -> str:
        """The label under which `value` is read in a trajectory; itself unless it was merged."""
        if self._scopes_into and kind is LabelKind.SCOPE:
            while (into := self._scopes_into.get((trajectory, value))) is not None:
                value = into
        while (into := self._into.get(Label(kind, value))) is not None:
            value = into
        return value

    def canonical_label(self, label: Label, *, trajectory: str = "") -> Label:
        """As `canonical`, for a label with its kind."""
        return Label(label.kind, self.canonical(*label, trajectory=trajectory)) if self._merges else label

    def canonical_intent(self, intent: ContextualIntent, *, trajectory: str = "") -> ContextualIntent:
        """As `canonical`, for the labels of a step; what reads alike stands once."""
        read: dict[str, str | tuple[str, ...] | None] = {}
        for kind in self._merged_kinds:
            field, values = LABEL_FIELDS[kind], intent.of(kind)
            moved = kind is LabelKind.SCOPE and (trajectory, intent.scope) in self._scopes_into
            if moved or any((kind, value) in self._into for value in values):
                canonical = _bounded(self.canonical(kind, value, trajectory=trajectory) for value in values)
                read[field] = canonical if kind is not LabelKind.SCOPE else next(iter(canonical), None)
        return intent.model_copy(update=read) if read else intent  # what was not merged has been looked at

    def aliases(self, label: Label) -> frozenset[str]:
        """All stored values that read as `label` somewhere, itself included; those of a goal's phases read so, too."""
        phases = self._phases.get(label.value, ()) if label.kind is LabelKind.SCOPE else ()
        own = self._own_aliases(label)
        return own.union(*(self._own_aliases(Label(label.kind, phase)) for phase in phases)) if phases else own

    def readings(self, labels: Iterable[Label]) -> dict[Label, frozenset[str]]:
        """The aliases of each of several labels. A goal and a phase of it count once: the phase has its steps alone."""
        found = {label: self.aliases(label) for label in sorted(labels)}
        for label in found:
            if label.kind is LabelKind.SCOPE and PHASE_MARK in label.value:
                goal = Label(label.kind, goal_of(label.value))
                if goal in found:
                    found[goal] -= found[label]
        return found

    def _own_aliases(self, label: Label) -> frozenset[str]:
        if not self._merges:
            return frozenset((label.value,))
        if self._aliases is None:
            aliases: dict[Label, set[str]] = {}
            for alias in self._into:
                canonical = self.canonical_label(alias)
                aliases.setdefault(canonical, {canonical.value}).add(alias.value)
            for trajectory, name in self._scopes_into:
                canonical = self.canonical_label(Label(LabelKind.SCOPE, name), trajectory=trajectory)
                aliases.setdefault(canonical, {canonical.value}).add(name)
            # Only now, for another thread may ask meanwhile.
            self._aliases = {label: frozenset(own) for label, own in aliases.items()}
        return self._aliases.get(label) or frozenset((label.value,))
