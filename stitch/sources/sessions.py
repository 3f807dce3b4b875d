"""Sessions of coding agents and of chats in editors, as their programs keep them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from stitch.core import Origin
from stitch.errors import StepRejectedError
from stitch.sources.agents import Reading, about_trajectory, conversation, event
from stitch.sources.fields import Row, is_message
from stitch.sources.messages import MessageReader
from stitch.sources.parts import arguments_of, text_of

_COMMAND = re.compile(r"```(?:bash|sh|mswea_bash_command)[ \t]{0,9}\n(?P<command>.*?)\n?```", re.DOTALL)
_RETURNED = ("<returncode>", "<output>", "Observation:", "<observation>")
_PATH = 6
_USERS = ("task", "user_feedback", "user_feedback_diff")


def session_line(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """One line of a coding agent's session file: a message with who, when, and what came before."""
    if record.get("type") == "summary":
        rest = {key: value for key, value in record.items() if key not in ("type", "summary")}
        yield {"role": "summary", "content": text_of(record.get("summary")), "metadata": rest}
        return
    outer = {key: value for key, value in record.items() if key not in ("message", "type", "uuid", "parentUuid")}
    moment: Row = {"timestamp": outer.pop("timestamp", None), "session": record.get("sessionId"),
                   "parent": record.get("parentUuid") or outer.pop("parentId", None)}  # fmt: skip
    if not isinstance(record.get("message"), Mapping):
        yield {**moment, **event(record, outer), **({"id": record["uuid"]} if record.get("uuid") else {})}
        return
    message = dict(record["message"])
    message.setdefault("role", record.get("type"))
    # What is asked in a side chain is asked by the agent.
    asked_by = {"origin": Origin.AGENT} if record.get("isSidechain") is True else {}
    inner_id = message.pop("id", None)
    if inner_id is not None and inner_id != record.get("uuid"):
        outer["message_id"] = inner_id
    for number, row in enumerate(reader.rows(message)):
        row["metadata"] = {**outer, **row["metadata"]}
        row |= moment
        if row["role"] == "user":
            row |= asked_by
        if record.get("uuid") is not None:
            row["id"] = record["uuid"] if number == 0 else f"{record['uuid']}-{number}"
        yield row


def payload_line(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """One line of a coding agent's session file that keeps what it says under `payload`."""
    payload, kind = record["payload"], str(record.get("type"))
    outer = {key: value for key, value in record.items() if key not in ("payload", "timestamp", "type")}
    moment = {"timestamp": record.get("timestamp")}
    item = is_message(payload)
    rows: list[Row] = list(reader.rows(payload)) if item else [
        event({"type": kind, **payload}, {"event": kind, **payload})]  # fmt: skip
    for row in rows:
        row["role"] = {"user_message": "user", "agent_message": "assistant"}.get(row["role"], row["role"])
        # What is said stands there twice: as an item for the model, and as an event for the screen.
        if row["content"].strip() and reader.said_twice(row["content"].strip(), item=item):
            continue
        yield {**row, **moment, "metadata": {**outer, **row["metadata"]}}


def session_event(record: Mapping[str, Any]) -> Reading:
    """A line of a session file that is no message: how the session began, or a mark."""
    rest = {key: value for key, value in record.items() if key not in ("id", "timestamp")}
    kind = str(record.get("type") or record.get("record_type") or "session")
    about = {"session_id": record["id"], **rest} if record.get("id") is not None else rest
    yield {"timestamp": record.get("timestamp"), **event({**record, "type": kind}, about)}


def session_trace(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """An entry of the trace of a session: it is named by where it stands, and its first text is what it says."""
    rest = {key: value for key, value in record.items() if key not in ("timestamp", "eventTime")}
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


def item_line(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """An event that brings an item: what was said or done when it is whole, a mark before."""
    item = record["item"]
    rest = {key: value for key, value in record.items() if key != "item"}
    kind = str(item.get("type"))
    if str(record["type"]).endswith((".started", ".updated", ".added", ".in_progress")):
        yield from session_event({**rest, "item": item})
    elif isinstance(item.get("command"), str) and "aggregated_output" in item:
        taken = ("type", "command", "aggregated_output", "id")
        call = {"name": kind, "arguments": {"command": item["command"]}, "id": item.get("id"),
                "output": item["aggregated_output"]}  # fmt: skip
        yield from reader.rows({**rest, "role": "assistant", "tool_calls": [call],
                                **{key: value for key, value in item.items() if key not in taken}})  # fmt: skip
    elif kind == "agent_message":
        yield from reader.rows({**rest, **item, "role": "assistant"})
    elif is_message(item):
        yield from reader.rows({**rest, **item})
    else:
        yield from session_event({**rest, **item})


def cursor_bubble(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """A bubble of a chat in Cursor: 1 is what the user says, 2 what is answered or done."""
    rest = {key: value for key, value in record.items() if key not in ("type", "text", "toolFormerData", "bubbleId")}
    timing, tool = record.get("timingInfo"), record.get("toolFormerData")
    at = timing.get("clientStartTime") if isinstance(timing, Mapping) else None
    message = {**rest, "id": record["bubbleId"], "role": "user" if record["type"] == 1 else "assistant",
               "content": record.get("text"), **({"timestamp": at} if at else {})}  # fmt: skip
    if isinstance(tool, Mapping) and isinstance(tool.get("name"), str):
        beside = {key: value for key, value in tool.items() if key not in ("name", "rawArgs", "result")}
        call = {"name": tool["name"], "arguments": tool.get("rawArgs"), "result": tool.get("result")}
        message |= {"tool_calls": [call], "tool": beside}
    yield from reader.rows(message)


def open_code(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """A message of OpenCode: what is known of it under `info`, what it says under `parts`."""
    info = dict(record["info"])
    times = info.get("time")
    if isinstance(times, Mapping) and isinstance(times.get("created"), int | float):
        info["timestamp"] = times["created"]
    yield from reader.rows({**{k: v for k, v in record.items() if k != "info"}, **info})


def cline_line(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """A line that Cline or one of its kin showed: `say` or `ask` is its kind."""
    kind = str(record.get("say") or record.get("ask"))
    role = "user" if kind in _USERS else "assistant" if kind in ("text", "completion_result", "followup") else kind
    rest = {key: value for key, value in record.items() if key not in ("ts", "text")}
    said = text_of(record.get("text")) or kind.replace("_", " ")
    used = arguments_of(said) if kind == "tool" else {}
    if isinstance(used.get("tool"), str):
        call = {"name": used["tool"], "arguments": {key: value for key, value in used.items() if key != "tool"}}
        yield from reader.rows({**rest, "timestamp": record.get("ts"), "role": "assistant", "tool_calls": [call]})
        return
    yield {"role": role, "content": said, "timestamp": record.get("ts"), "metadata": rest}


def editor_chat(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """A chat of VS Code: requests, each with what was answered in parts."""
    about: dict[str, Any] | None = about_trajectory(record, "requests")
    for request in record["requests"]:
        if not isinstance(request, Mapping):
            yield StepRejectedError(f"request is not an object but {type(request).__name__}")
            continue
        for message in _said_in(request):
            for row in reader.rows({**message, "timestamp": request.get("timestamp")}):
                if about:
                    row["metadata"], about = {**row["metadata"], "trajectory": about}, None
                yield row


def _said_in(request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    asked = request.get("message")
    rest = {key: value for key, value in request.items() if key not in ("message", "response", "timestamp")}
    yield {**rest, "role": "user", "content": asked.get("text") if isinstance(asked, Mapping) else asked}
    for part in request.get("response") or ():
        if not isinstance(part, Mapping):
            continue
        if isinstance(name := part.get("toolId"), str):
            beside = {key: value for key, value in part.items() if key not in ("toolId", "toolCallId")}
            yield {"role": "assistant", "tool_calls": [{"name": name, "id": part.get("toolCallId")}], "shown": beside}
        else:
            value = part.get("value", part.get("content"))
            said = value.get("value") if isinstance(value, Mapping) else value
            yield {
                "role": "assistant",
                "content": text_of(said) or f"[{part.get('kind', 'part')}]",
                "shown": dict(part),
            }


def mini_swe_agent(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """A trajectory of mini-SWE-agent: the command in a reply is a call, and what the user says then its result."""
    called = False
    for row in conversation(record, record["messages"], reader, field="messages"):
        if not isinstance(row, StepRejectedError):
            found = _COMMAND.search(row["content"]) if row["role"] == "assistant" else None
            if found and not row.get("tool_calls"):
                row["tool_calls"], called = ({"name": "bash", "arguments": {"command": found["command"]}},), True
            elif called and row["role"] == "user" and row["content"].lstrip().startswith(_RETURNED):
                row["role"], row["tool_name"], called = "tool", "bash", False
        yield row
