"""Numbers that are written as words."""

from __future__ import annotations

NUMBER_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def number(said: str) -> int | None:
    """The number of "three", "3" or "a"; of "a couple" 2, of "a few" 3, of "several" 5. None if it says none."""
    said = said.lower()
    if said in NUMBER_WORDS:
        return NUMBER_WORDS.index(said) + 1
    return _VAGUE_NUMBERS.get(said) or (int(said) if said.isdecimal() else None)


_VAGUE_NUMBERS = {"a": 1, "an": 1, "couple of": 2, "few": 3, "several": 5}
