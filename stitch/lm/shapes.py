"""Objects of a list in the shapes models give them: numbered by keys, grouped, in columns, one level too deep."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from stitch.signatures.replies import names_of

_MOST_MERGED = 3
"""A model may say of a few steps together what holds of each; of more, it has not looked at each."""
_NUMBERS = re.compile(r"\d+")
_PAIRED = re.compile(r"->|=>|→|⇒|=")
_SAID_NUMBERS = re.compile(r"(?:steps? )?[\d,; and-]{1,80}[\])]\.?")
"""What stands behind a bracket in which a statement ends: the steps that it stands on."""
_EARLIER = re.compile(r"-\d{1,3}")
"""The number of a step before those that are asked about."""
CONTAINERS = frozenset(
    ("readings", "steps", "items", "labels", "result", "results", "data", "output", "changes", "list")
)
"""Keys that name no group."""


def item_type(annotation: Any) -> type[BaseModel] | None:
    """Of what objects a list is made; None if it is no list of objects."""
    inner = get_args(annotation)[0] if get_origin(annotation) is list else None
    return inner if isinstance(inner, type) and not get_origin(inner) and issubclass(inner, BaseModel) else None


def objects_in_shape(value: Any, item: type[BaseModel]) -> list[dict[str, Any]]:
    """The objects of a list, of a mapping from their numbers, of groups or columns, or the one that stands for a list.

    Those that have a number have it as `n`, from 1 if none has any; one that says the same of a few is there for each.

    Raises:
        TypeError: It is no list.
    """
    if isinstance(value, dict):
        value = by_number(value) or [value]
    if not isinstance(value, list):
        raise TypeError("no list")
    fields = _Fields(item)
    told = [fields.in_order(one) if isinstance(one, list) else one for one in value]
    found = [own for one in told if isinstance(one, Mapping) for own in _spread(one, fields)]
    return _numbered(found) if "n" in item.model_fields else found


def as_told(value: Any, item: type[BaseModel]) -> Any:
    """What a list of objects is where a model writes less than objects: pairs as a mapping or as "a = b", plain texts.

    An object of two texts may be one pair of a mapping; one of a text and numbers a text alone, which is numbered by
    its place, or says its numbers in brackets at the end.
    """
    required = {name: own.annotation for name, own in item.model_fields.items() if own.is_required()}
    fields = _Fields(item)
    if list(required.values()) == [str, str]:
        return _as_pairs(value, list(required), fields)
    texts = [name for name, kind in required.items() if kind is str]
    others = [name for name, kind in required.items() if kind in (int, list[int])]
    if len(texts) != 1 or len(required) != len(texts) + len(others) or len(others) != 1:
        return value
    return _as_texts(value, text=texts[0], number=others[0], counts=required[others[0]] is int)


def _as_texts(value: Any, *, text: str, number: str, counts: bool) -> Any:
    """A mapping from numbers to texts, and a list with plain texts in it, as objects."""
    if isinstance(value, Mapping) and value and all(isinstance(own, str) for own in value.values()):
        keys = [(_NUMBERS.findall(str(key)), own) for key, own in value.items()]
        if all(len(found) == 1 for found, _ in keys):
            return [{number: int(found[0]), text: own} for found, own in keys]
    if not isinstance(value, list):
        return value
    return [
        _with_numbers(one, place, text=text, number=number, counts=counts) if isinstance(one, str) else one
        for place, one in enumerate(value, start=1)
    ]


def _as_pairs(value: Any, names: Sequence[str], fields: _Fields) -> Any:
    """A mapping from one text to another, and pairs written with an arrow, as objects."""
    if isinstance(value, Mapping):
        named = fields.named(value)
        if value and all(isinstance(own, str) for own in value.values()) and not set(names) & set(named):
            return [dict(zip(names, pair, strict=True)) for pair in value.items()]
        return value
    if not isinstance(value, list):
        return value
    return [_as_pair(one, names, fields) for one in value]


def _as_pair(one: Any, names: Sequence[str], fields: _Fields) -> Any:
    """An object that is written with an arrow, as a mapping of one, or under one of its names and another word."""
    if isinstance(one, str):
        parts = [part.strip(" \"'`") for part in _PAIRED.split(one)]
        return dict(zip(names, parts, strict=True)) if len(parts) == 2 else one
    if not isinstance(one, Mapping):
        return one
    named = fields.named(one)
    known = set(names) & set(named)
    if len(one) == 1 and not known and isinstance(next(iter(one.values())), str):
        return dict(zip(names, next(iter(one.items())), strict=True))
    if len(one) == 2 and len(known) == 1:
        (missing,) = set(names) - known
        return {missing if key not in known else key: own for key, own in named.items()}
    return one


def _with_numbers(said: str, place: int, *, text: str, number: str, counts: bool) -> Any:
    """A plain text as an object, with its place as its number, or with the numbers that it ends with."""
    if counts:
        return {number: place, text: said}
    said = said.strip()
    begins = max(said.rfind("["), said.rfind("("))
    if begins < 1 or not _SAID_NUMBERS.fullmatch(said, begins + 1):
        return said
    return {text: said[:begins].strip(), number: [int(own) for own in _NUMBERS.findall(said, begins)]}


def _numbered(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Objects with one number each: a copy for each number that one says, from 1 if none says any."""
    told = [_with_span(one) for one in objects]
    if not any("n" in one for one in told):
        told = [{"n": place, **one} for place, one in enumerate(told, start=1)]
    return [{**one, "n": n} for one in told for n in numbers_of(one.get("n"))]


class _Fields:
    """What the objects of a list may say."""

    def __init__(self, item: type[BaseModel]) -> None:
        self._names = names_of(item)
        self.all = item.model_fields
        self.required = {name: own.annotation for name, own in item.model_fields.items() if own.is_required()}
        self.naming = next((name for name, kind in self.required.items() if kind is str), None)
        """The field that a group of objects shares."""

    def named(self, said: Mapping[str, Any]) -> dict[str, Any]:
        """An object with its fields under their names; other keys as they are."""
        found = dict(said)
        for key, value in said.items():
            name = self._names.get(re.sub(r"[\s_-]+", "_", str(key).strip().casefold()))
            holds = name == "n" and (isinstance(value, Mapping) or _group(value))
            if name is not None and name not in found and not holds:  # objects called "steps" are no numbers
                found[name] = found.pop(key)
        return found

    def in_order(self, values: Sequence[Any], *, but: Sequence[str] = ()) -> dict[str, Any]:
        """Values as those of the fields, in the order in which these are asked for; empty if their kinds do not fit."""
        asked = {name: kind for name, kind in self.required.items() if name not in but}
        if not len(values) >= len(asked) > 1:
            return {}
        pairs = list(zip(asked, values, strict=False))
        kinds: list[Any] = [get_origin(asked[name]) or asked[name] for name, _ in pairs]
        return dict(pairs) if all(map(isinstance, (value for _, value in pairs), kinds)) else {}


def _spread(one: Mapping[str, Any], fields: _Fields) -> list[dict[str, Any]]:
    """What an object holds as objects of their own: columns, groups, or itself."""
    said = fields.named(one)
    known = {name: value for name, value in said.items() if name in fields.all}
    left = {key: value for key, value in said.items() if key not in fields.all}
    if columns := _columns(known, fields):
        return columns
    if "n" not in known and (grouped := _grouped(known, left, fields)):
        return grouped
    if known.keys() - {"n"}:
        return [said]
    if len(left) == 1 and isinstance(inner := next(iter(left.values())), Mapping):
        return [{**known, **own} for own in _spread(inner, fields)]
    return [{**said, **fields.in_order(list(left.values()), but=list(known))}]


def _grouped(known: Mapping[str, Any], left: Mapping[str, Any], fields: _Fields) -> list[dict[str, Any]]:
    """The objects of the groups that an object holds, with what it says of all of them; empty if it holds none."""
    texts = [own for own in left.values() if isinstance(own, str)]
    named = {fields.naming: texts[0]} if fields.naming and len(texts) == 1 else {}
    shared = {**named, **known}
    return [
        {**shared, **_in_group(own, key, fields, shared)}
        for key, group in left.items()
        for each in _group(group)
        for own in _spread(each, fields)
    ]


def _in_group(one: dict[str, Any], key: str, fields: _Fields, shared: Mapping[str, Any]) -> dict[str, Any]:
    """An object of a group, named by the group's key if neither says another name."""
    name = fields.naming
    if name is None or name in one or name in shared or key.casefold() in CONTAINERS:
        return one
    return {name: key, **one}


def _columns(columns: Mapping[str, Any], fields: _Fields) -> list[dict[str, Any]]:
    """Rows, where each field has a list of them; none where one has no list as long as the others'."""
    told = columns.get(fields.naming or "")
    if not isinstance(told, list) or len(told) < 2:
        return []
    if not all(isinstance(own, list) and len(own) == len(told) for own in columns.values()):
        return []
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _group(value: Any) -> list[Mapping[str, Any]]:
    """The objects of a list of nothing else, or of a mapping from their numbers; else none."""
    if isinstance(value, Mapping):
        return list(by_number(value))
    return value if isinstance(value, list) and all(isinstance(own, Mapping) for own in value) else []


def _with_span(one: dict[str, Any]) -> dict[str, Any]:
    """An object that says from which number to which it holds, with these as its number."""
    numbers = [own for own in one.values() if isinstance(own, int) and not isinstance(own, bool)]
    return {"n": f"{numbers[0]}-{numbers[1]}", **one} if "n" not in one and len(numbers) == 2 else one


def by_number(said: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The objects of a mapping whose keys are numbers, or have one each, such as `step_1`; else none."""
    found = [(_NUMBERS.findall(str(key)), value) for key, value in said.items()]
    if not all(len(numbers) == 1 and isinstance(value, Mapping) for numbers, value in found):
        return []
    return [{"n": int(numbers[0]), **value} for numbers, value in found]


def numbers_of(value: Any) -> list[int]:
    """The numbers that `3`, "3", "Step 3", "1-2" or [1, 2] mean; none if they are too many to have been looked at."""
    if isinstance(value, bool) or value is None:
        return []
    if isinstance(value, (int, float)):
        return [int(value)]
    if isinstance(value, list):
        found = [n for one in value for n in numbers_of(one)]
    elif _EARLIER.fullmatch(str(value)):
        return [int(str(value))]
    else:
        found = [int(number) for number in _NUMBERS.findall(str(value))]
        if len(found) == 2 and re.search(r"\d\s*(?:-|–|—|to|bis|a)\s*\D{0,6}\d", str(value)):
            found = list(range(found[0], found[1] + 1))[: _MOST_MERGED + 1]
    return found if len(found) <= _MOST_MERGED else []


def joined(apart: Sequence[Mapping[str, Any]], only: str) -> list[Any]:
    """The lists of several objects as one, if they are of different numbers; empty if they are not."""
    lists = [one[only] for one in apart if isinstance(one.get(only), list)]
    numbers = [n for own in lists for one in own if isinstance(one, Mapping) for n in numbers_of(one.get("n"))]
    apart_numbers = len(lists) > 1 and numbers and len(numbers) == len(set(numbers))
    return [one for own in lists for one in own] if apart_numbers else []


def holds_list(value: Any) -> bool:
    """Whether an object has a list of objects, not a list of pairs."""
    return isinstance(value, Mapping) and any(
        isinstance(own, list) and any(isinstance(one, Mapping) and len(one) > 2 for one in own)
        for own in value.values()
    )
