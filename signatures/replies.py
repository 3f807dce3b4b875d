"""The nested parts of replies. Lenient on purpose: one odd value must not spoil a reply; who reads it checks it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field


def _as_text(value: Any) -> Any:
    """Text where a model gives none, a number, or a list of one."""
    if isinstance(value, list):
        value = value[0] if value else None
    return "" if value is None else str(value) if isinstance(value, (int, float)) else value


def _as_names(value: Any) -> Any:
    """Names where a model gives none, or one text; what is no text is left out."""
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, list):
        return []
    return [name.strip() for name in map(_as_text, value) if isinstance(name, str) and name.strip()]


def _as_references(value: Any) -> Any:
    """Pairs where a model gives none, or a mapping of phrases; what is no pair is left out."""
    if isinstance(value, dict):
        value = [{"phrase": phrase, "means": means} for phrase, means in value.items()]
    if not isinstance(value, list):
        return []
    return [
        pair
        for pair in value
        if isinstance(pair, Reference)
        or (isinstance(pair, dict) and all(isinstance(pair.get(name), str) for name in ("phrase", "means")))
    ]


class Reference(BaseModel):
    """Words that stand for something named earlier."""

    phrase: str = Field(description="the words as they stand in the step, such as 'it' or 'the second one'")
    means: str = Field(description="the name to put in their place, as it was said earlier")


class Synonym(BaseModel):
    """Two names of one thing."""

    name: str = Field(description="the name to give up, from the list")
    read_as: str = Field(description="the name to keep, from the list")


def _as_kind(value: Any) -> Any:
    """What a task wants, in small letters; `read` where a model says something else."""
    kind = str(value or "").strip().lower()
    return kind if kind in ("read", "add", "update", "delete", "move", "versions", "chat") else "read"


class TreeTask(BaseModel):
    """One thing that a request about a tree wants."""

    kind: Annotated[str, BeforeValidator(_as_kind)] = Field(
        description="read, add, update, delete, move, versions or chat"
    )
    request: Annotated[str, BeforeValidator(_as_text)] = Field(description="the task so that it stands by itself")
    query: Annotated[str, BeforeValidator(_as_text)] = Field(
        default="", description="the path query; empty for chat alone"
    )


class StepReading(BaseModel):
    """What one step of a window is about."""

    n: int = Field(description="the number of the step")
    scope: Annotated[str, BeforeValidator(_as_text)]
    events: Annotated[list[str], BeforeValidator(_as_names)]
    entities: Annotated[list[str], BeforeValidator(_as_names)]
    references: Annotated[list[Reference], BeforeValidator(_as_references)] = Field(default_factory=list)
    summary: Annotated[str, BeforeValidator(_as_text)] = ""
