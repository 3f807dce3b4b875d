"""The names in use in a trajectory that a model labels: how often, since when, and which of them mean the same.

A merge, and a new name of a scope, is a recorded event that can be undone; what a person gave, or another model, is
never merged or renamed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from stitch.core import LabelInventory, LabelKind, LabelMerge, LabelVocabulary, ScopeSummary
from stitch.label.model.matching import MAX_SCOPE_WORDS, clean_name_of, match_name

SHOWN_NAMES = 30
"""How many names of a kind a prompt shows."""
_FEW_NAMES = 12
"""Of more names than these, those that occurred once, and not lately, are not shown: most are slips."""
_LATELY_STEPS = 48


class Vocabularies:
    """Event and entity types with their counts, and the merges of a trajectory, scopes included."""

    def __init__(self, *, made_by: str) -> None:
        self._made_by = made_by
        self.counts: dict[LabelKind, dict[str, int]] = {LabelKind.EVENT_TYPE: {}, LabelKind.ENTITY_TYPE: {}}
        self._used_at: dict[str, int] = {}
        self._given: set[str] = set()
        self._merges: list[LabelMerge] = []
        self._vocabulary = LabelVocabulary()

    @property
    def merges(self) -> tuple[LabelMerge, ...]:
        """All merges in force, oldest first."""
        return tuple(self._merges)

    def count(self, kind: LabelKind, names: Iterable[str], *, position: int) -> None:
        """Take in that a step carries names."""
        for name in names:
            self.counts[kind][name] = self.counts[kind].get(name, 0) + 1
            self._used_at[name] = position

    def recount(self, kind: LabelKind, *, old: Iterable[str], new: Iterable[str]) -> None:
        """Take in that an earlier step carries other names than was said; what no step carries is forgotten."""
        counts = self.counts[kind]
        for name in new:
            counts[name] = counts.get(name, 0) + 1
        for name in old:
            counts[name] = counts.get(name, 0) - 1
            if counts[name] <= 0:
                del counts[name]

    def keep(self, names: Iterable[str]) -> None:
        """Never merge or rename these: somebody gave them who does not rank below."""
        self._given.update(names)

    def canonical(self, kind: LabelKind, name: str) -> str:
        """The name under which a name is read."""
        return self._vocabulary.canonical(kind, name)

    def known(self, kind: LabelKind) -> dict[str, int]:
        """The names of a kind, canonical, with how many steps carry each; those used most first."""
        counts: dict[str, int] = {}
        for name, count in self.counts[kind].items():
            name = self.canonical(kind, name)
            counts[name] = counts.get(name, 0) + count
        return dict(sorted(counts.items(), key=lambda own: (-own[1], own[0])))

    def shown(self, kind: LabelKind, *, position: int) -> list[str]:
        """The names of a kind as a prompt shows them, with counts; of many without what was a slip once."""
        known = self.known(kind)
        if len(known) > _FEW_NAMES:
            lately = position - _LATELY_STEPS
            known = {name: n for name, n in known.items() if n > 1 or self._used_at.get(name, 0) >= lately}
        return [f"{name} ({steps})" for name, steps in known.items()][:SHOWN_NAMES]

    def former_scopes(self) -> list[str]:
        """The scopes that are read under other names."""
        return [merge.alias for merge in self._merges if merge.kind is LabelKind.SCOPE]

    def rename_scope(self, old: str, new: str, *, known: Iterable[str], position: int) -> tuple[str, str] | None:
        """Read a known scope under another name from now on.

        Returns:
            The names before and after; None if the scope is not known or was given, or the name is none.
        """
        known = list(known)
        alias = match_name(clean_name_of(old), known)
        into = match_name(clean_name_of(new), known) or clean_name_of(new)
        if alias is None or not into or len(into.split()) > MAX_SCOPE_WORDS:
            return None
        return (alias, into) if self.merge(LabelKind.SCOPE, alias, into, position=position) else None

    def merge(self, kind: LabelKind, alias: str, into: str, *, position: int) -> bool:
        """Record that `alias` is read as `into`; False if it may not be."""
        if alias == into or alias in self._given:
            return False
        merge = LabelMerge(kind=kind, alias=alias, into=into, position=position, made_by=self._made_by)
        try:
            self._vocabulary.merge(merge)
        except ValueError:  # merged already, or the other way round
            return False
        self._merges.append(merge)
        return True

    def save(self) -> dict[str, Any]:
        """Everything remembered, as JSON values."""
        return {
            "counts": {kind.value: counts for kind, counts in self.counts.items()},
            "used_at": self._used_at,
            "given": sorted(self._given),
            "merges": [merge.model_dump(mode="json") for merge in self._merges],
        }

    def restore(self, data: Mapping[str, Any]) -> None:
        """Continue from what `save` returned."""
        self.counts = {LabelKind(kind): dict(counts) for kind, counts in data["counts"].items()}
        self._used_at, self._given = dict(data["used_at"]), set(data["given"])
        self._merges = [LabelMerge(**merge) for merge in data["merges"]]
        self._vocabulary = LabelVocabulary(self._merges)

    def apply(self, inventory: LabelInventory) -> LabelInventory:
        """An inventory with these merges applied and told."""
        if not self._merges:
            return inventory
        vocabulary = inventory.vocabulary()
        for merge in self._merges:
            try:
                vocabulary.merge(merge)
            except ValueError:  # the words alone had told already
                continue
        events: dict[str, int] = {}
        for name, steps in inventory.event_types.items():
            name = vocabulary.canonical(LabelKind.EVENT_TYPE, name)
            events[name] = events.get(name, 0) + steps
        entities = dict(inventory.entity_types)
        for alias in list(entities):
            name = vocabulary.canonical(LabelKind.ENTITY_TYPE, alias)
            if name != alias:
                ours, theirs = entities.get(name), entities.pop(alias)
                steps = theirs.steps + (ours.steps if ours else 0)
                values = tuple(dict.fromkeys((*(ours.values if ours else ()), *theirs.values)))
                entities[name] = theirs.model_copy(update={"steps": steps, "values": values})
        scopes: dict[str, ScopeSummary] = {}
        for scope in inventory.scopes:
            name = vocabulary.canonical(LabelKind.SCOPE, scope.name)
            scopes[name] = _joined(scopes.get(name), scope.model_copy(update={"name": name}))
        update = {
            "scopes": tuple(scopes.values()),
            "event_types": events,
            "entity_types": entities,
            "merges": vocabulary.merges,
        }
        return inventory.model_copy(update=update)


def _joined(one: ScopeSummary | None, other: ScopeSummary) -> ScopeSummary:
    """One scope of two that are read under one name."""
    if one is None:
        return other
    return other.model_copy(
        update={
            "spans": tuple(sorted((*one.spans, *other.spans))),
            "steps": one.steps + other.steps,
            "summary": other.summary or one.summary,
            "terms": {term: one.terms.get(term, 0) + other.terms.get(term, 0) for term in {**one.terms, **other.terms}},
            "values": {v: one.values.get(v, 0) + other.values.get(v, 0) for v in {**one.values, **other.values}},
        }
    )
