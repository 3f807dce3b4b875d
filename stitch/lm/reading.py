"""The JSON in a reply: found in talk, healed by `json-repair`, and never where its end was torn off."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

Item = TypeVar("Item", bound=BaseModel)

_THOUGHTS = re.compile(r".*</(?:think|thinking|reasoning)>", re.IGNORECASE | re.DOTALL)
"""Some servers take away the mark that begins thoughts and leave the one that ends them."""
_OPENS = re.compile(r"[{\[]")
_BEGINS = re.compile(r"""\{\s*["'“„]?\w[\w ]{0,60}["'”“]?\s*:|\[\s*\{""")
"""The beginning of JSON as models write it by hand, and not a brace in a sentence."""
_BETWEEN = re.compile(r"[\s,]{0,400}")
_DECODER = json.JSONDecoder(strict=False)
_MOST_CHARS, _MOST_PLACES = 1_000_000, 200


def json_in(text: str) -> dict[str, Any] | list[Any] | None:
    """The longest JSON object or list of objects in a reply, so that no example counts; None if none is whole."""
    text = said_in(text)[:_MOST_CHARS]
    best, longest, place = None, 0, 0
    for _ in range(_MOST_PLACES):
        if (opens := _OPENS.search(text, place)) is None:
            break
        begin = opens.start()
        try:
            value, place = _DECODER.raw_decode(text, begin)
        except RecursionError:
            return None
        except ValueError:
            if not _BEGINS.match(text, begin):
                place = begin + 1
                continue
            value, place = _healed(text[begin:]), len(text)
        if place - begin > longest and (isinstance(value, dict) or are_objects(value)):
            best, longest = value, place - begin
    return best


def are_objects(value: Any) -> bool:
    """Whether it is a list of objects that is not empty."""
    return isinstance(value, list) and bool(value) and all(isinstance(own, dict) for own in value)


def _healed(text: str) -> Any:
    text = text[: max(text.rfind("}"), text.rfind("]")) + 1]
    if any(text.count(opens) > text.count(closes) for opens, closes in ("{}", "[]")):
        return None
    import json_repair

    try:
        return json_repair.loads(text, skip_json_loads=True)
    except (RecursionError, ValueError):
        return None


def whole_items(text: str, item: type[Item]) -> list[Item]:
    """The objects of the list in a reply that was cut off inside of it, as far as they are whole."""
    text = said_in(text)
    opens = re.search(r"\[\s*(?=\{)", text)
    items, place = list[Any](), opens.end() if opens else len(text)
    with suppress(ValueError, RecursionError):
        while text[place : place + 1] == "{":
            found, place = _DECODER.raw_decode(text, place)
            items.append(found)
            if between := _BETWEEN.match(text, place):
                place = between.end()
    return valid_items(items, item)


def valid_items(values: list[Any], item: type[Item]) -> list[Item]:
    """Items of a list that can be read."""
    read = []
    for own in values:
        with suppress(ValidationError):
            read.append(item.model_validate(own))
    return read


def said_in(text: str) -> str:
    """A reply without the thoughts that some models write down before it; what begins with JSON has none before it."""
    if text.lstrip()[:1] in ("{", "["):
        return text
    thoughts = _THOUGHTS.match(text)
    return text[thoughts.end() :] if thoughts else text
