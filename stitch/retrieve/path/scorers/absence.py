"""Conditions of absence: "vegan" is said of what holds nothing of animals, "gluten-free" of what holds no gluten.

Near words are wrong here: what is nearest to "without milk" speaks of milk.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from stitch.retrieve.path.scorers.reading import TextReading
from stitch.text.kinds import kinds_of, singular_stem

_MEAT = "meat seafood fish shellfish poultry fowl ham bacon sausage gelatin lard"
_DAIRY = "dairy milk cheese butter cream yogurt yoghurt"
_NEVER_IN = {
    "vegan": f"{_MEAT} {_DAIRY} egg honey",
    "plant-based": f"{_MEAT} {_DAIRY} egg honey",
    "vegetarian": _MEAT,
    "pescatarian": "meat poultry fowl ham bacon sausage lard",
    "dairy-free": _DAIRY,
}
_FREE_OF = re.compile(
    r"(?:free of|without(?: any)?|with no|contain(?:s|ing) no|has no) ([\w ]+)|([\w ]+)[- ]free", re.IGNORECASE
)
_SAYS_SO = frozenset(("no", "without", "non"))
_DAIRY_STEMS = frozenset(map(singular_stem, (*_DAIRY.split(), "egg")))
_PLANTS = frozenset(map(singular_stem, ("seed", "nut", "grain", "bean", "legume", "cereal", "vegan")))
_GROWN = frozenset(map(singular_stem, ("fruit", "vegetable", "nut", "grain", "legume", "herb", "spice")))
_HELD = 0.55
FREE, HOLDS = 0.8, 0.03
"""How sure it is that a thing is absent that is not named, and that it is not where it is named."""


def never_in(condition: str) -> frozenset[str]:
    """The stems of the kinds of things that a condition rules out; none if it is no condition of absence."""
    said = condition.strip().lower()
    if said in _NEVER_IN:
        return frozenset(map(singular_stem, _NEVER_IN[said].split()))
    if match := _FREE_OF.fullmatch(said):
        return frozenset(singular_stem(word) for word in re.split(r"\W+|\bor\b|\band\b", match[1] or match[2]) if word)
    return frozenset()


def absent(condition: str, readings: Sequence[tuple[TextReading, ...]]) -> list[float] | None:
    """How likely it is that what a condition rules out is not named.

    Returns:
        A probability for each passage. None if it is no condition of absence, and where texts say themselves what they
        are ("vegan") or are without ("no milk", "nut-free"): there the words of the condition are to be found.
    """
    ruled_out = never_in(condition)
    if not ruled_out:
        return None
    if any(_says_so(part, ruled_out, condition) for reading in readings for text in reading for part in text.parts):
        return None
    return [HOLDS if any(_names(text, ruled_out) for text in reading) else FREE for reading in readings]


def _says_so(part: tuple[str, ...], ruled_out: frozenset[str], condition: str) -> bool:
    if condition in part:
        return True
    return any(
        (before in _SAYS_SO and singular_stem(word) in ruled_out)
        or (word == "free" and singular_stem(before) in ruled_out)
        for before, word in pairwise(part)
    )


def _names(text: TextReading, kinds: frozenset[str]) -> bool:
    return any(_in_part(part, kinds) for part in text.parts)


def _in_part(part: tuple[str, ...], kinds: frozenset[str]) -> bool:
    for place, word in enumerate(part):
        named = _of_kind(word, kinds)
        if named and not (place and _is_a_plants(part[place - 1], word, named, kinds)):
            return True
    return False


def _of_kind(term: str, kinds: frozenset[str]) -> frozenset[str]:
    named = kinds_of(term)
    found = {kind for kind, weight in named.items() if kind in kinds and weight > _HELD}
    if not _GROWN.isdisjoint(named):
        found.discard("meat")  # of a coconut
    return frozenset(found | ({singular_stem(term)} & kinds))


def _is_a_plants(before: str, word: str, named: frozenset[str], kinds: frozenset[str]) -> bool:
    """Whether a word is not what it says alone: "peanut butter", "oat milk"."""
    grown = {singular_stem(before), *kinds_of(before)}
    compound = kinds_of(f"{before} {word}").keys() - {singular_stem(before), singular_stem(word)}
    if named <= _DAIRY_STEMS:
        return bool(grown & _PLANTS) or (bool(compound and grown & _GROWN) and not compound & {"dairi"})
    return bool(compound) and not compound & kinds
