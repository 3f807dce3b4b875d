"""The formats of trajectories that are recognized, each by its content.

A format says whether a record (one JSON value: a line of a file, or an item of a list) is its own, and reads it. The
first that recognizes a record reads it; one line in `FORMATS` adds another.

More than 400 lines because their order is what they are recognized by, and it stands in one place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from stitch.core import Step
from stitch.errors import StepRejectedError
from stitch.sources import agents, frameworks, sessions
from stitch.sources.fields import is_message, oldest_first, system_of
from stitch.sources.messages import make_step
from stitch.sources.model_calls import beside, dated, is_exchange, is_system, messages_of
from stitch.sources.recognizing import (
    FileReading,
    Format,
    RowReader,
    TrajectoryRow,
    has_events,
    is_episodes,
    is_memory_step,
    is_open_hands,
    is_session_event,
    is_session_head,
    read_one,
    read_safely,
    with_fields,
    with_list,
)
from stitch.sources.runs import run_of
from stitch.sources.spans import is_span
from stitch.sources.streams import joined

GENERIC_FORM = (
    "the generic form is one step a line:"
    '\n    {"role": "user", "content": "Book the hotel", "trajectory": "t1"}'
    '\n    {"role": "assistant", "content": "It is booked", "trajectory": "t1", "timestamp": "2026-01-31T09:30:00"}'
)
"""What a format that is not known can be turned into."""


def steps_of(record: Any, reading: FileReading) -> Iterator[tuple[str, Step | StepRejectedError]]:
    """Read one record: yield trajectory ids with steps, or with why there is none.

    Raises:
        StepRejectedError: No format recognizes it.
    """
    record = _unpacked(record)
    for known in FORMATS:
        if known.recognizes(record):
            break
    else:
        if reading.recognized and _is_event(record):
            # Between records that are known: nothing of a log is dropped.
            for row in sessions.session_event(record):
                yield reading.name(None, whole=False), row if isinstance(row, StepRejectedError) else make_step(row)
            return
        names = ", ".join(known.name for known in FORMATS)
        raise StepRejectedError(f"not a known format ({names})", hint=GENERIC_FORM)
    reading.recognized = True
    named: dict[str | None, str] = {}
    kept: dict[str, Any] = {}
    for trajectory, row in read_safely(known, record, reading):
        if trajectory not in named:
            named[trajectory] = reading.name(trajectory, whole=known.whole)
        try:
            if kept and not isinstance(row, StepRejectedError):
                row, kept = {**row, "metadata": {**kept, **row.get("metadata", {})}}, {}
            yield named[trajectory], row if isinstance(row, StepRejectedError) else make_step(row)
        except StepRejectedError as error:
            # What the record knows of the whole trajectory stands in its first step, also if this is another one.
            about = row.get("metadata", {}) if not isinstance(row, StepRejectedError) else {}
            kept = {key: about[key] for key in ("trajectory", "within") if isinstance(about.get(key), Mapping)}
            yield named[trajectory], error


def _unpacked(record: Any) -> Any:
    """A record; the lists that it holds as the text of their JSON, as tables do, are lists again."""
    if not isinstance(record, Mapping):
        return record
    packed = {key: _list_in(record[key]) for key in record.keys() & _PACKED if isinstance(record[key], str)}
    return {**record, **{key: value for key, value in packed.items() if value is not None}} if packed else record


def _list_in(text: str) -> list[Any] | None:
    """The list of objects that a text is the JSON of; None if it is no such list."""
    try:
        value = orjson.loads(text) if text.lstrip()[:1] == "[" else None
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value) else None


def _is_event(record: Any) -> bool:
    """Whether a record that is not known says at least what kind of event it is."""
    return isinstance(record, Mapping) and any(
        isinstance(record.get(name), str) and record[name].strip() for name in ("type", "event", "kind"))  # fmt: skip


_HOLDERS = 4
"""So many of the formats, the last ones, hold records of the others."""


def _conversation(field: str, *ids: str, parts: int = 1, speaker: bool = False) -> RowReader:
    """Reads the messages under `field`; the first `parts` of the fields `ids` that it has name the trajectory."""

    def rows(record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
        named = [str(record[name]) for name in ids if record.get(name) is not None][:parts]
        entries = record[field]
        first = entries[0] if entries else None
        if not is_message(first) and any(known.recognizes(first) for known in FORMATS[:-_HOLDERS]):
            if isinstance(first, Mapping) and "action" in first and (asked := _task_of(record)):
                entries = [{"role": "user", "content": asked}, *entries]
            yield from _within(record, field, entries, reading)
            return
        for row in agents.conversation(record, entries, reading.messages, field=field, speaker=speaker):
            yield "-".join(named) or None, row

    return rows


def _task_of(record: Mapping[str, Any]) -> str | None:
    """What the user asks for, in a record whose entries are what an agent does."""
    return next((record[name] for name in _TASKS if isinstance(record.get(name), str) and record[name].strip()), None)


_TASKS = ("task", "question", "instruction", "goal", "intent", "query", "confirmed_task", "problem")


_CAME_ID = re.compile(r"^(?P<trajectory>.+)-turn-\d+$")
_CAME_STAMP = re.compile(r"\s*-{3,4}\s?TIMESTAMP:\s*(?P<stamp>\S+(?: \S+)*?)\s*$")
_STAMP_CHARS = 300
_CAME_FIELDS = ("partition", "action", "action_object", "timestamp_mapping")


def _stamp_of(content: str) -> re.Match[str] | None:
    """The stamp at the end of a turn; no text is so long that looking for it takes long."""
    return _CAME_STAMP.search(content, max(0, len(content) - _STAMP_CHARS))


def _is_came_turn(record: Any) -> bool:
    return (
        with_fields("role", id=str, content=str)(record)
        and bool(_CAME_ID.match(record["id"]))
        and (any(name in record for name in _CAME_FIELDS) or bool(_stamp_of(record["content"])))
    )


def _open_hands(record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
    """An event of OpenHands; one that has a file of its own is part of what its folder holds."""
    named = record.get("session_id")
    if named is None and str(record.get("id")) == reading.number:
        named = reading.folder
    for row in agents.open_hands(record, reading.messages):
        yield None if named is None else str(named), row


def _came_turn(record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
    turn = dict(record)
    if stamp := _stamp_of(turn["content"]):
        turn["content"] = turn["content"][: stamp.start()]
        turn["timestamp"] = stamp["stamp"]
    trajectory = _CAME_ID.sub(r"\g<trajectory>", turn["id"])
    for row in reading.messages.rows(turn):
        yield trajectory, row


def _step(record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
    trajectory = next((record[name] for name in _CONVERSATIONS if isinstance(record.get(name), str | int)), None)
    for row in reading.messages.rows(record):
        yield None if trajectory is None else str(trajectory), row


_CONVERSATIONS = ("trajectory", "conversation_id", "conversationId", "thread_id", "threadId", "dialogue_id",
                  "dialog_id", "chat_id", "chatId", "message_tree_id", "trajectory_id", "traj_id")  # fmt: skip
"""The fields of a lone step that say which trajectory it is of."""


def _episodes(record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
    for name, episode in record.items():
        for row in agents.inter_code(episode):
            yield str(name), row


def _head(record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
    for row in sessions.session_event(record):
        yield None, row


def _list(record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
    first = next((known for known in FORMATS if known.recognizes(record[0])), None)
    if first is not None and first.name not in ("step", "chat messages") and not first.whole:
        yield from _within({}, "", record, reading)
        return
    for row in agents.conversation({}, record, reading.messages, field=""):
        yield None, row


def _exchange(record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
    named = next((str(record[name]) for name in (*_IDS, "custom_id") if record.get(name) is not None), None)
    messages = dated(record, messages_of(record))
    about = beside(record)
    if messages and isinstance(messages[-1], Mapping) and messages[-1].get("content") == about.get("answer"):
        about.pop("answer", None)  # it is what was replied
    for row in agents.conversation(about, messages, reading.messages, field="messages"):
        yield named, row


_LISTS = (
    "messages", "steps", "events", "turns", "conversation", "conversations", "dialogue", "dialog", "chat", "history",
    "chat_messages", "transcript", "utterances", "trajectory", "traj", "trace", "log", "logs", "items", "interactions",
    "data", "rows", "results", "simulations", "trajectories", "runs", "spans", "sessions", "episodes", "records",
    "tasks", "samples", "examples", "child_runs", "threads", "chunks",
)  # fmt: skip
_PACKED = frozenset(_LISTS)
_MAX_DEPTH, _FIRST = 7, 3
"""How deep, and among how many entries of a list, what is known is looked for."""


def _part_of(record: Any) -> str | None:
    """The field under which a record keeps a list of steps or of records; any field, those of `_LISTS` first."""
    if not isinstance(record, Mapping):
        return None
    lists = [key for key, value in record.items() if isinstance(value, list) and value]
    ordered = sorted(lists, key=lambda key: _LISTS.index(key) if key in _LISTS else len(_LISTS))
    return next((key for key in ordered if any(_known(_entry(one), depth=1) for one in record[key][:_FIRST])), None)


def _known(record: Any, *, depth: int) -> bool:
    if depth >= _MAX_DEPTH:
        return False
    record = _unpacked(record)
    if isinstance(record, list):
        return any(_known(_entry(one), depth=depth + 1) for one in record[:_FIRST])
    return any(known.recognizes(record) for known in FORMATS[:-_HOLDERS]) or (
        isinstance(record, Mapping)
        and any(isinstance(v, list | Mapping) and v and _known(v, depth=depth + 1) for v in record.values())
    )


def _entry(value: Any) -> Any:
    """An entry of a list, out of the envelope in which servers of data sets put rows."""
    return value["row"] if isinstance(value, Mapping) and isinstance(value.get("row"), Mapping) else value


def _wrapped(record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
    field = _part_of(record)
    assert field is not None
    entries = oldest_first([_entry(value) for _, value in joined(enumerate(record[field]))])
    yield from _within(record, field, entries, reading)


def _contents(record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
    """Contents that name no role are the user's."""
    said = [{"role": "user", **c} if isinstance(c, Mapping) and "parts" in c else c for c in record["contents"]]
    return _conversation("contents", *_IDS)({**record, "contents": said}, reading)


def _holder(record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
    first, *others = _inside(record)
    rest = {key: value for key, value in record.items() if key not in others}
    if (system := system_of(rest)) is not None:
        yield from _list([system[1]], reading)
        rest.pop(system[0])
    yield from _within(rest, first, [record[first]], reading)
    for other in others:
        named = next((str(record[name]) for name in _IDS if isinstance(record.get(name), str | int)), None)
        yield from _within({} if named is None else {"id": named}, other, [record[other]], reading)


def _within(record: Any, field: str, entries: list[Any], reading: FileReading) -> Iterator[TrajectoryRow]:
    """The rows of the records that another record holds under a field."""
    named = next((str(record[name]) for name in _IDS if isinstance(record.get(name), str | int)), None)
    system = system_of(record) if entries and is_message(entries[0]) and not is_system(entries[0]) else None
    about: dict[str, Any] | None = agents.about_trajectory(record, field, system[0] if system else field)
    for entry in map(_unpacked, [system[1], *entries] if system else entries):
        known = next((known for known in FORMATS if known.recognizes(entry)), None)
        if known is None:
            known = Format("event", with_fields(), lambda entry, reading: _list([entry], reading))
        part: str | None = None
        for trajectory, row in read_safely(known, entry, reading):
            if part is None:
                # Whole trajectories keep their names; parts of one are of the one that the record names.
                whole = known.whole and (trajectory is not None or named is None or len(entries) > 1)
                part = reading.name(trajectory, whole=True) if whole else (trajectory or named or "")
            if about and not isinstance(row, StepRejectedError):
                metadata = row.get("metadata", {})
                row["metadata"] = {**metadata, "within" if "trajectory" in metadata else "trajectory": about}
                about = None
            yield part or None, row


def _inside(record: Any) -> list[str]:
    """The fields under which a record keeps others."""
    if not isinstance(record, Mapping):
        return []
    return [key for key, value in record.items() if isinstance(value, Mapping) and _known(value, depth=1)]


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
        entry = _unpacked(packed)
        known = next(known for known in FORMATS if known.recognizes(entry))
        for _, row in read_safely(known, entry, reading):
            yield str(name), row


_IDS = (
    "id", "instance_id", "conversation_id", "session_id", "sessionId", "uuid", "task_id", "trajectory_id", "traj_id",
    "thread_id", "dialogue_id", "dialog_id", "chat_id", "run_id", "trace_id", "custom_id",
)  # fmt: skip

_LIVE = ("setup", "setupComplete", "clientContent", "serverContent", "toolCall", "toolResponse", "realtimeInput")
_TREES = ("message_tree_id", "id")

FORMATS: tuple[Format, ...] = (
    Format("trajectory of steps", with_list("steps"), _conversation("steps", "id")),
    Format("CAME-Bench turn", _is_came_turn, _came_turn),
    Format("coding-agent session line", lambda r: with_fields(message=dict, type=str)(r) and "role" not in r
           and "llm_message" not in r, read_one(sessions.session_line, "sessionId")),
    Format("coding-agent session payload", with_fields(payload=dict, type=str), read_one(sessions.payload_line,
           "sessionId")),
    Format("coding-agent session summary", with_fields("leafUuid", summary=str), read_one(sessions.session_line,
           "sessionId")),
    Format("OpenCode message", lambda r: with_list("parts")(r) and with_fields("role")(r.get("info")),
           read_one(sessions.open_code)),
    Format("Cline message", lambda r: with_fields("ts", type=str)(r) and r["type"] in ("say", "ask") and r["type"] in r,
           read_one(sessions.cline_line)),
    Format("editor chat", lambda r: with_list("requests", of="message")(r) and "response" in r["requests"][0],
           read_one(sessions.editor_chat, "sessionId"), whole=True),
    Format("mini-SWE-agent", lambda r: with_list("messages")(r) and (
        str(r.get("trajectory_format")).startswith("mini-swe-agent") or with_fields("mini_version")(r.get("info"))),
           read_one(sessions.mini_swe_agent, "instance_id"), whole=True),
    Format("item of a stream", with_fields(item=dict, type=str), read_one(sessions.item_line, "thread_id")),
    Format("Cursor bubble", lambda r: with_fields("bubbleId")(r) and r.get("type") in (1, 2),
           read_one(sessions.cursor_bubble)),
    Format("LangGraph update", lambda r: isinstance(r, Mapping) and len(r) == 1 and with_list("messages", of="type")(
        next(iter(r.values()))), read_one(frameworks.node_update)),
    Format("numbered thoughts", lambda r: with_fields(trajectory=dict)(r) and "thought_0" in r["trajectory"],
           read_one(frameworks.numbered_thoughts, "id"), whole=True),
    Format("CrewAI task", with_fields("task_name", agent=str, task=str), read_one(frameworks.crew_task)),
    Format("Gemini live message", lambda r: isinstance(r, Mapping) and next(iter(r), "") in _LIVE,
           read_one(frameworks.live_message)),
    Format("Assistants run step", with_fields(step_details=dict), read_one(frameworks.run_step, "thread_id")),
    Format("Pydantic AI message", with_list("parts", of="part_kind"), read_one(frameworks.typed_parts)),
    Format("LangChain agent run", with_list("intermediate_steps"), read_one(frameworks.agent_run, "id"), whole=True),
    Format("smolagents step", is_memory_step, read_one(frameworks.memory_step)),
    Format("MCP message", lambda r: with_fields("jsonrpc")(r) and any(n in r for n in ("method", "result", "error")),
           read_one(frameworks.protocol_message)),
    Format("message tree", lambda r: with_list("replies")(r) or with_list("replies")(
        r.get("prompt") if isinstance(r, Mapping) else None), read_one(frameworks.message_tree, *_TREES), whole=True),
    Format("OpenHands event", is_open_hands, _open_hands),
    Format("OpenHands run", has_events, read_one(agents.open_hands_history, "instance_id", "id"), whole=True),
    Format("SWE-agent .traj", lambda r: (with_list("history", of="role")(r) and "agent" in r["history"][0])
           or (with_list("trajectory", of="observation")(r) and "intent" not in r),
           read_one(agents.swe_agent, "instance_id"), whole=True),
    Format("Who&When log", lambda r: with_list("history", of="role")(r)
           and (any(name in r for name in ("mistake_step", "mistake_agent", "mistake_reason", "question_ID"))
                or ("question" in r and all(with_fields("role", "name")(m) for m in r["history"]))),
           _conversation("history", "question_ID", speaker=True), whole=True),
    Format("agent data protocol", with_list("content", of="class_"),
           read_one(agents.agent_data_protocol, "id", plain=True), whole=True),
    Format("tau-bench", with_list("traj"), _conversation("traj", "task_id", "trial", parts=2), whole=True),
    Format("BFCL task", with_list("question"), read_one(agents.bfcl, "id"), whole=True),
    Format("BFCL result", lambda r: with_fields("id")(r) and isinstance(r.get("result"), str | list),
           read_one(agents.bfcl_result, "id"), whole=True),
    Format("InterCode episode", with_fields(turn_history=dict), read_one(agents.inter_code, "task_id", plain=True),
           whole=True),
    Format("InterCode log", is_episodes, _episodes, whole=True),
    Format("browsing trajectory", lambda r: with_list("trajectory")(r) and "intent" in r,
           read_one(agents.web_trajectory, "task_id", plain=True), whole=True),
    Format("run of another tracer", lambda r: run_of(r) is not None,
           lambda r, reading: reading.traces.named_run(run_of(r) or {})),
    Format("web actions", lambda r: with_list("actions", of="operation")(r) and "confirmed_task" in r,
           read_one(agents.web_actions, "annotation_id", plain=True), whole=True),
    Format("exchange with a model", is_exchange, _exchange, whole=True),
    Format("chat messages", with_list("messages"), _conversation("messages", *_IDS), whole=True),
    Format("chat export", lambda r: with_fields(mapping=dict)(r) and all(map(with_fields("message"),
           r["mapping"].values())),
           read_one(agents.chat_export, "id", "conversation_id"), whole=True),
    Format("conversations", lambda r: with_list("conversations")(r) and is_message((r["conversations"] or [0])[0]),
           _conversation("conversations", *_IDS), whole=True),
    Format("Gemini contents", with_list("contents"), _contents, whole=True),
    Format("message history", with_list("history", of="role"), _conversation("history", *_IDS), whole=True),
    Format("trajectory of messages", with_list("trajectory", of="role"), _conversation("trajectory", *_IDS),
           whole=True),
    Format("Responses input", with_list("input"), _conversation("input", *_IDS), whole=True),
    Format("OpenTelemetry export", lambda r: with_list("resourceSpans")(r) or with_list("resourceLogs")(r),
           lambda r, reading: reading.traces.export(r)),
    Format("OpenTelemetry span", is_span, lambda r, reading: reading.traces.named_span(r)),
    Format("LangSmith run", with_fields("inputs", run_type=str), lambda r, reading: reading.traces.named_run(r)),
    Format("step", is_message, _step),
    Format("thought, action and observation", lambda r: with_fields("action")(r) and any(
        name in r for name in ("observation", "thought", "action_input", "obs")), _step),
    Format("coding-agent session event", is_session_event, read_one(sessions.session_line, "sessionId")),
    Format("session trace", lambda r: with_fields(trace=dict)(r) and ("sessionId" in r or "session_id" in r),
           read_one(sessions.session_trace, "sessionId", "session_id")),
    Format("coding-agent session head", is_session_head, _head),
    Format("list of messages", lambda r: isinstance(r, list) and bool(r) and is_message(r[0]), _list, whole=True),
    Format("dialogue without speakers", lambda r: frameworks.dialogue_of(r) is not None,
           read_one(frameworks.turns_without_speakers, *_IDS), whole=True),
    Format("such records by name", _is_by_name, _by_name),
    Format("list of such records", lambda r: _part_of(r) is not None, _wrapped),
    Format("list of lists of such records", lambda r: isinstance(r, list) and _known(r, depth=1),
           lambda r, reading: _within({}, "", r, reading)),
    Format("such a record inside another", lambda r: bool(_inside(r)), _holder),
)  # fmt: skip
"""All formats, in the order in which they are tried; the last four hold records of the others."""
