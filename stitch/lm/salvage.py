"""The JSON in a reply: whole, whatever stands around it; of one that was cut, the parts that are whole.

Models put fences, talk and thoughts around what was asked for, and some stop in the middle. Nothing is mended here: a
mended reply lacks what was torn off, without a word.
"""

from __future__ import annotations

import json
import re
from typing import Any

_ENDS_OF_THOUGHT = ("</think>", "</thinking>", "</reasoning>")
"""Some servers take away the mark that begins thoughts and leave this one."""
_OPENS = re.compile(r"[{\[]")
_DECODER = json.JSONDecoder(strict=False)
_LOOKED_AT_CHARS = 400
_MOST_TRIES = 200
"""Of places where JSON could begin: what is not found by then is not there."""


def json_in(text: str) -> dict[str, Any] | list[Any] | None:
    """The JSON object in a reply, or the list of objects if it is no more than that; None if there is no whole one.

    Of several the longest counts, so that an example in a preamble does not. An object inside one that was cut off is
    not whole.
    """
    text = _said(text)
    best: tuple[int, dict[str, Any] | list[Any]] | None = None
    place = 0
    for _ in range(_MOST_TRIES):
        opens = _OPENS.search(text, place)
        if opens is None:
            break
        start = opens.start()
        try:
            found, end = _DECODER.raw_decode(text, start)
        except RecursionError:  # no reply of ours is so deep
            break
        except ValueError:
            if _is_torn(text[start : start + _LOOKED_AT_CHARS]):
                break
            place = start + 1
            continue
        place = end
        if _is_reply(found) and (best is None or end - start > best[0]):
            best = end - start, found
    return None if best is None else best[1]


def whole_items(text: str) -> list[dict[str, Any]]:
    """The objects of the list in a reply that was cut off inside of it, as far as they are whole."""
    text = _said(text)
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


def _said(text: str) -> str:
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
    return re.match(r'\{\s*"[^"]*"\s*:|\[\s*\{', text) is not None
