"""The label space of a tenant: the union of those of its trajectories, kept up to date piece by piece."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
)

MAX_VALUES = 64
"""How many recent values of an entity type the union keeps."""


def unite(inventories: Iterable[LabelInventory]) -> LabelInventory:
    """The label space of several trajectories together; of none, an empty one.

    Scopes stay apart, one summary per trajectory; counts are added. Where two trajectories merged labels in ways that
    cannot both hold, the merge of the earlier one does, and the labels of the other are read through it.
    """
    return Union().update({f"{number:09}": part for number, part in enumerate(inventories)})


class _Read(NamedTuple):
    """The label space of one trajectory, read through the merges of all."""

    scopes: tuple[ScopeSummary, ...]
    event_types: Mapping[str, int]
    entity_types: Mapping[str, EntityTypeSummary]


class Union:
    """A label space that is united anew at little cost when few of its parts have changed.

    What is said of a scope of another part is the same object as before.
    """

    def __init__(self) -> None:
        self._parts: dict[str, LabelInventory] = {}
        self._reads: dict[str, _Read] = {}
        self._merges: tuple[LabelMerge, ...] = ()
        self._into: dict[Label, str] = {}
        self._whole = LabelInventory()

    def update(self, changed: Mapping[str, LabelInventory]) -> LabelInventory:
        """Replace some parts, or add them, by their names; return the union in the order of names."""
        before = {name: self._parts[name].merges if name in self._parts else () for name in changed}
        self._parts.update(changed)
        if len(self._parts) > len(self._reads):
            self._parts = {name: self._parts[name] for name in sorted(self._parts)}
        if len(self._parts) < 2:
            self._whole = next(iter(self._parts.values()), self._whole)
            self._reads.clear()
            return self._whole
        again = set(changed) | (self._parts.keys() - self._reads.keys())
        if not self._reads or any(before[name] != part.merges for name, part in changed.items()):
            again |= self._merge()
        for name in again:
            self._reads[name] = self._read(self._parts[name])
        if again:
            self._whole = self._united()
        return self._whole

    def _merge(self) -> set[str]:
        """Apply the merges of all parts anew; return the parts that read otherwise than before."""
        vocabulary = LabelVocabulary()
        for part in self._parts.values():
            for merge in part.merges:
                try:
                    vocabulary.merge(merge)
                except ValueError:  # known already, or against an earlier merge
                    continue
        aliases = (Label(merge.kind, merge.alias) for merge in vocabulary.merges)
        into = {alias: vocabulary.canonical(*alias) for alias in aliases}
        moved = {label for label, _ in into.items() ^ self._into.items()}
        self._merges, self._into = vocabulary.merges, into
        return {name for name, part in self._parts.items() if any(label in moved for label in _labels(part))}

    def _read(self, part: LabelInventory) -> _Read:
        event_types: Counter[str] = Counter()
        entity_types: dict[str, EntityTypeSummary] = {}
        for value, steps in part.event_types.items():
            event_types[self._into.get(Label(LabelKind.EVENT_TYPE, value), value)] += steps
        for value, summary in part.entity_types.items():
            name = self._into.get(Label(LabelKind.ENTITY_TYPE, value), value)
            if name in entity_types:
                values = tuple(dict.fromkeys((*entity_types[name].values, *summary.values)))
                summary = EntityTypeSummary(steps=entity_types[name].steps + summary.steps, values=values)
            entity_types[name] = summary
        names = (self._into.get(Label(LabelKind.SCOPE, scope.name), scope.name) for scope in part.scopes)
        scopes = (
            scope if name == scope.name else scope.model_copy(update={"name": name})
            for name, scope in zip(names, part.scopes, strict=True)
        )
        return _Read(tuple(scopes), dict(event_types), entity_types)

    def _united(self) -> LabelInventory:
        reads = [self._reads[name] for name in self._parts]
        event_types: Counter[str] = Counter()
        entities: dict[str, list[EntityTypeSummary]] = {}
        for read in reads:
            event_types.update(read.event_types)
            for name, summary in read.entity_types.items():
                entities.setdefault(name, []).append(summary)
        return LabelInventory.model_construct(  # all of it was checked when the parts were made
            scopes=tuple(chain.from_iterable(read.scopes for read in reads)),
            event_types=dict(event_types),
            entity_types={
                name: EntityTypeSummary.model_construct(steps=sum(each.steps for each in found), values=_last(found))
                for name, found in entities.items()
            },
            merges=self._merges,
            steps=sum(part.steps for part in self._parts.values()),
        )


def _labels(part: LabelInventory) -> Iterator[Label]:
    yield from (Label(LabelKind.SCOPE, scope.name) for scope in part.scopes)
    yield from (Label(LabelKind.EVENT_TYPE, value) for value in part.event_types)
    yield from (Label(LabelKind.ENTITY_TYPE, value) for value in part.entity_types)


def _last(summaries: Sequence[EntityTypeSummary]) -> tuple[str, ...]:
    """The values of the last ones, as many of these as it takes to have enough."""
    values: set[str] = set()
    first = len(summaries)
    while first and len(values) < MAX_VALUES:
        first -= 1
        values.update(summaries[first].values)
    return tuple(dict.fromkeys(value for summary in summaries[first:] for value in summary.values))[-MAX_VALUES:]


@dataclass
class _Tenant:
    stale: set[str] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held by whoever brings the union up to date; the others wait for it."""
    union: Union = field(default_factory=Union)


class TenantInventories:
    """The unions of the tenants asked for last; only trajectories that changed since are asked again.

    Args:
        limit: How many tenants are kept.
    """

    def __init__(self, *, limit: int = 64) -> None:
        self._limit = limit
        self._tenants: OrderedDict[str, _Tenant] = OrderedDict()
        self._lock = threading.Lock()

    def changed(self, tenant: str, trajectory: str) -> None:
        """Note that a trajectory has labels that its last inventory does not show."""
        with self._lock:
            if kept := self._tenants.get(tenant):
                kept.stale.add(trajectory)

    def union(
        self, tenant: str, *, trajectories: Callable[[], list[str]], part: Callable[[str], LabelInventory]
    ) -> LabelInventory:
        """The label space of a tenant.

        Args:
            tenant: Whose.
            trajectories: Gives the names of its trajectories; asked if nothing is kept of the tenant.
            part: Gives the inventory of one trajectory.
        """
        with self._lock:
            kept = self._tenants.get(tenant)
            if kept is None:
                kept = self._tenants[tenant] = _Tenant(stale=set(trajectories()))
            self._tenants.move_to_end(tenant)
            while len(self._tenants) > self._limit:
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
