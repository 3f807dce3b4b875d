"""OpenHands: events, each an action of an agent or a user or an observation, and runs of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stitch.errors import StepRejectedError
from stitch.sources.conversation import Reading, call_of
from stitch.sources.fields import Row
from stitch.sources.messages import MessageReader
from stitch.sources.parts import arguments_of, text_of
from stitch.sources.recognizing import FileReading, TrajectoryRow

_SOURCES = {"agent": "assistant", "environment": "tool"}
_ELSEWHERE = ("id", "timestamp", "source", "action", "args", "observation", "content", "tool_name", "thought",
              "message")  # fmt: skip
"""The fields of an event that are more than metadata."""


def is_event(record: Any) -> bool:
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
        rest["tool_call"] = {key: value for key, value in made.items() if key not in ("name", "arguments")}
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
        for event in entry if isinstance(entry, list) else [entry]:
            if not isinstance(event, Mapping) or not ("action" in event or "observation" in event):
                yield StepRejectedError("event is no action and no observation")
                continue
            yield from read_event(event, reader)


def named_event(record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
    """An event that has a file of its own is part of what its folder holds."""
    named = record.get("session_id")
    if named is None and str(record.get("id")) == reading.number:
        named = reading.folder
    for row in read_event(record, reading.messages):
        yield None if named is None else str(named), row
