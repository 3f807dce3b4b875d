"""The nested parts of replies. Lenient on purpose: one odd value must not spoil a reply; who reads it checks it."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, model_validator


def _as_text(value: Any) -> Any:
    """Text where a model gives none, a number, a list of one, or an object with a name."""
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, dict):
        value = next(
            (value[key] for key in ("name", "scope", "label", "type", "value") if isinstance(value.get(key), str)), None
        )
    return "" if value is None else str(value) if isinstance(value, (int, float)) else value


def _as_names(value: Any) -> Any:
    """Names where a model gives none, one text, or objects with names; what is no text is left out."""
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, list):
        return []
    return [name.strip() for name in map(_as_text, value) if isinstance(name, str) and name.strip()]


_ARROW = re.compile("->|=>|→|⇒|=|: ")
_PHRASES = ("phrase", "text", "word", "words", "mention", "reference", "pronoun", "span", "expression")
_MEANINGS = ("means", "meaning", "refers_to", "referent", "resolved", "stands_for", "antecedent", "name", "replacement",
             "target", "resolution", "entity")  # fmt: skip


def _as_references(value: Any) -> Any:
    """Pairs where a model gives none, a mapping, lists of two, or "it -> name"; what is no pair is left out."""
    if isinstance(value, dict):
        value = [{"phrase": phrase, "means": means} for phrase, means in value.items()]
    if not isinstance(value, list):
        return []
    return [pair for pair in map(_as_pair, value) if pair is not None]


def _as_pair(value: Any) -> Any:
    if isinstance(value, Reference):
        return value
    if isinstance(value, str):
        value = [part.strip(" \"'`") for part in _ARROW.split(value)]
    if isinstance(value, dict):
        if len(value) == 1 and not {*value} & {*_PHRASES, *_MEANINGS}:
            value = next(iter(value.items()))
        else:
            value = [next((value[key] for key in keys if key in value), None) for keys in (_PHRASES, _MEANINGS)]
    if not isinstance(value, (list, tuple)) or len(value) != 2 or not all(isinstance(own, str) for own in value):
        return None
    return {"phrase": value[0], "means": value[1]}


_OTHER_WORDS = {
    "CORRECT": frozenset(("right", "yes", "true")),
    "WRONG": frozenset(("incorrect", "no", "false", "not correct")),
}


def same_word(value: str, option: str) -> bool:
    """Whether a word in small letters can mean nothing but an option."""
    return value in _OTHER_WORDS.get(option, ())


class Reference(BaseModel):
    """Words that stand for something named earlier."""

    phrase: str = Field(description="as it stands in the step, such as 'it' or 'the second one'")
    means: str = Field(description="the name, as it was said earlier")


class Synonym(BaseModel):
    """Two names of one thing."""

    name: str = Field(description="the name to give up, from the list")
    read_as: str = Field(description="the name to keep, from the list")


_KINDS = ("read", "add", "update", "delete", "move", "versions", "chat")
_OTHER_KINDS = {
    "add": ("create", "insert", "append", "new"),
    "update": ("edit", "change", "set", "modify", "replace", "rename", "write"),
    "delete": ("remove", "drop", "cancel", "erase"),
    "move": ("reorder", "swap", "relocate", "reschedule"),
    "versions": ("version", "history", "log", "diff"),
    "chat": ("smalltalk", "greeting", "none", "other"),
}
_KIND_CALLED = {other: kind for kind, others in _OTHER_KINDS.items() for other in others}


def _as_kind(value: Any) -> Any:
    """What a task wants, in small letters; `read` where a model says something else."""
    words = re.findall(r"[a-z]+", str(value or "").lower())
    named = (word if word in _KINDS else _KIND_CALLED.get(word) for word in words)
    return next((kind for kind in named if kind), "read")


_TASK_CALLED = ("request", "task", "text", "description")


class TreeTask(BaseModel):
    """One thing that a request about a tree wants."""

    kind: Annotated[str, BeforeValidator(_as_kind)] = Field(
        description="read, add, update, delete, move, versions or chat",
        validation_alias=AliasChoices("kind", "intent", "action", "operation", "type"),
    )
    request: Annotated[str, BeforeValidator(_as_text)] = Field(
        description="the task so that it stands by itself", validation_alias=AliasChoices(*_TASK_CALLED)
    )
    query: Annotated[str, BeforeValidator(_as_text)] = Field(
        default="",
        description="the path query; empty for chat alone",
        validation_alias=AliasChoices("query", "path", "xpath", "path_query"),
    )

    @model_validator(mode="before")
    @classmethod
    def _whole_request(cls, said: Any) -> Any:
        """A task that does not say itself is what was requested."""
        return (
            said if not isinstance(said, dict) or not said.keys().isdisjoint(_TASK_CALLED) else {**said, "request": ""}
        )


_OTHER_NAMES = {
    "scope": ("thematic_scope", "goal", "scope_name"),
    "events": ("event", "event_types", "event_type", "acts", "act"),
    "entities": ("entity", "entity_types", "entity_type", "key_entity_types", "details"),
    "references": ("reference", "coreferences", "resolved_references"),
    "summary": ("note", "gist"),
}


class StepReading(BaseModel):
    """What a step is about."""

    n: int = Field(description="the number of the step")
    scope: Annotated[str, BeforeValidator(_as_text)]
    events: Annotated[list[str], BeforeValidator(_as_names)]
    entities: Annotated[list[str], BeforeValidator(_as_names)]
    references: Annotated[list[Reference], BeforeValidator(_as_references)] = Field(default_factory=list)
    summary: Annotated[str, BeforeValidator(_as_text)] = ""

    @model_validator(mode="before")
    @classmethod
    def _under_its_names(cls, said: Any) -> Any:
        """A reading whose fields a model has called something else."""
        if not isinstance(said, dict):
            return said
        found = {re.sub(r"[\s-]+", "_", str(key).strip().lower()): value for key, value in said.items()}
        for name, others in _OTHER_NAMES.items():
            if name not in found and (other := next((own for own in others if own in found), None)):
                found[name] = found.pop(other)
        return found


_NUMBERS_CALLED = ("n", "step", "number", "no", "index", "step_number", "id", "nr", "i", "#", "steps")


def names_of(item: type[BaseModel]) -> dict[str, str]:
    """What a model may call the fields of an object, in small letters, each with the field's name."""
    others: dict[str, tuple[Any, ...]] = {}
    if issubclass(item, StepReading):
        others = dict(_OTHER_NAMES)
    elif item is Reference:
        others = {"phrase": _PHRASES, "means": _MEANINGS}
    if "n" in item.model_fields:
        others["n"] = _NUMBERS_CALLED
    found: dict[str, str] = {}
    for name, field in item.model_fields.items():
        alias = field.validation_alias
        called = alias.choices if isinstance(alias, AliasChoices) else ()
        for own in (name, *called, *others.get(name, ())):
            found.setdefault(str(own), name)
    return found


_NUMBER = re.compile(r"\b\d{1,6}\b")


def _as_numbers(value: Any) -> Any:
    """Numbers where a model gives none, one, or text such as "3 and 4"; what is no number is left out."""
    if isinstance(value, bool) or value is None:
        return []
    if isinstance(value, (int, float)):
        return [int(value)]
    if isinstance(value, str):
        return [int(own) for own in _NUMBER.findall(value)]
    if isinstance(value, list):
        return [own for each in value for own in _as_numbers(each)]
    return []


class StatementReading(BaseModel):
    """What steps assert."""

    text: Annotated[str, BeforeValidator(_as_text)] = Field(
        validation_alias=AliasChoices("text", "statement", "fact", "content"), serialization_alias="text"
    )
    steps: Annotated[list[int], BeforeValidator(_as_numbers)] = Field(
        validation_alias=AliasChoices("steps", "step", "n", "sources", "evidence"), serialization_alias="steps"
    )
    date: Annotated[str, BeforeValidator(_as_text)] = ""
    corrects: Annotated[list[int], BeforeValidator(_as_numbers)] = Field(
        default_factory=list, validation_alias=AliasChoices("corrects", "supersedes"), serialization_alias="corrects"
    )


class ThemeName(BaseModel):
    """What a theme is called."""

    n: int = Field(description="the number of the theme")
    name: Annotated[str, BeforeValidator(_as_text)]
