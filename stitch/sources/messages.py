"""From a message or a row, as other programs write them, to a `Step`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from pydantic import ValidationError

from stitch.core import Step, ToolCall
from stitch.errors import StepRejectedError

GOLD_FIELDS = frozenset(
    {"gold", "evidence", "answer", "has_answer", "rewrite", "partition", "action", "action_object", "timestamp_mapping"}
)
"""What benchmarks know of a step and a memory must not: dropped at the door."""

_STEP_FIELDS = frozenset(Step.model_fields) - {"metadata"}


def step_from_row(row: Mapping[str, Any]) -> Step:
    """Return the step of a row `{"role", "content", "id"?, "timestamp"?, "session"?, "tool_calls"?, ...}`.

    Content may be a text, null, or a list of parts; tool calls may be plain or in the form of the OpenAI protocol. Gold
    fields are dropped; whatever else the row has becomes metadata.

    Raises:
        StepRejectedError: The row has no role, or says nothing, or a field has the wrong type.
    """
    if "role" not in row:
        raise StepRejectedError("step has no field 'role'")
    known = {key: row[key] for key in _STEP_FIELDS if row.get(key) is not None}
    known["content"] = text_of(row.get("content"))
    known["tool_calls"] = tuple(map(tool_call_of, row.get("tool_calls") or ()))
    metadata = dict(row["metadata"]) if isinstance(row.get("metadata"), Mapping) else {}
    for key, value in row.items():
        if key not in _STEP_FIELDS and key not in GOLD_FIELDS and key not in ("metadata", "trajectory"):
            metadata[key] = value
    if row["role"] in ("tool", "function") and isinstance(metadata.get("name"), str):
        known.setdefault("tool_name", metadata.pop("name"))
    return make_step(**known, metadata=metadata)


def make_step(**fields: Any) -> Step:
    """Return `Step(**fields)`.

    Raises:
        StepRejectedError: In one line, which field is wrong and why.
    """
    try:
        return Step(**fields)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        reason = str(first["msg"]).removeprefix("Value error, ")
        raise StepRejectedError(f"step field {where!r}: {reason}" if where else f"step: {reason}") from None


def text_of(content: Any) -> str:
    """The text of a message's content: of a list of parts, the text parts, one below the other."""
    if content is None:
        return ""
    if isinstance(content, list):
        return "\n".join(filter(None, map(_text_of_part, content)))
    return content if isinstance(content, str) else orjson.dumps(content).decode()


def _text_of_part(part: Any) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, Mapping) and isinstance(part.get("text"), str):
        return str(part["text"])
    return ""


def tool_call_of(call: Any) -> ToolCall:
    """The tool call of `{"name", "arguments"}`, or of `{"id", "function": {"name", "arguments"}}`.

    Raises:
        StepRejectedError: It has no name.
    """
    inner = call.get("function", call) if isinstance(call, Mapping) else None
    if not isinstance(inner, Mapping) or not isinstance(inner.get("name"), str):
        raise StepRejectedError("tool call has no name")
    try:
        return ToolCall(name=inner["name"], arguments=_arguments_of(inner.get("arguments")), id=call.get("id"))
    except ValidationError as error:
        raise StepRejectedError(f"tool call {inner['name']!r}: {error.errors()[0]['msg']}") from None


def _arguments_of(arguments: Any) -> Mapping[str, Any]:
    """Arguments as a mapping; a text that is no JSON object is kept whole under `input`."""
    if isinstance(arguments, str):
        try:
            arguments = orjson.loads(arguments)
        except orjson.JSONDecodeError:
            return {"input": arguments}
    if arguments is None:
        return {}
    return arguments if isinstance(arguments, Mapping) else {"input": arguments}
