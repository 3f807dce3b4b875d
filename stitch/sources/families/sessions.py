"""Sessions of coding agents, as their programs keep them line by line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stitch.core import Origin
from stitch.sources.conversation import Reading, event
from stitch.sources.fields import Row, is_message
from stitch.sources.messages import MessageReader
from stitch.sources.parts import text_of
from stitch.sources.recognizing import with_fields

_PATH = 6
_OF_A_SESSION = ("sessionId", "parentUuid", "leafUuid", "messageId", "uuid", "session_id", "event_id", "thread_id",
                 "sequence_number")  # fmt: skip


def is_line(record: Any) -> bool:
    """Whether it is a line of a session with a message."""
    return with_fields(message=dict, type=str)(record) and "role" not in record and "llm_message" not in record


def is_event(record: Any) -> bool:
    """Whether it is a line of a coding agent's session that is no message."""
    kind = record.get("type") if isinstance(record, Mapping) else None
    return isinstance(kind, str) and not is_message(record) and any(name in record for name in _OF_A_SESSION)


def is_head(record: Any) -> bool:
    """Whether it is what a coding agent's session file begins with, or a mark in it."""
    return isinstance(record, Mapping) and (
        isinstance(record.get("record_type"), str)
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
        yield _summary(record)
        return
    outer = {key: value for key, value in record.items() if key not in ("message", "type", "uuid", "parentUuid")}
    moment: Row = {"timestamp": outer.pop("timestamp", None), "session": record.get("sessionId"),
                   "parent": record.get("parentUuid") or outer.pop("parentId", None)}  # fmt: skip
    identity = record.get("uuid")
    if not isinstance(record.get("message"), Mapping):
        yield {**moment, **event(record, outer), **({"id": identity} if identity else {})}
        return
    message = {"role": record.get("type"), **record["message"]}
    inner_id = message.pop("id", None)
    if inner_id not in (None, identity):
        outer["message_id"] = inner_id
    for number, row in enumerate(reader.rows(message)):
        row["metadata"] = {**outer, **row["metadata"]}
        row |= moment
        if row["role"] == "user" and record.get("isSidechain") is True:
            row.setdefault("origin", Origin.AGENT)  # what is asked in a side chain is asked by the agent
        if identity is not None:
            row["id"] = identity if number == 0 else f"{identity}-{number}"
        yield row


def _summary(record: Mapping[str, Any]) -> Row:
    """What a session was about."""
    rest = {key: value for key, value in record.items() if key not in ("type", "summary")}
    return {"role": "summary", "content": text_of(record.get("summary")), "metadata": rest}


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


def session_event(record: Mapping[str, Any], _: MessageReader) -> Reading:
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
        yield from session_event({**rest, "item": item}, reader)
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
        yield from session_event({**rest, **item}, reader)
