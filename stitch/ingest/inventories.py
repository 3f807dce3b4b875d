"""Label spaces: of some steps of a trajectory, and of a tenant as the union of those of its trajectories."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import NamedTuple

from stitch.core import (
    EntityTypeSummary,
    Label,
    LabelInventory,
    LabelKind,
    LabelMerge,
    LabelVocabulary,
    ScopeSummary,
    StepState,
    UnitedScopes,
)
from stitch.journal import Entry, Journal
from stitch.label.curation import read_through
from stitch.text.words import stems

MAX_VALUES = 64
"""Number of recent values of an entity type the union keeps."""

_KEPT_TENANTS = 64
_EMPTY = LabelInventory()


def unite(inventories: Iterable[LabelInventory]) -> LabelInventory:
    """The label space of several trajectories together; of none, an empty one.

    Scopes stay apart with their merges, one summary per trajectory; counts are added. Where two trajectories merged
    other labels in ways that cannot both hold, the merge of the earlier one does, and the labels of the other are read
    through it.
    """
    return Union().update({f"{number:09}": part for number, part in enumerate(inventories)})


class _Read(NamedTuple):
    """The label space of one trajectory, read through the merges of all, and the phases among its scopes."""

    labels: LabelInventory
    phases: tuple[str, ...]


class Union:
    """A label space of parts that change one by one.

    What is said of a scope of a part that did not change is the same object as before.
    """

    def __init__(self) -> None:
        self._parts: dict[str, LabelInventory] = {}
        """Those that say anything, by name."""
        self._reads: dict[str, _Read] = {}
        self._merges: tuple[LabelMerge, ...] = ()
        """Those that hold, in order; the same object until others do."""
        self._into: dict[Label, str] = {}
        """The labels that are merged in all parts, each with the one as which it reads."""

    def update(self, changed: Mapping[str, LabelInventory]) -> LabelInventory:
        """Replace some parts, or add them, by their names; return the union in the order of names.

        A part that is empty is left out, its name too.
        """
        merged = False
        for name, part in changed.items():
            merged |= self._parts.pop(name, _EMPTY).merges != part.merges
            self._reads.pop(name, None)
            if part != _EMPTY:
                self._parts[name] = part
        if merged:
            self._merge()
        if len(self._parts) < 2:
            return next(iter(self._parts.values()), _EMPTY)
        for name in self._parts.keys() - self._reads.keys():
            self._reads[name] = self._read(self._parts[name])
        return self._united([self._reads[name] for name in sorted(self._parts)])

    def _merge(self) -> None:
        """Apply the merges of all parts in order, as far as they hold together."""
        vocabulary, held = LabelVocabulary(), dict[tuple[LabelKind, str, str, str], LabelMerge]()
        for merge in chain.from_iterable(_own_merges(self._parts[name]) for name in sorted(self._parts)):
            said = merge.kind, merge.alias, merge.into, merge.trajectory
            if said not in held:
                with suppress(ValueError):  # against an earlier merge
                    vocabulary.merge(merge)
                    held[said] = merge
        labels = [Label(kind, alias) for kind, alias, *_ in held if kind is not LabelKind.SCOPE]
        into = {label: vocabulary.canonical(*label) for label in labels}
        if into != self._into:
            self._into = into
            self._reads.clear()
        if (merges := tuple(held.values())) != self._merges:
            self._merges = merges

    def _read(self, part: LabelInventory) -> _Read:
        def name_of(kind: LabelKind, value: str) -> str:
            return self._into.get(Label(kind, value), value)

        read = read_through(part, name_of) if self._into else part
        return _Read(read, tuple(read.phases()))

    def _united(self, reads: Sequence[_Read]) -> LabelInventory:
        event_types: dict[str, int] = {}
        said: dict[str, list[EntityTypeSummary]] = {}
        for read in reads:
            for label, steps in read.labels.event_types.items():
                event_types[label] = event_types.get(label, 0) + steps
            for label, summary in read.labels.entity_types.items():
                said.setdefault(label, []).append(summary)
        return LabelInventory.model_construct(  # all of it was checked when the parts were made
            scopes=UnitedScopes(
                [tuple(read.labels.scopes) for read in reads],
                phases=tuple(chain.from_iterable(read.phases for read in reads)),
            ),
            event_types=event_types,
            entity_types={label: _together(parts) for label, parts in said.items()},
            merges=self._merges,
            steps=sum(part.steps for part in self._parts.values()),
        )


def _own_merges(part: LabelInventory) -> Iterator[LabelMerge]:
    """The merges of a trajectory as they stand among those of others: of scopes they are its own."""
    trajectory = next((scope.trajectory for scope in part.scopes), "")
    for merge in part.merges:
        of_scope = merge.kind is LabelKind.SCOPE
        if not of_scope or trajectory:
            yield merge.model_copy(update={"trajectory": trajectory}) if of_scope else merge


def _together(parts: Sequence[EntityTypeSummary]) -> EntityTypeSummary:
    """Merge summaries of an entity type: values from the last parts, until there are enough."""
    known, first = set[str](), len(parts)
    while first and len(known) < MAX_VALUES:
        first -= 1
        known.update(parts[first].values)
    values = tuple(dict.fromkeys(chain.from_iterable(part.values for part in parts[first:])))
    return EntityTypeSummary.model_construct(steps=sum(part.steps for part in parts), values=values[-MAX_VALUES:])


class _Tenant:
    def __init__(self, stale: Iterable[str]) -> None:
        self.stale = set(stale)
        self.lock = threading.Lock()
        """Held by whoever brings the union up to date; the others wait for it."""
        self.union = Union()
        self.whole = _EMPTY


class TenantInventories:
    """The unions of the tenants asked for last; only trajectories that changed since are asked again."""

    def __init__(self) -> None:
        self._tenants: OrderedDict[str, _Tenant] = OrderedDict()
        self._lock = threading.Lock()

    def changed(self, tenant: str, trajectory: str) -> None:
        """Note that a trajectory has labels that its last inventory does not show."""
        with self._lock:
            if kept := self._tenants.get(tenant):
                kept.stale.add(trajectory)

    def forget(self, tenant: str, trajectory: str) -> None:
        """Forget a trajectory, until it is said to have `changed`."""
        with self._lock:
            kept = self._tenants.get(tenant)
        if kept is not None:
            with kept.lock:
                with self._lock:
                    kept.stale.discard(trajectory)
                kept.whole = kept.union.update({trajectory: _EMPTY})

    def union(
        self, tenant: str, *, trajectories: Callable[[], Iterable[str]], part: Callable[[str], LabelInventory]
    ) -> LabelInventory:
        """The label space of a tenant.

        Names of trajectories are asked for only if nothing is kept of the tenant.
        """
        with self._lock:
            kept = self._tenants.get(tenant)
            if kept is None:
                kept = self._tenants[tenant] = _Tenant(trajectories())
            self._tenants.move_to_end(tenant)
            while len(self._tenants) > _KEPT_TENANTS:
                self._tenants.popitem(last=False)
        with kept.lock:
            with self._lock:
                stale, kept.stale = kept.stale, set()
            try:
                if stale:
                    kept.whole = kept.union.update({trajectory: part(trajectory) for trajectory in sorted(stale)})
            except BaseException:
                with self._lock:
                    kept.stale |= stale
                raise
            return kept.whole


def without_retired(inventory: LabelInventory, journal: Journal, *, tenant: str, trajectory: str) -> LabelInventory:
    """An inventory of a trajectory without what only its retired steps say; itself if none is retired."""
    if not journal.number_in(StepState.RETIRED, tenant=tenant, trajectory=trajectory):
        return inventory
    states = [state for state in StepState if state is not StepState.RETIRED]
    return of_these(inventory, journal.entries(tenant, trajectory, states=states))


def of_these(inventory: LabelInventory, entries: Iterable[Entry]) -> LabelInventory:
    """An inventory of a trajectory without what none of these of its steps say.

    Labels are counted anew through the inventory's merges; one that no step is left to carry is gone. Of the terms and
    values of a scope those stay that its remaining steps say.
    """
    labeled = [entry for entry in entries if entry.labels is not None]
    carrying = _carriers(labeled, inventory.vocabulary())
    texts = {entry.seq: _said(entry) for entry in labeled}
    folded = [text.lower() for text in texts.values()]

    def still_said(values: Iterable[str]) -> tuple[str, ...]:
        return tuple(value for value in values if any(value in text for text in folded))

    def steps(kind: LabelKind, value: str) -> list[Entry]:
        return carrying.get(Label(kind, value), [])

    return LabelInventory(
        scopes=tuple(
            _left(scope, left, texts) for scope in inventory.scopes if (left := steps(LabelKind.SCOPE, scope.name))
        ),
        event_types={
            value: len(left) for value in inventory.event_types if (left := steps(LabelKind.EVENT_TYPE, value))
        },
        entity_types={
            value: EntityTypeSummary(steps=len(left), values=still_said(summary.values))
            for value, summary in inventory.entity_types.items()
            if (left := steps(LabelKind.ENTITY_TYPE, value))
        },
        merges=inventory.merges,
        steps=len(labeled),
    )


def _carriers(entries: Iterable[Entry], vocabulary: LabelVocabulary) -> dict[Label, list[Entry]]:
    carrying: dict[Label, list[Entry]] = {}
    for entry in entries:
        given = entry.labels.intent.labels() if entry.labels else ()
        for label in {vocabulary.canonical_label(label) for label in given}:
            carrying.setdefault(label, []).append(entry)
    return carrying


def _said(entry: Entry) -> str:
    return f"{entry.step.content} {json.dumps([dict(call.arguments) for call in entry.step.tool_calls])}"


def _left(scope: ScopeSummary, entries: Sequence[Entry], texts: Mapping[int, str]) -> ScopeSummary:
    text, places = "\n".join(texts[entry.seq] for entry in entries), [entry.position for entry in entries]
    folded, words = text.lower(), set(stems(text))
    values = {value: count for value, count in scope.values.items() if value.lower() in folded}
    return scope.model_copy(
        update={
            "steps": len(entries),
            "spans": tuple(span for span in scope.spans if any(span[0] <= place <= span[1] for place in places)),
            "terms": {term: weight for term, weight in scope.terms.items() if term in words},
            "values": values,
            "summary": scope.summary if len(values) == len(scope.values) else scope.name,
        }
    )
