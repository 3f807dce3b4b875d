"""Traces as messages and calls of tools: what spans and runs tell, and runs of LangSmith and of other tracers.

Each call of a model repeats the conversation so far; a message that a trace has shown already is not read again. A span
or run in which nobody says anything is a step that is named as it is, so that nothing of a trace is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import blake2b
from itertools import takewhile
from operator import itemgetter
from typing import Any, NamedTuple

import orjson

from stitch.errors import StepRejectedError
from stitch.sources.conversation import RowStream
from stitch.sources.fields import BROKEN, Row, is_message, is_system, seconds_of
from stitch.sources.messages import MessageReader
from stitch.sources.parts import first_of, listed, object_in, printed, text_of, unwritten, without
from stitch.sources.unread import texts_in
from stitch.text import dates

NESTED = ("messages", "generations", "message", "choices", "output")
"""Where the messages of what a run is given, or gives, stand."""
_SORTED = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS

NamedRowStream = Iterator["tuple[str | None, Row | StepRejectedError]"]


class SpanContent(NamedTuple):
    """Content of a span or a run: the call of a tool, or messages; its `name`, as a `kind`, if it tells neither."""

    trace: str
    about: Row
    kind: str
    name: str
    messages: list[Any]
    call: dict[str, Any] | None = None
    answer: Any = None
    beside: Mapping[str, Any] = {}
    """What stands beside the answer."""
    identified: bool = False
    """Messages have ids by which they are known."""
    given: int = 0
    """Number of messages at the beginning that were given, where it is known."""
    id: Any = None
    parent: Any = None
    """The span or run that it is inside of."""
    ended: Any = None
    conversation: Any = None
    """Name of its trajectory, if that is not its trace; empty where nothing names it."""

    def parted(self) -> tuple[SpanContent, SpanContent | None]:
        """The content that was given or done, and the final reply: what an assistant says last, if nothing tells."""
        others = (at for at, said in enumerate(self.messages, start=1) if first_of(said, ("role",)) != "assistant")
        given = self.given or max(others, default=0)
        if not given or self.call is not None:
            return self, None
        about = {**self.about, "timestamp": self.about["timestamp"] if self.ended is None else self.ended}
        return self._replace(messages=self.messages[:given]), self._replace(messages=self.messages[given:], about=about)


class TraceReader:
    """Reads what spans and runs tell; remembers which messages each trace has shown. One reader a file."""

    def __init__(self, messages: MessageReader) -> None:
        self._messages = messages
        self.shown: dict[str, set[str]] = {}
        """Digests of the messages that each trace has shown."""
        self.conversations: dict[str, str] = {}
        """The conversation that each trace is of, where one of its spans has said so."""

    def goes_on(self, name: str, previous: Any) -> str:
        """The conversation of a record that may go on with a previous one."""
        if previous is None:
            return name
        thread = self.conversations.get(str(previous), str(previous))
        self.conversations |= {name: thread, thread: thread}
        return thread

    def rows(self, told: SpanContent, *, named: bool = True) -> RowStream:
        """The steps of a span or a run; one that tells nothing new is `named`, or passed over."""
        if told.call is None:
            said = [row for message in told.messages for row in self._once(told, message)]
            yield from said or ([{**told.about, "role": told.kind, "content": told.name}] if named else [])
            return
        shown = self.shown.setdefault(told.trace, set())
        called: Row = {**told.about, "role": "assistant", "content": "", "tool_calls": (told.call,)}
        if asked_before := (asked := _asked_for(told.call["name"], told.call["arguments"])) in shown:
            shown.remove(asked)
            self._messages.repeated.append(without(called, "metadata"))  # the model that asked for it has shown it
        else:
            yield called
        if told.answer is not None:
            row = {**told.about, "role": "tool", "tool_name": told.call["name"], "content": text_of(told.answer),
                   "metadata": {**told.about["metadata"], **told.beside}}  # fmt: skip
            if self._seen(told, row) and asked_before:  # all of it was shown, but for what is known of the call
                self._messages.repeated.append(without(row, "metadata"))
                row = {**without(row, "tool_name"), "role": told.kind, "content": told.name}
            yield row
        elif asked_before:
            yield {**told.about, "role": told.kind, "content": told.name}

    def _once(self, told: SpanContent, message: Any) -> RowStream:
        about = told.about
        try:
            for row in self._messages.rows(message):
                shown, beside = (
                    self.shown.setdefault(told.trace, set()),
                    _digest([t for _, t in texts_in(row["metadata"])]),
                )
                known_beside = beside in shown
                shown.add(beside)
                if self._seen(told, row):
                    self._messages.repeated.append(row if known_beside else without(row, "metadata"))
                    continue
                at = row.get("timestamp")
                yield {**about, **row, "timestamp": about["timestamp"] if at is None else at,
                       "metadata": {**about["metadata"], **row["metadata"]}}  # fmt: skip
        except StepRejectedError as error:
            yield error
        except BROKEN as error:
            yield broken("message", error)

    def _seen(self, told: SpanContent, row: Row) -> bool:
        """Whether the trace has shown what a row says, in whichever of its forms; from now on it has."""
        calls = [(call.name, dict(call.arguments)) for call in row.get("tool_calls") or ()]
        said = [
            row["role"],
            unwritten((row["content"] or "").strip()),
            calls,
            row.get("tool_name"),
            row.get("id") if told.identified else 0,
        ]
        digest, shown = _digest(said), self.shown.setdefault(told.trace, set())
        known = digest in shown
        shown.update([digest] if known else [digest, *(_asked_for(*call) for call in calls)])
        return known


def in_order(records: Iterable[Any], read: Callable[[Any], SpanContent], traces: TraceReader) -> NamedRowStream:
    """The steps of spans or runs with their trajectory, in the order in which these began.

    What one replies that holds others came of these: it stands where it ended.
    """
    told: list[SpanContent] = []
    for record in records:
        try:
            told.append(read(record))
        except BROKEN as error:  # those after it are read all the same
            yield None, broken("span", error)
            continue
        if told[-1].conversation:
            traces.conversations.setdefault(told[-1].trace, str(told[-1].conversation))
    holders, at = {one.parent for one in told if one.parent is not None}, (0.0, "")
    parts: list[tuple[tuple[float, str], SpanContent, bool]] = []
    for one in told:
        given, replied = one.parted() if one.id in holders else (one, None)
        at = _place(one.about["timestamp"]) or at  # without a time it stands where it is told
        parts.append((at, given, True))
        if replied is not None:
            replied = _after(replied, told)
            parts.append((_place(one.ended) or _LAST, replied, False))
    for one, named in _instructed([part[1:] for part in sorted(parts, key=itemgetter(0))]):
        trajectory = traces.conversations.get(one.trace, one.trace)
        for row in traces.rows(one._replace(trace=trajectory), named=named):
            yield None if one.conversation == "" else trajectory, row


def _after(replied: SpanContent, told: list[SpanContent]) -> SpanContent:
    """A reply with its time; one that does not say when it was given came of all that is inside of it."""
    inside = [other for other in told if other.parent == replied.id and replied.ended is None]
    ends = [other.about["timestamp"] if other.ended is None else other.ended for other in inside]
    late = max((at for at in ends if at is not None), key=lambda at: _place(at) or _LAST, default=None)
    return replied if late is None else replied._replace(about={**replied.about, "timestamp": late})


def _instructed(parts: list[tuple[SpanContent, bool]]) -> Iterator[tuple[SpanContent, bool]]:
    """The parts of traces; instructions of the first model that has any stand before what the user asks."""
    first: dict[str, list[Any]] = {}
    for one, _ in parts:
        first[one.trace] = first.get(one.trace) or list(takewhile(is_system, one.messages))
    for one, named in parts:
        told = first.pop(one.trace, []) if one.messages else []
        yield one._replace(messages=[*told, *one.messages]), named


_LAST = float("inf"), ""


def _place(at: Any) -> tuple[float, str] | None:
    return None if at is None else (dates.seconds_of(at) or 0.0, str(at))


def _asked_for(name: str, arguments: Any) -> str:
    """Digest of the call of a tool that a model asked for."""
    return _digest(["asked", name, arguments])


def _digest(said: Any) -> str:
    return blake2b(orjson.dumps(said, option=_SORTED), digest_size=8).hexdigest()


def broken(what: str, error: Exception) -> StepRejectedError:
    """The rejection of a part of a record that breaks the rules of its format."""
    return StepRejectedError(f"broken {what}: {type(error).__name__}: {error}")


def words_of(value: Any) -> str:
    """Input or output of a chain as a text: its only text, or the JSON of it."""
    only = next(iter(value.values())) if isinstance(value, Mapping) and len(value) == 1 else None
    return only if isinstance(only, str) else text_of(value)


def messages_in(value: Any) -> list[Any]:
    """The messages of the inputs or outputs of a run, in any of the nestings in use."""
    if isinstance(value, list):
        return [message for entry in value for message in messages_in(entry)]
    if not isinstance(value, Mapping):
        return []
    if is_message(value) and not isinstance(value.get("message"), Mapping):
        return [value]
    if value.get("type") == "Generation" and isinstance(value.get("text"), str):  # of a model that is no chat
        return [{"role": "assistant", "content": value["text"]}]
    return messages_in([value[name] for name in NESTED if value.get(name) is not None])


def is_run(record: Any) -> bool:
    """Whether it is a run or a trace of any of the tracers in use."""
    return run_of(record) is not None


def runs_in(record: Any) -> list[dict[str, Any]]:
    """The runs of a record, or of a list of such, with those inside of them."""
    found: list[dict[str, Any]] = []
    waiting = record[::-1] if isinstance(record, list) else [record]
    while waiting:
        if (run := run_of(waiting.pop())) is not None:
            found.append(run)
            around = {"inputs": None, "parent_run_id": run.get("id")}
            around |= {"trace_id": trace} if (trace := trace_of_run(run)) else {}
            children = listed(run.pop("child_runs", None))
            waiting.extend({**around, **child} for child in reversed(children) if isinstance(child, Mapping))
    return found


def trace_of_run(run: Mapping[str, Any]) -> Any:
    """The trace that a run is of."""
    return run.get("trace_id") or run.get("session_id")


def session_of(run: Mapping[str, Any]) -> Any:
    """The conversation that a run is of, which goes on in other traces."""
    holders = (run, object_in(run, "metadata"), object_in(object_in(run, "extra"), "metadata"))
    return next(filter(None, (first_of(holder, SESSIONS, str | int) for holder in holders)), None)


SESSIONS = ("sessionId", "thread_id", "threadId", "conversation_id", "mlflow.trace.session", "gen_ai.conversation.id",
             "session.id", "langfuse.session.id")  # fmt: skip


def told_by_run(run: Mapping[str, Any]) -> SpanContent:
    """The messages of a call of a model, or the call of a tool with its result."""
    rest = {key: value for key, value in without(run, "inputs", "outputs").items() if value is not None}
    about, trace = {"timestamp": run.get("start_time"), "metadata": rest}, trace_of_run(run)
    told = SpanContent(str(trace or run.get("id")), about, "run", str(run.get("name") or run["run_type"]), [],
                       id=run.get("id"), parent=run.get("parent_run_id"), ended=run.get("end_time"),
                       conversation=session_of(run) or (None if trace else ""))  # fmt: skip
    inputs, outputs = run.get("inputs") or {}, run.get("outputs") or {}
    if run["run_type"] in ("tool", "retriever"):
        return told._replace(**_called(run, inputs, outputs))
    return _with_messages(told, rest, inputs, outputs)


def _with_messages(told: SpanContent, rest: dict[str, Any], inputs: Any, outputs: Any) -> SpanContent:
    """Both sides of the call of a model, or of a chain; what stands beside the messages goes to the `rest`."""
    for field, role, side in (("inputs", "user", inputs), ("outputs", "assistant", outputs)):
        said = messages_in(side)
        if said and isinstance(side, Mapping) and (more := without(side, *NESTED)):
            rest[field] = more
        # What a chain passes on is no message, but its words count once as well.
        told.messages.extend(said if said or not side else [{"role": role, "content": words_of(side)}])
        told = told if field == "outputs" else told._replace(given=len(told.messages))
    return told


def _called(run: Mapping[str, Any], inputs: Any, outputs: Any) -> dict[str, Any]:
    """The call of a tool, its answer, and what stands beside that."""
    given, beside = arguments_in(inputs), {}
    call = {"name": str(run.get("name") or "tool"),
            "arguments": given if isinstance(given, Mapping) else {"input": given}}  # fmt: skip
    answer = outputs.get("output", outputs) if isinstance(outputs, Mapping) else outputs
    if isinstance(answer, Mapping) and {"tool_call_id", "content"} <= answer.keys():  # a message of a tool
        beside, answer = without(answer, "content", "type", "name"), answer["content"]
    return {"call": call, "answer": text_of(answer or run.get("error") or first_of(run, _STATUS)), "beside": beside}


_KINDS = {
    **dict.fromkeys(("generation", "response", "llm", "chat_model"), "llm"), "retriever": "retriever",
    **dict.fromkeys(("function", "tool", "mcp_tool"), "tool"),
    **dict.fromkeys(("embedding", "span", "event", "agent", "chain", "general", "guardrail", "evaluator"), "chain"),
}  # fmt: skip
_TRACES = ("traceId", "trace_id", "root_span_id")
_BEGUN = ("startTime", "start_time", "start_ns", "start", "started_at")
_ENDED = ("endTime", "end_time", "end", "ended_at")
_HOLDERS = (
    "parentObservationId",
    "parent_observation_id",
    "parent_span_id",
    "span_parents",
    "parent_id",
    "parent_run_id",
)
_BESIDE = ("attributes", "meta", "span_attributes", "metrics", "span_data")
"""Where tracers keep what a span is."""
_STATUS = ("statusMessage", "status_message")
_OBSERVED = (*_TRACES, *_BEGUN, *_ENDED, "observations", "input", "output", "response", "timestamp", "type", "kind")


def run_of(record: Any) -> dict[str, Any] | None:
    """A run of LangSmith, or a span or trace of a tracer of its kind as one; None if it is none.

    Langfuse, Opik, Braintrust, Datadog, Weave and the Agents SDK of OpenAI write such spans.
    """
    if not isinstance(record, Mapping):
        return None
    if "run_type" in record:
        return dict(record) if isinstance(record["run_type"], str) and "inputs" in record else None
    flat = _flat(record)
    if not _is_traced(flat, kept="span_data" in record):
        return None
    trace, begun = first_of(flat, (*_TRACES, "id")), first_of(flat, (*_BEGUN, "timestamp"))
    return {"trace_id": trace, "start_time": seconds_of(begun), **_run(flat), "child_runs": flat.get("observations")}


def _is_traced(flat: Mapping[str, Any], *, kept: bool) -> bool:
    """Whether fields are those of a trace or of a span, also if it was `kept` apart or stands inside another."""
    inside = flat.get("observations")
    if isinstance(inside, list) and all(isinstance(one, Mapping) for one in inside):
        return True
    if flat.get("object") == "trace" or "op_name" in flat:
        return True
    told = first_of(flat, _BEGUN) is not None and _kind_of(flat) in _KINDS
    return first_of(flat, _TRACES) is not None and (told or kept or "parent_run_id" in flat)


def _kind_of(flat: Mapping[str, Any]) -> str:
    return str(flat.get("kind") or flat.get("type")).lower()


def _flat(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields of a span, with those of the objects in which tracers keep some."""
    for name in _BESIDE:
        record = {**without(record, name), **held} if (held := object_in(record, name)) else record
    if not isinstance(record.get("op_name"), str) or "inputs" not in record:
        return without(record, "op_name")
    name, given = record["op_name"].rsplit("/", 1)[-1].split(":")[0], record["inputs"]
    return {
        **record,
        "name": name,
        "type": "llm" if "messages" in object_in(record, "inputs") else "tool",
        "input": given,
    }


def _run(flat: Mapping[str, Any]) -> dict[str, Any]:
    kind = _kind_of(flat)
    given, gave = _value(flat.get("input")), _value(first_of(flat, ("output", "response")))
    called = kind == "span" and isinstance(given, Mapping) and gave is not None
    holder, identity = first_of(flat, _HOLDERS), flat.get("span_id") or flat.get("id")
    return {**without(flat, *_OBSERVED), "run_type": "tool" if called else _KINDS.get(kind, "chain"), "id": identity,
            "name": flat.get("name") or flat.get("workflow_name"), "end_time": seconds_of(first_of(flat, _ENDED)),
            "observation_type": flat.get("type"), "parent_run_id": holder[0] if isinstance(holder, list) else holder,
            "inputs": given, "outputs": gave}  # fmt: skip


def _value(side: Any) -> Any:
    """Input or output of a span, which may stand in an object, or as JSON."""
    return unwritten(side["value"] if isinstance(side, Mapping) and list(side) == ["value"] else side)


def arguments_in(inputs: Any) -> Any:
    """The arguments of a tool; those that were printed into one text are read out of it."""
    if not isinstance(inputs, Mapping) or list(inputs) != ["input"] or not isinstance(inputs["input"], str):
        return inputs
    text = inputs["input"].strip()
    value = unwritten(text)
    value = printed(text) if isinstance(value, str) and text.startswith("{") else value
    return value if isinstance(value, dict) else inputs
