"""The formats of trajectories that are recognized, each by its content.

A format says whether a record (one JSON value: a line of a file, or an item of a list) is its own, and reads it. The
first that recognizes a record reads it; one line in `FORMATS` adds another. The families of formats are in `families`;
here are those whose records hold records of the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain, islice
from operator import itemgetter
from typing import Any

from stitch.errors import StepRejectedError
from stitch.sources.conversation import about_trajectory, talk, with_about, with_ids
from stitch.sources.families import chats, coding_agents, frameworks, tasks
from stitch.sources.fields import (
    BROKEN,
    Row,
    decapitalized,
    is_message,
    is_system,
    oldest_first,
    second_of_call,
    seconds_of,
    system_of,
    time_in,
)
from stitch.sources.model_calls import answer_of_batch, beside, dated, is_exchange, messages_of, said_to_model
from stitch.sources.parts import first_of, is_mark, object_in, unwritten, without
from stitch.sources.recognizing import (
    IDS,
    FileReading,
    Format,
    Recognizer,
    TrajectoryRow,
    any_of,
    first,
    has,
    named_by,
    read_as,
    read_safely,
    said_in,
    traced,
)
from stitch.sources.spans import is_span, spans_in, told_by_span, trace_of_span
from stitch.sources.streams import joined
from stitch.sources.traces import SpanContent, is_run, runs_in, told_by_run, trace_of_run


def unpacked(record: Any) -> Any:
    """A record; lists that it holds as the text of their JSON are lists again, and names with a capital have none."""
    if not isinstance(record, Mapping):
        return record
    if len(record) > 1 and all(str(key)[:1].isupper() for key in record) and not is_message(record):
        record = decapitalized(record)
    packed = {key: _list_in(record[key]) for key in record.keys() & _PACKED if isinstance(record[key], str)}
    return {**record, **{key: value for key, value in packed.items() if value is not None}} if packed else record


def _list_in(text: str) -> list[Any] | None:
    """The list of objects that a text is the JSON of; None if it is no such list."""
    value = unwritten(text)
    return value if isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value) else None


def _held(
    name: str,
    field: str,
    recognizes: Recognizer | None = None,
    *,
    ids: tuple[str, ...] = IDS,
    speaker: bool = False,
    whole: bool = True,
    messages: Callable[[Any], list[Any]] | None = None,
) -> Format:
    """The format of records with messages, or with records of other formats in their place, under `field`.

    The first of the fields `ids` that a record has names the trajectory.
    """
    held = messages or itemgetter(field)

    def rows(record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
        entries = held(record)
        first = entries[0] if entries else None
        if (is_message(first) and not chats.is_tree(first)) or not is_record(first):
            for row in talk(record, entries, reading.messages, field=field, speaker=speaker):
                yield named_by(record, ids), row
            return
        if isinstance(first, Mapping) and "action" in first and (asked := tasks.task_of(record)):
            entries = [{"role": "user", "content": asked}, *entries]
        yield from _within(record, field, entries, reading)

    return Format(name, recognizes or has(**{field: list}), rows, whole)


def together(records: Iterable[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
    """The records; where the first is of a trace, those of a trace as one list, in the order in which traces began."""
    records = iter(records)
    first = list(islice(records, 1))
    known = format_of(first[0][1]) if first else None
    if known is None or known.parts is None:
        yield from chain(first, records)
        return
    traces: dict[str, tuple[int, list[Any]]] = {}
    for number, record in chain(first, records):
        try:
            parts = known.parts(record) if known.recognizes(record) else None
        except BROKEN:  # why is said when it is read
            parts = None
        for trace, part in parts or ():
            traces.setdefault(trace, (number, []))[1].append(part)
        if parts is None:
            yield number, record
    yield from sorted(traces.values(), key=lambda trace: min(str(first_of(part, _BEGAN)) for part in trace[1]))


_BEGAN = ("startTimeUnixNano", "start_time_unix_nano", "startTime", "start_time", "timestamp")


def _exchange(record: Any, reading: FileReading, *, ids: tuple[str, ...] = IDS) -> Iterator[TrajectoryRow]:
    """A request to a model with its reply, each in its envelope or not."""
    messages, about = dated(record, messages_of(record)), beside(record)
    if messages and isinstance(messages[-1], Mapping) and messages[-1].get("content") == about.get("answer"):
        about.pop("answer", None)  # it is what was replied
    if record.get("object") == "response":  # it may go on with another, and repeat what was said there
        thread = reading.traces.goes_on(str(named_by(record, ids)), record.get("previous_response_id"))
        told = SpanContent(thread, {"metadata": {}, "timestamp": None}, "response", "response", messages)
        yield from ((thread, row) for row in with_about(about, reading.traces.rows(told, named=False)))
        return
    for row in with_ids(talk(about, messages, reading.messages, field="messages"), answer_of_batch(record)):
        yield named_by(record, ids), row


def _list(record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
    first = format_of(record[0])
    if first is not None and first.name not in ("step", "message", "chat messages") and not first.whole:
        yield from _within({}, "", record, reading)
        return
    for row in talk({}, record, reading.messages, field=""):
        yield None, row


_LISTS = (
    "messages", "steps", "events", "turns", "conversation", "conversations", "dialogue", "dialog", "chat", "history",
    "chat_messages", "transcript", "utterances", "trajectory", "traj", "trace", "log", "logs", "items", "interactions",
    "data", "rows", "results", "simulations", "trajectories", "runs", "spans", "sessions", "episodes", "records",
    "tasks", "samples", "examples", "child_runs", "threads", "chunks",
)  # fmt: skip
_PACKED = frozenset(_LISTS)
_NUMBER = re.compile(r"\d+")
_MAX_DEPTH, FIRST = 7, 3
"""How deep, and among how many entries of a list, what is known is looked for."""


def _part_of(record: Any) -> str | None:
    """The field under which a record keeps a list of steps or of records; any field, those of `_LISTS` first."""
    if not isinstance(record, Mapping):
        return None
    lists = [key for key, value in record.items() if isinstance(value, list) and value]
    ordered = sorted(lists, key=lambda key: _LISTS.index(key) if key in _LISTS else len(_LISTS))
    return next((key for key in ordered if any(_known(_entry(one, key), depth=1) for one in record[key][:FIRST])), None)


def format_of(record: Any) -> Format | None:
    """The first of the formats that recognizes a record."""
    return next((known for known in FORMATS if known.recognizes(record)), None)


def is_record(entry: Any) -> bool:
    """Whether a value is a record of a format that holds no others."""
    return any(known.recognizes(entry) for known in FORMATS[:-1])


def _known(record: Any, *, depth: int) -> bool:
    if depth >= _MAX_DEPTH:
        return False
    record = unpacked(record)
    if isinstance(record, list):
        return any(_known(one, depth=depth + 1) for one in record[:FIRST])
    return is_record(record) or (
        isinstance(record, Mapping)
        and any(isinstance(v, list | Mapping) and v and _known(v, depth=depth + 1) for v in record.values())
    )


def _entry(value: Any, field: str) -> Any:
    """An entry of a list, out of an envelope named as one of it: a row of a data set, or a message and no more."""
    if not isinstance(value, Mapping) or not (held := object_in(value, name := field.removesuffix("s"))):
        return value
    if name == "row":
        return held
    beside = without(value, name)
    more = {"type", *IDS} & value.keys() or is_message(value) or messages_of(beside)
    return {**beside, **held} if is_message(held) and not more else value


def _holding(record: Any) -> Callable[[Any, FileReading], Iterator[TrajectoryRow]] | None:
    """The reader of a record that holds others: by name, in lists under a field, in a list, or in objects."""
    if _is_by_name(record):
        return _by_name
    if (field := _part_of(record)) is not None:
        return partial(_wrapped, field)
    if isinstance(record, list) and _known(record, depth=1):
        return lambda record, reading: _within({}, "", record, reading)
    return _holder if _inside(record) else None


def holds_several(record: Any) -> bool:
    """Whether a record has a list of others: it is a whole trajectory, if nothing in it says otherwise."""
    return _part_of(record) is not None


def _wrapped(field: str, record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
    fields = _numbered_like(field, record)
    entries = [entry for name in fields for entry in _entries_of(record, name, several=len(fields) > 1)]
    yield from _within(without(record, *fields), field, entries, reading)


def _numbered_like(field: str, record: Mapping[str, Any]) -> list[str]:
    """The fields with lists whose names differ by their numbers alone, as `session_1` and `session_2` do, in order."""
    pattern = _NUMBER.sub("0", field)
    alike = [name for name, value in record.items() if isinstance(value, list) and _NUMBER.sub("0", name) == pattern]
    return sorted(alike, key=lambda name: [int(number) for number in _NUMBER.findall(name)])


def _entries_of(record: Mapping[str, Any], field: str, *, several: bool) -> list[Any]:
    """The entries of a list; one of `several` is a session, and what has no time has the one that stands beside it."""
    entries = [_entry(value, field) for _, value in together(joined(enumerate(oldest_first(record[field]))))]
    beside: dict[str, Any] = {"session": field} if several else {}
    stamps = (record.get(f"{field}_{kind}") for kind in ("date_time", "datetime", "timestamp", "date", "time"))
    when = next((stamp for stamp in stamps if isinstance(stamp, str | int | float)), None)
    if when is not None:
        beside["timestamp"] = when
    began = time_in({**object_in(record, "metadata"), **record})
    return [{**beside, **second_of_call(began, one), **one} if isinstance(one, Mapping) else one for one in entries]


def _holder(record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
    fields = _inside(record)
    rest = without(record, *fields[1:])
    if (system := system_of(rest)) is not None:
        yield from _list([system[1]], reading)
        rest.pop(system[0])
    named = named_by(record, IDS)
    inside = [_within(rest, field, [record[field]], reading) for field in fields[:1]]
    inside += [_within({} if named is None else {"id": named}, field, [record[field]], reading) for field in fields[1:]]
    rows = list(chain.from_iterable(inside))
    times: list[Any] = [
        None if isinstance(row, StepRejectedError) else seconds_of(row.get("timestamp")) for _, row in rows
    ]
    in_order = len({name for name, _ in rows}) == 1 and all(isinstance(at, int | float) for at in times)
    yield from (rows[at] for at in sorted(range(len(rows)), key=lambda at: times[at])) if in_order else rows


def _within(record: Any, field: str, entries: list[Any], reading: FileReading) -> Iterator[TrajectoryRow]:
    """The rows of the records that another record holds under a field."""
    named = named_by(record, IDS)
    system = system_of(record) if entries and is_message(entries[0]) and not is_system(entries[0]) else None
    about: dict[str, Any] | None = about_trajectory(record, field, system[0] if system else field)
    when = time_in(record) if len(entries) == 1 else None
    for entry in map(unpacked, [system[1], *entries] if system else entries):
        known = format_of(entry) or Format("event", has(), tasks.read_step)
        for trajectory, row in _named(known, entry, reading, named=named, alone=len(entries) == 1):
            if not isinstance(row, StepRejectedError) and not is_mark(row):
                row, about = _with_outer(row, about, when=None if known.whole else when), None
            yield trajectory, row


def _with_outer(row: Row, about: dict[str, Any] | None, *, when: Any) -> Row:
    """A row with what is known of the record around; what a step knows of itself and its trajectory comes first."""
    if when is not None and row.get("timestamp") is None:
        row = {**row, "timestamp": when}
    if not about:
        return row
    metadata = row.get("metadata", {})
    return {**row, "metadata": {**metadata, "within" if "trajectory" in metadata else "trajectory": about}}


def _named(
    known: Format, entry: Any, reading: FileReading, *, named: str | None, alone: bool
) -> Iterator[TrajectoryRow]:
    """The rows of a record that another one holds, which may be `named`."""
    parts: dict[str | None, str] = {}
    for trajectory, row in read_safely(known, entry, reading):
        if trajectory not in parts:
            # Whole trajectories keep their names; parts of one are of the one that the record names.
            whole = known.whole and (trajectory is not None or named is None or not alone)
            parts[trajectory] = reading.name(trajectory, entry, whole=True) if whole else (trajectory or named or "")
        yield parts[trajectory] or None, row


def _inside(record: Any) -> list[str]:
    """The fields under which a record keeps others; one that only says who speaks is none."""
    if not isinstance(record, Mapping):
        return []
    return [key for key, value in record.items() if isinstance(value, Mapping) and list(value) != ["role"]
            and _known(value, depth=1)]  # fmt: skip


def _is_by_name(record: Any) -> bool:
    return (
        isinstance(record, Mapping)
        and bool(record)
        and (len(record) > 1 or not isinstance(next(iter(record.values())), list))
        and all(isinstance(value, Mapping | list) for value in record.values())
        and not any(name in _LISTS for name in record)
        and all(_known(value, depth=1) for value in record.values())
    )


def _by_name(record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
    for name, packed in record.items():
        entry = unpacked(packed)
        known = format_of(entry)
        assert known is not None
        for _, row in read_safely(known, entry, reading):
            yield str(name), row


HEAD = said_in("coding-agent session head", coding_agents.is_head, coding_agents.head_line)

FORMATS: tuple[Format, ...] = (
    Format("CAME-Bench turn", tasks.is_came_turn, tasks.came_turn),
    Format("step", has("content", role=lambda role: isinstance(role, str) and bool(role.strip())), tasks.read_step),
    said_in("memory server graph", any_of(has("entityType", name=str), has("relationType", "from", "to")),
            frameworks.graph_entry),
    _held("trajectory of steps", "steps", lambda record: has(steps=list)(record) and bool(
        record["steps"] or not is_message(record)), ids=("id",), whole=False),
    read_as("coding-agent session line", coding_agents.is_line, coding_agents.session_line, "sessionId"),
    read_as("coding-agent session payload", has(payload=dict, type=str), coding_agents.payload_line, "sessionId"),
    Format("Cline message", chats.is_cline_line, chats.cline_line),
    said_in("editor chat", has(requests=first("message", "response")), chats.editor_messages, "sessionId",
            told=("requests",)),
    read_as("mini-SWE-agent", coding_agents.is_mini_run, coding_agents.mini_run, "instance_id", whole=True),
    said_in("item of a stream", has(item=dict, type=str), coding_agents.item_messages, "thread_id"),
    said_in("Cursor bubble", has("bubbleId", type=(1, 2)), chats.bubble_messages),
    Format("LangGraph state", has("next", values=has(messages=list)), frameworks.graph_state),
    read_as("LangGraph update", lambda record: isinstance(record, Mapping) and len(record) == 1 and has(
                messages=first("type"))(*record.values()), frameworks.node_update),
    said_in("numbered thoughts", has(trajectory=has("thought_0")), frameworks.numbered_thoughts, "id",
            told=("trajectory",)),
    said_in("CrewAI task", has("task_name", agent=str, task=str), frameworks.crew_task),
    read_as("Gemini live message",
            lambda record: isinstance(record, Mapping) and next(iter(record), "") in frameworks.LIVE,
            frameworks.live_message),
    said_in("Assistants run step", has(step_details=dict), frameworks.run_step, "thread_id"),
    said_in("Pydantic AI message", has(parts=first("part_kind")), frameworks.typed_parts),
    said_in("LangChain agent run", has(intermediate_steps=list), frameworks.agent_run, "id",
            told=("input", "output", "intermediate_steps")),
    said_in("smolagents step", frameworks.is_memory_step, frameworks.memory_step),
    said_in("MCP message", any_of(*(has("jsonrpc", name) for name in ("method", "result", "error"))),
            frameworks.protocol_message),
    said_in("message tree", chats.is_tree, chats.tree_messages, "message_tree_id", "id", whole=True),
    said_in("activity with an assistant", chats.is_activity, chats.activity_messages),
    Format("OpenHands event", coding_agents.is_open_hands_event, coding_agents.named_event),
    read_as("SWE-agent .traj", coding_agents.is_swe_run, coding_agents.swe_run, "instance_id",
            told=("trajectory", "history")),
    _held("Who&When log", "history", tasks.is_who_and_when, ids=("question_ID",), speaker=True),
    said_in("agent data protocol", has(content=first("class_")), tasks.protocol_events, "id", told=("content", "id")),
    _held("tau-bench", "traj", ids=("task_id",)),
    read_as("BFCL task", has(question=list), tasks.task_messages, "id", whole=True),
    said_in("BFCL result", any_of(has("id", result=str), has("id", result=list)), tasks.result_messages, "id",
            whole=True),
    said_in("InterCode episode", has(turn_history=dict), tasks.episode, "task_id", told=("turn_history", "query")),
    said_in("browsing trajectory", has("intent", trajectory=list), tasks.browsing, "task_id",
            told=("trajectory", "intent")),
    traced("run of a tracer", is_run, runs_in, told_by_run, trace_of_run),
    said_in("web actions", has("confirmed_task", actions=first("operation")), tasks.operations, "annotation_id",
            told=("actions", "confirmed_task")),
    Format("question and answer", has("conversation_id", query=str, answer=str),
           partial(_exchange, ids=("conversation_id",))),
    Format("exchange with a model", is_exchange, _exchange, whole=True),
    _held("chat messages", "messages"),
    said_in("chat export", chats.is_export, chats.export_messages, "id", "conversation_id",
            told=("mapping", "id", "conversation_id")),
    said_in("chat history", lambda record: chats.history_of(record) is not None, chats.history_messages, "id",
            "conversation_id", told=("chat", "history", "messages", "id")),
    _held("Gemini contents", "contents", messages=said_to_model),
    _held("Responses input", "input"),
    traced("span of OpenTelemetry", is_span, spans_in, told_by_span, trace_of_span),
    Format("message", is_message, tasks.read_step),
    Format("thought, action and observation", any_of(has("model_output", result=list), *(
        has("action", name) for name in ("observation", "thought", "action_input", "obs"))), tasks.read_step),
    read_as("coding-agent session event", coding_agents.is_event, coding_agents.session_line, "sessionId"),
    said_in("session trace", any_of(has("sessionId", trace=dict), has("session_id", trace=dict)),
            coding_agents.session_trace, "sessionId", "session_id"),
    HEAD,
    Format("list of messages", lambda record: isinstance(record, list) and bool(record) and is_message(record[0]),
           _list, whole=True),
    read_as("dialogue without speakers", lambda record: frameworks.dialogue_of(record) is not None,
            frameworks.spoken_in_turn, *IDS, whole=True),
    Format("records inside another", lambda record: _holding(record) is not None,
           lambda record, reading: (_holding(record) or _list)(record, reading)),
)  # fmt: skip
"""All formats, in the order in which they are tried; the last one holds records of the others."""
