"""What a thing was said to be and to be for, and which nouns may stand for it then: "the hotel", "that place"."""

from __future__ import annotations

import re

from stitch.core.text_cache import text_cache
from stitch.text.names import RELATIONAL_NOUN, name_key
from stitch.text.numbers import fold_words
from stitch.text.words import FUNCTION_WORDS

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
_PURPOSES = frozenset(("stay", "outing", "breakfast", "brunch", "lunch", "dinner"))
"""Purposes are no names of things: "the dinner" is not the restaurant."""


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
