"""Contents of steps in data and not in words: tool calls, their arguments, and results that are JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import orjson
from pydantic import JsonValue

from stitch.core.snippets import EntityMention
from stitch.core.steps import Step
from stitch.text.values import MAX_MENTIONS, MAX_VALUE_CHARS, find_mentions


class NamedCall(NamedTuple):
    """A tool call, however the step expresses it."""

    name: str
    arguments: tuple[tuple[str, str], ...]
    """Argument names in words ("departure city") with their values as text."""


class StructuredContent(NamedTuple):
    """Contents of a step in data and not in words."""

    calls: tuple[NamedCall, ...] = ()
    results: tuple[tuple[str, str], ...] = ()
    """Keys in words with their values as text."""
    tool: str | None = None
    """The tool that answers."""

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """All keys with their values."""
        return (*(pair for call in self.calls for pair in call.arguments), *self.results)


_NOTHING = StructuredContent()
_CALL_NAMES = ("api", "tool", "function", "name", "action", "command", "tool_name", "function_name")
_CALL_ARGUMENTS = ("arguments", "args", "parameters", "params", "constraints", "input", "kwargs")
_MAX_PAIRS = 64
_MAX_JSON_CHARS = 200_000


def structured(step: Step) -> StructuredContent:
    """The tool calls and result keys of a step: from its fields, or from content that is one JSON value."""
    calls = tuple(NamedCall(in_words(call.name), tuple(_pairs(call.arguments))) for call in step.tool_calls)
    tool = in_words(step.tool_name) if step.tool_name else None
    data = _data_in(step.content.strip())
    if data is None:
        return StructuredContent(calls, (), tool) if calls or tool else _NOTHING
    if (call := _call_in(data)) is not None:
        return StructuredContent((*calls, call), (), tool)
    return StructuredContent(calls, tuple(_pairs(data)), tool)


def _data_in(content: str) -> Any:
    """The object or list that a content is the JSON of; None if it is none."""
    if not content or content[0] not in "{[" or content[-1] not in "}]" or len(content) > _MAX_JSON_CHARS:
        return None
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        return None


def _call_in(data: Any) -> NamedCall | None:
    """The tool call that an object says; None if it says none."""
    if not isinstance(data, dict):
        return None
    lowered = {key.lower(): value for key, value in data.items()}
    name = next((lowered[key] for key in _CALL_NAMES if key in lowered), None)
    arguments = next((lowered[key] for key in _CALL_ARGUMENTS if key in lowered), None)
    if not isinstance(name, str) or not isinstance(arguments, dict | list):
        return None
    return NamedCall(in_words(name), tuple(_pairs(arguments)))


def _pairs(data: JsonValue | Mapping[str, JsonValue]) -> Iterator[tuple[str, str]]:
    waiting: list[tuple[str, Any]] = [("", data)]
    count = 0
    while waiting and count < _MAX_PAIRS:
        key, value = waiting.pop(0)
        if isinstance(value, Mapping):
            waiting.extend((in_words(str(inner)), item) for inner, item in list(value.items())[:_MAX_PAIRS])
        elif isinstance(value, list):
            waiting.extend((key, item) for item in value[:_MAX_PAIRS])
        elif key:
            count += 1
            yield key, "" if value is None else str(value).strip("\"' ")[:MAX_VALUE_CHARS]


_HUMP = re.compile(r"(?<=[a-z\d])(?=[A-Z])|[_\-./:\s]+")


def in_words(name: str) -> str:
    """An identifier as words: "DepartureCity", "departure_city" and "departure-city" give "departure city"."""
    return " ".join(part.lower() for part in _HUMP.split(name) if part)[:MAX_VALUE_CHARS]


def find_entity_mentions(step: Step) -> tuple[EntityMention, ...]:
    """The values of a step with their classes, each once; keys of calls and results are the classes of their values."""
    data = structured(step)
    pairs = [(key, value) for key, value in data.pairs if value]
    if not data.results and not (data.calls and step.content.lstrip().startswith(("{", "["))):
        pairs += [(mention.entity_type, mention.value) for mention in find_mentions(step.content)]
    return tuple(EntityMention(entity_type=key, value=value[:MAX_VALUE_CHARS]) for key, value in dict.fromkeys(pairs))[
        :MAX_MENTIONS
    ]
