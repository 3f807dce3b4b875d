"""Numbers that are written as words: "three", "second", "2nd"."""

from __future__ import annotations

import re

NUMBER_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
ORDINAL_WORDS = rf"{'|'.join(_ORDINALS)}|\d{{1,3}}(?:st|nd|rd|th)"
"""A pattern of the words that count."""
_ORDINAL_NUMBERS = {word: number for number, word in enumerate(_ORDINALS, start=1)}
_ORDINAL_DIGITS = re.compile(r"(\d{1,3})(?:st|nd|rd|th)")


def number(said: str) -> int | None:
    """The number of "three", "3" or "a"; of "a couple" 2, of "a few" 3, of "several" 5. None if it says none."""
    said = said.lower()
    if said in NUMBER_WORDS:
        return NUMBER_WORDS.index(said) + 1
    return _VAGUE_NUMBERS.get(said) or (int(said) if said.isdecimal() else None)


_VAGUE_NUMBERS = {"a": 1, "an": 1, "couple of": 2, "few": 3, "several": 5}


def ordinal(word: str) -> int | None:
    """The number of "second", "2nd", "2th"; -1 for "last"; None if it is no ordinal."""
    word = word.lower()
    if word in ("last", "latest", "most recent", "most recently"):
        return -1
    digits = _ORDINAL_DIGITS.fullmatch(word)
    return int(digits.group(1)) if digits else _ORDINAL_NUMBERS.get(word)
