"""Phrases that count what was listed: "the second one", "the latter"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from stitch.text.numbers import ORDINAL, ordinal
from stitch.text.words import FUNCTION_WORDS, is_verb

_BY_SPEAKER = r" (?:that |which )?(?:i|we)(?:'d|'ve| have| had)? (?:[a-z]+ed|put|said|gave)\b"
"""Behind "the second one": it is no list that counts, but what the speaker said at any time."""
_LISTED = re.compile(
    rf"\b(?:the )+(?:(?P<ordinal>{ORDINAL}) "
    r"(?:one|option|choice|step|item|point|suggestion|idea|method|result|of (?:the|your|our|my) two|of these|of them)"
    r"\b|"
    rf"(?P<side>latter|former)\b)(?! of the\b|{_BY_SPEAKER})",
    re.IGNORECASE,
)
_AS_ADJECTIVE = re.compile(r" (?P<noun>[a-z][\w-]+)")


class Counting(NamedTuple):
    """A phrase that counts what the last list has."""

    start: int
    end: int
    number: int
    """From 1; -1 for the last."""


def find_counting(text: str) -> Iterator[Counting]:
    """Yield the phrases of a text that count things."""
    for match in _LISTED.finditer(text):
        side = (match["side"] or "").lower()
        following = _AS_ADJECTIVE.match(text, match.end()) if side else None
        if following is None or _follows(following["noun"]):
            number = {"former": 1, "latter": 2}.get(side) or ordinal(match["ordinal"]) or 1
            yield Counting(match.start(), match.end(), number)


def _follows(word: str) -> bool:
    """Whether the word may follow "the former" where that stands alone: a verb or a small word, no noun."""
    return word in FUNCTION_WORDS or is_verb(word)
