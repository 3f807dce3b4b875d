"""Facts of structured texts: fields of JSON, arguments of calls, lines of "key: value".

A thing is known by its identifier: {"order_id": "W26", "status": "sent"} tells that the status of W26 is sent. Read are
only forms that programs write; nothing is guessed from sentences.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from stitch.core.text_cache import text_cache
from stitch.text.structured import in_words

MAX_FACTS = 400
"""So many fields of a text are read."""
MAX_DEPTH = 8
_READ_CHARS = 40_000
_MOST_VALUES = 16
"""So many JSON values of a text are read."""
_MOST_TRIED = 64
_SHOWN_CHARS = 120

_NAMES_A_THING = frozenset(
    ("id", "ids", "uuid", "guid", "number", "no", "key", "sku", "ref", "reference", "identifier")
)
"""How the name of a field ends whose value names its thing."""
_IDENTIFIER = re.compile(r"#?(?=[^\s]{0,60}\d)[A-Za-z][A-Za-z_]{0,40}[-_#]?\d[\w-]{0,60}|#[A-Z]?\d{2,20}")
_LONG_NUMBER = re.compile(r"\d{4,24}")
_STARTS = re.compile(r"^[ \t]*(?:[A-Za-z][^\n{}\[\]:=]{0,60}[:=][ \t]*)?(?=[{\[])", re.MULTILINE)
"""Where a line begins with JSON, or with a word that announces it."""
_CALL = re.compile(r"^(?P<name>[A-Za-z_][\w.]{0,80})\((?P<rest>.*)\)\s*$", re.MULTILINE)
_ARGUMENT = re.compile(r"(?:^|, )(?P<name>[A-Za-z_]\w{0,60})=")
_LINE = re.compile(
    r"^[ \t]{0,12}(?:[-*•][ \t]{1,4})?\*{0,2}(?P<key>[A-Za-z][\w/-]{0,30}(?: [\w/-]{1,30}){0,3})"
    r"\*{0,2}:\*{0,2}[ \t]{1,12}(?P<value>[^\s][^\n]{0,200})$",
    re.MULTILINE,
)
_LEAST_LINES = 2


class Fact(NamedTuple):
    """One field of a thing."""

    thing: tuple[str, ...]
    """Identifiers from the outermost to its own, folded; empty where nothing names it."""
    field: str
    """In words, from the thing on: "address city"."""
    value: str


class CallWritten(NamedTuple):
    """A call as it stands in a text."""

    name: str
    arguments: Mapping[str, Any]


@text_cache(maxsize=2048)
def facts_in(text: str) -> tuple[Fact, ...]:
    """The fields that a text tells, at most `MAX_FACTS`, in order; of one that is told twice and not alike, none."""
    text = text[:_READ_CHARS]
    found: dict[tuple[tuple[str, ...], str], str | None] = {}
    values = list(_json_values(text))
    for value in values:
        for told in _of(value, thing=(), field="", depth=0, above=""):
            _note(found, told)
            if len(found) >= MAX_FACTS:
                break
    if not values:
        for told in _of_lines(text):
            _note(found, told)
    return tuple(Fact(thing, field, value) for (thing, field), value in found.items() if value is not None)


def _note(found: dict[tuple[tuple[str, ...], str], str | None], told: Fact) -> None:
    key = told.thing, told.field
    found[key] = told.value if found.get(key, told.value) == told.value else None


@text_cache(maxsize=2048)
def calls_in(text: str) -> tuple[CallWritten, ...]:
    """The calls that stand in a text, each on a line of its own: `name(key="value")` or `name({"key": "value"})`."""
    calls: list[CallWritten] = []
    for match in _CALL.finditer(text[:_READ_CHARS]):
        arguments = _arguments(match["rest"].strip())
        if arguments is not None:
            calls.append(CallWritten(match["name"], arguments))
    return tuple(calls[:_MOST_VALUES])


def _arguments(text: str) -> dict[str, Any] | None:
    if not text:
        return {}
    if text[0] == "{":
        try:
            read = json.loads(text)
        except (ValueError, RecursionError):
            return None
        return read if isinstance(read, dict) else None
    arguments: dict[str, Any] = {}
    at, decoder = 0, json.JSONDecoder()
    while at < len(text):
        named = _ARGUMENT.match(text, at)
        if named is None:
            return None
        try:
            arguments[named["name"]], at = decoder.raw_decode(text, named.end())
        except (ValueError, RecursionError):
            return None
    return arguments


def facts_of_arguments(arguments: Mapping[str, Any]) -> tuple[Fact, ...]:
    """The fields that arguments set: those beside the one that names the thing."""
    return tuple(_of(dict(arguments), thing=(), field="", depth=0, above=""))


def named_by(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """The identifiers among arguments, folded, in order."""
    return tuple(_folded(value) for key, value in arguments.items() if _is_identifier(key, value))


def _json_values(text: str) -> Iterator[Any]:
    """The JSON objects and lists of a text, outermost, where they begin a line or stand behind a blank or bracket."""
    decoder, at, count = json.JSONDecoder(), 0, 0
    for _ in range(_MOST_TRIED):
        start = _STARTS.search(text, at)
        if start is None or count >= _MOST_VALUES:
            return
        at = start.end()
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at += 1
            continue
        if isinstance(value, dict | list) and value:
            yield value
            count += 1
        at = end


def _of(value: Any, *, thing: tuple[str, ...], field: str, depth: int, above: str) -> Iterator[Fact]:
    if depth > MAX_DEPTH:
        return
    if isinstance(value, dict):
        yield from _of_object(value, thing=thing, field=field, depth=depth, above=above)
    elif isinstance(value, list):
        names = [own for item in value if (own := _name_of_item(item, above=above)) is not None]
        if len(set(names)) == len(value) and field:
            yield Fact(thing, field, _shown(", ".join(names)))
        for item in value:
            if isinstance(item, dict) and _own_name(item, above=above) is not None:
                yield from _of(item, thing=thing, field="", depth=depth + 1, above=above)
    elif field and value is not None:
        yield Fact(thing, field, _shown(_as_text(value)))


def _of_object(
    value: Mapping[str, Any], *, thing: tuple[str, ...], field: str, depth: int, above: str
) -> Iterator[Fact]:
    own = _own_name(value, above=above)
    inner = (*thing, _folded(value[own])) if own is not None else thing
    beyond = "" if own is not None else field
    for key, held in value.items():
        name = in_words(str(key))
        if key == own or not name:
            continue
        if isinstance(held, dict) and _names_itself(str(key)):
            yield from _of(held, thing=(*inner, _folded(key)), field="", depth=depth + 1, above="")
        else:
            yield from _of(held, thing=inner, field=f"{beyond} {name}".strip(), depth=depth + 1, above=name)


def _name_of_item(item: Any, *, above: str) -> str | None:
    """The identifier of an item of a list; None if it has none."""
    if isinstance(item, dict):
        own = _own_name(item, above=above)
        return None if own is None else _as_text(item[own])
    return None if isinstance(item, list) else _as_text(item)


def _own_name(fields: Mapping[str, Any], *, above: str) -> str | None:
    """The field of an object that names it; the one that is called as what holds it comes first."""
    named = [key for key, value in fields.items() if _is_identifier(str(key), value)]
    singular = above[:-1] if above.endswith("s") else above
    like = [key for key in named if singular and in_words(str(key)).startswith(singular)]
    plain = [key for key in named if in_words(str(key)) in _NAMES_A_THING]
    if first := (plain or like or named)[:1]:
        return first[0]
    # Without such a field, the first one names it if its value has the form of an identifier.
    key, value = next(iter(fields.items()), ("", None))
    return key if isinstance(value, str) and _IDENTIFIER.fullmatch(value) else None


def _is_identifier(key: str, value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, str | int) or not 0 < len(str(value)) <= 80:
        return False
    return in_words(key).split()[-1:] != [] and in_words(key).split()[-1] in _NAMES_A_THING


def _names_itself(key: str) -> bool:
    return bool(_IDENTIFIER.fullmatch(key) or _LONG_NUMBER.fullmatch(key))


def _of_lines(text: str) -> Iterator[Fact]:
    """The fields of lines "key: value", where one of them names the thing."""
    lines = [(in_words(match["key"]), match["value"].strip(" *")) for match in _LINE.finditer(text)]
    if len(lines) < _LEAST_LINES:
        return
    named = [value for key, value in lines if _is_line_name(key, value)]
    if len(named) != 1:  # of several things nobody says where one ends
        return
    for key, value in lines:
        if value != named[0]:
            yield Fact((_folded(named[0]),), key, _shown(value))


def _is_line_name(key: str, value: str) -> bool:
    return " " not in value and (_is_identifier(key, value) or _IDENTIFIER.fullmatch(value) is not None)


def _folded(value: Any) -> str:
    return str(value).strip().lower()


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return " ".join(str(value).split())


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARS else f"{text[: _SHOWN_CHARS - 1]}…"
