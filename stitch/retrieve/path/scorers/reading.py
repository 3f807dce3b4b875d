"""Words, parts and initials of texts; what a condition asks for, and what one of absence rules out.

Near words are wrong for absence: what is nearest to "without a computer" speaks of computers. So the denied condition
is scored, and a text that names a thing of a kind that is ruled out decides.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from stitch.core.text_cache import text_cache
from stitch.text.kinds import kinds_of, singular_stem
from stitch.text.words import FUNCTION_WORDS

PART_ENDS = re.compile(r"[,.;:()\n/|!?—]|\s[-–—]+\s")
WORD = re.compile(r"[^\W_]+")
_CAPITALIZED = re.compile(r"[^\W\d_]+")
_MOST_INITIALS = 6
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


def words_of(text: str) -> list[str]:
    """All words in lower case."""
    return WORD.findall(text.lower())


def tells(word: str) -> bool:
    """Whether a word carries meaning; numbers do not."""
    return word not in FUNCTION_WORDS and not any(map(str.isdigit, word))


@text_cache(maxsize=65_536)
def initials_of(text: str) -> frozenset[str]:
    """The initials of runs of capitalized words: "Royal Ontario Museum" is "rom"."""
    words = _CAPITALIZED.findall(text)
    found: set[str] = set()
    for start, first in enumerate(words):
        if not first[0].isupper():
            continue
        for end in range(start + 2, min(len(words), start + _MOST_INITIALS) + 1):
            run = words[start:end]
            if run[-1][0].isupper():
                found.add("".join(word[0] for word in run).lower())
                found.add("".join(word[0] for word in run if word[0].isupper()).lower())
    return frozenset(found)


def alternatives(condition: str) -> list[str]:
    """The parts of a condition each of which is enough: "noodles or pasta" are two; none if no words are said."""
    found = [part.strip() for part in re.split(r"\sor\s|[/,]", condition.lower())]
    return [part for part in found if words_of(part)]


def asked_words(condition: str) -> Sequence[str]:
    """The words of a condition that carry its meaning; all of them if none seems to."""
    words = words_of(condition)
    return [word for word in words if word not in FUNCTION_WORDS and not word.isdigit()] or words


def denied(condition: str) -> str | None:
    """The condition that another denies: "not technical" denies "technical"; None of most."""
    match = _DENIED.fullmatch(condition.strip())
    found = (match["denied"] or match["free"]) if match else None
    return found if found and alternatives(found) else None


def ruled_out(condition: str) -> frozenset[str]:
    """The stems of the kinds of things that a condition rules out; none if it rules out no kind that a word has."""
    things = _DIETS.get(condition.strip().lower()) or [
        part for part in re.split(r",|/|\bor\b|\band\b", denied(condition) or "") if " " not in part.strip()
    ]
    return frozenset(singular_stem(words[-1]) for thing in things if (words := words_of(thing)))


@text_cache(maxsize=65_536)
def names_one(text: str, kinds: frozenset[str]) -> bool:
    """Whether a text names a thing of some kinds; "no nuts" and "nut-free" name none."""
    for part in PART_ENDS.split(text):
        for before, word, after in _neighbors(words_of(part)):
            if before not in ("no", "without", "non") and after != "free" and _is_one(before, word, kinds):
                return True
    return False


def _neighbors(words: Sequence[str]) -> list[tuple[str, str, str]]:
    return [(one, word, other) for (one, word), (_, other) in pairwise(pairwise(["", *words, ""]))]


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
