"""Vocabularies with what a model merges of them (§2.2.2, §2.2.3).

A merge never changes what was stored: it is a recorded `LabelMerge` and can be undone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, TypeVar

from stitch.core.intent import LabelKind, LabelMerge, LabelVocabulary, clean_label
from stitch.core.snippets import EntityTypeSummary, LabelInventory, ScopeSummary

MERGE_EVERY_STEPS = 50
"""k_update of the paper: how often near-synonyms are looked for."""

K = TypeVar("K")
V = TypeVar("V")


class Vocabulary:
    """The labels of one kind in one trajectory, counted, with the merges of those that mean the same."""

    def __init__(self, kind: LabelKind) -> None:
        self.kind = kind
        self._labels = LabelVocabulary()
        self.counts: dict[str, int] = {}

    @property
    def merges(self) -> tuple[LabelMerge, ...]:
        """All merges in force, oldest first."""
        return self._labels.merges

    def count(self, labels: Iterable[str]) -> None:
        """Take in that a step carries `labels`."""
        for label in labels:
            self.counts[label] = self.counts.get(label, 0) + 1

    def recount(self, before: Iterable[str], after: Iterable[str]) -> None:
        """Take in that a step carries other labels than was said; what no step carries any more is forgotten."""
        self.count(after)
        for label in before:
            if (left := self.counts.get(label, 0) - 1) > 0:
                self.counts[label] = left
            else:
                self.counts.pop(label, None)

    def canonical_counts(self) -> dict[str, int]:
        """Step counts of the canonical labels, most frequent first."""
        total: dict[str, int] = {}
        for label, count in self.counts.items():
            canonical = self._labels.canonical(self.kind, label)
            total[canonical] = total.get(canonical, 0) + count
        return dict(sorted(total.items(), key=lambda item: (-item[1], item[0])))

    def canonical(self, label: str) -> str:
        """The label under which a label is read."""
        return self._labels.canonical(self.kind, label)

    def merge(self, alias: str, into: str, *, position: int, made_by: str) -> LabelMerge:
        """Record that `alias` reads as `into`.

        Raises:
            ValueError: It reads as another already, or the merge would close a circle.
        """
        told = {"alias": clean_label(alias), "into": clean_label(into), "position": position, "made_by": made_by}
        merge = LabelMerge(kind=self.kind, **told)
        self._labels.merge(merge)
        return merge


def read_through(inventory: LabelInventory, name_of: Callable[[LabelKind, str], str]) -> LabelInventory:
    """An inventory with labels under other names; what is said of those of a trajectory that become one is joined."""
    scopes = _grouped(((scope.trajectory, name_of(LabelKind.SCOPE, scope.name)), scope) for scope in inventory.scopes)
    events = _grouped((name_of(LabelKind.EVENT_TYPE, name), steps) for name, steps in inventory.event_types.items())
    entities = _grouped((name_of(LabelKind.ENTITY_TYPE, name), told) for name, told in inventory.entity_types.items())
    update = {
        "scopes": tuple(_joined_scopes(own, name=name) for (_, name), own in scopes.items()),
        "event_types": {name: sum(own) for name, own in events.items()},
        "entity_types": {name: _joined_types(own) for name, own in entities.items()},
    }
    return inventory.model_copy(update=update)


def _grouped(told: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    found: dict[K, list[V]] = {}
    for name, own in told:
        found.setdefault(name, []).append(own)
    return found


def _joined_types(parts: Sequence[EntityTypeSummary]) -> EntityTypeSummary:
    if len(parts) == 1:
        return parts[0]
    values = tuple(dict.fromkeys(chain.from_iterable(part.values for part in parts)))
    return EntityTypeSummary(steps=sum(part.steps for part in parts), values=values)


def _joined_scopes(parts: Sequence[ScopeSummary], *, name: str) -> ScopeSummary:
    last = parts[-1]
    if len(parts) == 1:
        return last if last.name == name else last.model_copy(update={"name": name})
    update = {
        "name": name,
        "spans": tuple(sorted(chain.from_iterable(part.spans for part in parts))),
        "steps": sum(part.steps for part in parts),
        "summary": next((part.summary for part in reversed(parts) if part.summary), last.summary),
        "terms": _added(part.terms for part in parts),
        "values": _added(part.values for part in parts),
    }
    return last.model_copy(update=update)


def _added(counts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    total: dict[str, Any] = {}
    for name, count in chain.from_iterable(each.items() for each in counts):
        total[name] = total.get(name, 0) + count
    return total
