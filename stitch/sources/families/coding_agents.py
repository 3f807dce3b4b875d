"""Logs of coding agents: the sessions of their programs line by line, OpenHands, SWE-agent and mini-SWE-agent."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from stitch.core import Origin
from stitch.errors import StepRejectedError
from stitch.sources.conversation import Reading, about_trajectory, call_of, conversation, event
from stitch.sources.families.items import item_rows
from stitch.sources.fields import Row, is_message
from stitch.sources.messages import MessageReader
from stitch.sources.parts import arguments_of, text_of, without
from stitch.sources.recognizing import FileReading, TrajectoryRow, with_fields, with_list

_PATH = 6
_OF_A_SESSION = ("sessionId", "parentUuid", "leafUuid", "messageId", "uuid", "session_id", "event_id", "thread_id",
                 "sequence_number")  # fmt: skip


def is_line(record: Any) -> bool:
    """Whether it is a line of a session with a message."""
    return with_fields(message=dict, type=str)(record) and "role" not in record and "llm_message" not in record


def is_event(record: Any) -> bool:
    """Whether it is a line of a coding agent's session that is no message."""
    kind = record.get("type") if isinstance(record, Mapping) else None
    if not isinstance(kind, str) or is_message(record):
        return False
    return any(name in record for name in _OF_A_SESSION) or isinstance(record.get("data"), Mapping)


def is_head(record: Any) -> bool:
    """Whether it is what a coding agent's session file begins with, or a mark in it."""
    return isinstance(record, Mapping) and (
        isinstance(record.get("record_type"), str)
        or record.get("type") == "session"
        or {"sessionId", "startTime"} <= record.keys()
        or (bool(record) and all(str(key).startswith("$") for key in record))
        or {"working_dir", "message_count"} <= record.keys()
        or ({"id", "timestamp"} <= record.keys() and bool({"instructions", "git", "cwd"} & record.keys())
            and "role" not in record)
    )  # fmt: skip


def is_trace(record: Any) -> bool:
    """Whether it is an entry of the trace of a session."""
    return with_fields(trace=dict)(record) and ("sessionId" in record or "session_id" in record)


def session_line(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """One line of a coding agent's session file: a message with who, when, and what came before."""
    if record.get("type") == "summary":
        yield event(record, without(record, "type"))
        return
    outer = without(record, "message", "type", "uuid", "parentUuid")
    moment: Row = {"timestamp": outer.pop("timestamp", None), "session": record.get("sessionId"),
                   "parent": record.get("parentUuid") or outer.pop("parentId", None)}  # fmt: skip
    identity = record.get("uuid")
    if not isinstance(record.get("message"), Mapping):
        yield {**moment, **event(record, outer), **({"id": identity} if identity else {})}
        return
    message = {"role": record.get("type"), **record["message"]}
    if message.get("children") and not message.get("content"):
        return  # the root of a tree of messages, which nobody said
    inner_id = message.pop("id", None)
    if inner_id not in (None, identity):
        outer["message_id"] = inner_id
    for number, row in enumerate(reader.rows(message)):
        row["metadata"] = {**outer, **row["metadata"]}
        row |= {name: value for name, value in moment.items() if value is not None}
        if row["role"] == "user":
            row = {**row, **_marked(record, origin=row.get("origin"))}
        if identity is not None:
            row["id"] = identity if number == 0 else f"{identity}-{number}"
        yield row


def _marked(record: Mapping[str, Any], *, origin: Origin | None) -> Row:
    """Who speaks in place of the user, by the marks of a line: what the program says has the trust of pages."""
    if record.get("isCompactSummary") is True:
        return {"role": "summary", "origin": Origin.DOCUMENT}
    if record.get("isMeta") is True:
        return {"role": "system", "origin": Origin.DOCUMENT}
    return {"origin": origin or Origin.AGENT} if record.get("isSidechain") is True else {}  # there the agent asks


def payload_line(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """One line of a coding agent's session file that keeps what it says under `payload`."""
    payload, kind = record["payload"], str(record.get("type"))
    outer = without(record, "payload", "timestamp", "type")
    moment = {"timestamp": record.get("timestamp")}
    if isinstance(payload.get("item"), Mapping):
        rows = list(item_rows(payload["item"], beside={"event": kind, **without(payload, "item")}, reader=reader))
        told_by_item = False
    elif told_by_item := is_message(payload):
        rows = list(reader.rows(payload))
    else:
        rows = [event({"type": kind, **payload}, {"event": kind, **payload})]
    # What is said and done stands there twice: as an item for the model, and as an event for the screen.
    if (probe := _probe(rows)) and reader.said_twice(probe, item=told_by_item):
        reader.repeated += rows
        return
    for row in rows:
        row["role"] = {"user_message": "user", "agent_message": "assistant"}.get(row["role"], row["role"])
        yield {**row, **moment, "metadata": {**outer, **row["metadata"]}}


def _probe(rows: list[Row]) -> str:
    """By which the two forms are known as one: the words, or the longest text that a tool was called with."""
    if not rows:
        return ""
    given = [text for call in rows[0].get("tool_calls") or () for text in _texts_of(dict(call.arguments))]
    return str(rows[0]["content"]).strip() or max(given, key=len, default="")


def _texts_of(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value.strip()
    elif isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _texts_of(inner)


def session_event(record: Mapping[str, Any], _: MessageReader) -> Reading:
    """A line of a session file that is no message: how the session began, or a mark."""
    rest = without(record, "id", "timestamp")
    kind = str(record.get("type") or record.get("record_type") or "session")
    about = {"session_id": record["id"], **rest} if record.get("id") is not None else rest
    yield {"timestamp": record.get("timestamp"), **event({**record, "type": kind}, about)}


def session_trace(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """An entry of the trace of a session: it is named by where it stands, and its first text is what it says."""
    rest = without(record, "timestamp", "eventTime")
    path, inner = list[str](), record["trace"]
    while isinstance(inner, Mapping) and len(path) < _PATH:
        if isinstance(said := inner.get("text"), str) and said:
            break
        name, value = next(((key, value) for key, value in inner.items() if isinstance(value, Mapping)), ("", None))
        if value is None:
            break
        path, inner = [*path, str(name)], value
    said = inner.get("text") if isinstance(inner, Mapping) else None
    yield {"role": path[-1] if path else "trace", "content": said if isinstance(said, str) and said else text_of(inner),
           "timestamp": record.get("timestamp") or record.get("eventTime"), "metadata": rest}  # fmt: skip


_SOURCES = {"agent": "assistant", "environment": "tool"}
_ELSEWHERE = ("id", "timestamp", "source", "action", "args", "observation", "content", "tool_name", "thought",
              "message")  # fmt: skip
"""The fields of an event that are more than metadata."""


def is_open_hands_event(record: Any) -> bool:
    """Whether it is an event of OpenHands: an action, or an observation."""
    if not isinstance(record, Mapping) or "role" in record:
        return False
    if isinstance(record.get("llm_message"), Mapping) or isinstance(record.get("action"), Mapping):
        return "source" in record
    if "args" in record and isinstance(record.get("action"), str):
        return True
    return ("action" in record or "observation" in record) and ("source" in record or "extras" in record)


def is_run(record: Any) -> bool:
    """Whether it has a history of actions and observations: objects, or pairs of them."""
    entries = record.get("history") if isinstance(record, Mapping) else None
    first = entries[0] if isinstance(entries, list) and entries else None
    first = first[0] if isinstance(first, list) and first else first
    return isinstance(first, Mapping) and "role" not in first and ("action" in first or "observation" in first)


def read_event(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """One event; the call of a tool, its result, or what is said."""
    rest = {key: value for key, value in record.items() if key not in _ELSEWHERE and value is not None}
    row: Row = {"timestamp": record.get("timestamp"), "metadata": rest}
    if record.get("id") is not None:
        row["id"] = str(record["id"])
    for name in ("cause", "action_id"):
        if rest.get(name) is not None:
            row["parent"] = str(rest.pop(name))
    said_so = str(record.get("source") or ("environment" if "observation" in record else "agent"))
    source = _SOURCES.get(said_so, said_so)
    if isinstance(record.get("llm_message"), Mapping):
        yield from _told_to_model(record, row, reader, source=source)
    elif "observation" in record:
        yield _observed(record, row)
    else:
        yield _acted(record, row, source=source)


def _told_to_model(record: Mapping[str, Any], row: Row, reader: MessageReader, *, source: str) -> Iterator[Row]:
    """A message as the model was sent it."""
    rest = row["metadata"]
    rest.pop("llm_message")
    for number, said in enumerate(reader.rows({"role": source, **record["llm_message"]})):
        own_id = {"id": f"{row['id']}-{number}"} if number and "id" in row else {}
        yield {**said, **row, **own_id, "metadata": {**rest, **said["metadata"]}}


def _observed(record: Mapping[str, Any], row: Row) -> Row:
    """What a tool gave; what else is in an observation that is an object goes to the metadata."""
    rest, seen, message = row["metadata"], record["observation"], record.get("message")
    known = seen if isinstance(seen, Mapping) else {}
    content = record.get("content")
    if content is None and known:
        content = _taken_from(known, rest)
    if message and message != content:
        rest["message"] = message
    tool = record.get("tool_name") or known.get("kind") or (seen if isinstance(seen, str) else None)
    return {**row, "role": "tool", "tool_name": str(tool or "tool"), "content": text_of(content)}


def _taken_from(seen: Mapping[str, Any], rest: dict[str, Any]) -> Any:
    """What an observation that is an object says; what stands beside it goes to the metadata."""
    content = next((seen[key] for key in ("content", "output", "text") if seen.get(key)), None) or seen
    beside = {key: value for key, value in seen.items() if value is not content and value is not None}
    rest |= {f"observation_{key}" if key in rest else key: value for key, value in beside.items()}
    return content


def _acted(record: Mapping[str, Any], row: Row, *, source: str) -> Row:
    """What an agent or a user says or does."""
    rest, action, message = row["metadata"], record["action"], record.get("message")
    about = action if isinstance(action, Mapping) else {}
    arguments = _arguments_in(record, about, rest)
    if action in ("message", "system") or (not action and message):
        return _spoken(record, row, arguments, source=source)
    said: Any = arguments.pop("thought", None) or record.get("thought") or message
    if message and message != said:
        rest["message"] = message
    name = record.get("tool_name") or about.get("kind") or (action if isinstance(action, str) else None) or "action"
    return {**row, "role": source, "content": text_of(said), "tool_calls": (call_of(str(name), arguments),)}


def _arguments_in(record: Mapping[str, Any], about: Mapping[str, Any], rest: dict[str, Any]) -> dict[str, Any]:
    """The arguments of an action; of one that is an object, those of the call that the model made."""
    made = record.get("tool_call")
    if about and isinstance(made, Mapping) and made.get("arguments"):
        rest["action"] = rest.get("action", dict(about))
        rest["tool_call"] = without(made, "name", "arguments")
        return dict(arguments_of(made["arguments"]))
    return dict(record["args"] if isinstance(record.get("args"), Mapping) else about)


def _spoken(record: Mapping[str, Any], row: Row, arguments: dict[str, Any], *, source: str) -> Row:
    """What somebody says, or how to behave."""
    rest, action, message = row["metadata"], record["action"], record.get("message")
    spoken: Any = arguments.pop("content") if arguments.get("content") else message
    if message and message != spoken:
        rest["message"] = message
    if arguments := {name: value for name, value in arguments.items() if value not in (None, "", [])}:
        rest["args"] = arguments
    role = "system" if action == "system" else source
    return {**row, "role": role, "content": text_of(spoken) or str(action)}


def read_run(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """A run: its events, or pairs of an action and an observation."""
    for entry in record["history"]:
        for said in entry if isinstance(entry, list) else [entry]:
            if isinstance(said, Mapping) and ("action" in said or "observation" in said):
                yield from read_event(said, reader)
            else:
                yield StepRejectedError("event is no action and no observation")


def named_event(record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
    """An event that has a file of its own is part of what its folder holds."""
    named = record.get("session_id")
    if named is None and str(record.get("id")) == reading.number:
        named = reading.folder
    for row in read_event(record, reading.messages):
        yield None if named is None else str(named), row


_TOLD = ("action", "observation", "response", "thought", "query", "messages")
"""What of an entry stands in the messages of the history."""
_COMMAND = re.compile(r"```(?:bash|sh|mswea_bash_command)[ \t]{0,9}\n(?P<command>.*?)\n?```", re.DOTALL)
_RETURNED = ("<returncode>", "<output>", "Observation:", "<observation>")


def is_swe_run(record: Any) -> bool:
    """Whether it is a `.traj` of SWE-agent."""
    return (with_list("history", of="role")(record) and "agent" in record["history"][0]) or (
        with_list("trajectory", of="observation")(record) and "intent" not in record
    )


def is_mini_run(record: Any) -> bool:
    """Whether it is a trajectory of mini-SWE-agent."""
    return with_list("messages")(record) and (
        str(record.get("trajectory_format")).startswith("mini-swe-agent")
        or with_fields("mini_version")(record.get("info"))
    )


def read_swe_run(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """The messages of `history`, each action as a tool call and each observation as its result.

    The entries of `trajectory` repeat the same thoughts and observations; what they alone know (state, time) goes to
    the metadata of the action.
    """
    run = _Run(record)
    # The last actions of a run may stand in `trajectory` alone.
    for message in chain(record.get("history") or (), (said for entry in run.entries for said in _messages_of(entry))):
        try:
            for row in reader.rows(message):
                run.take_in(row, message)
                yield row
        except StepRejectedError as error:
            yield error
    if run.tool is not None and record.get("history") and run.observed:
        yield {"role": "tool", "tool_name": run.tool, "content": text_of(run.observed), "metadata": {}}


class _Run:
    """What is known between two messages of a run."""

    def __init__(self, record: Mapping[str, Any]) -> None:
        self.about: dict[str, Any] | None = about_trajectory(record, "trajectory", "history")
        self.entries = iter(record.get("trajectory") or ())
        self.tool: str | None = None
        """What was called and not yet answered."""
        self.observed: Any = None

    def take_in(self, row: Row, message: Any) -> None:
        """Make an action of a row the call of a tool, and what is said after it its result."""
        row.pop("origin", None)  # the task is called an observation too, and the others are known by their place
        if self.about:
            row["metadata"]["trajectory"], self.about = self.about, None
        action = message.get("action") if isinstance(message, Mapping) else None
        if isinstance(action, str) and row["role"] == "assistant":
            entry: Mapping[str, Any] = next(self.entries, {}) if message.get("agent") else message
            self.tool, self.observed = (action.split() or ["submit"])[0], entry.get("observation")
            row["metadata"].update(_only_in(entry, said=row["content"]))
            if not row["tool_calls"]:
                row["tool_calls"] = (call_of(self.tool, {"input": action}),)
        elif self.tool is not None:
            # Older versions write what the environment answered as if the user had said it.
            row["role"], row["tool_name"] = "tool", row.get("tool_name") or self.tool
            self.tool = None


def _only_in(entry: Mapping[str, Any], *, said: str) -> dict[str, Any]:
    """What an entry knows and its message does not say: its state, its time, and a thought in other words."""
    known = {key: value for key, value in entry.items() if key not in _TOLD and value}
    thoughts = (text_of(entry.get(key)).strip() for key in ("response", "thought"))
    other = next((thought for thought in thoughts if thought not in said), None)
    return {**known, "entry_thought": other} if other else known


def _messages_of(entry: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    thought = entry.get("thought") or entry.get("response")
    rest = {key: value for key, value in entry.items() if key not in _TOLD and value}
    yield {"role": "assistant", "content": thought, "action": entry.get("action"), **rest}
    yield {"role": "user", "content": entry.get("observation")}


def read_mini_run(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """The messages; the command in a reply is a call, and what the user says then its result."""
    called = False
    for row in conversation(record, record["messages"], reader, field="messages"):
        if not isinstance(row, StepRejectedError):
            found = _COMMAND.search(row["content"]) if row["role"] == "assistant" else None
            if found and not row.get("tool_calls"):
                row["tool_calls"], called = ({"name": "bash", "arguments": {"command": found["command"]}},), True
            elif called and row["role"] == "user" and row["content"].lstrip().startswith(_RETURNED):
                row["role"], row["tool_name"], called = "tool", "bash", False
        yield row
