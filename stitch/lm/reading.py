"""What a reply says, field by field, in whatever form a model says it: under other names, one level too deep, as text.

What is read is what was said. A field that is missing is missing; a number or a verdict is never guessed out of prose.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal, get_args, get_origin

from dspy.utils.exceptions import AdapterParseError
from pydantic import BaseModel, TypeAdapter, ValidationError

from stitch.core.json_text import read_json
from stitch.lm.notations import objects_written
from stitch.lm.salvage import has_json, json_in, objects_in, said_in
from stitch.lm.shapes import as_told, by_number, holds_list, item_type, joined, objects_in_shape
from stitch.lm.values import (
    as_choice,
    as_choices,
    as_count,
    as_names,
    as_objects,
    as_scores,
    as_text,
    counts_else,
    is_nothing,
    says_none,
)
from stitch.signatures.rendering import PromptAdapter

_DEEPEST_WRAPPING = 3
_FOR_READERS = frozenset(("answer", "reply", "text"))
"""Fields that may be talk. A name or a summary may not: it would be "I am sorry, I cannot do that"."""
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_CALLED_WITH = ("arguments", "parameters", "input", "args")
_BESIDE_ARGUMENTS = frozenset(("name", "type", "id", "function", "tool", *_CALLED_WITH))
_MARK = re.compile(r"\[\[ ?## ?(\w{1,40}) ?## ?\]\]")
"""What tells fields apart in prompts; some models answer so."""
_WORD = re.compile(r"\w")
_ALONE = re.compile(r"\W*\d+\W*")
_KINDS: Mapping[Any, tuple[type, ...]] = {str: (str,), int: (int, float)}
_MISSING = object()
_OBJECTS = list[dict[str, Any]]


class ReplyAdapter(PromptAdapter):
    """Renders prompts as DSPy does, and reads replies as models give them.

    A reply is an object with the fields of its signature; one under other names, or inside another object, is read as
    such a one where only one reading is possible. Of a list of objects each is read by itself, and those that cannot be
    are left out. A reply that is no JSON at all is the value of its last field, where that is text for a reader, a
    choice or a number; or it is `Name: value` a line.
    """

    def parse(self, signature: Any, completion: str) -> dict[str, Any]:
        """The fields of a reply.

        Raises:
            AdapterParseError: It lacks one, or has one of another kind.
        """
        fields = signature.output_fields
        try:
            return self._fields(_said(completion, fields), fields)
        except (ValueError, KeyError, TypeError) as error:
            raise AdapterParseError(
                adapter_name="ReplyAdapter", signature=signature, lm_response=completion, message=str(error)
            ) from error

    def _fields(self, said: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
        if not said:
            raise KeyError("no field")
        read: dict[str, Any] = {}
        for name, field in fields.items():
            value = said.get(name, _MISSING)
            if value is _MISSING and not field.is_required():
                read[name] = field.get_default(call_default_factory=True)
            elif value is _MISSING and field.annotation == list[str] and len(fields) > 1:
                read[name] = []  # who says what goes with it, and nothing of this, means that there is none
            elif value is _MISSING:
                raise KeyError(f"no field {name!r}")
            else:
                read[name] = self._read_or_default(value, field)
        return read

    def _read_or_default(self, value: Any, field: Any) -> Any:
        """The value of a field; one that need not be there spoils nothing."""
        try:
            return self._read(value, field.annotation)
        except (ValueError, TypeError):
            if field.is_required():
                raise
            return field.get_default(call_default_factory=True)

    def _read(self, value: Any, annotation: Any) -> Any:
        if (item := item_type(annotation)) is not None:
            return read_items(value, item)
        if annotation is str:
            return as_text(value)
        if annotation == list[str]:
            return as_names(value)
        if annotation == _OBJECTS:
            return as_objects(value)
        if annotation == list[float]:
            return as_scores(value)
        if annotation is int:
            return as_count(value)
        if get_origin(annotation) is Literal:
            return as_choice(value, get_args(annotation))
        if options := _options_of(annotation):
            return as_choices(value, options)
        if isinstance(value, str):
            with suppress(ValueError):
                value = read_json(value)
        reader = self._once("reader", annotation, lambda: TypeAdapter(annotation))
        return reader.validate_python(value)


def read_items(value: Any, item: type[BaseModel]) -> list[Any]:
    """The objects of a list that can be read, in order; items that have no number `n` at all are numbered from 1.

    One that says of a few numbers the same is read once for each.

    Raises:
        TypeError: It is no list. A null is none: who says that there is nothing gives an empty one, or says so.
        ValueError: Nothing in it can be read.
    """
    if value is None:
        raise TypeError("null is no list")
    if isinstance(value, str) and is_nothing(value):
        return []
    if isinstance(value, str):
        value = json_in(value)
    read = []
    for one in objects_in_shape(as_told(value, item), item):
        with suppress(ValidationError):
            read.append(item.model_validate(one))
    if value and not read:
        raise ValueError("nothing in the list can be read")
    return read


def _said(completion: str, fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields of a reply under their names, as far as it has them."""
    completion = _as_said(completion)
    if marked := _marked(completion, fields):
        return marked
    found = json_in(completion)
    required = [name for name, field in fields.items() if field.is_required()]
    if len(required) == 1 and item_type(fields[required[0]].annotation) is not None:
        return _said_of_items(completion, found, fields, only=required[0])
    if len(required) == 1 and fields[required[0]].annotation == _OBJECTS and _stands_alone(found, fields):
        return {required[0]: found}
    if found is None:
        return _text_fields(completion, fields)
    return _named(_merged(found, objects_in(completion)), fields)


def _stands_alone(found: Any, fields: Mapping[str, Any]) -> bool:
    """Whether a reply is the objects that it should have given in a field."""
    return isinstance(found, list) or (isinstance(found, Mapping) and fields.keys().isdisjoint(found))


def _merged(found: Any, apart: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """One object of a list of them, or of several that have different fields."""
    if isinstance(found, list):
        return {name: value for one in found if isinstance(one, Mapping) for name, value in one.items()}
    if len(apart) > 1 and sum(map(len, apart)) == len({key for one in apart for key in one}):
        return {name: value for one in apart for name, value in one.items()}
    told: Mapping[str, Any] = found
    return told


def _as_said(completion: str) -> str:
    """A reply without what stands around it: a text of JSON that holds it, or the call of a tool."""
    if completion.lstrip().startswith('"'):
        with suppress(ValueError):
            if isinstance(inner := read_json(completion), str):
                completion = inner
    found = json_in(completion)
    if isinstance(found, Mapping) and set(found) <= _BESIDE_ARGUMENTS:
        given = next((found[name] for name in _CALLED_WITH if name in found), None)
        if isinstance(given, str):
            return given
        if isinstance(given, (Mapping, list)):
            return json.dumps(given, ensure_ascii=False)
    return completion


def _marked(completion: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a reply that sets a mark before each, as prompts do; empty if it does not."""
    parts = _MARK.split(said_in(completion))
    found = dict(zip(parts[1::2], (part.strip() for part in parts[2::2]), strict=True))
    return {name: value for name, value in found.items() if name in fields}


def _said_of_items(completion: str, found: Any, fields: Mapping[str, Any], *, only: str) -> Mapping[str, Any]:
    """The fields of a reply whose list of objects is all that has to be there."""
    text = said_in(completion)
    if _is_empty(found, text, only=only, field=fields[only]):
        return {only: []}
    if found is None and not has_json(completion):
        return _written(text, fields, only=only)
    apart = objects_in(completion)
    if len(apart) > 1 and not any(holds_list(one) for one in apart):
        return {only: apart}
    if parts := joined(apart, only):
        return {only: parts}
    told = found if isinstance(found, Mapping) and only in found else {}
    return {**{name: told[name] for name in fields if name in told}, **_list_in(found, only)}


def _is_empty(found: Any, text: str, *, only: str, field: Any) -> bool:
    """Whether a reply says that a list is empty."""
    if found is None and text.strip() == "[]":
        return True
    item = item_type(field.annotation)
    required = {name for name, own in item.model_fields.items() if own.is_required()} if item else set()
    if found == {}:
        return "n" not in required  # of what is numbered, an object without anything is no word of consent
    return found is None and says_none(text, only) and ("n" not in required or required == {"n"})


def _written(said: str, fields: Mapping[str, Any], *, only: str) -> Mapping[str, Any]:
    """The fields of a reply that is no JSON: an outline, a table or marks."""
    item = item_type(fields[only].annotation)
    assert item is not None
    told = _labeled(said, fields)
    items = objects_written(said, item, others=fields)
    if not items and not is_nothing(told.get(only, "?")):
        raise KeyError(f"no field {only!r}")
    return {**told, only: items}


def _list_in(said: Any, only: str) -> Mapping[str, Any]:
    """The list that is all a signature asks for: under its name, under another, inside another object, or alone."""
    for _ in range(_DEEPEST_WRAPPING):
        if isinstance(said, list):
            return {only: said[0][only] if _wraps(said, only) else said}
        if not isinstance(said, Mapping) or not said:
            break
        if (key := next((key for key in said if _same_name(key, only)), None)) is not None:
            return {only: said[key]}
        if (numbered := by_number(said)) or len(said) > 1:
            return {only: numbered or [dict(said)]}
        inner = next(iter(said.values()))
        if not isinstance(inner, Mapping) and not _wraps(inner, only):
            return {only: [said] if isinstance(inner, list) else inner}  # its key may be the name of a group
        said = inner
    raise KeyError(f"no field {only!r}")


def _wraps(said: Any, only: str) -> bool:
    """Whether it is a list of one object that has the field."""
    return isinstance(said, list) and len(said) == 1 and isinstance(said[0], Mapping) and only in said[0]


def _named(said: Mapping[str, Any], fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """An object by the names of fields, whatever their case, and whatever object it stands in."""
    said, names = _unwrapped(said, fields)
    found = {name: said[key] for name, key in names.items()}
    left = _unnamed(said, names, fields)
    missing = [name for name, field in fields.items() if name not in found and field.is_required()]
    if not found and len(left) == len(fields) and all(map(_fits, (said[key] for key in left), fields.values())):
        return {name: said[key] for name, key in zip(fields, left, strict=True)}  # another language, in the order asked
    if len(missing) == 1 and (key := _other_word(left, missing[0])) is not None:
        found[missing[0]] = said[key]
    return found


def _unnamed(said: Mapping[str, Any], names: Mapping[str, str], fields: Mapping[str, Any]) -> list[str]:
    """The keys that are no name of a field and may mean one: a number that stands alone may be of something else."""
    left = [key for key in said if key not in names.values()]
    counted = len(said) == 1 and any(field.annotation is int for field in fields.values())
    return [key for key in left if not (counted and counts_else(key))]


def _other_word(left: Sequence[str], name: str) -> str | None:
    """The key that can mean a field and nothing else: the only one that is left, or that shares a word with it."""
    near = left if len(left) == 1 else [key for key in left if not _words_of(key).isdisjoint(_words_of(name))]
    return near[0] if len(near) == 1 else None


def _fits(value: Any, field: Any) -> bool:
    """Whether a value is of the kind of a field, as JSON has kinds."""
    wanted = _KINDS.get(field.annotation)
    return wanted is None or (isinstance(value, wanted) and not isinstance(value, bool))


def _words_of(name: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", _HUMP.sub("_", str(name)).casefold()))


def _unwrapped(said: Mapping[str, Any], fields: Mapping[str, Any]) -> tuple[Mapping[str, Any], dict[str, str]]:
    """The object that has a field, or nothing further inside of it, and under which key it has each field."""
    for _ in range(_DEEPEST_WRAPPING):
        names = {name: key for name in fields for key in said if _same_name(key, name)}
        inner = next(iter(said.values()), None)
        if names or len(said) != 1 or not isinstance(inner, Mapping):
            return said, names
        said = inner
    raise KeyError("no field")


def _same_name(key: str, name: str) -> bool:
    folded = re.sub(r"[\s_-]+", "_", _HUMP.sub("_", str(key).strip()).casefold())
    return name in (folded, f"{folded}s")


def _text_fields(completion: str, fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields of a reply that is no JSON: `Name: value` a line, or all of it the value of the last."""
    said = said_in(completion).strip()
    if not said or has_json(completion):
        raise ValueError("no whole JSON object")
    found = _labeled(said, fields)
    last, field = list(fields.items())[-1]
    required = [name for name, own in fields.items() if own.is_required()]
    if last not in found and not found and set(required) <= {last}:
        _check_alone(said, last, field)
        found = {last: _unfenced(said)}
    if any(name not in found for name in required) or not _is_sayable(field.annotation):
        raise ValueError("no JSON object")
    return found


def _check_alone(said: str, name: str, field: Any) -> None:
    """Refuse a text that cannot be all that a reply says of its only field."""
    if not _WORD.search(said):
        raise ValueError("no word")
    if field.annotation in (str, list[str]) and name not in _FOR_READERS:
        raise ValueError("talk where there should be a name")
    if field.annotation is int and not _ALONE.fullmatch(said):
        raise ValueError("a count in prose may be a count of anything")


def _labeled(said: str, fields: Mapping[str, Any]) -> dict[str, str]:
    """What stands behind the names of fields, or in marks of theirs."""
    return _behind_names(said, fields) or _tagged(said, fields)


def _behind_names(said: str, fields: Mapping[str, Any]) -> dict[str, str]:
    words = {name: re.escape(name).replace("_", "[ _-]") for name in fields}
    heads = "|".join(f"(?P<{name}>{word}s?)" for name, word in words.items())
    marks = list(
        re.finditer(
            rf"(?:^|\n|(?<=[.!?]) )[ \t]{{0,8}}[*#>\-\[ ]{{0,8}}(?:{heads})[*\] #]{{0,8}}:[* \t]{{0,8}}",
            said,
            re.IGNORECASE,
        )
    )
    ends = [*(mark.start() for mark in marks[1:]), len(said)]
    return {
        str(mark.lastgroup): said[mark.end() : end].strip().strip("*").strip()
        for mark, end in zip(marks, ends, strict=False)
    }


def _tagged(said: str, fields: Mapping[str, Any]) -> dict[str, str]:
    """The fields that stand in marks of their names: `<answer>...</answer>`."""
    found = {name: re.search(rf"<{name}>([^<]*)</{name}>", said, re.IGNORECASE) for name in fields}
    return {name: own.group(1).strip() for name, own in found.items() if own is not None}


def _unfenced(said: str) -> str:
    fenced = re.fullmatch(r"```\w*\n(.*?)\n?```", said, re.DOTALL)
    return fenced.group(1).strip() if fenced else said


def _is_sayable(annotation: Any) -> bool:
    return annotation in (str, int, list[str]) or get_origin(annotation) is Literal or bool(_options_of(annotation))


def _options_of(annotation: Any) -> tuple[Any, ...]:
    """Those that a list is chosen from; empty if it is no such list."""
    inner = get_args(annotation)[0] if get_origin(annotation) is list else None
    return get_args(inner) if get_origin(inner) is Literal else ()
