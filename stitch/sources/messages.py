"""From a message, as chat programs and agents write them down, to steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson
from pydantic import ValidationError

from stitch.core import Step, ToolCall
from stitch.errors import StepRejectedError

GOLD_FIELDS = frozenset(
    {"gold", "evidence", "answer", "has_answer", "rewrite", "ground_truth", "is_correct"}
    | {"mistake_agent", "mistake_step", "mistake_reason"}
)
"""What benchmarks know of a step and a memory must not: dropped at the door."""

_ROLES = {"human": "user", "gpt": "assistant", "ai": "assistant", "model": "assistant", "bot": "assistant"}
_TEXT_FIELDS = ("content", "parts", "text", "value", "system_prompt")
_TOOL_ROLES = ("tool", "function")

Row = dict[str, Any]
"""The fields of a `Step`, not yet checked."""


def make_step(row: Row) -> Step:
    """Return `Step(**row)`.

    Raises:
        StepRejectedError: In one line, which field is wrong and why.
    """
    try:
        return Step(**row)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        reason = str(first["msg"]).removeprefix("Value error, ")
        raise StepRejectedError(f"step field {where!r}: {reason}" if where else f"step: {reason}") from None


class MessageReader:
    """Reads messages of the OpenAI, Anthropic and Gemini kinds and their relatives; one reader a file.

    Content may be a text, null, or a list of parts; tool calls and results may stand in fields or in parts. A message
    that holds tool results becomes one step a result. The reader remembers the names of called tools, because a
    result often names only the id of the call. Gold fields are dropped; whatever else a message has becomes metadata.
    """

    def __init__(self) -> None:
        self._tool_names: dict[str, str] = {}

    def rows(self, message: Any, *, speaker: bool = False) -> Iterator[Row]:
        """Yield the steps of a message as rows.

        Args:
            message: One message.
            speaker: The field `name` says who speaks, and is the role.

        Raises:
            StepRejectedError: It is no message.
        """
        if not isinstance(message, Mapping):
            raise StepRejectedError(f"step is not an object but {type(message).__name__}")
        fields = {key: value for key, value in message.items() if value is not None and key not in GOLD_FIELDS}
        if fields.get("type") == "function_call":
            yield from self._called(fields)
            return
        if fields.get("type") == "function_call_output":
            yield self._result(fields, fields.pop("call_id", None), fields.pop("output", ""))
            return
        yield from self._spoken(fields, speaker=speaker)

    def _spoken(self, fields: dict[str, Any], *, speaker: bool) -> Iterator[Row]:
        said = fields.pop("role", None) or fields.pop("from", None)
        if not isinstance(said, str):
            raise StepRejectedError("step has no field 'role'")
        metadata = _metadata_of(fields)
        row: Row = {"role": _ROLES.get(said.lower(), said), "metadata": metadata}
        if row["role"] != said:
            metadata["role"] = said
        for name in ("id", "timestamp", "session", "parent", "tool_name"):
            if name in metadata:
                row[name] = metadata.pop(name)
        if speaker and isinstance(metadata.get("name"), str):
            metadata["role"] = said
            row["role"] = metadata.pop("name")
        content = next((metadata.pop(name) for name in _TEXT_FIELDS if name in metadata), None)
        calls = [self._call(call) for call in metadata.pop("tool_calls", None) or ()]
        if isinstance(metadata.get("function_call"), Mapping):
            calls.append(self._call(metadata.pop("function_call")))
        texts: list[str] = []
        results: list[Row] = []
        # A tool's result may be any JSON value; only a list is a list of parts.
        for part in content if isinstance(content, list) else [text_of(content)]:
            self._take_in(part, row=row, texts=texts, calls=calls, results=results)
        yield from results
        if texts or calls or not results:
            self._name_result(row)
            yield {**row, "content": "\n".join(texts), "tool_calls": tuple(calls)}

    def _take_in(self, part: Any, *, row: Row, texts: list[str], calls: list[ToolCall], results: list[Row]) -> None:
        """Add a part of a message to where it belongs; what is no text and no tool goes to the metadata."""
        if part is None or part == "":
            return
        if isinstance(part, str):
            texts.append(part)
        elif not isinstance(part, Mapping):
            texts.append(text_of(part))
        elif part.get("type") == "tool_use":
            calls.append(self._call({"name": part.get("name"), "arguments": part.get("input"), "id": part.get("id")}))
        elif isinstance(part.get("functionCall"), Mapping):
            called = part["functionCall"]
            calls.append(self._call({**called, "arguments": called.get("args")}))
        elif part.get("type") == "tool_call":
            calls.append(self._call(part))
        elif part.get("type") in ("tool_result", "tool_call_response"):
            rest = {key: value for key, value in part.items() if key not in ("type", "content", "response", "result")}
            answer = part.get("content", part.get("response", part.get("result")))
            reference = rest.pop("tool_use_id", None) or rest.pop("id", None)
            shared: Row = {key: row[key] for key in ("timestamp", "session", "parent") if key in row}
            results.append({**shared, **self._result({**row["metadata"], **rest}, reference, answer)})
        elif isinstance(part.get("functionResponse"), Mapping):
            answered = part["functionResponse"]
            results.append(self._result({"name": answered.get("name")}, answered.get("id"), answered.get("response")))
        else:
            text = part.get("text", part.get("content"))
            if isinstance(text, str) and part.get("type") not in ("thinking", "reasoning"):
                texts.append(text)
            else:
                row["metadata"].setdefault("parts", []).append(dict(part))

    def _called(self, fields: dict[str, Any]) -> Iterator[Row]:
        call = self._call({"id": fields.pop("call_id", None), **fields})
        rest = {key: value for key, value in fields.items() if key not in ("name", "arguments", "type")}
        yield {"role": "assistant", "content": "", "tool_calls": (call,), "metadata": _metadata_of(rest)}

    def _result(self, fields: Mapping[str, Any], reference: Any, answer: Any) -> Row:
        metadata = _metadata_of(fields)
        name = metadata.pop("name", None) or self._tool_names.get(str(reference))
        if reference is not None:
            metadata["tool_call_id"] = str(reference)
        row = {"role": "tool", "content": text_of(answer), "metadata": metadata}
        return {**row, "tool_name": name or "tool"}

    def _name_result(self, row: Row) -> None:
        """Name the tool whose result a message of the role `tool` is."""
        if row["role"] not in _TOOL_ROLES or "tool_name" in row:
            return
        metadata = row["metadata"]
        references = metadata.get("tool_call_ids") or [metadata.get("tool_call_id")]
        known = (self._tool_names.get(str(reference)) for reference in references)
        row["tool_name"] = metadata.pop("name", None) or next(filter(None, known), "tool")

    def _call(self, call: Any) -> ToolCall:
        inner = call.get("function", call) if isinstance(call, Mapping) else None
        if not isinstance(inner, Mapping) or not isinstance(inner.get("name"), str):
            raise StepRejectedError("tool call has no name")
        try:
            made = ToolCall(name=inner["name"], arguments=_arguments_of(inner.get("arguments")), id=call.get("id"))
        except ValidationError as error:
            raise StepRejectedError(f"tool call {inner['name']!r}: {error.errors()[0]['msg']}") from None
        if made.id is not None:
            self._tool_names[made.id] = made.name
        return made


def text_of(content: Any) -> str:
    """The text of a content: of a list of parts, the text parts, one below the other; of other values, their JSON."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and all(isinstance(part, str | Mapping) for part in content):
        texts = [part if isinstance(part, str) else part.get("text") for part in content]
        if all(isinstance(text, str) for text in texts):
            return "\n".join(filter(None, texts))
    return orjson.dumps(content).decode()


def _metadata_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields as metadata, those that a row calls `metadata` among them."""
    metadata = {key: value for key, value in fields.items() if value is not None and key != "trajectory"}
    inner = metadata.pop("metadata", None)
    return {**metadata, **inner} if isinstance(inner, Mapping) else metadata


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
