"""The label space of a tenant: the union of those of its trajectories, kept up to date piece by piece."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Generic, NamedTuple, TypeVar

from stitch.core import (
    PHASE_MARK,
    EntityTypeSummary,
    Label,
    LabelInventory,
    LabelKind,
    ScopeSummary,
    UnitedScopes,
)
from stitch.ingest.united_merges import UnitedMerges

MAX_VALUES = 64
"""How many recent values of an entity type the union keeps."""

_BLOCK = 32
_EMPTY = LabelInventory()
_Said = TypeVar("_Said")
_Together = TypeVar("_Together")


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


class _Column(Generic[_Said]):
    """What the parts say of one label, in the order of their names.

    Args:
        alike: Whether what is remembered of blocks of parts is the same, where a part says the one or the other.
    """

    def __init__(self, *, alike: Callable[[_Said, _Said], bool]) -> None:
        self._alike = alike
        self.names: list[str] = []
        self.places: list[int] = []
        """How many labels a part names before this one."""
        self.said: list[_Said] = []
        self.steps = 0
        """How many steps carry the label, in all parts."""
        self.blocks: list[tuple[str, ...] | None] = []
        """For whoever wants to remember something of the first `_BLOCK` parts, the next ones, and so on."""

    def put(self, name: str, said: _Said, *, place: int) -> None:
        """Let a part say this of the label."""
        at = bisect_left(self.names, name)
        if at < len(self.names) and self.names[at] == name:
            if not self._alike(self.said[at], said) and at // _BLOCK < len(self.blocks):
                self.blocks[at // _BLOCK] = None
            self.places[at], self.said[at] = place, said
        else:
            self.names.insert(at, name)
            self.places.insert(at, place)
            self.said.insert(at, said)
            del self.blocks[at // _BLOCK :]

    def remove(self, name: str) -> None:
        """Let a part say nothing of the label."""
        at = bisect_left(self.names, name)
        del self.names[at], self.places[at], self.said[at], self.blocks[at // _BLOCK :]


class _Table(Generic[_Said, _Together]):
    """What the parts say of labels, and what they say together; to change a part costs what it says.

    Args:
        steps: How many steps carry a label, by what a part says of it.
        together: What the parts say of a label together.
        alike: Whether two things that a part may say differ in their steps alone.
    """

    def __init__(
        self,
        *,
        steps: Callable[[_Said], int],
        together: Callable[[_Column[_Said]], _Together],
        alike: Callable[[_Said, _Said], bool],
    ) -> None:
        self._steps = steps
        self._alike = alike
        self._unite_column = together
        self._columns: dict[str, _Column[_Said]] = {}
        self._together: dict[str, _Together] = {}
        self._changed: set[str] = set()
        """Labels of which parts say something else since they were united."""

    def replace(self, name: str, before: Mapping[str, _Said], after: Mapping[str, _Said]) -> None:
        """Let a part say something else."""
        for label, said in before.items():
            self._columns[label].steps -= self._steps(said)
        for place, (label, said) in enumerate(after.items()):
            column = self._columns.get(label)
            if column is None:
                column = self._columns[label] = _Column(alike=self._alike)
            column.steps += self._steps(said)
            column.put(name, said, place=place)
        for label in before.keys() - after.keys():
            self._columns[label].remove(name)
        self._changed.update(before, after)

    def unite(self) -> None:
        """Unite what parts say of the labels of which one has changed, and forget labels that none names."""
        for label in self._changed:
            if self._columns[label].names:
                self._together[label] = self._unite_column(self._columns[label])
            else:
                del self._columns[label]
                self._together.pop(label, None)
        self._changed.clear()

    def together(self) -> dict[str, _Together]:
        """What all parts say, by label; labels in the order in which parts name them first."""
        self.unite()
        order = sorted(self._columns, key=lambda label: (self._columns[label].names[0], self._columns[label].places[0]))
        return {label: self._together[label] for label in order}


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
        self._event_types = _Table[int, int](
            steps=int, together=lambda column: column.steps, alike=lambda one, other: True
        )
        self._entity_types = _Table[EntityTypeSummary, EntityTypeSummary](
            steps=lambda summary: summary.steps,
            together=lambda column: EntityTypeSummary.model_construct(steps=column.steps, values=_last(column)),
            alike=lambda one, other: one.values == other.values,
        )
        self._merges = UnitedMerges()
        self._naming: dict[Label, set[str]] = {}
        """Which parts name each label."""
        self._whole = LabelInventory()

    def update(self, changed: Mapping[str, LabelInventory]) -> LabelInventory:
        """Replace some parts, or add them, by their names; return the union in the order of names.

        A part that is empty is left out, its name too.
        """
        merged = set[Label]()
        for name, part in changed.items():
            before = self._parts.pop(name, _EMPTY)
            merged |= self._merges.replace(name, before.merges, part.merges)
            self._note_names(name, before, part)
            self._steps += part.steps - before.steps
            if part != _EMPTY:
                self._parts[name] = part
            if (before == _EMPTY) != (part == _EMPTY):
                place = bisect_left(self._names, name)
                self._names[place : place + (part == _EMPTY)] = [] if part == _EMPTY else [name]
        moved = self._merges.unite(merged)
        if len(self._parts) < 2:
            for name in list(self._reads):
                self._replace(name, _NOTHING)
            for table in (self._event_types, self._entity_types):
                table.unite()
            self._whole = next(iter(self._parts.values()), _EMPTY)
            return self._whole
        again = set(changed) if self._reads else set(self._parts)
        again.update(*(self._naming.get(label, ()) for label in moved))
        for name in again:
            self._replace(name, self._read(self._parts[name]) if name in self._parts else _NOTHING)
        if again:
            self._whole = self._united()
        return self._whole

    def _replace(self, name: str, read: _Read) -> None:
        before = self._reads.pop(name, _NOTHING)
        if read is not _NOTHING:
            self._reads[name] = read
        self._event_types.replace(name, before.event_types, read.event_types)
        self._entity_types.replace(name, before.entity_types, read.entity_types)

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
        into = self._merges.into
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
            event_types=self._event_types.together(),
            entity_types=self._entity_types.together(),
            merges=self._merges.merges,
            steps=self._steps,
        )


def _labels(part: LabelInventory) -> Iterator[Label]:
    yield from (Label(LabelKind.SCOPE, scope.name) for scope in part.scopes)
    yield from (Label(LabelKind.EVENT_TYPE, value) for value in part.event_types)
    yield from (Label(LabelKind.ENTITY_TYPE, value) for value in part.entity_types)


def _last(column: _Column[EntityTypeSummary]) -> tuple[str, ...]:
    """The values of the last parts, as many of these as it takes to have enough."""
    known: set[str] = set()
    taken: list[tuple[str, ...]] = []
    """From the last to the first."""
    start = -(-len(column.said) // _BLOCK)
    while start:
        values = _block(column, start - 1)
        wider = known.union(values)
        if len(wider) >= MAX_VALUES:
            break
        start -= 1
        known = wider
        taken.append(values)
    first = min(start * _BLOCK, len(column.said))
    while first and len(known) < MAX_VALUES:
        first -= 1
        known.update(column.said[first].values)
        taken.append(column.said[first].values)
    return tuple(dict.fromkeys(chain.from_iterable(reversed(taken))))[-MAX_VALUES:]


def _block(column: _Column[EntityTypeSummary], number: int) -> tuple[str, ...]:
    """The values of some parts, each once; remembered, for what few parts say changes at a time."""
    column.blocks += [None] * (number + 1 - len(column.blocks))
    if (known := column.blocks[number]) is None:
        parts = column.said[number * _BLOCK : (number + 1) * _BLOCK]
        known = tuple(dict.fromkeys(chain.from_iterable([part.values for part in parts])))
        column.blocks[number] = known
    return known


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
