"""The JSON in a reply: whole, whatever stands around it; of one that was cut, the parts that are whole.

Models put fences, talk and thoughts around what was asked for, write it with a comma too many or Python's quotes, and
some stop in the middle. What was torn off is never made up: a mended reply lacks it, without a word.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from stitch.lm.lenient import decode_leniently

_ENDS_OF_THOUGHT = ("</think>", "</thinking>", "</reasoning>")
"""Some servers take away the mark that begins thoughts and leave this one."""
_OPENS = re.compile(r"[{\[]")
_DECODER = json.JSONDecoder(strict=False)
_BEGINS = re.compile(r"""\{\s*(?:"[^"]*"|'[^']*'|[“„‘”][^”“’]*[”“’])\s*:|\[\s*\{""")
_LOOKED_AT_CHARS = 400
_MOST_TRIES = 200
"""Of places where JSON could begin: what is not found by then is not there."""


def json_in(text: str) -> dict[str, Any] | list[Any] | None:
    """The JSON object in a reply, or the list of objects if it is no more than that; None if there is no whole one.

    Of several the longest counts, so that an example in a preamble does not. An object inside one that was cut off is
    not whole.
    """
    return max(_found_in(said_in(text)), key=lambda own: own[0], default=(0, None))[1]


def objects_in(text: str) -> list[dict[str, Any]]:
    """The objects that stand in a reply one after the other, as lines of JSON or in a block each."""
    said = said_in(text)
    found = [value for _, value in _found_in(said)]
    return [value for value in found if isinstance(value, dict)] if all(isinstance(v, dict) for v in found) else []


def has_json(text: str) -> bool:
    """Whether a reply begins an object, or a list of them, be it whole or torn."""
    said = said_in(text)
    return any(_is_torn(said[own.start() : own.start() + _LOOKED_AT_CHARS]) for own in _OPENS.finditer(said))


def _found_in(text: str) -> Iterator[tuple[int, dict[str, Any] | list[Any]]]:
    """The objects and lists of objects of a text, each with its length, up to one that is torn."""
    place = 0
    for _ in range(_MOST_TRIES):
        opens = _OPENS.search(text, place)
        if opens is None:
            return
        start = opens.start()
        try:
            found, end = _decoded(text, start)
        except RecursionError:  # no reply of ours is so deep
            return
        except ValueError:
            if _is_torn(text[start : start + _LOOKED_AT_CHARS]):
                return
            place = start + 1
            continue
        place = end
        if _is_reply(found):
            yield end - start, found


def _decoded(text: str, start: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, start)
    except ValueError:
        if not _is_torn(text[start : start + _LOOKED_AT_CHARS]):
            raise
        return decode_leniently(text, start)


def whole_items(text: str) -> list[dict[str, Any]]:
    """The objects of the list in a reply that was cut off inside of it, as far as they are whole."""
    text = said_in(text)
    opens = re.search(r"\[\s*(?=\{)", text)
    items: list[dict[str, Any]] = []
    place = opens.end() if opens else len(text)
    while place < len(text) and text[place] == "{":
        try:
            found, place = _DECODER.raw_decode(text, place)
        except (ValueError, RecursionError):
            break
        items.append(found)
        place = _next_item(text, place)
    return items


def _next_item(text: str, place: int) -> int:
    """Where the item of a list behind a comma begins; the end of the text if there is none."""
    place = _behind_spaces(text, place)
    return _behind_spaces(text, place + 1) if text[place : place + 1] == "," else len(text)


def _behind_spaces(text: str, place: int) -> int:
    while place < len(text) and text[place].isspace():
        place += 1
    return place


def said_in(text: str) -> str:
    """A reply without the thoughts that some models write down before it; what begins with JSON has none before it."""
    if text.lstrip()[:1] in ("{", "["):
        return text
    folded = text.lower()
    ends = [folded.rfind(mark) + len(mark) for mark in _ENDS_OF_THOUGHT if mark in folded]
    return text[max(ends) :] if ends else text


def _is_reply(found: object) -> bool:
    return isinstance(found, dict) or (
        isinstance(found, list) and bool(found) and all(isinstance(item, dict) for item in found)
    )


def _is_torn(text: str) -> bool:
    """Whether this is the beginning of JSON that does not end, not a brace in a sentence."""
    return _BEGINS.match(text) is not None
