"""A label space, turned around: from what a question may say to labels, and kept up to date at little cost."""

from __future__ import annotations

import math
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from itertools import zip_longest

from stitch.core import EntityTypeSummary, LabelInventory, LabelKind, LabelVocabulary, ScopeSummary, UnitedScopes
from stitch.core.text_cache import text_cache
from stitch.text.dates import find_moments
from stitch.text.languages import content_stems
from stitch.text.words import stem, words

_UNIT = re.compile(r"\b[a-z]+ \d+\b")


class _Holders:
    """Of which scopes things are said, and how often of each.

    Most things, such as numbers, are said of one scope once: of these stands its number alone, which a dictionary of it
    would take fifty times as much for.
    """

    def __init__(self) -> None:
        self._counts: dict[str, int | dict[int, int]] = {}

    def add(self, said: str, number: int) -> bool:
        """Count that something is said of a scope; return whether it was said of none before."""
        counts = self._counts.get(said)
        if counts is None:
            self._counts[said] = number
            return True
        if isinstance(counts, int):
            counts = self._counts[said] = {counts: 1}
        counts[number] = counts.get(number, 0) + 1
        return False

    def remove(self, said: str, number: int) -> bool:
        """Take back one `add`; return whether it is said of none now."""
        counts = self._counts[said]
        if isinstance(counts, int):
            del self._counts[said]
            return True
        counts[number] -= 1
        if not counts[number]:
            del counts[number]
        if not counts:
            del self._counts[said]
        return not counts

    def replace(self, gone: Set[str], come: Set[str], *, number: int) -> bool:
        """Count what comes, take back what goes; return whether anything is said first, or no longer, by that."""
        first = [self.add(said, number) for said in come - gone]
        last = [self.remove(said, number) for said in gone - come]
        return any(first) or any(last)

    def get(self, said: str) -> Set[int]:
        """The scopes that something is said of."""
        counts = self._counts.get(said, _NONE)
        return {counts} if isinstance(counts, int) else counts.keys()

    def __contains__(self, said: str) -> bool:
        return said in self._counts

    def __iter__(self) -> Iterator[str]:
        return iter(self._counts)


_NONE: dict[int, int] = {}
_NOTHING = ScopeSummary(name="", trajectory="", spans=(), steps=0)


class LabelSpace:
    """The labels of an inventory by what may be said of them. Scopes go by number, which they keep.

    What is said of scopes is counted, so that an inventory costs what is new in it: a value that a scope has in one
    trajectory is read when it comes and taken back when it goes, however many others there are.

    Args:
        counts: Tells of an entity type and its name whether its values say how many of something there are.
    """

    def __init__(self, *, counts: Callable[[str, EntityTypeSummary], bool]) -> None:
        self.lock = threading.Lock()
        """To be held by whoever brings the space up to date, and as long as it has to stay so."""
        self._counts = counts
        self._inventory = LabelInventory()
        self._into: dict[str, str] = {}
        """How scopes read that were merged into others."""
        self._next = 0
        self._numbers: dict[str, int] = {}
        self._begins: dict[int, dict[str, list[int]]] = {}
        """Where a scope begins in each trajectory that has it, for each summary there is of it."""
        self._phrases: dict[str, set[str]] = {}
        """Values of several words, by each of them."""
        self.names: dict[int, str] = {}
        self.by_value = _Holders()
        self.by_word = _Holders()
        """By the words of values."""
        self.by_term = _Holders()
        self.by_moment = _Holders()
        self.by_unit = _Holders()
        """By the unit with which the name begins ("day 1")."""
        self.by_name = _Holders()
        """Of scopes that were taken up again and have a name of several words."""
        self.longest_name = 0
        """In words."""
        self.entity_types: dict[str, tuple[str, ...]] = {}
        self.types_by_stem: dict[str, dict[str, None]] = {}
        """Entity types by each stem of their names: a tenant may have thousands."""
        self.event_types: dict[str, tuple[str, ...]] = {}
        self.counted: frozenset[str] = frozenset()
        self.valued: frozenset[str] = frozenset()
        """Entity types under which values are known for one step in four at least, and not only the word for them."""
        self.vocabulary = LabelVocabulary()

    def update(self, inventory: LabelInventory) -> None:
        """Turn to an inventory; what is the same object in it as in the last one costs next to nothing."""
        before = self._inventory
        if inventory is before:
            return
        self._inventory = inventory
        self._update_scopes(before, inventory)
        self._update_types(before, inventory)

    def forget_trajectory(self, trajectory: str) -> None:
        """Forget what a trajectory says, and all values of entity types, until an inventory tells of them again."""
        inventory = self._inventory
        left = tuple(scope for scope in inventory.scopes if scope.trajectory != trajectory)
        self.update(inventory.model_copy(update={"scopes": left, "event_types": {}, "entity_types": {}}))

    def _update_scopes(self, before: LabelInventory, inventory: LabelInventory) -> None:
        read, moved = self._into, set[str]()
        if inventory.merges is not before.merges and inventory.merges != before.merges:
            self.vocabulary = inventory.vocabulary()
            aliases = [merge.alias for merge in inventory.merges if merge.kind is LabelKind.SCOPE]
            self._into = {alias: self.vocabulary.canonical(LabelKind.SCOPE, alias) for alias in aliases}
            moved = {alias for alias, _ in read.items() ^ self._into.items()}
        gone, come = _differences(before.scopes, inventory.scopes, moved=moved)
        changes = defaultdict[tuple[str, str], tuple[list[ScopeSummary], list[ScopeSummary]]](lambda: ([], []))
        for scope in gone:
            changes[read.get(scope.name, scope.name), scope.trajectory][0].append(scope)
        for scope in come:
            changes[self._into.get(scope.name, scope.name), scope.trajectory][1].append(scope)
        for (name, _), (old, new) in changes.items():
            for was, is_now in zip_longest(old, new, fillvalue=_NOTHING):
                self._replace(name, was, is_now)

    def _update_types(self, before: LabelInventory, inventory: LabelInventory) -> None:
        same = {name for name, told in inventory.entity_types.items() if before.entity_types.get(name) is told}
        read = [(name, told) for name, told in inventory.entity_types.items() if name not in same]
        self.counted = (self.counted & same) | {name for name, told in read if self._counts(name, told)}
        self.valued = (self.valued & same) | {name for name, told in read if 4 * len(told.values) >= told.steps}
        known = self.entity_types
        self.entity_types = {name: known.get(name) or tuple(map(stem, words(name))) for name in inventory.entity_types}
        self._index_types(gone=known.keys() - self.entity_types.keys(), known=known)
        self.event_types = {
            name: self.event_types.get(name) or tuple(content_stems(name)) for name in inventory.event_types
        }

    def _index_types(self, *, gone: Set[str], known: Mapping[str, Sequence[str]]) -> None:
        """Find entity types by their stems from now on, and no longer those that are gone."""
        for name in gone:
            for each in set(known[name]):
                del self.types_by_stem[each][name]
                if not self.types_by_stem[each]:
                    del self.types_by_stem[each]
        for name in self.entity_types.keys() - known.keys():
            for each in self.entity_types[name]:
                self.types_by_stem.setdefault(each, {})[name] = None

    def _replace(self, name: str, old: ScopeSummary, new: ScopeSummary) -> None:
        """Let a scope be in one trajectory as it is now, and no longer as it was."""
        number = self._numbers.setdefault(name, self._next)
        if number == self._next:
            self._next += 1
            self.names[number] = name
        was, now = old.values.keys(), new.values.keys()
        for value in now - was:
            self._add_value(value, number)
        for value in was - now:
            self._remove_value(value, number)
        self.by_term.replace(old.terms.keys(), new.terms.keys(), number=number)
        if old.name != new.name or len(old.spans) != len(new.spans):
            self.by_term.replace(_stems(old), _stems(new), number=number)
            self.by_unit.replace(_units(name, old), _units(name, new), number=number)
            if self.by_name.replace(_names(name, old), _names(name, new), number=number):
                self.longest_name = max((len(name.split()) for name in self.by_name), default=0)
        begins = self._begins.setdefault(number, {})
        if old is not _NOTHING:
            begins[old.trajectory].remove(_begin(old))
            if not begins[old.trajectory]:
                del begins[old.trajectory]
        if new is not _NOTHING:
            begins.setdefault(new.trajectory, []).append(_begin(new))
        if not begins:
            del self._begins[number], self._numbers[name], self.names[number]

    def _add_value(self, value: str, number: int) -> None:
        folded, moments = _read_value(value)
        parts = folded.split()
        if self.by_value.add(folded, number) and len(parts) > 1:
            for word in parts:
                self._phrases.setdefault(word, set()).add(folded)
        for word in parts:
            self.by_word.add(word, number)
        for moment in moments:
            self.by_moment.add(moment, number)

    def _remove_value(self, value: str, number: int) -> None:
        folded, moments = _read_value(value)
        parts = folded.split()
        if self.by_value.remove(folded, number) and len(parts) > 1:
            for word in set(parts):
                self._phrases[word].discard(folded)
                if not self._phrases[word]:
                    del self._phrases[word]
        for word in parts:
            self.by_word.remove(word, number)
        for moment in moments:
            self.by_moment.remove(moment, number)

    def holders(self, phrase: str) -> Set[int]:
        """The scopes in which a value is, or contains, these words."""
        parts = phrase.split()
        if len(parts) < 2:
            return self.by_word.get(phrase)
        values = set.intersection(*(self._phrases.get(word, set()) for word in parts))
        return {number for value in values if f" {phrase} " in f" {value} " for number in self.by_value.get(value)}

    def telling(self, holders: Set[int]) -> float:
        """How much it tells that only these scopes have something."""
        return math.log((len(self.names) + 1) / len(holders)) if holders else 0.0

    def in_order(self, numbers: Iterable[int]) -> list[int]:
        """Scopes by the first trajectory that has them, and where they begin in it."""
        return sorted(numbers, key=self._place)

    def _place(self, number: int) -> tuple[str, int, str]:
        begins = self._begins[number]
        first = min(begins)
        return first, min(begins[first]), self.names[number]


def _differences(
    before: Sequence[ScopeSummary], now: Sequence[ScopeSummary], *, moved: Collection[str]
) -> tuple[list[ScopeSummary], list[ScopeSummary]]:
    """The summaries that are gone, and those that came; of a name that moved, all."""
    if not moved:  # most trajectories say what they said before
        parts, parts_now = _parts(before), _parts(now)
        before = [scope for part in parts if part not in parts_now for scope in parts[part]]
        now = [scope for part in parts_now if part not in parts for scope in parts_now[part]]
    old, new = set(map(id, before)), set(map(id, now))
    gone = [each for each in before if id(each) not in new or each.name in moved]
    return gone, [each for each in now if id(each) not in old or each.name in moved]


def _parts(scopes: Sequence[ScopeSummary]) -> dict[int, Sequence[ScopeSummary]]:
    """The scopes of each trajectory, by what tells whether these are the same objects."""
    return {id(part): part for part in scopes.parts} if isinstance(scopes, UnitedScopes) else {id(scopes): scopes}


def _begin(scope: ScopeSummary) -> int:
    return scope.spans[0][0] if scope.spans else 0


def _stems(scope: ScopeSummary) -> Set[str]:
    return frozenset(content_stems(scope.name))


def _units(name: str, scope: ScopeSummary) -> Set[str]:
    """The unit with which the name of a scope begins."""
    unit = _UNIT.match(_folded(name))
    return frozenset([unit.group()] if unit and scope is not _NOTHING else [])


def _names(name: str, scope: ScopeSummary) -> Set[str]:
    """The name of a scope, if it has several words and was taken up again."""
    said = _folded(name)
    return frozenset([said] if " " in said and len(scope.spans) > 1 else [])


def _folded(name: str) -> str:
    return " ".join(map(stem, words(name)))


@text_cache(maxsize=16_384)
def _read_value(value: str) -> tuple[str, tuple[str, ...]]:
    """A value as questions are compared with it: folded to words, and the moments it is or holds."""
    folded = " ".join(words(value))
    return value if folded == value else folded, find_moments(value)  # one text is held for both
