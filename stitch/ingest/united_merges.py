"""The merges of several label spaces together, kept up to date at the cost of what a change touches."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from itertools import count
from typing import NamedTuple

from stitch.core import Label, LabelKind, LabelMerge, LabelVocabulary


class _Pair(NamedTuple):
    """What a merge says, whoever made it."""

    kind: LabelKind
    alias: str
    into: str

    @property
    def labels(self) -> tuple[Label, Label]:
        return Label(self.kind, self.alias), Label(self.kind, self.into)


class _Place(NamedTuple):
    """Where a merge stands: in which part, and after how many others. No two stand in one place."""

    part: str
    number: int
    merge: LabelMerge


class UnitedMerges:
    """The merges of parts that have names, applied in the order of these, as far as they can hold together.

    Whether a merge holds depends on no others but those of its labels, of the labels that these are merged with, and so
    on. So of a part that changes, these alone are applied again.
    """

    def __init__(self) -> None:
        self.into: dict[Label, str] = {}
        """How the labels read that are merged into others."""
        self.merges: tuple[LabelMerge, ...] = ()
        """Those that hold, in order; the same object until others do."""
        self._places: dict[_Pair, list[_Place]] = {}
        """Where each merge stands, in order: parts may say the same."""
        self._of_label: dict[Label, set[_Pair]] = {}
        self._holding: dict[_Pair, _Place] = {}
        self._in_order: list[_Place] = []
        """What stands in `_holding`."""

    def replace(self, part: str, before: Sequence[LabelMerge], after: Sequence[LabelMerge]) -> set[Label]:
        """Let a part have other merges; return their labels, to be told to `unite`."""
        both = zip(before, after, strict=False)
        same = next(
            (n for n, (old, new) in enumerate(both) if old is not new and old != new), min(len(before), len(after))
        )
        touched: set[Label] = set()
        for number, merge in zip(count(same), before[same:], strict=False):
            pair = _Pair(merge.kind, merge.alias, merge.into)
            places = self._places[pair]
            del places[bisect_left(places, (part, number))]
            touched.update(pair.labels)
            if not places:
                self._drop(pair)
        for number, merge in zip(count(same), after[same:], strict=False):
            pair = _Pair(merge.kind, merge.alias, merge.into)
            insort(self._places.setdefault(pair, []), _Place(part, number, merge), key=lambda place: place[:2])
            for label in pair.labels:
                self._of_label.setdefault(label, set()).add(pair)
            touched.update(pair.labels)
        return touched

    def unite(self, touched: Iterable[Label]) -> set[Label]:
        """Apply the merges again that have to do with these labels; return those labels that read otherwise now."""
        labels, pairs = self._connected(touched)
        before = {label: into for label in labels if (into := self.into.pop(label, None)) is not None}
        vocabulary, held = LabelVocabulary(), False
        for place, pair in sorted(((self._places[pair][0], pair) for pair in pairs), key=lambda each: each[0][:2]):
            try:
                vocabulary.merge(place.merge)
            except ValueError:  # against an earlier merge
                held = self._hold(pair, None) or held
            else:
                held = self._hold(pair, place) or held
        aliases = [Label(merge.kind, merge.alias) for merge in vocabulary.merges]
        after = {alias: vocabulary.canonical(*alias) for alias in aliases}
        self.into |= after
        if len(self.merges) != len(self._in_order) or held:
            self.merges = tuple(place.merge for place in self._in_order)
        return {label for label, _ in before.items() ^ after.items()}

    def _connected(self, touched: Iterable[Label]) -> tuple[set[Label], set[_Pair]]:
        """These labels with all that are merged with them, and the merges between them."""
        labels, pairs = set(touched), set[_Pair]()
        left = list(labels)
        while left:
            for pair in self._of_label.get(left.pop(), set()) - pairs:
                pairs.add(pair)
                left += [label for label in pair.labels if label not in labels]
                labels.update(pair.labels)
        return labels, pairs

    def _drop(self, pair: _Pair) -> None:
        """Forget a merge that no part says."""
        self._hold(pair, None)
        del self._places[pair]
        for label in set(pair.labels):  # a model may merge a label into itself, which never holds
            self._of_label[label].discard(pair)
            if not self._of_label[label]:
                del self._of_label[label]

    def _hold(self, pair: _Pair, place: _Place | None) -> bool:
        """Let a merge hold, as it is said at a place, or not; return whether that is new."""
        before = self._holding.pop(pair, None)
        if place is not None:
            self._holding[pair] = place
        if before is place:
            return False
        if before is not None:
            del self._in_order[bisect_left(self._in_order, before[:2])]
        if place is not None:
            insort(self._in_order, place, key=lambda each: each[:2])
        return True
