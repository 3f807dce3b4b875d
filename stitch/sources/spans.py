"""Spans of OpenTelemetry about generative AI, in all conventions in use.

Attribute names of the semantic conventions for generative AI 1.37 are read first; the forms before it are read as well:
messages as events of a span (1.28 to 1.36), and the numbered attributes of OpenLLMetry and OpenInference.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from stitch.sources.fields import is_message, seconds_of
from stitch.sources.parts import first_of, object_in, text_of, unwritten, without
from stitch.sources.traces import NESTED, SESSIONS, SpanContent, messages_in, words_of
from stitch.text.dates import read_timestamp

_DEEPEST = 12
_SYSTEM, _INPUT, _OUTPUT = "gen_ai.system_instructions", "gen_ai.input.messages", "gen_ai.output.messages"
_TOOL_NAMES = ("gen_ai.tool.name", "tool.name", "ai.toolCall.name")
_TOOL_ARGUMENTS = ("gen_ai.tool.call.arguments", "tool.parameters", "input.value", "traceloop.entity.input",
                   "mlflow.spanInputs", "tool_arguments", "ai.toolCall.args")  # fmt: skip
_TOOL_RESULTS = ("gen_ai.tool.call.result", "gen_ai.tool.message", "output.value", "traceloop.entity.output",
                 "mlflow.spanOutputs", "tool_response", "ai.toolCall.result")  # fmt: skip
_VALUES = (("input.value", "user"), ("output.value", "assistant"), ("mlflow.spanInputs", "user"),
           ("mlflow.spanOutputs", "assistant"), ("gen_ai.prompt", "user"),
           ("gen_ai.completion", "assistant"))  # fmt: skip
_AI_SDK = ("ai.prompt.messages", "ai.prompt", "ai.response.text", "ai.response.toolCalls", "ai.response.object")
"""Under which names the AI SDK of Vercel keeps what a model is given and replies."""
_TOLD = (_SYSTEM, _INPUT, _OUTPUT, *_AI_SDK, _TOOL_ARGUMENTS[0], _TOOL_RESULTS[0])
_KINDS = ("openinference.span.kind", "traceloop.span.kind", "mlflow.spanType")
_RETRIEVED = re.compile(r"retrieval\.documents\.\d+\.document\.content")
_EVENT_ROLES = {
    "gen_ai.system.message": "system", "gen_ai.user.message": "user", "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool", "gen_ai.choice": "assistant", "gen_ai.content.prompt": "user",
    "gen_ai.content.completion": "assistant",
}  # fmt: skip
_NUMBERED = re.compile(
    r"(?:gen_ai\.(?P<said>prompt|completion)|llm\.(?P<side>input|output)_messages)\.(?P<number>\d+)\.(?:message\.)?(?P<field>.+)"
)
_NUMBERED_CALL = re.compile(r"tool_calls\.(?P<number>\d+)\.(?:tool_call\.)?(?:function\.)?(?P<field>.+)")
_SPANS, _PARENTS = ("spanId", "span_id", "spanID"), ("parentSpanId", "parent_span_id", "parent_id")
_SPAN_FIELDS = (*_SPANS, *_PARENTS, "name", "operationName", "status", "attributes", "tags", "events")
"""What of a span stands elsewhere in its steps."""


def is_span(record: Any) -> bool:
    """Whether a record is a span, in the JSON of OTLP or as the console exporter prints it, or an export of several."""
    if not isinstance(record, Mapping) or "op_name" in record or is_export(record):
        return is_export(record)
    attributes = record.get("attributes", record.get("tags") if "operationName" in record else None)
    return isinstance(attributes, Mapping | list) and trace_of_span(record) is not None


def is_export(record: Any) -> bool:
    """Whether it is an OTLP export, or a trace as MLflow keeps it."""
    return first_of(record, ("resourceSpans", "resourceLogs"), list) is not None or _is_kept(record)


def _is_kept(record: Any) -> bool:
    """Whether it is a trace of MLflow, with its spans below what is known of it."""
    return isinstance(record, Mapping) and "trace_id" in object_in(record, "info") and isinstance(
        object_in(record, "data").get("spans"), list)  # fmt: skip


def spans_in(record: Any) -> list[Any]:
    """The spans of an OTLP export, or of a list of such, or a span itself."""
    if isinstance(record, list):
        return [span for one in record for span in spans_in(one)]
    if _is_kept(record):
        known = {"trace_id": record["info"]["trace_id"], **object_in(record["info"], "trace_metadata")}
        return [{**span, **known} for span in record["data"]["spans"] if isinstance(span, Mapping)]
    return [record] if not is_export(record) else [
        {"traceId": "trace", "attributes": [], "resource": resource.get("resource"),
         "scope": scope.get("scope") or scope.get("instrumentationLibrary"), **said}
        for resource in (*record.get("resourceSpans", ()), *record.get("resourceLogs", ()))
        for name in ("scopeSpans", "instrumentationLibrarySpans", "scopeLogs")
        for scope in resource.get(name, ())
        for said in (*scope.get("spans", ()), *map(_span_of, scope.get("logRecords", ())))
    ]  # fmt: skip


def told_by_span(span: Mapping[str, Any]) -> SpanContent:
    """The messages of a call of a model, or the call of a tool with its result."""
    attributes = _attributes_of(span)
    trace = str(trace_of_span(span) or "trace")
    tool = _tool_of(span, attributes)
    messages = _messages_in(attributes, [event for event in span.get("events") or () if isinstance(event, Mapping)])
    told = {*_TOLD, *filter(_NUMBERED.fullmatch, attributes)}
    if tool is None and not messages:
        messages = _values_in(attributes, told)
    about = {"timestamp": _seconds(span), "metadata": _beside(span, attributes, told)}
    said = SpanContent(
        trace, about, "span", _name_of(span), messages, id=_identity(span, *_SPANS), parent=_identity(span, *_PARENTS),
        ended=_seconds(span, "end"), conversation=first_of({**span, **attributes}, SESSIONS)
    )  # fmt: skip
    if tool is None or not all(message.get("role") == "tool" for message in messages):
        return said
    return said._replace(**_called(str(tool), span, attributes, messages))


def _messages_in(attributes: Mapping[str, Any], events: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    messages = [said for source in (attributes, *map(_attributes_of, events)) for said in _by_convention(source)]
    return [*messages, *filter(None, map(_message_of, events)), *_numbered_in(attributes)]


def _fault_of(span: Mapping[str, Any]) -> Any:
    """The reason a span failed: the message of its exception, or of its status."""
    events = (_attributes_of(event) for event in first_of(span, ("events",), list) or () if isinstance(event, Mapping))
    raised = next((said for event in events if (said := event.get("exception.message"))), None)
    return raised or first_of(span.get("status"), ("message", "description"), str)


def _called(
    tool: str, span: Mapping[str, Any], attributes: Mapping[str, Any], messages: list[dict[str, Any]]
) -> dict[str, Any]:
    """The call of a tool, and its answer: its result, the documents that it found, or the message that says it."""
    given, answer = unwritten(first_of(attributes, _TOOL_ARGUMENTS)), first_of(attributes, _TOOL_RESULTS)
    arguments = given if isinstance(given, Mapping) else {} if given is None else {"input": given}
    answer = None if answer == "null" else answer
    if isinstance(answer, str) and answer.startswith(('"', '[{"page_content"')):
        answer = unwritten(answer)
    elif answer is None and (found := [text_of(said) for key, said in attributes.items() if _RETRIEVED.fullmatch(key)]):
        answer = "\n\n".join(found)
    elif answer is None and messages:
        answer = text_of(messages[0].get("content"))
    elif answer is None:
        answer = _fault_of(span)
    call = {"name": tool, "id": attributes.get("gen_ai.tool.call.id"), "arguments": arguments}
    return {"call": call, "answer": answer}


def _tool_of(span: Mapping[str, Any], attributes: Mapping[str, Any]) -> Any:
    """The tool that a span is the call of; None if it is none."""
    tool = first_of(attributes, _TOOL_NAMES)
    if tool is None and str(first_of(attributes, _KINDS)).strip('"').lower() in ("tool", "retriever"):
        return attributes.get("traceloop.entity.name") or span.get("name") or "tool"
    return tool


def _beside(span: Mapping[str, Any], attributes: Mapping[str, Any], told: set[str]) -> dict[str, Any]:
    """Metadata of a span beside its messages, which stand under the attributes that are `told`."""
    events = [event for event in first_of(span, ("events",), list) or () if isinstance(event, Mapping)]
    others = [event for event in events if str(event.get("name")) not in _EVENT_ROLES
              and _attributes_of(event).keys().isdisjoint(_TOLD[:3])]  # fmt: skip
    rest = {
        "span": _name_of(span),
        "span_id": _identity(span, *_SPANS),
        "parent_span_id": _identity(span, *_PARENTS),
        "status": span.get("status") or None,
        **without(span, *_SPAN_FIELDS),
        "events": others,
        **without(attributes, *told),
    }
    return {key: value for key, value in rest.items() if value is not None and value != []}


def _by_convention(source: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The messages in the attributes that the convention names, or the AI SDK of Vercel."""
    if system := unwritten(source.get(_SYSTEM)):
        yield {"role": "system", "content": system}
    for name in (_INPUT, _OUTPUT):
        yield from ({"role": "assistant", **said} for said in _listed(source.get(name)))
    given = unwritten(source.get("ai.prompt"))
    prompt: Mapping[str, Any] = given if isinstance(given, Mapping) else {"prompt": given}
    messages = _listed(source.get("ai.prompt.messages") or prompt.get("messages"))
    said = (("system", prompt.get("system")), ("user", None if messages else prompt.get("prompt")))
    yield from ({"role": role, "content": words} for role, words in said if words)
    yield from map(dict, messages)
    text = source.get("ai.response.text") or source.get("ai.response.object")
    calls = source.get("ai.response.toolCalls")
    if text or calls:
        yield {"role": "assistant", "content": text, "tool_calls": _listed(calls)}


def _listed(value: Any) -> list[Mapping[str, Any]]:
    """The objects of a list, or of the JSON of one; of one that a collector has cut, those that can be read."""
    value, least = unwritten(value), 0
    if isinstance(value, str) and value.lstrip()[:1] == "[":
        from json_repair import loads

        value, least = loads(value), 1  # the last may say who alone
    return [one for one in value if isinstance(one, Mapping) and len(one) > least] if isinstance(value, list) else []


def _message_of(event: Mapping[str, Any]) -> dict[str, Any] | None:
    """The message that an event of a span is; None if it is none."""
    role = _EVENT_ROLES.get(str(event.get("name")))
    if role is None:
        return None
    fields = _attributes_of(event)
    said = first_of(fields, ("gen_ai.prompt", "gen_ai.completion"))
    message = {key: unwritten(value) if key in ("tool_calls", "message") else value for key, value in fields.items()}
    inner = message.pop("message", None)
    message |= inner if isinstance(inner, Mapping) else {"content": message.get("content", inner)}
    if role == "tool" and "id" in message:
        message["tool_call_id"] = message.pop("id")
    message = {"role": role, **message} if said is None else {"role": role, "content": unwritten(said)}
    if (at := event.get("timeUnixNano") or event.get("time_unix_nano")) and "timestamp" not in message:
        message["timestamp"] = int(at) / 1e9
    return message


def _numbered_in(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The messages whose fields are attributes of their own, as `gen_ai.prompt.0.role`; those that were given first."""
    numbered: dict[tuple[bool, int], dict[str, Any]] = {}
    for key, value in attributes.items():
        if (found := _NUMBERED.fullmatch(key)) is not None:
            replied = found["said"] == "completion" or found["side"] == "output"
            numbered.setdefault((replied, int(found["number"])), {})[found["field"]] = value
    return [_numbered_message(fields) for _, fields in sorted(numbered.items())]


def _numbered_message(fields: Mapping[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant"}
    calls: dict[int, dict[str, Any]] = {}
    texts: list[str] = []
    for key, value in fields.items():
        if found := _NUMBERED_CALL.fullmatch(key):
            calls.setdefault(int(found["number"]), {})[found["field"]] = value
        elif key.startswith("contents.") and key.endswith(".text"):
            texts.append(text_of(value))
        else:
            message[key] = value
    if texts and not message.get("content"):
        message["content"] = "\n".join(texts)
    return {**message, "tool_calls": [calls[number] for number in sorted(calls)]} if calls else message


def _values_in(attributes: dict[str, Any], told: set[str]) -> list[dict[str, Any]]:
    """Input and output of a span without messages; what stands beside it becomes an attribute of its own."""
    messages: list[dict[str, Any]] = []
    for name, role in _VALUES:
        if attributes.get(name) is None:
            continue
        given = unwritten(attributes[name])
        inner = messages_in(given)
        messages += inner or [{"role": role, "content": words_of(given)}]
        told.add(name)
        if inner and isinstance(given, Mapping) and not is_message(given) and (
                beside := without(given, *NESTED)):  # fmt: skip
            attributes[f"{name} beside"] = beside
    return messages


def _name_of(span: Mapping[str, Any]) -> str:
    return str(span.get("name") or span.get("operationName") or "span")


def _span_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """A log record, in which a message is an event by itself, as a span with this event."""
    attributes, body = _attributes_of(record), _plain(record.get("body"))
    name = record.get("eventName") or attributes.get("event.name") or "log"
    said = body if isinstance(body, Mapping) else {} if body is None else {"content": body}
    told = {key: value for key, value in attributes.items() if key in _TOLD[:3]}
    return {**without(record, "body", "eventName", "timeUnixNano"), "name": name, "attributes": attributes,
            "startTimeUnixNano": record.get("timeUnixNano"),
            "events": [{"name": name, "attributes": {**told, **said}}]}  # fmt: skip


def trace_of_span(span: Mapping[str, Any]) -> Any:
    """The trace that a span is of."""
    return _identity(span, "traceId", "trace_id", "traceID")


def _identity(span: Mapping[str, Any], *names: str) -> Any:
    """An id under the first of these names that has one, or in the context of a span."""
    holders = (span, object_in(span, "context"))
    return next((found for holder in holders for name in names if (found := holder.get(name))), None)


def _seconds(span: Mapping[str, Any], side: str = "start") -> float | None:
    """Begin or end of a span in Unix seconds."""
    nanoseconds = span.get(f"{side}TimeUnixNano") or span.get(f"{side}_time_unix_nano")
    if isinstance(nanoseconds, int) or (isinstance(nanoseconds, str) and nanoseconds.isdecimal()):
        return int(nanoseconds) / 1e9
    started = span.get(f"{side}_time") or span.get(f"{side}Time")
    if isinstance(started, int | float):
        return float(seconds_of(started))
    time = read_timestamp(started) if isinstance(started, str) else None
    return None if time is None else time.timestamp()


def _attributes_of(span: Mapping[str, Any]) -> dict[str, Any]:
    attributes = span.get("attributes") or span.get("tags") or {}
    if isinstance(attributes, Mapping):
        nested = any(name in attributes for name in ("llm", "openinference", "gen_ai"))
        return _flat(attributes) if nested else dict(attributes)
    return {str(entry["key"]): _plain(entry.get("value")) for entry in attributes if isinstance(entry, Mapping)}


def _flat(attributes: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Attributes that stand inside each other, under the names that they have beside each other."""
    flat: dict[str, Any] = {}
    for key, value in attributes.items():
        numbered = isinstance(value, list) and value and all(isinstance(entry, Mapping) for entry in value)
        inner = {str(number): entry for number, entry in enumerate(value)} if numbered else value
        deeper = isinstance(inner, Mapping) and prefix.count(".") < _DEEPEST
        flat |= _flat(inner, f"{prefix}{key}.") if deeper else {f"{prefix}{key}": value}
    return flat


def _plain(value: Any) -> Any:
    """The value of an OTLP attribute, such as `{"stringValue": "x"}`."""
    if not isinstance(value, Mapping) or len(value) != 1:
        return value
    ((kind, inner),) = value.items()
    if kind == "arrayValue":
        return [_plain(entry) for entry in inner.get("values", ())]
    if kind == "kvlistValue":
        return {entry["key"]: _plain(entry.get("value")) for entry in inner.get("values", ())}
    return int(inner) if kind == "intValue" else inner
