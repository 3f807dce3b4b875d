"""Traces: OpenTelemetry spans of generative AI, and LangSmith runs.

Each call of a model repeats the conversation so far; a message that a trace has shown already is not read again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from stitch.errors import StepRejectedError
from stitch.sources.agents import Reading
from stitch.sources.messages import MessageReader, Row, text_of

CONVENTION = "1.37"
"""The version of the semantic conventions for generative AI whose attribute names are read."""

_INPUT, _OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"


class TraceReader:
    """Reads spans and runs; remembers which messages each trace has shown. One reader a file."""

    def __init__(self, messages: MessageReader) -> None:
        self._messages = messages
        self._shown: dict[str, set[bytes]] = {}

    def export(self, record: Mapping[str, Any]) -> Iterator[tuple[str | None, Row | StepRejectedError]]:
        """Read an OTLP export: all its spans, in the order in which they began."""
        spans = [
            span
            for resource in record["resourceSpans"]
            for scope in resource.get("scopeSpans", ())
            for span in scope.get("spans", ())
        ]
        for span in sorted(spans, key=lambda span: int(span.get("startTimeUnixNano") or 0)):
            for row in self.span(span):
                yield _trace_of(span), row

    def span(self, span: Mapping[str, Any]) -> Reading:
        """Read one span: the messages of a model call, or the call of a tool with its result; nothing of others."""
        attributes = _attributes_of(span)
        started = int(span.get("startTimeUnixNano") or span.get("start_time_unix_nano") or 0)
        rest = {
            "span": span.get("name"),
            "span_id": span.get("spanId") or span.get("span_id"),
            **{key: value for key, value in attributes.items() if key not in (_INPUT, _OUTPUT)},
        }
        about: Row = {"timestamp": started / 1e9 if started else None, "metadata": rest}
        if "gen_ai.tool.name" in attributes:
            tool = str(attributes["gen_ai.tool.name"])
            arguments = _parsed(attributes.get("gen_ai.tool.call.arguments"))
            call = {
                "name": tool,
                "arguments": arguments if isinstance(arguments, Mapping) else {"input": arguments},
                "id": attributes.get("gen_ai.tool.call.id"),
            }
            yield {**about, "role": "assistant", "content": "", "tool_calls": (call,)}
            if (result := attributes.get("gen_ai.tool.call.result")) is not None:
                yield {**about, "role": "tool", "tool_name": tool, "content": text_of(result)}
            return
        for name in (_INPUT, _OUTPUT):
            for message in _parsed(attributes.get(name)) or ():
                yield from self._once(_trace_of(span), message, about)

    def run(self, run: Mapping[str, Any]) -> Reading:
        """Read one LangSmith run: the messages of a model call, or the call of a tool with its result."""
        rest = {key: value for key, value in run.items() if key not in ("inputs", "outputs") and value is not None}
        about: Row = {"timestamp": run.get("start_time"), "metadata": rest}
        inputs, outputs = run.get("inputs") or {}, run.get("outputs") or {}
        if run["run_type"] == "tool":
            tool = str(run.get("name") or "tool")
            arguments = inputs if isinstance(inputs, Mapping) else {"input": inputs}
            yield {**about, "role": "assistant", "content": "", "tool_calls": ({"name": tool, "arguments": arguments},)}
            answer = outputs.get("output", outputs) if isinstance(outputs, Mapping) else outputs
            yield {**about, "role": "tool", "tool_name": tool, "content": text_of(answer)}
            return
        for message in (*_messages_in(inputs), *_messages_in(outputs)):
            yield from self._once(str(run.get("trace_id") or run.get("id")), message, about)

    def _once(self, trace: str, message: Any, about: Row) -> Reading:
        shown = self._shown.setdefault(trace, set())
        digest = orjson.dumps(message, option=orjson.OPT_SORT_KEYS)
        if digest in shown:
            return
        shown.add(digest)
        try:
            for row in self._messages.rows(message):
                yield {**about, **row, "metadata": {**about["metadata"], **row["metadata"]}}
        except StepRejectedError as error:
            yield error


def trace_of_run(run: Mapping[str, Any]) -> str | None:
    """The trajectory of a LangSmith run."""
    trace = run.get("trace_id") or run.get("session_id")
    return None if trace is None else str(trace)


def _trace_of(span: Mapping[str, Any]) -> str:
    conversation = _attributes_of(span).get("gen_ai.conversation.id")
    return str(conversation or span.get("traceId") or span.get("trace_id") or "trace")


def _attributes_of(span: Mapping[str, Any]) -> dict[str, Any]:
    attributes = span.get("attributes") or {}
    if isinstance(attributes, Mapping):
        return dict(attributes)
    return {entry["key"]: _plain(entry.get("value")) for entry in attributes if isinstance(entry, Mapping)}


def _plain(value: Any) -> Any:
    """The value of an OTLP attribute, such as `{"stringValue": "x"}`."""
    if not isinstance(value, Mapping) or len(value) != 1:
        return value
    (kind, inner), *_ = value.items()
    if kind == "arrayValue":
        return [_plain(entry) for entry in inner.get("values", ())]
    if kind == "kvlistValue":
        return {entry["key"]: _plain(entry.get("value")) for entry in inner.get("values", ())}
    return int(inner) if kind == "intValue" else inner


def _parsed(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return value


def _messages_in(value: Any) -> list[Any]:
    """The messages of the inputs or outputs of a LangSmith run, in any of the nestings in use."""
    if isinstance(value, list):
        return [message for entry in value for message in _messages_in(entry)]
    if not isinstance(value, Mapping):
        return []
    if "role" in value:
        return [value]
    if isinstance(value.get("kwargs"), Mapping) and "content" in value["kwargs"]:
        kind = str(value.get("id", ["assistant"])[-1]).removesuffix("Chunk").removesuffix("Message").lower()
        role = {"ai": "assistant", "human": "user"}.get(kind, kind)
        calls = [
            {"name": call.get("name"), "arguments": call.get("args"), "id": call.get("id")}
            for call in value["kwargs"].get("tool_calls") or ()
        ]
        return [{"role": role, "content": value["kwargs"]["content"], "tool_calls": calls}]
    nested = (value.get(name) for name in ("messages", "generations", "message", "choices", "output"))
    return [message for entry in nested if entry is not None for message in _messages_in(entry)]
