"""JSON as models write it by hand: a comma too many, notes, Python's quotes and names, typographic quotes.

All of it has to be there: what was torn off is not made up. A text ends at a quote behind which JSON goes on, so quotes
inside of it that were not escaped do no harm.
"""

from __future__ import annotations

import re
from typing import Any

_NOTED = r"\s{0,400}(?:(?://[^\n]{0,400}(?:\n|$)|/\*[^*]{0,400}\*/)\s{0,400}){0,8}"
"""White space and remarks. Bounded, so that no reply takes long to refuse."""
_BLANK = re.compile(_NOTED)
_QUOTES = {'"': '"', "'": "'", "“": "”", "„": "“", "‘": "’", "”": "”"}
"""What opens a text, and what ends it."""
_BEHIND_KEY = re.compile(rf"{_NOTED}:", re.DOTALL)
_BEHIND_ITEM = re.compile(rf"{_NOTED}(?:[,\]]|```)|\s{{0,400}}$", re.DOTALL)
_BEHIND_VALUE = re.compile(rf"{_NOTED}(?:}}|```|,{_NOTED}(?:[\"'“„‘}}]|[A-Za-z_]\w{{0,80}}\s{{0,40}}:|$))", re.DOTALL)
"""A comma inside of a text is seldom followed by what looks like a key."""
_WORD = re.compile(r"[A-Za-z]+")
_WORDS = {"true": True, "false": False, "null": None, "none": None}
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?=[\s,}\]/`]|$)")
_KEY = re.compile(r"[A-Za-z_]\w{0,80}(?=\s{0,40}:)")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_FENCE = "```"
_DEEPEST = 40


def decode_leniently(text: str, start: int = 0) -> tuple[Any, int]:
    """The value that begins at `start`, and where it ends.

    Raises:
        ValueError: No whole value begins there.
    """
    return _value(text, start, 0, _BEHIND_ITEM)


def _value(text: str, place: int, depth: int, behind: re.Pattern[str]) -> tuple[Any, int]:
    opened = text[place : place + 1]
    if depth > _DEEPEST:
        raise ValueError("too deep")
    if opened == "{":
        return _object(text, place + 1, depth)
    if opened == "[":
        return _list(text, place + 1, depth)
    if opened in _QUOTES and opened:
        return _text(text, place, behind)
    if found := _NUMBER.match(text, place):
        number = found.group()
        return (int(number) if number.lstrip("+-").isdecimal() else float(number)), found.end()
    if (found := _WORD.match(text, place)) and found.group().lower() in _WORDS:
        return _WORDS[found.group().lower()], found.end()
    raise ValueError("no value")


def _object(text: str, place: int, depth: int) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    while True:
        place = _behind_blank(text, place)
        if text[place : place + 1] == "}":
            return found, place + 1
        if found and text.startswith(_FENCE, place):
            return found, place
        if bare := _KEY.match(text, place):
            key, place = bare.group(), bare.end()
        elif text[place : place + 1] in _QUOTES and place < len(text):
            key, place = _text(text, place, _BEHIND_KEY)
        else:
            raise ValueError("no key")
        place = _behind_blank(text, place)
        if text[place : place + 1] != ":":
            raise ValueError("no value behind a key")
        found[key], place = _value(text, _behind_blank(text, place + 1), depth + 1, _BEHIND_VALUE)
        place = _behind_item(text, place, end="}")


def _list(text: str, place: int, depth: int) -> tuple[list[Any], int]:
    found: list[Any] = []
    while True:
        place = _behind_blank(text, place)
        if text[place : place + 1] == "]":
            return found, place + 1
        if found and text.startswith(_FENCE, place):
            return found, place
        item, place = _value(text, place, depth + 1, _BEHIND_ITEM)
        found.append(item)
        place = _behind_item(text, place, end="]")


def _behind_item(text: str, place: int, *, end: str) -> int:
    place = _behind_blank(text, place)
    sign = text[place : place + 1]
    if sign == ",":
        return place + 1
    if text.startswith(_FENCE, place):
        return place  # who closed the fence had said all, and forgot a bracket
    if sign != end:
        raise ValueError("neither a further item nor an end")
    return place


def _text(text: str, place: int, behind: re.Pattern[str]) -> tuple[str, int]:
    """A quoted text; its end is the first closing quote behind which JSON goes on."""
    closing = _QUOTES[text[place]]
    said: list[str] = []
    place += 1
    while place < len(text):
        sign = text[place]
        if sign == "\\" and place + 1 < len(text):
            piece, place = _escaped(text, place + 1)
            said.append(piece)
        elif sign == closing and behind.match(text, place + 1):
            return "".join(said), place + 1
        else:
            said.append(sign)
            place += 1
    raise ValueError("a text without an end")


def _escaped(text: str, place: int) -> tuple[str, int]:
    sign = text[place]
    if sign == "u" and re.fullmatch("[0-9a-fA-F]{4}", digits := text[place + 1 : place + 5]):
        return chr(int(digits, 16)), place + 5
    return _ESCAPED.get(sign, sign), place + 1


def _behind_blank(text: str, place: int) -> int:
    found = _BLANK.match(text, place)
    assert found is not None  # it matches nothing, too
    return found.end()
