"""The label space of a tenant: the union of those of its trajectories, kept up to date piece by piece."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from stitch.core import EntityTypeSummary, LabelInventory, LabelKind, LabelVocabulary, ScopeSummary

MAX_VALUES = 64
"""How many recent values of an entity type the union keeps."""


def unite(inventories: Iterable[LabelInventory]) -> LabelInventory:
    """The label space of several trajectories together; of none, an empty one.

    Scopes stay apart, one summary per trajectory; counts are added. Where two trajectories merged labels in ways that
    cannot both hold, the merge of the earlier one does, and the labels of the other are read through it.
    """
    parts = list(inventories)
    if len(parts) == 1:
        return parts[0]
    vocabulary = LabelVocabulary()
    for part in parts:
        for merge in part.merges:
            try:
                vocabulary.merge(merge)
            except ValueError:  # known already, or against an earlier merge
                continue
    scopes: list[ScopeSummary] = []
    event_types: Counter[str] = Counter()
    entity_steps: Counter[str] = Counter()
    entity_values: dict[str, dict[str, None]] = {}
    for part in parts:
        for scope in part.scopes:
            name = vocabulary.canonical(LabelKind.SCOPE, scope.name)
            scopes.append(scope if name == scope.name else scope.model_copy(update={"name": name}))
        for value, steps in part.event_types.items():
            event_types[vocabulary.canonical(LabelKind.EVENT_TYPE, value)] += steps
        for value, summary in part.entity_types.items():
            name = vocabulary.canonical(LabelKind.ENTITY_TYPE, value)
            entity_steps[name] += summary.steps
            entity_values.setdefault(name, {}).update(dict.fromkeys(summary.values))
    return LabelInventory(
        scopes=tuple(scopes),
        event_types=dict(event_types),
        entity_types={
            name: EntityTypeSummary(steps=steps, values=tuple(entity_values[name])[-MAX_VALUES:])
            for name, steps in entity_steps.items()
        },
        merges=vocabulary.merges,
        steps=sum(part.steps for part in parts),
    )


@dataclass
class _Tenant:
    parts: dict[str, LabelInventory] = field(default_factory=dict)
    stale: set[str] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held by whoever brings the union up to date; the others wait for it."""
    union: LabelInventory | None = None


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
                kept.parts.update({trajectory: part(trajectory) for trajectory in sorted(stale)})
            except BaseException:
                with self._lock:
                    kept.stale |= stale
                raise
            if stale or kept.union is None:
                kept.union = unite(kept.parts[name] for name in sorted(kept.parts))
            return kept.union
