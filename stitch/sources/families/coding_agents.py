"""Logs of coding agents: the sessions of their programs line by line, OpenHands, SWE-agent and mini-SWE-agent."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from stitch.core import Origin
from stitch.errors import StepRejectedError
from stitch.sources.conversation import Done, RowStream, conversation, talk
from stitch.sources.fields import Row, event, is_message
from stitch.sources.messages import MessageReader
from stitch.sources.parts import text_of, without
from stitch.sources.recognizing import FileReading, TrajectoryRow, any_of, first, has
from stitch.sources.tool_calls import arguments_of, outcome_told

Messages = Iterator[Any]

_PATH = 6
_OF_A_SESSION = ("sessionId", "parentUuid", "leafUuid", "messageId", "uuid", "session_id", "event_id", "thread_id",
                 "sequence_number")  # fmt: skip


def is_line(record: Any) -> bool:
    """Whether it is a line of a session with a message."""
    return has(message=dict, type=str)(record) and "role" not in record and "llm_message" not in record


def is_event(record: Any) -> bool:
    """Whether it is a line of a coding agent's session that is no message."""
    return has(type=str)(record) and not is_message(record) and (
        any(name in record for name in _OF_A_SESSION) or isinstance(record.get("data"), Mapping))  # fmt: skip


def is_head(record: Any) -> bool:
    """Whether it is what a coding agent's session file begins with, or a mark in it."""
    return isinstance(record, Mapping) and (
        isinstance(record.get("record_type"), str)
        or record.get("type") == "session"
        or {"sessionId", "startTime"} <= record.keys()
        or (bool(record) and all(str(key).startswith("$") for key in record))
        or {"working_dir", "message_count"} <= record.keys()
        or {"user_name", "character_name"} <= record.keys()
        or ({"id", "timestamp"} <= record.keys() and bool({"instructions", "git", "cwd"} & record.keys())
            and "role" not in record)
    )  # fmt: skip


def session_line(record: Mapping[str, Any], reader: MessageReader) -> RowStream:
    """One line of a coding agent's session file: a message with who, when, and what came before."""
    outer = without(record, "message", "type", "uuid", "parentUuid")
    moment: Row = {"timestamp": outer.pop("timestamp", None), "session": record.get("sessionId"),
                   "parent": record.get("parentUuid") or outer.pop("parentId", None)}  # fmt: skip
    identity = record.get("uuid")
    if not isinstance(record.get("message"), Mapping):
        yield {**moment, **_noted(record, outer), **({"id": identity} if identity else {})}
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


def _noted(record: Mapping[str, Any], outer: Row) -> Row:
    """Row of a line that is no message; the title of a session, which does not name it, is a mark."""
    is_title = record.get("type") == "summary" and "sessionId" not in record
    return {**event(record, outer), **({"content": None, "metadata": outer} if is_title else {})}


def _marked(record: Mapping[str, Any], *, origin: Origin | None) -> Row:
    """Speaker in place of the user, by the marks of a line: what the program says has the trust of pages."""
    if record.get("isCompactSummary") is True:
        return {"role": "summary", "origin": Origin.DOCUMENT}
    if record.get("isMeta") is True:
        return {"role": "system", "origin": Origin.DOCUMENT}
    return {"origin": origin or Origin.AGENT} if record.get("isSidechain") is True else {}  # there the agent asks


def payload_line(record: Mapping[str, Any], reader: MessageReader) -> RowStream:
    """One line of a coding agent's session file that keeps what it says under `payload`."""
    payload, kind = record["payload"], str(record.get("type"))
    outer = without(record, "payload", "timestamp", "type")
    told_by_item = not isinstance(payload.get("item"), Mapping) and is_message(payload)
    said: Any = payload if told_by_item else Done(event({"type": kind, **payload}, {"event": kind, **payload}))
    if isinstance(payload.get("item"), Mapping):
        said = _of_item(payload["item"], beside={"event": kind, **without(payload, "item")})
    rows = list(reader.rows(said)) if isinstance(said, Mapping) else [said.row]
    # What is said and done stands there twice: as an item for the model, and as an event for the screen.
    if (probe := _probe(rows)) and reader.said_twice(probe, item=told_by_item):
        reader.repeated += [without(row, "metadata") for row in rows]
        return
    for row in rows:
        row["role"] = _SPEAKERS.get(row["role"], row["role"])
        yield {**row, "timestamp": record.get("timestamp"), "metadata": {**outer, **row["metadata"]}}


def _probe(rows: list[Row]) -> str:
    """The text by which the two forms are known as one: the words, or the longest text that a tool was called with."""
    if not rows:
        return ""
    given = [text for call in rows[0].get("tool_calls") or () for text in _texts_of(dict(call.arguments))]
    return str(rows[0]["content"] or "").strip() or max(given, key=len, default="")


def _texts_of(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value.strip()
    elif isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _texts_of(inner)


_SPEAKERS = {"user_message": "user", "agent_message": "assistant"}
_DONE = ("command", "query", "path", "code")
"""Fields of an item that say what was done, where they are texts; objects and lists do."""
_CAME = ("aggregated_output", "output", "result", "results", "error")
_BEGUN = (".started", ".updated", ".added", ".in_progress")
_BESIDE = ("id", "type", "status", "exit_code", "duration", "cwd", *_CAME)
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def item_messages(record: Mapping[str, Any]) -> Messages:
    """An event that brings an item: what was said or done when it is whole, a mark before."""
    begun = str(record["type"]).endswith(_BEGUN)
    yield Done(event(record, record)) if begun else _of_item(record["item"], beside=without(record, "item"))


def _of_item(item: Mapping[str, Any], *, beside: Mapping[str, Any]) -> Any:
    """The message of an item; what was done is the call of a tool of the name of its kind, with what came of it."""
    kind = _CAPITAL.sub("_", str(item.get("type"))).lower()
    if kind in _SPEAKERS or is_message(item):
        return {**beside, **item, **({"role": _SPEAKERS[kind]} if kind in _SPEAKERS else {})}
    if not any(isinstance(value, Mapping | list) or name in _DONE for name, value in item.items() if value):
        return Done(event({**item, "type": kind}, {**beside, **item}))
    came = next((name for name in _CAME if item.get(name)), None)
    told = outcome_told(item)
    call = {"name": kind, "id": item.get("id"), "arguments": without(item, *_BESIDE)}
    call |= {} if came is None else {"output": item[came]}
    call |= {"outcome": told} if told else {}
    rest = {name: item[name] for name in _BESIDE if name in item and name not in ("id", "type", came)}
    return {**beside, "role": "assistant", "tool_calls": [call], **rest}


def head_line(record: Mapping[str, Any]) -> Messages:
    """A line of a session file that is no message: how the session began, or a mark."""
    rest = without(record, "id", "timestamp")
    kind = str(record.get("type") or record.get("record_type") or "session")
    about = {"session_id": record["id"], **rest} if record.get("id") is not None else rest
    yield Done({"timestamp": record.get("timestamp"), **event({**record, "type": kind}, about)})


def session_trace(record: Mapping[str, Any]) -> Messages:
    """An entry of the trace of a session: it is named by where it stands, and its first text is what it says."""
    name, inner = "trace", record["trace"]
    for _ in range(_PATH):
        deeper = next(((key, value) for key, value in inner.items() if isinstance(value, Mapping)), None)
        if deeper is None or (isinstance(inner.get("text"), str) and inner["text"]):
            break
        name, inner = deeper
    said = inner.get("text")
    yield Done({"role": str(name), "content": said if isinstance(said, str) and said else text_of(inner),
                "timestamp": record.get("timestamp") or record.get("eventTime"),
                "metadata": without(record, "timestamp", "eventTime")})  # fmt: skip


_SOURCES = {"agent": "assistant", "environment": "tool"}
_ELSEWHERE = ("id", "timestamp", "source", "action", "args", "observation", "content", "tool_name", "thought",
              "message", "cause", "action_id")  # fmt: skip
"""The fields of an event of OpenHands that are more than metadata."""
_V1 = ("SystemPromptEvent", "AgentErrorEvent", "UserRejectObservation", "CondensationSummaryEvent")


def is_open_hands_event(record: Any) -> bool:
    """Whether it is an event of OpenHands: an action, or an observation."""
    if not isinstance(record, Mapping) or "role" in record:
        return False
    if isinstance(record.get("llm_message"), Mapping) or isinstance(record.get("action"), Mapping):
        return "source" in record
    if ("args" in record and isinstance(record.get("action"), str)) or record.get("kind") in _V1:
        return True
    return ("action" in record or "observation" in record) and ("source" in record or "extras" in record)


def event_message(record: Mapping[str, Any], reader: MessageReader) -> RowStream:
    """One event of OpenHands; the call of a tool, its result, or what is said."""
    rest = {key: value for key, value in record.items() if key not in _ELSEWHERE and value is not None}
    named = (("id", "id"), ("parent", "cause"), ("parent", "action_id"))
    row: Row = {"timestamp": record.get("timestamp"), "metadata": rest,
                **{key: str(record[name]) for key, name in named if record.get(name) is not None}}  # fmt: skip
    said_so = str(record.get("source") or ("environment" if "observation" in record else "agent"))
    source = _SOURCES.get(said_so, said_so)
    if isinstance(record.get("llm_message"), Mapping):
        rest.pop("llm_message")
        for number, said in enumerate(reader.rows({"role": source, **record["llm_message"]})):
            own_id = {"id": f"{row['id']}-{number}"} if number and "id" in row else {}
            yield {**said, **row, **own_id, "metadata": {**rest, **said["metadata"]}}
    elif record.get("kind") in _V1:
        yield {**row, **_told(record, rest)}
    elif _is_state(record):
        yield {**row, "role": record["observation"], "content": None}
    else:
        yield {**row, **(_observed(record, rest) if "observation" in record else _acted(record, rest, source=source))}


def _is_state(record: Mapping[str, Any]) -> bool:
    """Whether an observation answers nothing and says nothing: a state of the program."""
    return isinstance(record.get("observation"), str) and record.get("content") == "" and record.get("cause") is None


def _told(record: Mapping[str, Any], rest: dict[str, Any]) -> Row:
    """Row of what the program itself tells: how the agent is to behave, why a call failed, or a summary."""
    if "system_prompt" in rest:
        return {"role": "system", "content": text_of([rest.pop("system_prompt")])}
    if "summary" in rest:
        return {"role": "summary", "content": text_of(rest.pop("summary")), "origin": Origin.DOCUMENT}
    said = next((name for name in ("error", "rejection_reason") if name in rest), "kind")
    rest["outcome"] = "failure"
    return {"role": "tool", "tool_name": str(record.get("tool_name") or "tool"), "content": text_of(rest.pop(said))}


def _observed(record: Mapping[str, Any], rest: dict[str, Any]) -> Row:
    """Answer of a tool; what else is in an observation that is an object goes to the metadata."""
    seen, content = record["observation"], record.get("content")
    known: Mapping[str, Any] = seen if isinstance(seen, Mapping) else {"kind": seen if isinstance(seen, str) else None}
    if content is None and known is seen and seen:
        content = next((known[key] for key in ("content", "output", "text") if known.get(key)), known)
        beside = {key: value for key, value in known.items() if value is not content and value is not None}
        rest |= {f"observation_{key}" if key in rest else key: value for key, value in beside.items()}
    rest |= _message_beside(record, content)
    tool = record.get("tool_name") or known.get("kind")
    return {"role": "tool", "tool_name": str(tool or "tool"), "content": text_of(content)}


def _message_beside(record: Mapping[str, Any], said: Any) -> dict[str, Any]:
    message = record.get("message")
    return {"message": message} if message and message != said else {}


def _acted(record: Mapping[str, Any], rest: dict[str, Any], *, source: str) -> Row:
    """Words or action of an agent or a user."""
    action, message = record["action"], record.get("message")
    about: Mapping[str, Any] = action if isinstance(action, Mapping) else {"kind": action}
    arguments = _arguments_in(record, action, rest)
    if action not in ("message", "system") and (action or not message):
        said = arguments.pop("thought", None) or record.get("thought") or message
        name = record.get("tool_name") or about.get("kind") or "action"
        rest |= _message_beside(record, said)
        return {"role": source, "content": text_of(said), "tool_calls": ({"name": str(name), "arguments": arguments},)}
    said = arguments.pop("content") if arguments.get("content") else message
    given = {name: value for name, value in arguments.items() if value not in (None, "", [])}
    rest |= {"args": given} if given else {}
    rest |= _message_beside(record, said)
    return {"role": "system" if action == "system" else source, "content": text_of(said) or str(action)}


def _arguments_in(record: Mapping[str, Any], action: Any, rest: dict[str, Any]) -> dict[str, Any]:
    """The arguments of an action; of one that is an object, those of the call that the model made."""
    made = record.get("tool_call")
    if action and isinstance(action, Mapping) and isinstance(made, Mapping) and made.get("arguments"):
        rest |= {"action": dict(action), "tool_call": without(made, "name", "arguments")}
        return dict(arguments_of(made["arguments"]))
    given = record["args"] if isinstance(record.get("args"), Mapping) else action
    return dict(given) if isinstance(given, Mapping) else {}


def named_event(record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
    """An event that has a file of its own is part of what its folder holds."""
    named = record.get("session_id")
    if named is None and str(record.get("id")) == reading.number:
        named = reading.folder
    for row in event_message(record, reading.messages):
        yield None if named is None else str(named), row


_TOLD = ("action", "observation", "response", "thought", "query", "messages")
"""What of an entry stands in the messages of the history."""
_COMMAND = re.compile(r"```(?:bash|sh|mswea_bash_command)[ \t]{0,9}\n(?P<command>.*?)\n?```", re.DOTALL)
_RETURNED = ("<returncode>", "<output>", "Observation:", "<observation>")

is_mini_run = any_of(
    has(messages=list, trajectory_format=lambda named: str(named).startswith("mini-swe-agent")),
    has(messages=list, info=has("mini_version")),
)


def is_swe_run(record: Any) -> bool:
    """Whether it is a `.traj` of SWE-agent."""
    return has(history=first("role", "agent"))(record) or (
        has(trajectory=first("observation"))(record) and "intent" not in record)  # fmt: skip


def swe_run(record: Mapping[str, Any], reader: MessageReader) -> RowStream:
    """The messages of `history`, each action as a tool call and each observation as its result.

    The entries of `trajectory` repeat the same thoughts and observations; what they alone know (state, time) goes to
    the metadata of the action. The last actions of a run may stand there alone.
    """
    entries, history = iter(record.get("trajectory") or ()), record.get("history") or ()
    called: tuple[str, Any] = ("", None)  # the tool that was not yet answered, and what its entry observed
    for message in chain(history, (said for entry in entries for said in _messages_of(entry))):
        for row in conversation([message], reader):
            if not isinstance(row, StepRejectedError):
                row.pop("origin", None)  # the task is an observation too, and the others are known by their place
                if row["role"] == "assistant" and isinstance(action := message.get("action"), str):
                    called = _run_as_call(row, action, next(entries, {}) if message.get("agent") else message)
                elif called[0]:
                    # Older versions write what the environment answered as if the user had said it.
                    row["role"], row["tool_name"], called = "tool", row.get("tool_name") or called[0], ("", None)
            yield row
    if history and called[1]:
        yield {"role": "tool", "tool_name": called[0], "content": text_of(called[1]), "metadata": {}}


def _run_as_call(row: Row, action: str, entry: Mapping[str, Any]) -> tuple[str, Any]:
    """Make a row the call of what it runs, with what its entry alone knows; returns the tool, and what was observed."""
    tool = (action.split() or ["submit"])[0]
    row["metadata"].update(_only_in(entry, said=row["content"]))
    row["tool_calls"] = row["tool_calls"] or ({"name": tool, "arguments": {"input": action}},)
    return tool, entry.get("observation")


def _only_in(entry: Mapping[str, Any], *, said: str) -> dict[str, Any]:
    """Fields of an entry that its message does not say: its state, its time, and a thought in other words."""
    known = {key: value for key, value in entry.items() if key not in _TOLD and value}
    thoughts = (text_of(entry.get(key)).strip() for key in ("response", "thought"))
    other = next((thought for thought in thoughts if thought not in said), None)
    return {**known, "entry_thought": other} if other else known


def _messages_of(entry: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    rest = {key: value for key, value in entry.items() if key not in _TOLD and value}
    thought = entry.get("thought") or entry.get("response")
    yield {"role": "assistant", "content": thought, "action": entry.get("action"), **rest}
    yield {"role": "user", "content": entry.get("observation")}


def mini_run(record: Mapping[str, Any], reader: MessageReader) -> RowStream:
    """A run of mini-SWE-agent; the command in a reply is a call, and what the user says then its result."""
    return talk(record, list(_commanded(record["messages"])), reader, field="messages")


def _commanded(messages: list[Any]) -> Messages:
    called = False
    for message in messages:
        said = message.get("content") if isinstance(message, Mapping) else None
        if isinstance(said, str) and message.get("role") == "assistant" and not message.get("tool_calls"):
            if found := _COMMAND.search(said):
                called, call = True, {"name": "bash", "arguments": {"command": found["command"]}}
                message = {**message, "tool_calls": [call]}
        elif called and isinstance(said, str) and said.lstrip().startswith(_RETURNED):
            message, called = {**message, "role": "tool", "tool_name": "bash"}, False
        yield message
