"""The JSON in a reply, and the values of its fields: healed where it was written by hand, and never made up."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Literal, TypeVar, get_args, get_origin

import json_repair
from pydantic import BaseModel, TypeAdapter, ValidationError

Item = TypeVar("Item", bound=BaseModel)

_ENDS_OF_THOUGHT = ("</think>", "</thinking>", "</reasoning>")
"""Some servers take away the mark that begins thoughts and leave this one."""
_OPENS = re.compile(r"[{\[]")
_BEGINS = re.compile(r"""\{\s*["'“„]?\w[\w ]{0,60}["'”“]?\s*:|\[\s*\{""")
"""The beginning of JSON as models write it by hand, and not a brace in a sentence."""
_LINE = re.compile(r"^\W{0,4}([^\W\d][\w ]{0,30})\W{0,4}:[ *]*(.+?)\**$", re.MULTILINE)
_COUNT = re.compile(r"(\d+)(?: ?(?:/|of|out of) ?\d+)?")
_NONE = re.compile(r"\W*(?:none)?\W*", re.IGNORECASE)
_OBJECTS = list[dict[str, Any]]
_DECODER = json.JSONDecoder(strict=False)
_MOST_CHARS, _MOST_PLACES, _DEEPEST = 1_000_000, 200, 3


def read_fields(said: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The output fields of a signature in a reply.

    Raises:
        ValueError: It is torn, or has a field of another kind.
        KeyError: It lacks a field.
        TypeError: A list of objects is none.
    """
    required = [name for name, field in fields.items() if field.is_required()]
    last = required[-1]
    annotation = fields[last].annotation
    items = len(required) == 1 and (_item_of(annotation) is not None or annotation == _OBJECTS)
    found = json_in(said)
    if found is None:
        return _read(_unmarked(said_in(said).strip(), last, fields), fields)
    return _read(_under_names(found, fields, last=last, items=items), fields)


def _under_names(found: Any, fields: Mapping[str, Any], *, last: str, items: bool) -> Mapping[str, Any]:
    """The fields of an object, of one inside it, or of a list of them; a list may be all that is asked for, `items`."""
    for _ in range(_DEEPEST + 1):
        if isinstance(found, list):
            if items and not (len(found) == 1 and last in found[0]):
                break
            found = {name: value for one in found for name, value in one.items()}
        named = {str(_named(key, fields)): value for key, value in found.items()}
        if not named.keys().isdisjoint(fields):
            return named
        inner = list(found.values())
        if not (len(inner) == 1 and (isinstance(inner[0], dict) or _are_objects(inner[0]))):
            break
        [found] = inner
    if not (items and found):
        raise KeyError("no field")
    return {last: found}


def _read(said: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    read: dict[str, Any] = {}
    for name, field in fields.items():
        try:
            if name in said:
                read[name] = _value(said[name], field.annotation)
                continue
        except (ValueError, TypeError):
            if field.is_required():
                raise
        if not field.is_required():
            read[name] = field.get_default(call_default_factory=True)
        elif field.annotation == list[str] and len(fields) > 1:
            read[name] = []  # who says what goes with it, and nothing of this, means that there is none
        else:
            raise KeyError(f"no field {name!r}")
    return read


def _named(key: str, fields: Mapping[str, Any]) -> str | None:
    """The field that a key means, whatever its case, and in the singular too."""
    folded = re.sub(r"[\W_]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key)).casefold()
    return next((name for name in fields if name in (folded, f"{folded}s")), None)


def _unmarked(said: str, last: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """A reply that is no JSON: `Name: value` a line, a text for a reader, a choice, a number, or a word for none."""
    if not said or _BEGINS.search(said):
        raise ValueError("no whole JSON object")
    told = {name: value for key, value in _LINE.findall(said) if (name := _named(key, fields))}
    if last in told:
        return told
    annotation = fields[last].annotation
    inner = get_args(annotation)[0] if get_origin(annotation) is list else annotation
    takes = inner is int or get_origin(inner) is Literal or (last == "answer" and re.search(r"\w", said))
    if takes or (inner is not annotation and _NONE.fullmatch(said)):
        return {last: said}
    raise ValueError("no JSON object")


def _item_of(annotation: Any) -> type[BaseModel] | None:
    inner = get_args(annotation)[0] if get_origin(annotation) is list else None
    return inner if isinstance(inner, type) and issubclass(inner, BaseModel) else None


def _value(value: Any, annotation: Any) -> Any:
    if (item := _item_of(annotation)) is not None:
        return read_items(value, item)
    if annotation == _OBJECTS:
        return _objects(value)
    if annotation is str:
        return _text(value)
    if annotation is int:
        return _count(value)
    if get_origin(annotation) is Literal:
        return _choice(value, get_args(annotation))
    if isinstance(value, str) and get_origin(annotation) is not None:
        value = [] if _NONE.fullmatch(value) else json_in(value) or _listed(value)
    if get_origin(annotation) is list:
        return _values(value, get_args(annotation)[0])
    return TypeAdapter(annotation).validate_python(value)


def _values(value: Any, kind: Any) -> list[Any]:
    values = list(value) if isinstance(value, (list, dict)) else [] if value is None else [value]
    if kind is str:
        return [name for name in map(_name, values) if name]
    if get_origin(kind) is not Literal:
        return TypeAdapter(list[kind]).validate_python(values)
    known = []
    for own in values:
        with suppress(ValueError):
            known.append(_choice(own, get_args(kind)))
    if values and not known:
        raise ValueError("none of the choices")
    return list(dict.fromkeys(known))


def _objects(value: Any) -> list[Any]:
    """Objects, and those whose JSON is a text; what is none stays, for whoever reads it says so."""
    if isinstance(value, list):
        return [own for each in value for own in _objects(each)]
    if isinstance(value, str) and (found := json_in(value)) is not None:
        return _objects(found)
    if isinstance(value, dict) and len(value) == 1 and isinstance(inner := next(iter(value.values())), list):
        return _objects(inner)
    return [] if value is None else [value]


def _listed(value: str) -> list[Any]:
    with suppress(ValueError):
        found = _DECODER.decode(value)
        if isinstance(found, list):
            return found
    return value.split(",")


def _name(value: Any) -> str:
    if isinstance(value, dict):
        value = value.get("name", next(iter(value.values()), ""))
    return value.strip() if isinstance(value, str) else ""


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "; ".join(map(_text, value))
    if isinstance(value, dict):
        told = {key: own for key, own in value.items() if own is not None}
        return _text(told["name"]) if set(told) == {"name"} else "; ".join(f"{k}: {_text(v)}" for k, v in told.items())
    return "" if value is None else str(value)


def _choice(value: Any, options: tuple[Any, ...]) -> Any:
    """The option that is said, and nothing beside it: a verdict is not guessed out of prose."""
    if isinstance(value, list) and len(value) == 1:
        [value] = value
    said = re.sub(r"[\W_]+", " ", re.split(r"[.;:,]\s|\s-\s", str(value))[0]).strip().casefold()
    for option in options:
        if said == str(option).replace("_", " ").casefold():
            return option
    raise ValueError(f"{str(value)[:40]!r} is no choice")


def _count(value: Any) -> int:
    if isinstance(value, list):
        return len(value)
    if isinstance(value, str) and (found := _COUNT.fullmatch(value.strip())):
        value = int(found.group(1))
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != int(value) or value < 0:
        raise ValueError(f"{str(value)[:40]!r} is no count")
    return int(value)


def read_items(value: Any, item: type[Item]) -> list[Item]:
    """The objects of a list that can be read, in order; of numbered ones that have no number, their places from 1.

    Raises:
        TypeError: It is no list.
        ValueError: Nothing in it can be read.
    """
    if isinstance(value, str):
        value = [] if _NONE.fullmatch(value) else json_in(value)
    if isinstance(value, dict):
        value = [{"n": n, **own} for n, own in value.items()] if _are_objects([*value.values()]) else [value]
    if not isinstance(value, list):
        raise TypeError("no list")
    if not any(isinstance(own, dict) and {"n", "N"} & own.keys() for own in value):
        value = [{"n": n, **own} for n, own in enumerate(value, start=1) if isinstance(own, dict)]
    read = _valid(value, item)
    if value and not read:
        raise ValueError("nothing in the list can be read")
    return read


def _valid(values: list[Any], item: type[Item]) -> list[Item]:
    read = []
    for own in values:
        with suppress(ValidationError):
            named = (
                {_named(str(key), item.model_fields) or key: v for key, v in own.items()}
                if isinstance(own, dict)
                else own
            )
            read.append(item.model_validate(named))
    return read


def json_in(text: str) -> dict[str, Any] | list[Any] | None:
    """The JSON object in a reply, or the list of objects; None if there is no whole one.

    Of several the longest counts, so that an example in a preamble does not; flat ones are one list.
    """
    text = said_in(text)[:_MOST_CHARS]
    found: list[tuple[int, Any]] = []
    place = 0
    for _ in range(_MOST_PLACES):
        if (opens := _OPENS.search(text, place)) is None:
            break
        try:
            value, end = _DECODER.raw_decode(text, opens.start())
        except RecursionError:
            return None
        except ValueError:
            if not _BEGINS.match(text, opens.start()):
                place = opens.start() + 1
                continue
            value, end = _healed(text[opens.start() :]), len(text)
        if isinstance(value, dict) or _are_objects(value):
            found.append((end - opens.start(), value))
        place = end
    if len(found) > 1 and not any(_holds_list(value) for _, value in found):
        return [one for _, value in found for one in (value if isinstance(value, list) else [value])]
    return max(found, key=lambda own: own[0], default=(0, None))[1]


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(own, dict) for own in value)


def _holds_list(value: Any) -> bool:
    """Whether it is what was asked for, not an item of that."""
    first = next(iter(value.values()), None) if isinstance(value, dict) else value
    return isinstance(first, list) and any(isinstance(each, dict) for each in first)


def _healed(text: str) -> Any:
    """JSON with a comma too many, Python's quotes and the like; None if its end was torn off."""
    text = text[: max(text.rfind("}"), text.rfind("]")) + 1]
    if any(text.count(opens) > text.count(closes) for opens, closes in ("{}", "[]")):
        return None
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
            place = re.compile(r"[\s,]{0,400}").match(text, place).end()  # type: ignore[union-attr]  # it matches nothing, too
    return _valid(items, item)


def said_in(text: str) -> str:
    """A reply without the thoughts that some models write down before it; what begins with JSON has none before it."""
    if text.lstrip()[:1] in ("{", "["):
        return text
    folded = text.lower()
    ends = [folded.rfind(mark) + len(mark) for mark in _ENDS_OF_THOUGHT if mark in folded]
    return text[max(ends) :] if ends else text
