"""Logs of agents on tasks: CAME-Bench, InterCode, BFCL, browsing, web sites, the agent data protocol."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from stitch.errors import StepRejectedError
from stitch.sources.conversation import Done, RowStream, talk
from stitch.sources.fields import Row
from stitch.sources.messages import MessageReader
from stitch.sources.parts import first_of, text_of, without
from stitch.sources.recognizing import FileReading, TrajectoryRow, first, has
from stitch.sources.tool_calls import called_in

Messages = Iterator[Any]

_CAME_ID = re.compile(r"^(?P<trajectory>.+)-turn-\d+$")
_CAME_STAMP = re.compile(r"\s*-{3,4}\s?TIMESTAMP:\s*(?P<stamp>\S+(?: \S+)*?)\s*$")
_STAMP_CHARS = 300
_CAME_FIELDS = ("partition", "action", "action_object", "timestamp_mapping")


def _stamp_of(content: str) -> re.Match[str] | None:
    """The stamp at the end of a turn; no text is so long that looking for it takes long."""
    return _CAME_STAMP.search(content, max(0, len(content) - _STAMP_CHARS))


def is_came_turn(record: Any) -> bool:
    """Whether it is a turn of CAME-Bench."""
    return has("role", id=str, content=str)(record) and bool(_CAME_ID.match(record["id"])) and (
        any(name in record for name in _CAME_FIELDS) or bool(_stamp_of(record["content"])))  # fmt: skip


def came_turn(record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
    """A turn of CAME-Bench: its trajectory and its time stand in its id and its text."""
    turn = dict(record)
    if stamp := _stamp_of(turn["content"]):
        reading.messages.repeated.append({"content": turn["content"]})  # the stamp becomes a time
        turn |= {"content": turn["content"][: stamp.start()], "timestamp": stamp["stamp"]}
    trajectory = _CAME_ID.sub(r"\g<trajectory>", turn["id"])
    for row in reading.messages.rows(turn):
        yield trajectory, row


def read_step(record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
    """A lone step, of the trajectory that it names."""
    named = ("sessionId",) if isinstance(record, Mapping) and "parentUuid" in record else _CONVERSATIONS
    trajectory = first_of(record, named, str | int)
    for row in reading.messages.rows(record):
        yield None if trajectory is None else str(trajectory), row


_CONVERSATIONS = ("trajectory", "conversation_id", "conversationId", "thread_id", "threadId", "dialogue_id",
                  "dialog_id", "chat_id", "chatId", "message_tree_id", "trajectory_id", "traj_id",
                  "trace_id")  # fmt: skip
"""The fields of a lone step that say which trajectory it is of."""


def _said(role: str, content: Any, rest: Row) -> Done:
    return Done({"role": role, "content": text_of(content), "metadata": rest})


def _did(said: Any, name: str, arguments: Mapping[str, Any], rest: Row) -> Done:
    call = {"name": name, "arguments": dict(arguments)}
    return Done({"role": "assistant", "content": text_of(said), "tool_calls": (call,), "metadata": rest})


def _gave(tool: str, content: Any, rest: Row) -> Done:
    return Done({"role": "tool", "tool_name": tool, "content": text_of(content), "metadata": rest})


def episode(record: Mapping[str, Any]) -> Messages:
    """An episode of InterCode: the task, then each action with what it gave, in columns."""
    history, tool = record["turn_history"], str(record.get("environment") or "run")
    columns = {key: value for key, value in history.items() if isinstance(value, list)}
    alone, observed = without(history, *columns), columns.pop("observations", [])
    yield _said("user", record.get("query"), {"trajectory": {}, **({"turn_history": alone} if alone else {})})
    columns.pop("actions", None)
    for number, action in enumerate(history.get("actions") or ()):
        rest = {key: column[number] for key, column in columns.items() if number < len(column)}
        thoughts = rest.pop("thoughts", None) or rest.pop("thought", None)
        yield _did(thoughts, tool, {"input": action}, {})
        yield _gave(tool, observed[number] if number < len(observed) else None, rest)


def task_messages(record: Mapping[str, Any], reader: MessageReader) -> RowStream:
    """A task of BFCL: what the user asks, turn by turn."""
    messages = [message for turn in record["question"] for message in (turn if isinstance(turn, list) else [turn])]
    return talk(record, messages, reader, field="question")


def result_messages(record: Mapping[str, Any]) -> Messages:
    """A result of BFCL: the messages of its log if there are any, the calls of the model otherwise."""
    messages = [_as_called(message) for message in _messages_below(record.get("inference_log"))]
    about = without(record, "id", "inference_log", *(() if messages else ("result",)))
    about = {key: value for key, value in about.items() if value is not None}
    messages = messages or list(_calls_of(record["result"]))
    if not messages:
        yield StepRejectedError("neither calls nor messages in 'result' and 'inference_log'")
    for message in messages:
        yield {**message, "metadata": {"trajectory": about}} if about else message
        about = {}


def _as_called(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """A message of a log; calls that a model wrote as a text are calls."""
    content = message.get("content")
    calls = called_in(content) if message.get("role") == "assistant" and isinstance(content, str) else []
    return {**message, "content": None, "tool_calls": calls, "written": content} if calls else message


def _messages_below(value: Any) -> Iterator[Mapping[str, Any]]:
    """All messages in lists and objects, in the order in which they stand there."""
    if isinstance(value, Mapping) and isinstance(value.get("role"), str):
        yield value if value.get("content") is not None or value.get("tool_calls") else {
            "role": value["role"], "content": text_of(without(value, "role"))}  # fmt: skip
    elif isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _messages_below(inner)


def _calls_of(result: Any) -> Iterator[dict[str, Any]]:
    """The calls in a result: texts like `cd(folder="x")`, or objects of a name with its arguments."""
    for entry in result if isinstance(result, list) else [result]:
        if isinstance(entry, list) and not (entry and all(isinstance(call, str) for call in entry)):
            yield from _calls_of(entry)
        else:
            yield {"role": "assistant", **_called_as(entry)}


def _called_as(entry: Any) -> dict[str, Any]:
    if isinstance(entry, str):
        calls = called_in(entry)
        return {"content": None if calls else entry, "tool_calls": calls}
    if isinstance(entry, list):
        made = [called_in(text) or [{"name": text.split("(")[0] or "call", "arguments": text}] for text in entry]
        return {"tool_calls": [call for several in made for call in several]}
    if isinstance(entry, Mapping):
        return {"tool_calls": [{"name": name, "arguments": arguments} for name, arguments in entry.items()]}
    return {"content": text_of(entry)}


def browsing(record: Mapping[str, Any]) -> Messages:
    """The intent, then pages and actions in turn."""
    yield _said("user", record.get("intent"), {"trajectory": {}})
    for entry in record["trajectory"]:
        if not isinstance(entry, Mapping):
            yield StepRejectedError(f"step is not an object but {type(entry).__name__}")
        elif "action" in entry:
            yield _said("assistant", entry["action"], without(entry, "action", "observation"))
            if entry.get("observation"):
                yield _gave("browser", entry["observation"], {})
        else:
            field = next((name for name in ("axtree", "observation", "html", "text") if entry.get(name)), "axtree")
            yield _gave("browser", entry.get(field), without(entry, field))


def operations(record: Mapping[str, Any]) -> Messages:
    """The task, then each operation as a call."""
    yield {"role": "user", "content": record["confirmed_task"]}
    for entry in record["actions"]:
        operation = entry.get("operation") if isinstance(entry, Mapping) else None
        if isinstance(operation, Mapping):
            call = {"name": str(operation.get("op") or "action"), "arguments": operation}
            yield {**without(entry, "operation"), "action": call}
        else:
            yield StepRejectedError("action has no field 'operation'")


def protocol_events(record: Mapping[str, Any]) -> Messages:
    """A trajectory of the agent data protocol: observations and actions, each by its class."""
    last_tool = "environment"
    for event in record["content"]:
        kind = event.get("class_") if isinstance(event, Mapping) else None
        if not isinstance(kind, str):
            yield StepRejectedError("event has no field 'class_'")
            continue
        rest: Row = {key: value for key, value in event.items() if value is not None}
        if kind in ("api_action", "code_action"):
            code = kind == "code_action"
            given = {"code": rest.pop("content", "")} if code else rest.pop("kwargs", None) or {}
            last_tool = str(rest.pop("language", "code") if code else rest.pop("function", "call"))
            yield _did(rest.pop("description", None), last_tool, given, rest)
        elif kind == "message_action":
            yield _said("assistant", rest.pop("content", None), rest)
        else:
            content = rest.pop("content", None) or rest.pop("axtree", None) or rest.pop("html", None)
            yield _said("user", content, rest) if rest.get("source") == "user" else _gave(last_tool, content, rest)


def is_who_and_when(record: Any) -> bool:
    """Whether it is a log of Who&When."""
    return has(history=first("role"))(record) and (
        not {"mistake_step", "mistake_agent", "mistake_reason", "question_ID"}.isdisjoint(record)
        or ("question" in record and all(has("role", "name")(message) for message in record["history"]))
    )


def task_of(record: Mapping[str, Any]) -> str | None:
    """Task that the user gives, in a record whose entries are what an agent does."""
    return next((record[name] for name in _TASKS if isinstance(record.get(name), str) and record[name].strip()), None)


_TASKS = ("task", "question", "instruction", "goal", "intent", "query", "confirmed_task", "problem")
