"""The names in use in a trajectory that a model labels: how often, since when, and which of them mean the same.

A merge, and a new name of a scope, is a recorded event that can be undone; what a person gave, or another model, is
never merged or renamed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from stitch.core import ContextualIntent, LabelInventory, LabelKind, LabelMerge
from stitch.label.curation import Vocabulary, read_through
from stitch.label.model.matching import MAX_SCOPE_WORDS, clean_name_of, match_name

SHOWN_NAMES = 30
"""Number of names of a kind a prompt shows."""
_FEW_NAMES = 12
"""Of more names than these, those that occurred once, and not lately, are not shown: most are slips."""
_LATELY_STEPS = 48


class Vocabularies:
    """The vocabulary of each kind of labels in a trajectory, and the names in it that are not to be merged."""

    def __init__(self, *, made_by: str) -> None:
        self._made_by = made_by
        self.of = {kind: Vocabulary(kind) for kind in LabelKind}
        self._used_at: dict[str, int] = {}
        self._given: set[str] = set()

    def count(self, intent: ContextualIntent, *, position: int) -> None:
        """Take in that a step carries labels."""
        self.of[LabelKind.EVENT_TYPE].count(intent.event_types)
        self.of[LabelKind.ENTITY_TYPE].count(intent.entity_types)
        self._used_at.update(dict.fromkeys((*intent.event_types, *intent.entity_types), position))

    def recount(self, *, old: ContextualIntent, new: ContextualIntent) -> None:
        """Take in that an earlier step carries other labels than was said; what no step carries is forgotten."""
        self.of[LabelKind.EVENT_TYPE].recount(old.event_types, new.event_types)
        self.of[LabelKind.ENTITY_TYPE].recount(old.entity_types, new.entity_types)

    def keep(self, intent: ContextualIntent) -> None:
        """Never merge or rename these: somebody gave them who does not rank below."""
        self._given.update(filter(None, (intent.scope, *intent.event_types, *intent.entity_types)))

    def shown(self, kind: LabelKind, *, position: int) -> str:
        """The names of a kind as a prompt shows them, with counts; of many without what was a slip once."""
        known = self.of[kind].canonical_counts()
        if len(known) > _FEW_NAMES:
            lately = position - _LATELY_STEPS
            known = {name: n for name, n in known.items() if n > 1 or self._used_at.get(name, 0) >= lately}
        return ", ".join([f"{name} ({steps})" for name, steps in known.items()][:SHOWN_NAMES])

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
        return (alias, into) if self._merge(LabelKind.SCOPE, alias, into, position=position) else None

    def merge_known(self, kind: LabelKind, old: str, new: str, *, position: int) -> None:
        """Read a name in use as another that is, if both are."""
        known = self.of[kind].canonical_counts()
        alias, into = (match_name(clean_name_of(name), known) for name in (old, new))
        if alias is not None and into is not None:
            self._merge(kind, alias, into, position=position)

    def _merge(self, kind: LabelKind, alias: str, into: str, *, position: int) -> bool:
        """Record that `alias` is read as `into`; False if it may not be."""
        if alias == into or alias in self._given:
            return False
        try:
            self.of[kind].merge(alias, into, position=position, made_by=self._made_by)
        except ValueError:  # merged already, or the other way round
            return False
        return True

    def save(self) -> dict[str, Any]:
        """Everything remembered, as JSON values."""
        return {
            "counts": {kind.value: own.counts for kind, own in self.of.items()},
            "used_at": self._used_at,
            "given": sorted(self._given),
            "merges": [merge.model_dump(mode="json") for own in self.of.values() for merge in own.merges],
        }

    def restore(self, data: Mapping[str, Any]) -> None:
        """Continue from what `save` returned."""
        for kind, counts in data["counts"].items():
            self.of[LabelKind(kind)].counts = dict(counts)
        for told in data["merges"]:
            merge = LabelMerge(**told)
            self.of[merge.kind].merge(merge.alias, merge.into, position=merge.position, made_by=merge.made_by)
        self._used_at, self._given = dict(data["used_at"]), set(data["given"])

    def apply(self, inventory: LabelInventory) -> LabelInventory:
        """An inventory with these merges applied and told."""
        merges = [merge for own in self.of.values() for merge in own.merges]
        if not merges:
            return inventory
        vocabulary = inventory.vocabulary()
        for merge in merges:
            try:
                vocabulary.merge(merge)
            except ValueError:  # the words alone had told already
                continue

        return read_through(inventory, vocabulary.canonical).model_copy(update={"merges": vocabulary.merges})
