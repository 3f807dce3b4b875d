"""Conditions of absence: "vegan" is said of what holds nothing of animals, "gluten-free" of what holds no gluten.

Near words are wrong here: what is nearest to "without milk" speaks of milk.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

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
_FREE_OF = re.compile(r"(?:free of|without(?: any)?|with no|contain(?:s|ing) no|has no) ([\w ]+)|([\w ]+)[- ]free", re.IGNORECASE)
_SAYS_SO = frozenset(("no", "without", "free", "non"))
_DAIRY_STEMS = frozenset(map(singular_stem, (*_DAIRY.split(), "egg")))
_PLANTS = frozenset(map(singular_stem, ("plant", "seed", "nut", "grain", "bean", "legume", "cereal", "vegan")))
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


def absent(ruled_out: frozenset[str], readings: Sequence[tuple[TextReading, ...]]) -> list[float] | None:
    """How likely it is that nothing of some kinds is named.

    Returns:
        A probability for each passage. None where texts say themselves what they are without ("no milk", "nut-free"):
        there the words of the condition are to be found.
    """
    if any(_SAYS_SO & set(part) for reading in readings for text in reading for part in text.parts):
        return None
    return [HOLDS if any(_names(text, ruled_out) for text in reading) else FREE for reading in readings]


def _names(text: TextReading, kinds: frozenset[str]) -> bool:
    return any(_in_part(part, kinds) for part in text.parts)


def _in_part(part: tuple[str, ...], kinds: frozenset[str]) -> bool:
    for place, word in enumerate(part):
        named = _of_kind(word, kinds)
        if named and not (place and _is_a_plants(part[place - 1], word, named, kinds)):
            return True
    return False


def _of_kind(term: str, kinds: frozenset[str]) -> frozenset[str]:
    found = {kind for kind, weight in kinds_of(term).items() if kind in kinds and weight > _HELD}
    return frozenset(found | ({singular_stem(term)} & kinds))


def _is_a_plants(before: str, word: str, named: frozenset[str], kinds: frozenset[str]) -> bool:
    """Whether a word is not what it says alone: "peanut butter", "oat milk"."""
    compound = kinds_of(f"{before} {word}")
    if compound:
        return not any(kind in kinds and weight > _HELD for kind, weight in compound.items())
    return named <= _DAIRY_STEMS and any(kind in _PLANTS for kind in (*kinds_of(before), singular_stem(before)))
