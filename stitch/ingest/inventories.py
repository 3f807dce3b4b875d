"""The label space of a tenant: the union of those of its trajectories, kept up to date piece by piece."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from stitch.core import (
    PHASE_MARK,
    EntityTypeSummary,
    Label,
    LabelInventory,
    LabelKind,
    LabelMerge,
    LabelVocabulary,
    ScopeSummary,
    UnitedScopes,
)

MAX_VALUES = 64
"""How many recent values of an entity type the union keeps."""

_EMPTY = LabelInventory()
_Place = tuple[str, int]
"""The name of a part, and the place of a label among those that it names."""


def unite(inventories: Iterable[LabelInventory]) -> LabelInventory:
    """The label space of several trajectories together; of none, an empty one.

    Scopes stay apart, one summary per trajectory; counts are added. Where two trajectories merged labels in ways that
    cannot both hold, the merge of the earlier one does, and the labels of the other are read through it.
    """
    return Union().update({f"{number:09}": part for number, part in enumerate(inventories)})


class _Read(NamedTuple):
    """The label space of one trajectory, read through the merges of all."""

    scopes: tuple[ScopeSummary, ...]
    phases: tuple[str, ...]
    event_types: Mapping[str, int]
    entity_types: Mapping[str, EntityTypeSummary]


_NOTHING = _Read((), (), {}, {})


class _Table:
    """The labels of one kind in all parts: their steps together, and the part that names each first."""

    def __init__(self) -> None:
        self.steps: Counter[str] = Counter()
        self._first: dict[str, _Place] = {}

    def replace(
        self, name: str, before: Mapping[str, int], after: Mapping[str, int], *, first: Callable[[str], _Place | None]
    ) -> None:
        """Let a part name other labels, with their steps; `first` finds a label among all parts as they are now."""
        self.steps.subtract(before)
        self.steps.update(after)
        for place, label in enumerate(after):
            if label not in self._first or name <= self._first[label][0]:
                self._first[label] = name, place
        for label in before.keys() - after.keys():
            if not self.steps[label]:
                del self.steps[label]
            if label in self._first and self._first[label][0] == name:
                del self._first[label]
                if (found := first(label)) is not None:
                    self._first[label] = found

    def ordered(self) -> list[str]:
        """The labels in the order in which parts name them first."""
        return sorted(self._first, key=self._first.__getitem__)


class Union:
    """A label space that is united anew at little cost when few of its parts have changed.

    To change a part costs what that part says, however many others there are. What is said of a scope of another part
    is the same object as before.
    """

    def __init__(self) -> None:
        self._parts: dict[str, LabelInventory] = {}
        """Those that say anything, by name."""
        self._names: list[str] = []
        """Their names, in order."""
        self._reads: dict[str, _Read] = {}
        self._steps = 0
        self._event_types, self._entity_types = _Table(), _Table()
        self._values: dict[str, EntityTypeSummary] = {}
        """What all parts say of each entity type; without those of which one says something else now."""
        self._merges: tuple[LabelMerge, ...] = ()
        """Those that hold, in order; the same object until others do."""
        self._into: dict[Label, str] = {}
        """The labels that are merged, each with the one as which it reads."""
        self._naming: dict[Label, set[str]] = {}
        """Which parts name each label."""
        self._whole = LabelInventory()

    def update(self, changed: Mapping[str, LabelInventory]) -> LabelInventory:
        """Replace some parts, or add them, by their names; return the union in the order of names.

        A part that is empty is left out, its name too.
        """
        merged = False
        for name, part in changed.items():
            before = self._parts.pop(name, _EMPTY)
            merged |= before.merges != part.merges
            self._note_names(name, before, part)
            self._steps += part.steps - before.steps
            if part != _EMPTY:
                self._parts[name] = part
            if (before == _EMPTY) != (part == _EMPTY):
                place = bisect_left(self._names, name)
                self._names[place : place + (part == _EMPTY)] = [] if part == _EMPTY else [name]
        moved = self._merge() if merged else set[Label]()
        if len(self._parts) < 2:
            for name in list(self._reads):
                self._replace(name, _NOTHING)
            self._whole = next(iter(self._parts.values()), _EMPTY)
            return self._whole
        again = set(changed) if self._reads else set(self._parts)
        again.update(*(self._naming.get(label, ()) for label in moved))
        for name in again:
            self._replace(name, self._read(self._parts[name]) if name in self._parts else _NOTHING)
        if again:
            self._whole = self._united()
        return self._whole

    def _merge(self) -> set[Label]:
        """Apply the merges of all parts in order, as far as they hold together; return labels that read otherwise."""
        vocabulary, held = LabelVocabulary(), dict[tuple[LabelKind, str, str], LabelMerge]()
        for merge in chain.from_iterable(self._parts[name].merges for name in self._names):
            said = merge.kind, merge.alias, merge.into
            if said not in held:
                with suppress(ValueError):  # against an earlier merge
                    vocabulary.merge(merge)
                    held[said] = merge
        before, self._into = self._into, {alias: vocabulary.canonical(*alias) for alias in map(_alias, held.values())}
        if (merges := tuple(held.values())) != self._merges:
            self._merges = merges
        return {label for label, _ in before.items() ^ self._into.items()}

    def _replace(self, name: str, read: _Read) -> None:
        before = self._reads.pop(name, _NOTHING)
        if read is not _NOTHING:
            self._reads[name] = read
        self._event_types.replace(
            name, before.event_types, read.event_types, first=lambda label: self._first(label, lambda r: r.event_types)
        )
        self._entity_types.replace(
            name, _steps_of(before), _steps_of(read), first=lambda label: self._first(label, lambda r: r.entity_types)
        )
        for label in (*before.entity_types, *read.entity_types):
            self._values.pop(label, None)

    def _first(self, label: str, labels_of: Callable[[_Read], Mapping[str, object]]) -> _Place | None:
        """The first part that names a label, and the place of the label among those that it names."""
        for name in self._names:
            read = self._reads.get(name)
            if read is not None and label in (labels := labels_of(read)):
                return name, list(labels).index(label)
        return None

    def _entity_type(self, label: str) -> EntityTypeSummary:
        """What all parts say of an entity type: of its values those of the last parts, as it takes to have enough."""
        if label not in self._values:
            known, taken = set[str](), list[tuple[str, ...]]()
            for name in reversed(self._names):
                if (said := self._reads[name].entity_types.get(label)) is not None:
                    known.update(said.values)
                    taken.append(said.values)
                    if len(known) >= MAX_VALUES:
                        break
            values = tuple(dict.fromkeys(chain.from_iterable(reversed(taken))))[-MAX_VALUES:]
            self._values[label] = EntityTypeSummary.model_construct(
                steps=self._entity_types.steps[label], values=values
            )
        return self._values[label]

    def _note_names(self, name: str, before: LabelInventory, after: LabelInventory) -> None:
        """Note which labels a part names."""
        old, new = set(_labels(before)), set(_labels(after))
        for label in new - old:
            self._naming.setdefault(label, set()).add(name)
        for label in old - new:
            self._naming[label].discard(name)
            if not self._naming[label]:
                del self._naming[label]

    def _read(self, part: LabelInventory) -> _Read:
        into = self._into
        event_types: Counter[str] = Counter()
        entity_types: dict[str, EntityTypeSummary] = {}
        for value, steps in part.event_types.items():
            event_types[into.get(Label(LabelKind.EVENT_TYPE, value), value)] += steps
        for value, summary in part.entity_types.items():
            name = into.get(Label(LabelKind.ENTITY_TYPE, value), value)
            if name in entity_types:
                values = tuple(dict.fromkeys((*entity_types[name].values, *summary.values)))
                summary = EntityTypeSummary(steps=entity_types[name].steps + summary.steps, values=values)
            entity_types[name] = summary
        names = (into.get(Label(LabelKind.SCOPE, scope.name), scope.name) for scope in part.scopes)
        scopes = tuple(
            scope if name == scope.name else scope.model_copy(update={"name": name})
            for name, scope in zip(names, part.scopes, strict=True)
        )
        phases = tuple(scope.name for scope in scopes if PHASE_MARK in scope.name)
        return _Read(scopes, phases, dict(event_types), entity_types)

    def _united(self) -> LabelInventory:
        reads = [self._reads[name] for name in self._names]
        phases = tuple(chain.from_iterable(read.phases for read in reads if read.phases))
        return LabelInventory.model_construct(  # all of it was checked when the parts were made
            scopes=UnitedScopes([read.scopes for read in reads], phases=phases),
            event_types={label: self._event_types.steps[label] for label in self._event_types.ordered()},
            entity_types={label: self._entity_type(label) for label in self._entity_types.ordered()},
            merges=self._merges,
            steps=self._steps,
        )


def _labels(part: LabelInventory) -> Iterator[Label]:
    yield from (Label(LabelKind.SCOPE, scope.name) for scope in part.scopes)
    yield from (Label(LabelKind.EVENT_TYPE, value) for value in part.event_types)
    yield from (Label(LabelKind.ENTITY_TYPE, value) for value in part.entity_types)


def _alias(merge: LabelMerge) -> Label:
    return Label(merge.kind, merge.alias)


def _steps_of(read: _Read) -> dict[str, int]:
    return {label: said.steps for label, said in read.entity_types.items()}


@dataclass
class _Tenant:
    stale: set[str] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held by whoever brings the union up to date; the others wait for it."""
    union: Union = field(default_factory=Union)


_KEPT_TENANTS = 64


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
                kept.union.update({trajectory: _EMPTY})

    def union(
        self, tenant: str, *, trajectories: Callable[[], Sequence[str]], part: Callable[[str], LabelInventory]
    ) -> LabelInventory:
        """The label space of a tenant.

        Names of trajectories are asked for only if nothing is kept of the tenant.
        """
        with self._lock:
            kept = self._tenants.get(tenant)
            if kept is None:
                kept = self._tenants[tenant] = _Tenant(stale=set(trajectories()))
            self._tenants.move_to_end(tenant)
            while len(self._tenants) > _KEPT_TENANTS:
                self._tenants.popitem(last=False)
        with kept.lock:
            with self._lock:
                stale, kept.stale = kept.stale, set()
            try:
                return kept.union.update({trajectory: part(trajectory) for trajectory in sorted(stale)})
            except BaseException:
                with self._lock:
                    kept.stale |= stale
                raise
