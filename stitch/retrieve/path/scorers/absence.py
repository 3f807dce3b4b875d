"""Conditions of absence: "not technical" is said of what is not technical, "vegan" of what holds nothing of animals.

Near words are wrong here: what is nearest to "without a computer" speaks of computers. So the denied condition is
scored, and a text that names a thing of a kind that is ruled out decides.
"""

from __future__ import annotations

import re
from itertools import pairwise

from stitch.core.text_cache import text_cache
from stitch.retrieve.path.scorers.protocol import Passage, Passages
from stitch.retrieve.path.scorers.reading import alternatives, parts_of, words_of
from stitch.text.kinds import kinds_of, singular_stem

_DENIED = re.compile(
    r"(?:(?:is |are |has |have |with |need(?:s|ing)? |contain(?:s|ing)? |includ(?:es?|ing) )?"
    r"(?:not|no|non|without|free (?:of|from)|lack(?:s|ing)?|nothing)"
    r"(?:[ -](?:any|anything|a|an|the|of|from|to|do|with|in|need(?:s|ing)?|contain(?:s|ing)?))*[ -]"
    r"|(?:does|do|is|are)(?:n't| not) (?:need |contain |have |include )?(?:any |a |an |the )?)"
    r"(?P<denied>\w[\w -]*)|(?P<free>\w[\w ]*)[- ]free",
    re.IGNORECASE,
)
_FLESH = ("meat", "poultry", "fish", "seafood")
_OF_ANIMALS = (*_FLESH, "dairy", "egg", "omelette", "honey", "gelatin")
_DIETS = {
    "vegan": _OF_ANIMALS,
    "plant-based": _OF_ANIMALS,
    "vegetarian": (*_FLESH, "gelatin"),
    "meatless": ("meat", "poultry"),
    "dairy-free": ("dairy",),
    "gluten-free": ("bread", "pasta", "noodle", "wheat", "flour", "barley", "rye", "couscous", "bulgur"),
}
"""Conditions that rule out kinds of things which they do not name."""
_NAMED = 0.55
"""The least weight of a meaning of a word for its kind to count."""
_FLESH_STEMS = frozenset(map(singular_stem, _FLESH))
_PLANT = singular_stem("plant")


def denied(condition: str) -> str | None:
    """The condition that another denies: "not technical" denies "technical"; None of most."""
    match = _DENIED.fullmatch(condition.strip())
    found = (match["denied"] or match["free"]) if match else None
    return found if found and alternatives(found) else None


def ruled_out(condition: str) -> frozenset[str]:
    """The stems of the kinds of things that a condition rules out; none if it rules out no kind that a word has."""
    diet = _DIETS.get(condition.strip().lower())
    things = diet or [
        part for part in re.split(r",|/|\bor\b|\band\b", denied(condition) or "") if " " not in part.strip()
    ]
    return frozenset(singular_stem(words[-1]) for thing in things if (words := words_of(thing)))


def says_so(condition: str, passages: Passages) -> bool:
    """Whether texts say themselves that they are "vegan", or "no milk": then these words are to be found."""
    kinds = ruled_out(condition)
    return any(_says_so(text, condition, kinds) for passage in passages for text in passage.texts)


@text_cache(maxsize=65_536)
def _says_so(text: str, condition: str, kinds: frozenset[str]) -> bool:
    if f" {' '.join(words_of(condition))} " in f" {' '.join(words_of(text))} ":
        return True
    return any(
        (before in ("no", "without", "non") and singular_stem(word) in kinds)
        or (word == "free" and singular_stem(before) in kinds)
        for part in parts_of(text)
        for before, word in pairwise(part)
    )


def names_one(passage: Passage, kinds: frozenset[str]) -> bool:
    """Whether a passage names a thing of some kinds."""
    return any(_names_one(text, kinds) for text in passage.texts)


@text_cache(maxsize=65_536)
def _names_one(text: str, kinds: frozenset[str]) -> bool:
    return any(_is_one(before, word, kinds) for part in parts_of(text) for before, word in pairwise(["", *part]))


def _is_one(before: str, word: str, kinds: frozenset[str]) -> bool:
    """Whether a word is of some kinds, and is what it says alone: "peanut butter" and "oat milk" come of plants."""
    named = kinds_of(word)
    found = {kind for kind, weight in named.items() if weight > _NAMED} | {singular_stem(word)}
    found &= kinds
    if _PLANT in named:
        found -= _FLESH_STEMS  # the meat of a coconut
    if not found or not before:
        return bool(found)
    compound = kinds_of(f"{before} {word}").keys() - {singular_stem(before), singular_stem(word)}
    return bool(compound & kinds) if compound else not (_PLANT in kinds_of(before) and not found & _FLESH_STEMS)
