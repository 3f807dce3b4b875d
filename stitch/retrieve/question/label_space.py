"""A label space, turned around: from what a question may say to labels, and kept up to date at little cost."""

from __future__ import annotations

import math
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from operator import is_
from typing import NamedTuple

from stitch.core import EntityTypeSummary, LabelInventory, LabelKind, LabelVocabulary, ScopeSummary
from stitch.core.text_cache import text_cache
from stitch.text.dates import find_moments
from stitch.text.words import content_stems, stem, words

_UNIT = re.compile(r"\b[a-z]+ \d+\b")


class _Said(NamedTuple):
    """What a question may say of a scope."""

    summaries: tuple[ScopeSummary, ...]
    """What it was read from: one a trajectory that has a scope of this name."""
    values: frozenset[str]
    words: frozenset[str]
    terms: frozenset[str]
    moments: frozenset[str]
    units: frozenset[str]
    """The unit with which the name begins ("day 1"), if it does."""
    names: frozenset[str]
    """The name, if the scope was taken up again and has a name of several words."""


_NOTHING = _Said((), *[frozenset[str]()] * 6)


class LabelSpace:
    """The labels of an inventory by what may be said of them. Scopes go by number, which they keep.

    Args:
        counts: Tells of an entity type and its name whether its values say how many of something there are.
    """

    def __init__(self, *, counts: Callable[[str, EntityTypeSummary], bool]) -> None:
        self.lock = threading.Lock()
        """To be held by whoever brings the space up to date, and as long as it has to stay so."""
        self._counts = counts
        self._inventory: LabelInventory | None = None
        self._next = 0
        self._numbers: dict[str, int] = {}
        self._said: dict[int, _Said] = {}
        self._texts: dict[int, str] = {}
        self.names: dict[int, str] = {}
        self.places: dict[int, int] = {}
        """Where in the inventory a scope comes first: the order in which scopes are named."""
        self.values: Counter[str] = Counter()
        self.by_word: dict[str, set[int]] = {}
        self.by_term: dict[str, set[int]] = {}
        self.by_moment: dict[str, set[int]] = {}
        self.by_unit: dict[str, set[int]] = {}
        self.by_name: dict[str, set[int]] = {}
        """Of scopes that were taken up again."""
        self.longest_name = 0
        """In words."""
        self.entity_types: dict[str, tuple[str, ...]] = {}
        self.event_types: dict[str, tuple[str, ...]] = {}
        self.counted: frozenset[str] = frozenset()
        self.valued: frozenset[str] = frozenset()
        """Entity types under which values are known for one step in four at least, and not only the word for them."""
        self.vocabulary = LabelVocabulary()

    def update(self, inventory: LabelInventory) -> None:
        """Turn to an inventory; what is the same in it as in the last one costs next to nothing."""
        if inventory is self._inventory:
            return
        self._inventory, self.vocabulary = inventory, inventory.vocabulary()
        self._update_scopes(inventory)
        self.entity_types = {name: tuple(map(stem, words(name))) for name in inventory.entity_types}
        self.counted = frozenset(name for name, known in inventory.entity_types.items() if self._counts(name, known))
        self.valued = frozenset(
            n for n, known in inventory.entity_types.items() if 4 * len(known.values) >= known.steps
        )
        self.event_types = {
            name: self.event_types.get(name) or tuple(content_stems(name)) for name in inventory.event_types
        }

    def _update_scopes(self, inventory: LabelInventory) -> None:
        scopes: dict[str, list[ScopeSummary]] = {}
        for scope in inventory.scopes:
            scopes.setdefault(self.vocabulary.canonical(LabelKind.SCOPE, scope.name), []).append(scope)
        for name in self._numbers.keys() - scopes.keys():
            self._forget(name)
        for name, summaries in scopes.items():
            self._learn(name, summaries)
        self.places = {self._numbers[name]: place for place, name in enumerate(scopes)}
        self.longest_name = max((len(name.split()) for name in self.by_name), default=0)

    def _forget(self, name: str) -> None:
        number = self._numbers.pop(name)
        self._replace(number, self._said.pop(number), _NOTHING)
        del self.names[number]
        self._texts.pop(number, None)

    def _learn(self, name: str, summaries: Sequence[ScopeSummary]) -> None:
        number = self._numbers.setdefault(name, self._next)
        if number == self._next:
            self._next += 1
            self.names[number] = name
        before = self._said.get(number, _NOTHING)
        if before is not _NOTHING and _same(before.summaries, summaries):
            return
        self._said[number] = said = _read(name, summaries)
        self._replace(number, before, said)
        self._texts[number] = f"| {' | '.join(sorted(said.values))} |"

    def holders(self, phrase: str) -> set[int]:
        """The scopes in which a value is, or contains, these words."""
        parts = phrase.split()
        found = set.intersection(*(self.by_word.get(word, set()) for word in parts))
        return {number for number in found if f" {phrase} " in self._texts[number]} if len(parts) > 1 else found

    def telling(self, holders: set[int]) -> float:
        """How much it tells that only these scopes have something."""
        return math.log((len(self.names) + 1) / len(holders)) if holders else 0.0

    def in_order(self, numbers: Iterable[int]) -> list[int]:
        """Scopes in the order of the inventory."""
        return sorted(numbers, key=self.places.__getitem__)

    def _replace(self, number: int, old: _Said, new: _Said) -> None:
        self.values.update(new.values - old.values)
        for value in old.values - new.values:
            self.values[value] -= 1
            if not self.values[value]:
                del self.values[value]
        pairs = (
            (self.by_word, old.words, new.words),
            (self.by_term, old.terms, new.terms),
            (self.by_moment, old.moments, new.moments),
            (self.by_unit, old.units, new.units),
            (self.by_name, old.names, new.names),
        )
        for holders, before, after in pairs:
            for said in before - after:
                holders[said].discard(number)
                if not holders[said]:
                    del holders[said]
            for said in after - before:
                holders.setdefault(said, set()).add(number)


def _same(old: Sequence[ScopeSummary], new: Sequence[ScopeSummary]) -> bool:
    return len(old) == len(new) and (all(map(is_, old, new)) or list(old) == list(new))


def _read(name: str, summaries: Sequence[ScopeSummary]) -> _Said:
    read = [_read_value(value) for summary in summaries for value in summary.values]
    values = frozenset(value for value, _ in read)
    said = " ".join(map(stem, words(name)))
    unit = _UNIT.match(said)
    resumed = " " in said and any(len(summary.spans) > 1 for summary in summaries)
    terms = {term for summary in summaries for each in (summary.terms, content_stems(summary.name)) for term in each}
    return _Said(
        tuple(summaries),
        values,
        frozenset(word for value in values for word in value.split()),
        frozenset(terms),
        frozenset(moment for _, moments in read for moment in moments),
        frozenset([unit.group()] if unit else []),
        frozenset([said] if resumed else []),
    )


@text_cache(maxsize=16_384)
def _read_value(value: str) -> tuple[str, tuple[str, ...]]:
    """A value as questions are compared with it: folded to words, and the moments it is or holds."""
    return " ".join(words(value)), tuple(find_moments(value))
