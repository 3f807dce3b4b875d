"""Traces: OpenTelemetry spans of generative AI, and LangSmith runs.

Each call of a model repeats the conversation so far; a message that a trace has shown already is not read again. A span
or run in which nobody says anything is a step that is named as it is, so that nothing of a trace is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from hashlib import blake2b
from typing import Any

import orjson

from stitch.errors import StepRejectedError
from stitch.sources.agents import Reading
from stitch.sources.messages import MessageReader, Row, is_message, text_of

CONVENTION = "1.37"
"""The version of the semantic conventions for generative AI whose attribute names are read first.

The forms before it are read as well: messages as events of a span (1.28 to 1.36), and the numbered attributes of
OpenLLMetry and OpenInference.
"""

_SORTED = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS

NamedReading = Iterator["tuple[str | None, Row | StepRejectedError]"]

_SYSTEM, _INPUT, _OUTPUT = "gen_ai.system_instructions", "gen_ai.input.messages", "gen_ai.output.messages"
_TOOL_ARGUMENTS = ("gen_ai.tool.call.arguments", "tool.parameters", "input.value", "traceloop.entity.input")
_TOOL_RESULTS = ("gen_ai.tool.call.result", "gen_ai.tool.message", "output.value", "traceloop.entity.output")
_EVENT_ROLES = {
    "gen_ai.system.message": "system", "gen_ai.user.message": "user", "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool", "gen_ai.choice": "assistant", "gen_ai.content.prompt": "user",
    "gen_ai.content.completion": "assistant",
}  # fmt: skip
_NUMBERED = re.compile(
    r"(?P<list>gen_ai\.prompt|gen_ai\.completion|llm\.input_messages|llm\.output_messages)\.(?P<number>\d+)\.(?P<field>.+)"
)
_NUMBERED_CALL = re.compile(r"tool_calls\.(?P<number>\d+)\.(?P<field>.+)")


def is_span(record: Any) -> bool:
    """Whether a record is a span, in the JSON of OTLP or as the console exporter prints it."""
    if not isinstance(record, Mapping) or not isinstance(record.get("attributes"), Mapping | list):
        return False
    return _trace_id(record) is not None


class TraceReader:
    """Reads spans and runs; remembers which messages each trace has shown. One reader a file."""

    def __init__(self, messages: MessageReader) -> None:
        self._messages = messages
        self.shown: dict[str, set[str]] = {}
        """Digests of the messages that each trace has shown."""

    def export(self, record: Mapping[str, Any]) -> NamedReading:
        """Read an OTLP export: all its spans, in the order in which they began."""
        spans = [
            span
            for resource in record["resourceSpans"]
            for scope in (*resource.get("scopeSpans", ()), *resource.get("instrumentationLibrarySpans", ()))
            for span in scope.get("spans", ())
        ]
        for span in sorted(spans, key=lambda span: _seconds(span) or 0.0):
            yield from self.named_span(span)

    def named_span(self, span: Mapping[str, Any]) -> NamedReading:
        """As `span`, with the trajectory."""
        for row in self.span(span):
            yield _trace_of(span), row

    def span(self, span: Mapping[str, Any]) -> Reading:
        """Read one span: the messages of a model call, or the call of a tool with its result."""
        attributes = _attributes_of(span)
        tool = attributes.get("gen_ai.tool.name") or attributes.get("tool.name")
        kind = str(attributes.get("openinference.span.kind") or attributes.get("traceloop.span.kind") or "").lower()
        if tool is None and kind == "tool":
            tool = attributes.get("traceloop.entity.name") or span.get("name") or "tool"
        messages, told = _messages_of(span, attributes, values=tool is None)
        rest = {
            "span": span.get("name"),
            "span_id": span.get("spanId") or span.get("span_id") or _context(span).get("span_id"),
            "parent_span_id": span.get("parentSpanId") or span.get("parent_span_id") or span.get("parent_id"),
            "status": span.get("status") or None,
            **{key: value for key, value in attributes.items() if key not in told},
        }
        rest = {key: value for key, value in rest.items() if value is not None}
        about: Row = {"timestamp": _seconds(span), "metadata": rest}
        if tool is not None and (not messages or all(m.get("role") == "tool" for m in messages)):
            for row in self._tool(str(tool), attributes, messages, about):
                if row["role"] == "tool":
                    self._seen(_trace_of(span), row)
                yield row
            return
        for message in messages:
            yield from self._once(_trace_of(span), message, about)
        if not messages:
            yield {**about, "role": "span", "content": str(span.get("name") or "span")}

    def _tool(
        self, tool: str, attributes: Mapping[str, Any], messages: list[dict[str, Any]], about: Row
    ) -> Iterator[Row]:
        given = next((attributes[name] for name in _TOOL_ARGUMENTS if attributes.get(name) is not None), None)
        arguments = _parsed(given)
        call = {"name": tool, "id": attributes.get("gen_ai.tool.call.id"),
                "arguments": arguments if isinstance(arguments, Mapping) else {} if arguments is None
                else {"input": arguments}}  # fmt: skip
        yield {**about, "role": "assistant", "content": "", "tool_calls": (call,)}
        result = next((attributes[name] for name in _TOOL_RESULTS if attributes.get(name) is not None), None)
        if result is None and messages:
            result = text_of(messages[0].get("content"))
        if result is not None:
            yield {**about, "role": "tool", "tool_name": tool, "content": text_of(result)}

    def named_run(self, run: Mapping[str, Any]) -> NamedReading:
        """As `run`, with the trajectory; the runs inside it follow."""
        trajectory = run.get("trace_id") or run.get("session_id")
        for row in self.run(run):
            yield None if trajectory is None else str(trajectory), row
        for child in run.get("child_runs") or ():
            if isinstance(child, Mapping) and "run_type" in child:
                yield from self.named_run({**({"trace_id": trajectory} if trajectory else {}), **child})

    def _seen(self, trace: str, row: Row) -> bool:
        """Whether the trace has shown what a row says, in whichever of its forms; from now on it has."""
        calls = [(call.name, dict(call.arguments)) for call in row.get("tool_calls") or ()]
        said = orjson.dumps([row["role"], row["content"].strip(), calls, row.get("tool_name")], option=_SORTED)
        digest = blake2b(said, digest_size=8).hexdigest()
        shown = self.shown.setdefault(trace, set())
        if digest in shown:
            return True
        shown.add(digest)
        return False

    def run(self, run: Mapping[str, Any]) -> Reading:
        """Read one LangSmith run: the messages of a model call, or the call of a tool with its result."""
        told = ("inputs", "outputs", "child_runs")
        rest = {key: value for key, value in run.items() if key not in told and value is not None}
        about: Row = {"timestamp": run.get("start_time"), "metadata": rest}
        inputs, outputs = run.get("inputs") or {}, run.get("outputs") or {}
        trace = str(run.get("trace_id") or run.get("id"))
        if run["run_type"] in ("tool", "retriever"):
            tool = str(run.get("name") or "tool")
            arguments = inputs if isinstance(inputs, Mapping) else {"input": inputs}
            yield {**about, "role": "assistant", "content": "", "tool_calls": ({"name": tool, "arguments": arguments},)}
            answer = outputs.get("output", outputs) if isinstance(outputs, Mapping) else outputs
            said = {**about, "role": "tool", "tool_name": tool, "content": text_of(answer or run.get("error"))}
            self._seen(trace, said)
            yield said
            return
        for role, side in (("user", inputs), ("assistant", outputs)):
            messages = _messages_in(side)
            for message in messages:
                yield from self._once(trace, message, about)
            if side and not messages:  # what a chain passes on is no message; its words count once as well
                yield from self._once(trace, {"role": role, "content": _words_of(side)}, about)

    def _once(self, trace: str, message: Any, about: Row) -> Reading:
        try:
            for row in self._messages.rows(message):
                if self._seen(trace, row):
                    continue
                timed = {"timestamp": row["timestamp"]} if row.get("timestamp") is not None else {}
                yield {**about, **row, **({} if timed else {"timestamp": about["timestamp"]}),
                       "metadata": {**about["metadata"], **row["metadata"]}}  # fmt: skip
        except StepRejectedError as error:
            yield error


def _messages_of(
    span: Mapping[str, Any], attributes: Mapping[str, Any], *, values: bool
) -> tuple[list[dict[str, Any]], set[str]]:
    """The messages of a span, and under which attributes they stand; `values` of any kind if there are no messages."""
    messages: list[dict[str, Any]] = []
    told = {*_TOOL_ARGUMENTS[:1], *_TOOL_RESULTS[:1]}
    sources = [attributes]
    events = [event for event in span.get("events") or () if isinstance(event, Mapping)]
    sources += [_attributes_of(event) for event in events]
    for source in sources:
        system = _parsed(source.get(_SYSTEM))
        if system:
            messages.append({"role": "system", "content": system})
        for name in (_INPUT, _OUTPUT):
            value = _parsed(source.get(name))
            messages += [_plain_roles(m) for m in (value if isinstance(value, list) else ()) if isinstance(m, Mapping)]
    told |= {_SYSTEM, _INPUT, _OUTPUT}
    for event in events:
        if (role := _EVENT_ROLES.get(str(event.get("name")))) is not None:
            messages.append(_event_message(role, _attributes_of(event)))
    numbered: dict[tuple[str, int], dict[str, Any]] = {}
    for key, value in attributes.items():
        if found := _NUMBERED.fullmatch(key):
            told.add(key)
            order = ("prompt" not in found["list"] and "input" not in found["list"], int(found["number"]))
            fields = numbered.setdefault((str(int(order[0])), order[1]), {})
            fields[found["field"].removeprefix("message.")] = value
    messages += [_numbered_message(fields) for _, fields in sorted(numbered.items())]
    if values and not messages:
        for name, role in (("input.value", "user"), ("output.value", "assistant"), ("gen_ai.prompt", "user"),
                           ("gen_ai.completion", "assistant")):  # fmt: skip
            if attributes.get(name) is not None:
                inner = _messages_in(_parsed(attributes[name]))
                messages += inner or [{"role": role, "content": text_of(attributes[name])}]
                told.add(name)
    return messages, told


def _plain_roles(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message whose parts are in the form of the convention, or of whoever wrote them."""
    return {"role": "assistant", **message}


def _event_message(role: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The message of an event of a span."""
    for name in ("gen_ai.prompt", "gen_ai.completion"):
        if name in fields:
            return {"role": role, "content": _parsed(fields[name])}
    rest = {key: _parsed(value) if key in ("tool_calls", "message") else value for key, value in fields.items()}
    inner = rest.pop("message", None)
    if isinstance(inner, Mapping):
        rest.update(inner)
    elif inner is not None:
        rest.setdefault("content", inner)
    if role == "tool" and "id" in rest:
        rest["tool_call_id"] = rest.pop("id")
    return {"role": role, "content": None, **rest}


def _numbered_message(fields: Mapping[str, Any]) -> dict[str, Any]:
    """A message whose fields are attributes of their own, such as `gen_ai.prompt.0.role`."""
    message: dict[str, Any] = {"role": "assistant"}
    calls: dict[int, dict[str, Any]] = {}
    texts: list[str] = []
    for key, value in fields.items():
        if found := _NUMBERED_CALL.fullmatch(key):
            name = found["field"].removeprefix("tool_call.").removeprefix("function.")
            calls.setdefault(int(found["number"]), {})[name] = value
        elif key.startswith("contents.") and key.endswith(".text"):
            texts.append(text_of(value))
        else:
            message[key] = value
    if texts and not message.get("content"):
        message["content"] = "\n".join(texts)
    if calls:
        message["tool_calls"] = [calls[number] for number in sorted(calls)]
    return message


def _context(span: Mapping[str, Any]) -> Mapping[str, Any]:
    context = span.get("context")
    return context if isinstance(context, Mapping) else {}


def _trace_id(span: Mapping[str, Any]) -> Any:
    return span.get("traceId") or span.get("trace_id") or span.get("traceID") or _context(span).get("trace_id")


def _trace_of(span: Mapping[str, Any]) -> str:
    attributes = _attributes_of(span)
    conversation = attributes.get("gen_ai.conversation.id") or attributes.get("session.id")
    return str(conversation or _trace_id(span) or "trace")


def _seconds(span: Mapping[str, Any]) -> float | None:
    """When a span began, in Unix seconds."""
    nanoseconds = span.get("startTimeUnixNano") or span.get("start_time_unix_nano")
    if nanoseconds:
        return int(nanoseconds) / 1e9
    started = span.get("start_time") or span.get("startTime")
    if isinstance(started, int | float):
        return started / 1e9 if started > 1e14 else float(started)
    try:
        return datetime.fromisoformat(started.replace("Z", "+00:00")).timestamp() if started else None
    except (ValueError, AttributeError):
        return None


def _attributes_of(span: Mapping[str, Any]) -> dict[str, Any]:
    attributes = span.get("attributes") or {}
    if isinstance(attributes, Mapping):
        return dict(attributes)
    return {str(entry["key"]): _plain(entry.get("value")) for entry in attributes if isinstance(entry, Mapping)}


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


def _words_of(value: Any) -> str:
    """What a chain is given or gives, as a text: its only text, or the JSON of it."""
    if isinstance(value, Mapping) and len(value) == 1:
        (only,) = value.values()
        if isinstance(only, str):
            return only
    return text_of(value)


def _messages_in(value: Any) -> list[Any]:
    """The messages of the inputs or outputs of a run, in any of the nestings in use."""
    if isinstance(value, list):
        return [message for entry in value for message in _messages_in(entry)]
    if not isinstance(value, Mapping):
        return []
    if is_message(value) and not isinstance(value.get("message"), Mapping):
        return [value]
    nested = (value.get(name) for name in ("messages", "generations", "message", "choices", "output"))
    return [message for entry in nested if entry is not None for message in _messages_in(entry)]
