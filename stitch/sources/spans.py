"""Traces: OpenTelemetry spans of generative AI, and LangSmith runs.

Each call of a model repeats the conversation so far; a message that a trace has shown already is not read again. A span
or run in which nobody says anything is a step that is named as it is, so that nothing of a trace is dropped.

More than 400 lines because all conventions by which a span says the same things stand in one place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any

import orjson

from stitch.errors import StepRejectedError
from stitch.sources.conversation import Reading
from stitch.sources.fields import BROKEN, Row, is_message
from stitch.sources.messages import MessageReader
from stitch.sources.parts import text_of
from stitch.sources.runs import arguments_in
from stitch.text.dates import read_timestamp

# Attribute names of the semantic conventions for generative AI 1.37 are read first; the forms before it are read as
# well: messages as events of a span (1.28 to 1.36), and the numbered attributes of OpenLLMetry and OpenInference.
_NESTED = ("messages", "generations", "message", "choices", "output")
"""Where the messages of what a run is given, or gives, stand."""
_DEEPEST = 12
_SORTED = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS

NamedReading = Iterator["tuple[str | None, Row | StepRejectedError]"]

_SYSTEM, _INPUT, _OUTPUT = "gen_ai.system_instructions", "gen_ai.input.messages", "gen_ai.output.messages"
_TOOL_ARGUMENTS = (
    "gen_ai.tool.call.arguments",
    "tool.parameters",
    "input.value",
    "traceloop.entity.input",
    "mlflow.spanInputs",
    "tool_arguments",
)
_TOOL_RESULTS = (
    "gen_ai.tool.call.result",
    "gen_ai.tool.message",
    "output.value",
    "traceloop.entity.output",
    "mlflow.spanOutputs",
    "tool_response",
)
_VALUES = (
    ("input.value", "user"),
    ("output.value", "assistant"),
    ("mlflow.spanInputs", "user"),
    ("mlflow.spanOutputs", "assistant"),
    ("gen_ai.prompt", "user"),
    ("gen_ai.completion", "assistant"),
)
_KINDS = ("openinference.span.kind", "traceloop.span.kind", "mlflow.spanType")
_RETRIEVED = re.compile(r"retrieval\.documents\.\d+\.document\.content")
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
    if not isinstance(record, Mapping) or "op_name" in record:
        return False
    attributes = record.get("attributes", record.get("tags") if "operationName" in record else None)
    return isinstance(attributes, Mapping | list) and _trace_id(record) is not None


def is_export(record: Any) -> bool:
    """Whether it is an OTLP export."""
    return isinstance(record, Mapping) and any(
        isinstance(record.get(name), list) for name in ("resourceSpans", "resourceLogs"))  # fmt: skip


class TraceReader:
    """Reads spans and runs; remembers which messages each trace has shown. One reader a file."""

    def __init__(self, messages: MessageReader) -> None:
        self._messages = messages
        self.shown: dict[str, set[str]] = {}
        """Digests of the messages that each trace has shown."""
        self.conversations: dict[str, str] = {}
        """The conversation that each trace is of, where one of its spans has said so."""

    def export(self, record: Mapping[str, Any]) -> NamedReading:
        """Read an OTLP export: all its spans, in the order in which they began."""
        spans = [
            {"resource": resource.get("resource"), "scope": scope.get("scope") or scope.get("instrumentationLibrary"),
             **said}
            for resource in (*record.get("resourceSpans", ()), *record.get("resourceLogs", ()))
            for scope in (*resource.get("scopeSpans", ()), *resource.get("instrumentationLibrarySpans", ()),
                          *resource.get("scopeLogs", ()))
            for said in (*scope.get("spans", ()), *map(_span_of, scope.get("logRecords", ())))
        ]  # fmt: skip
        for span in sorted(spans, key=lambda span: _seconds(span) or 0.0):
            try:
                yield from self.named_span(span)
            except BROKEN as error:  # the spans after it are read all the same
                yield None, StepRejectedError(f"broken span: {type(error).__name__}: {error}")

    def named_span(self, span: Mapping[str, Any]) -> NamedReading:
        """As `span`, with the trajectory."""
        trace, named = str(_trace_id(span) or "trace"), _trace_of(span)
        if named != trace:
            self.conversations.setdefault(trace, named)
        for row in self.span(span):
            yield self.conversations.get(trace, named), row

    def span(self, span: Mapping[str, Any]) -> Reading:
        """Read one span: the messages of a model call, or the call of a tool with its result."""
        attributes = _attributes_of(span)
        tool = _tool_of(span, attributes)
        messages, told = _messages_of(span, attributes, values=tool is None)
        about: Row = {"timestamp": _seconds(span), "metadata": _beside(span, attributes, told)}
        if tool is not None and (not messages or all(m.get("role") == "tool" for m in messages)):
            for row in self._tool(str(tool), attributes, messages, about):
                if row["role"] == "tool":
                    self._seen(_trace_of(span), row)
                yield row
            return
        said = [row for message in messages for row in self._once(_trace_of(span), message, about)]
        yield from said
        if not said:  # nobody says anything that the trace has not shown
            yield {**about, "role": "span", "content": _name_of(span)}

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
        retrieved = [
            value for key, value in attributes.items() if _RETRIEVED.fullmatch(key) and key.endswith("content")
        ]
        if result is None and retrieved:
            result = "\n\n".join(map(text_of, retrieved))
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
        trace = _trace_of_run(run)
        if run["run_type"] in ("tool", "retriever"):
            yield from self._tool_run(run, inputs, outputs, about)
            return
        for name, side in (("inputs", inputs), ("outputs", outputs)):
            if more := _beside_messages(side):
                rest[name] = more
        sides = (("user", inputs), ("assistant", outputs))
        messages = (said for role, side in sides for said in _said_in(side, role=role))
        rows = [row for message in messages for row in self._once(trace, message, about)]
        yield from rows
        if not rows:
            yield {**about, "role": "run", "content": str(run.get("name") or run["run_type"])}

    def _tool_run(self, run: Mapping[str, Any], inputs: Any, outputs: Any, about: Row) -> Reading:
        """The call of a tool, and what it gave."""
        tool = str(run.get("name") or "tool")
        given = arguments_in(inputs)
        arguments = given if isinstance(given, Mapping) else {"input": given}
        yield {**about, "role": "assistant", "content": "", "tool_calls": ({"name": tool, "arguments": arguments},)}
        answer = outputs.get("output", outputs) if isinstance(outputs, Mapping) else outputs
        beside: dict[str, Any] = {}
        if isinstance(answer, Mapping) and "tool_call_id" in answer and "content" in answer:  # a message of a tool
            beside = {key: value for key, value in answer.items() if key not in ("content", "type", "name")}
            answer = answer["content"]
        said = {**about, "role": "tool", "tool_name": tool, "content": text_of(answer or run.get("error")),
                "metadata": {**about["metadata"], **beside}}  # fmt: skip
        self._seen(_trace_of_run(run), said)
        yield said

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


def _trace_of_run(run: Mapping[str, Any]) -> str:
    return str(run.get("trace_id") or run.get("id"))


def _said_in(side: Any, *, role: str) -> list[Any]:
    """The messages that a run is given or gives; what a chain passes on is none, but its words count once as well."""
    messages = _messages_in(side)
    return messages if messages or not side else [{"role": role, "content": _words_of(side)}]


def _beside_messages(side: Any) -> dict[str, Any]:
    """What a run is given or gives beside messages; nothing if there are none."""
    if not isinstance(side, Mapping) or not _messages_in(side):
        return {}
    return {key: value for key, value in side.items() if key not in _NESTED}


def _tool_of(span: Mapping[str, Any], attributes: Mapping[str, Any]) -> Any:
    """The tool that a span is the call of; None if it is none."""
    tool = attributes.get("gen_ai.tool.name") or attributes.get("tool.name")
    kind = next((str(attributes[name]).strip('"').lower() for name in _KINDS if attributes.get(name)), "")
    if tool is None and kind in ("tool", "retriever"):
        return attributes.get("traceloop.entity.name") or span.get("name") or kind
    return tool


def _beside(span: Mapping[str, Any], attributes: Mapping[str, Any], told: set[str]) -> dict[str, Any]:
    """What a span says beside its messages, which stand under the attributes that are `told`."""
    rest = {
        "span": _name_of(span),
        "span_id": span.get("spanId") or span.get("span_id") or span.get("spanID") or _context(span).get("span_id"),
        "parent_span_id": span.get("parentSpanId") or span.get("parent_span_id") or span.get("parent_id"),
        "status": span.get("status") or None,
        **{key: value for key, value in span.items() if key not in _SPAN_FIELDS},
        "events": _other_events(span),
        **{key: value for key, value in attributes.items() if key not in told},
    }
    return {key: value for key, value in rest.items() if value is not None and value != []}


def _messages_of(
    span: Mapping[str, Any], attributes: dict[str, Any], *, values: bool
) -> tuple[list[dict[str, Any]], set[str]]:
    """The messages of a span, and under which attributes they stand; `values` of any kind if there are no messages.

    What stands in such a value beside its messages becomes an attribute of its own.
    """
    told = {*_TOOL_ARGUMENTS[:1], *_TOOL_RESULTS[:1], _SYSTEM, _INPUT, _OUTPUT}
    events = [event for event in span.get("events") or () if isinstance(event, Mapping)]
    messages = [said for source in (attributes, *map(_attributes_of, events)) for said in _by_convention(source)] + [
        message for event in events if (message := _message_of(event)) is not None
    ]
    numbered = [key for key in attributes if _NUMBERED.fullmatch(key)]
    told.update(numbered)
    messages += _numbered_in(attributes, numbered)
    if values and not messages:
        messages = _values_in(attributes, told)
    return messages, told


def _by_convention(source: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The messages in the attributes that the convention names."""
    if system := _parsed(source.get(_SYSTEM)):
        yield {"role": "system", "content": system}
    for name in (_INPUT, _OUTPUT):
        value = _parsed(source.get(name))
        yield from (_plain_roles(m) for m in (value if isinstance(value, list) else ()) if isinstance(m, Mapping))


def _message_of(event: Mapping[str, Any]) -> dict[str, Any] | None:
    """The message that an event of a span is; None if it is none."""
    role = _EVENT_ROLES.get(str(event.get("name")))
    if role is None:
        return None
    message = _event_message(role, _attributes_of(event))
    if (at := event.get("timeUnixNano") or event.get("time_unix_nano")) and "timestamp" not in message:
        message["timestamp"] = int(at) / 1e9
    return message


def _numbered_in(attributes: Mapping[str, Any], keys: list[str]) -> list[dict[str, Any]]:
    """The messages whose fields are attributes of their own, those that were given first."""
    numbered: dict[tuple[str, int], dict[str, Any]] = {}
    for key in keys:
        found = _NUMBERED.fullmatch(key)
        assert found is not None
        given = "prompt" in found["list"] or "input" in found["list"]
        fields = numbered.setdefault(("0" if given else "1", int(found["number"])), {})
        fields[found["field"].removeprefix("message.")] = attributes[key]
    return [_numbered_message(fields) for _, fields in sorted(numbered.items())]


def _values_in(attributes: dict[str, Any], told: set[str]) -> list[dict[str, Any]]:
    """What a span that has no messages is given and gives; what stands beside it becomes an attribute of its own."""
    messages: list[dict[str, Any]] = []
    for name, role in _VALUES:
        if attributes.get(name) is None:
            continue
        given = _parsed(attributes[name])
        inner = _messages_in(given)
        messages += inner or [{"role": role, "content": _words_of(given)}]
        told.add(name)
        if inner and isinstance(given, Mapping) and not is_message(given) and (
                beside := {key: value for key, value in given.items() if key not in _NESTED}):  # fmt: skip
            attributes[f"{name} beside"] = beside
    return messages


_SPAN_FIELDS = frozenset(
    {"name", "operationName", "spanId", "span_id", "spanID", "parentSpanId", "parent_span_id", "parent_id", "status",
     "attributes", "tags", "events"}
)  # fmt: skip
"""What of a span stands elsewhere in its steps."""


def _name_of(span: Mapping[str, Any]) -> str:
    return str(span.get("name") or span.get("operationName") or "span")


def _other_events(span: Mapping[str, Any]) -> list[Any]:
    """The events of a span that are no messages, such as exceptions."""
    events = span.get("events")
    return [
        event
        for event in (events if isinstance(events, list) else ())
        if isinstance(event, Mapping) and str(event.get("name")) not in _EVENT_ROLES and not _told_in(event)
    ]


def _told_in(event: Mapping[str, Any]) -> bool:
    return bool({_SYSTEM, _INPUT, _OUTPUT} & _attributes_of(event).keys())


def _span_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """A log record, in which a message is an event by itself, as a span with this event."""
    name = record.get("eventName") or _attributes_of(record).get("event.name") or "log"
    body = _plain(record.get("body"))
    said = body if isinstance(body, Mapping) else {} if body is None else {"content": body}
    rest = {key: value for key, value in record.items() if key not in ("body", "eventName", "timeUnixNano")}
    attributes = _attributes_of(record)
    return {**rest, "name": name, "startTimeUnixNano": record.get("timeUnixNano"), "attributes": attributes,
            "events": [{"name": name, "attributes": {**{k: v for k, v in attributes.items() if k in
                        (_SYSTEM, _INPUT, _OUTPUT)}, **said}}]}  # fmt: skip


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
    if isinstance(nanoseconds, int) or (isinstance(nanoseconds, str) and nanoseconds.isdecimal()):
        return int(nanoseconds) / 1e9
    started = span.get("start_time") or span.get("startTime")
    if isinstance(started, int | float):
        return started / 1e9 if started > 1e17 else started / 1e6 if started > 1e14 else float(started)
    time = read_timestamp(started) if isinstance(started, str) else None
    return None if time is None else time.timestamp()


def _attributes_of(span: Mapping[str, Any]) -> dict[str, Any]:
    attributes = span.get("attributes") or span.get("tags") or {}
    if isinstance(attributes, Mapping):
        return (
            _flat(attributes)
            if any(name in attributes for name in ("llm", "openinference", "gen_ai"))
            else dict(attributes)
        )
    return {str(entry["key"]): _plain(entry.get("value")) for entry in attributes if isinstance(entry, Mapping)}


def _flat(attributes: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Attributes that stand inside each other, under the names that they have beside each other."""
    flat: dict[str, Any] = {}
    for key, value in attributes.items():
        numbered = isinstance(value, list) and value and all(isinstance(entry, Mapping) for entry in value)
        inner = {str(number): entry for number, entry in enumerate(value)} if numbered else value
        if isinstance(inner, Mapping) and prefix.count(".") < _DEEPEST:
            flat |= _flat(inner, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


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
    nested = (value.get(name) for name in _NESTED)
    return [message for entry in nested if entry is not None for message in _messages_in(entry)]
