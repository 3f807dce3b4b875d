"""Vocabularies that grow and are kept small: seed, extend, merge near-synonyms (§2.2.2, §2.2.3).

A merge never changes what was stored: it is a recorded `LabelMerge` and can be undone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, TypeVar

from stitch.core.intent import LabelKind, LabelMerge, LabelVocabulary, clean_label
from stitch.core.snippets import EntityTypeSummary, LabelInventory, ScopeSummary
from stitch.text.words import stems

MERGE_EVERY_STEPS = 50
"""k_update of the paper: how often near-synonyms are looked for."""

K = TypeVar("K")
V = TypeVar("V")

Alike = Callable[[str, Sequence[str]], str | None]
"""Says as which of the given labels a label can be read, if any; the labels come most frequent first."""


class Vocabulary:
    """The labels of one kind in one trajectory: counted, bounded, and merged where they mean the same.

    Args:
        kind: The kind of the labels.
        seed: Labels known from the start; never merged into others.
        most: How many labels there may be beside the seed.
        alike: Decides which labels mean the same.
    """

    def __init__(
        self, kind: LabelKind, *, seed: Iterable[str] = (), most: int = 256, alike: Alike | None = None
    ) -> None:
        self.kind = kind
        self.seed = frozenset(seed)
        self.most = most
        self._alike = alike or same_words
        self._labels = LabelVocabulary()
        self.counts: dict[str, int] = {}
        self._looked_at: set[str] = set()
        self._kept: set[str] = set()
        """Labels that a model or a person gave: rules merge none of them into another."""

    @property
    def merges(self) -> tuple[LabelMerge, ...]:
        """All merges in force, oldest first."""
        return self._labels.merges

    def admit(self, values: Iterable[str]) -> list[str]:
        """The labels to be written for `values`: canonical, each once; new ones only while there is room."""
        admitted: dict[str, None] = {}
        for value in values:
            label = self._labels.canonical(self.kind, value)
            if label in self.counts or label in self.seed or len(self.counts) < self.most:
                admitted[label] = None
        return list(admitted)

    def count(self, labels: Iterable[str]) -> None:
        """Take in that a step carries `labels`."""
        for label in labels:
            self.counts[label] = self.counts.get(label, 0) + 1

    def keep(self, labels: Iterable[str]) -> None:
        """Never merge these into others: somebody who ranks above rules gave them."""
        self._kept.update(labels)

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

    def curate(self, position: int) -> list[LabelMerge]:
        """Merge labels that mean the same, the rarer into the more frequent, and return the new merges."""
        made: list[LabelMerge] = []
        ranked = list(self.canonical_counts())
        ranked.sort(key=lambda label: label not in self.seed)
        for index in range(len(ranked) - 1, 0, -1):
            label = ranked[index]
            if label in self.seed or label in self._looked_at or label in self._kept:
                continue
            into = self._alike(label, ranked[:index])
            if into is not None and into != label:
                made.append(self.merge(label, into, position=position))
        self._looked_at = {label for label in ranked if label in self.counts}
        return made

    def canonical(self, label: str) -> str:
        """The label under which a label is read."""
        return self._labels.canonical(self.kind, label)

    def merge(self, alias: str, into: str, *, position: int, made_by: str = "local") -> LabelMerge:
        """Record that `alias` reads as `into`.

        Raises:
            ValueError: It reads as another already, or the merge would close a circle.
        """
        told = {"alias": clean_label(alias), "into": clean_label(into), "position": position, "made_by": made_by}
        merge = LabelMerge(kind=self.kind, **told)
        self._labels.merge(merge)
        return merge

    def undo(self, alias: str) -> bool:
        """Take back the merge of `alias`; False if there is none."""
        return self._labels.undo(self.kind, alias)

    def save(self) -> dict[str, Any]:
        """Everything remembered, as JSON values."""
        merges = [[merge.alias, merge.into, merge.position] for merge in self.merges]
        saved = {"counts": self.counts, "merges": merges, "looked_at": sorted(self._looked_at)}
        return {**saved, "kept": sorted(self._kept)} if self._kept else saved

    def restore(self, data: Mapping[str, Any]) -> None:
        """Continue from what `save` returned."""
        self.counts = dict(data["counts"])
        self._labels = LabelVocabulary(
            LabelMerge(kind=self.kind, alias=alias, into=into, position=position)
            for alias, into, position in data["merges"]
        )
        self._looked_at, self._kept = set(data["looked_at"]), set(data.get("kept", ()))


def same_words(label: str, others: Sequence[str]) -> str | None:
    """The first of `others` with the same stemmed words in any order: "check-in date" and "date check in"."""
    key = word_key(label)
    return next((other for other in others if word_key(other) == key), None)


def word_key(label: str) -> tuple[str, ...]:
    """A key shared by labels that differ in inflection, hyphens and order only."""
    return tuple(sorted(set(stems(label.replace("-", " ").replace("_", " ")))))


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
