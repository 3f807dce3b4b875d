"""The nested parts of replies. Lenient on purpose: one odd value must not spoil a reply; who reads it checks it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, WithJsonSchema

_NUMBER = re.compile(r"\b\d{1,6}\b")


def _as_text(value: Any) -> Any:
    """Text where a model gives none, a number, a list of one, or an object with a name."""
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, dict):
        named = (value.get(key) for key in ("name", "scope", "label", "type", "value"))
        value = next((own for own in named if isinstance(own, str)), None)
    return "" if value is None else str(value) if isinstance(value, (int, float)) else value


def _as_names(value: Any) -> Any:
    """Names where a model gives none, one text, or objects with names; what is no text is left out."""
    if isinstance(value, str):
        value = value.split(",")
    if isinstance(value, dict):
        value = list(value)
    if not isinstance(value, list):
        return []
    return [name.strip() for name in map(_as_text, value) if isinstance(name, str) and name.strip()]


def _as_number(value: Any) -> Any:
    """The first number of a text, such as "Step 3."; true is none."""
    if isinstance(value, bool):
        return None
    found = _NUMBER.search(value) if isinstance(value, str) else None
    return int(found.group()) if found and not value.lstrip().startswith("-") else value


def _as_numbers(value: Any) -> Any:
    """Numbers where a model gives none, one, or text such as "3 and 4"; what is no number is left out."""
    if isinstance(value, bool) or value is None:
        return []
    if isinstance(value, (int, float)):
        return [int(value)]
    if isinstance(value, str):
        return [int(own) for own in _NUMBER.findall(value)]
    return [own for each in value for own in _as_numbers(each)] if isinstance(value, list) else []


def _as_pairs(value: Any) -> Any:
    """References where a model gives "words = name", a mapping, or lists of two; what is no pair is left out."""
    if isinstance(value, dict):
        value = list(value.items())
    if not isinstance(value, list):
        return []
    found = []
    for own in value:
        if isinstance(own, str):
            own = [part.strip(" \"'") for part in own.split("=", 1)]
        if isinstance(own, dict) and len(own) == 1:
            own = next(iter(own.items()))
        if isinstance(own, (list, tuple)) and len(own) == 2:
            own = {"phrase": own[0], "means": own[1]}
        if isinstance(own, Reference) or (
            isinstance(own, dict) and all(isinstance(own.get(name), str) for name in ("phrase", "means"))
        ):
            found.append(own)
    return found


Text = Annotated[str, BeforeValidator(_as_text)]
Names = Annotated[list[str], BeforeValidator(_as_names)]
Words = Annotated[Names, PlainSerializer(", ".join), WithJsonSchema({"type": "string"})]
"""Names in one text, with commas: so they take half the room."""
Number = Annotated[int, BeforeValidator(_as_number)]
Numbers = Annotated[list[int], BeforeValidator(_as_numbers)]


class Reference(BaseModel):
    """Words that stand for something named earlier."""

    phrase: str = Field(description="as it stands in the step, such as 'it' or 'the second one'")
    means: str = Field(description="the name, as it was said earlier")


def _as_texts(references: Sequence[Reference]) -> list[str]:
    return [f"{own.phrase} = {own.means}" for own in references]


References = Annotated[
    list[Reference],
    BeforeValidator(_as_pairs),
    PlainSerializer(_as_texts),
    WithJsonSchema({"type": "array", "items": {"type": "string"}}),
]
"""References as short texts: "the second one = Hotel Aurora"."""


class Synonym(BaseModel):
    """Two names of one thing."""

    name: str = Field(description="the name to give up, from the list")
    read_as: str = Field(description="the name to keep, from the list")


_KINDS = {
    "read": ("show", "find", "query"),
    "add": ("create", "insert", "append", "new"),
    "update": ("edit", "change", "set", "modify", "replace", "rename", "write"),
    "delete": ("remove", "drop", "cancel", "erase"),
    "move": ("reorder", "swap", "relocate", "reschedule"),
    "versions": ("version", "history", "log", "diff"),
    "chat": ("smalltalk", "greeting", "none", "other"),
}
_KIND_CALLED = {word: kind for kind, others in _KINDS.items() for word in (kind, *others)}


def _as_kind(value: Any) -> Any:
    """A kind of task, in small letters; `read` where a model says something else."""
    words = re.findall(r"[a-z]+", str(value or "").lower())
    return next((_KIND_CALLED[word] for word in words if word in _KIND_CALLED), "read")


class TreeTask(BaseModel):
    """One thing that a request about a tree wants."""

    kind: Annotated[str, BeforeValidator(_as_kind)] = Field(
        description="read, add, update, delete, move, versions or chat"
    )
    request: Text = Field(default="", description="the task so that it stands by itself")
    query: Text = Field(default="", description="the path query; empty for chat alone")


class StepReading(BaseModel):
    """The labels of a step; the prompt says what its fields are, so that the schema that goes with it need not."""

    model_config = ConfigDict(json_schema_extra=lambda schema: schema.pop("description", None))

    n: Number
    scope: Text
    events: Names
    entities: Names
    references: References = Field(default_factory=list)
    summary: Text = ""


class StatementReading(BaseModel):
    """An assertion of steps."""

    text: Text
    steps: Numbers
    date: Text = ""
    corrects: Numbers = Field(default_factory=list)


class ThemeName(BaseModel):
    """The name of a theme."""

    n: Number = Field(description="the number of the theme")
    name: Text
