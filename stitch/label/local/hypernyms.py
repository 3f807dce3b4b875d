"""What a thing was said to be and to be for, and which nouns may stand for it then: "the hotel", "that place"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from stitch.core.text_cache import text_cache
from stitch.text.names import RELATIONAL_NOUN, name_key
from stitch.text.numbers import fold_words
from stitch.text.words import FUNCTION_WORDS

_SLOT = re.compile(
    r"\b(?:[Ff]or|[Aa]s) (?:the |our |my |an? )?([a-z]{3,})(?= (?:is|are|could|would|might|may|can|[A-Z])\b|[.,;?!]|$)"
)
_MEANS_IT = re.compile(r"\b(?:it|that|this)\b", re.IGNORECASE)
_SHOWS = tuple(
    (frozenset(signs.split()), frozenset(called.split()))
    for signs, called in (
        ("hotel inn lodge resort hostel motel guesthouse loft suite stay", "hotel house place spot"),
        (
            "restaurant grill cafe bistro diner dining eatery tavern kitchen breakfast lunch dinner brunch",
            "restaurant house place spot",
        ),
        ("museum gallery park garden observatory theater zoo attraction outing", "attraction house place spot"),
        ("apartment flat house complex villa", "apartment property place"),
        ("bar pub shop store market club spa gym salon", "place spot"),
    )
)
"""What something is said to be or to be for, or the end of its name, and what it may be called then."""
_CALLED = re.compile(
    r"(?<![a-z])([a-z]{3,20})(?:,? (?:called|named|titled|entitled|(?:would be|will be|is|was)(?: called)?))$"
)
_IS_A = re.compile(
    r" (?:is|was) (?:an?|the) (?:(?!(?:of|that|which|in|at|on|for|to|from|with|by)\b)[\w-]+,? ){0,5}?([a-z]{3,})"
    r"(?=[,.;!?]|$| (?:in|at|on|near|with|that|which|by|for|from|located|situated|is|and)\b)"
)
_SAME_SLOT = {
    **dict.fromkeys(("night", "nights", "overnight", "accommodation", "lodging", "sleep"), "stay"),
    "supper": "dinner",
    **dict.fromkeys(("sightseeing", "excursion", "activity"), "outing"),
}
"""Words for one and the same purpose."""
_PURPOSES = frozenset(("stay", "outing", "breakfast", "brunch", "lunch", "dinner"))
"""Purposes are no names of things: "the dinner" is not the restaurant."""


def purpose(sentences: Sequence[str], *, name: str = "") -> str:
    """What a name is raised for ("dinner"): its own sentence says so, or one beside it.

    Args:
        sentences: The name's own sentence first.
        name: The name; what it says itself ("Harbor Hotel") counts only where nothing else does.

    Returns:
        The purpose, by one word for those that mean the same; empty if nothing is said.
    """
    for sentence in sentences:
        place = sentence.find(name) if name else -1
        start, end = (place, place + len(name)) if place >= 0 else (len(sentence), len(sentence))
        if said := purpose_near(f"{sentence[:start]}{' ' * (end - start)}{sentence[end:]}", start, end):
            return said
    for place, sentence in enumerate(sentences):
        about = not place or _MEANS_IT.search(sentence)
        match = _SLOT.search(sentence) if about else None
        if match is not None and match.group(1).lower() not in FUNCTION_WORDS:
            return same_purpose(match.group(1).lower())
    return ""


_SAID_PURPOSE = re.compile(
    r"\b(?:(?P<stay>stays?(?! (?:in|inside|within|below|under|out|off|on|away|up|put|open|calm|quiet|dry|switched)\b)"
    r"|(?<!last )(?<!every )(?<!final )(?<!other )nights?|overnight|accommodations?|lodgings?|sleep(?:ing)?|hotels?"
    r"|rooms?|(?<!\bin )beds?|kip\w*)"
    r"|(?P<breakfast>breakfasts?|morning meal)|(?P<brunch>brunch)|(?P<lunch>lunch(?:es|eon)?|midday meal)"
    r"|(?P<dinner>dinners?|suppers?|evening meal)"
    r"|(?P<outing>outings?|sightseeing|sights?|excursions?|attractions?|activit(?:y|ies)|visit(?:s|ing)?|tours?"
    r"|(?:what|things?) to see))\b",
    re.IGNORECASE,
)
_NOT_THIS = re.compile(
    r"\b(?:not|no|instead of|rather than|typed|wrote)(?: (?:the|our|my|for|about|where we|a))* $", re.IGNORECASE
)
"""Before a purpose that somebody takes back: "lunch (not the bed)"."""
_SENTENCE = re.compile(r"[.!?\n]+(?=\s|$)")


def said_purposes(text: str) -> list[tuple[int, str]]:
    """The purposes that a text names in any words, with their places; not those that it takes back."""
    return [
        (match.start(), match.lastgroup or "")
        for match in _SAID_PURPOSE.finditer(text)
        if not _NOT_THIS.search(text, max(0, match.start() - 24), match.start())
    ]


def purpose_near(text: str, start: int, end: int) -> str:
    """The purpose that is named nearest to a place of a text: in its own sentence, else before it, else after it."""
    said = said_purposes(text)
    if not said:
        return ""
    begins = max((match.end() for match in _SENTENCE.finditer(text, 0, start)), default=0)
    ending = _SENTENCE.search(text, end)
    ends = ending.start() if ending else len(text)
    here = [one for one in said if begins <= one[0] < ends]
    if here:
        return min(here, key=lambda one: start - one[0] if one[0] < start else one[0] - end)[1]
    before = [one for one in said if one[0] < begins]
    return before[-1][1] if before else said[0][1]


def same_purpose(word: str) -> str:
    """The word that stands for all that mean this purpose: "stay" for "night"."""
    return _SAME_SLOT.get(word, word)


def told_kinds(name: str, sentence: str) -> list[str]:
    """What the sentence calls the named thing: "bistro" in "X is a bistro" and "a bistro called X"."""
    place = sentence.find(name)
    if place < 0:
        return []
    found = _CALLED.search(sentence[:place].rstrip()), _IS_A.match(sentence, place + len(name))
    return [word for match in found if match is not None for word in fold_words(match.group(1))]


@text_cache(maxsize=4_096)
def nouns_for(name: str, told: tuple[str, ...]) -> frozenset[str]:
    """The nouns that may stand for a thing.

    Args:
        name: Its name; the last word of several may say what it is.
        told: What it was said to be and to be for.
    """
    words = fold_words(name_key(name))
    signs = {*told, *(words[-1:] if len(words) > 1 else ())}
    nouns = set(signs)
    for shown, called in _SHOWS:
        if not shown.isdisjoint(signs):
            nouns |= called
    return frozenset(noun for noun in nouns - FUNCTION_WORDS - _PURPOSES if not RELATIONAL_NOUN.match(noun))
