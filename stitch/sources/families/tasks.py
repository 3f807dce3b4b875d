"""Lone steps, and logs of agents on tasks: InterCode, BFCL, browsing, web sites, the agent data protocol."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from stitch.errors import StepRejectedError
from stitch.sources.conversation import Reading, about_trajectory, call_of, conversation, with_about
from stitch.sources.fields import Row
from stitch.sources.messages import MessageReader
from stitch.sources.parts import text_of, without
from stitch.sources.recognizing import FileReading, TrajectoryRow, with_fields, with_list
from stitch.sources.tool_calls import called_in

_CAME_ID = re.compile(r"^(?P<trajectory>.+)-turn-\d+$")
_CAME_STAMP = re.compile(r"\s*-{3,4}\s?TIMESTAMP:\s*(?P<stamp>\S+(?: \S+)*?)\s*$")
_STAMP_CHARS = 300
_CAME_FIELDS = ("partition", "action", "action_object", "timestamp_mapping")


def _stamp_of(content: str) -> re.Match[str] | None:
    """The stamp at the end of a turn; no text is so long that looking for it takes long."""
    return _CAME_STAMP.search(content, max(0, len(content) - _STAMP_CHARS))


def is_came_turn(record: Any) -> bool:
    """Whether it is a turn of CAME-Bench."""
    return (
        with_fields("role", id=str, content=str)(record)
        and bool(_CAME_ID.match(record["id"]))
        and (any(name in record for name in _CAME_FIELDS) or bool(_stamp_of(record["content"])))
    )


def came_turn(record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
    """A turn of CAME-Bench: its trajectory and its time stand in its id and its text."""
    turn = dict(record)
    if stamp := _stamp_of(turn["content"]):
        reading.messages.repeated.append({"content": turn["content"]})  # the stamp becomes a time
        turn["content"] = turn["content"][: stamp.start()]
        turn["timestamp"] = stamp["stamp"]
    trajectory = _CAME_ID.sub(r"\g<trajectory>", turn["id"])
    for row in reading.messages.rows(turn):
        yield trajectory, row


def is_step(record: Any) -> bool:
    """Whether a role and a content say that it is a step, whatever else it has."""
    return with_fields("content", role=str)(record) and bool(record["role"].strip())


def read_step(record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
    """A lone step, of the trajectory that it names."""
    named = ("sessionId",) if "parentUuid" in record else _CONVERSATIONS
    trajectory = next((record[name] for name in named if isinstance(record.get(name), str | int)), None)
    for row in reading.messages.rows(record):
        yield None if trajectory is None else str(trajectory), row


_CONVERSATIONS = ("trajectory", "conversation_id", "conversationId", "thread_id", "threadId", "dialogue_id",
                  "dialog_id", "chat_id", "chatId", "message_tree_id", "trajectory_id", "traj_id")  # fmt: skip
"""The fields of a lone step that say which trajectory it is of."""


def is_acted(record: Any) -> bool:
    """Whether it is what was done with which tool, and what came of it."""
    return with_fields("action")(record) and any(
        name in record for name in ("observation", "thought", "action_input", "obs")
    )


def is_result(record: Any) -> bool:
    """Whether it is a result of BFCL."""
    return with_fields("id")(record) and isinstance(record.get("result"), str | list)


def _asked(content: Any) -> Row:
    """What an agent is to do: the first step, which knows what the record says of the whole."""
    return {"role": "user", "content": text_of(content), "metadata": {"trajectory": {}}}


def read_episode(record: Mapping[str, Any], _: MessageReader) -> Reading:
    """The task, then each action with what it gave."""
    history = record["turn_history"]
    actions, observations = history.get("actions") or [], history.get("observations") or []
    tool = str(record.get("environment") or "run")
    asked = _asked(record.get("query"))
    if rest := {key: value for key, value in history.items() if not isinstance(value, list)}:
        asked["metadata"]["turn_history"] = rest
    yield asked
    for number, action in enumerate(actions):
        rest = {
            key: column[number]
            for key, column in history.items()
            if key not in ("actions", "observations") and isinstance(column, list) and number < len(column)
        }
        thoughts = rest.pop("thoughts", None) or rest.pop("thought", None)
        yield {"role": "assistant", "content": text_of(thoughts), "tool_calls": (call_of(tool, {"input": action}),)}
        answer = observations[number] if number < len(observations) else None
        yield {"role": "tool", "tool_name": tool, "content": text_of(answer), "metadata": rest}


def read_task(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """What the user asks, turn by turn."""
    messages = [message for turn in record["question"] for message in (turn if isinstance(turn, list) else [turn])]
    return conversation(record, messages, reader, field="question")


def read_result(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """The messages of the log if there is one, the calls of the model otherwise."""
    messages = [_as_called(message) for message in _messages_below(record.get("inference_log"))]
    about = about_trajectory(record, "id", "inference_log") if messages else (
        about_trajectory(record, "id", "result", "inference_log"))  # fmt: skip
    return with_about(about, _rows_of(messages or list(_calls_of(record["result"])), reader))


def _rows_of(messages: list[Mapping[str, Any]], reader: MessageReader) -> Reading:
    if not messages:
        yield StepRejectedError("neither calls nor messages in 'result' and 'inference_log'")
    for message in messages:
        try:
            yield from reader.rows(message)
        except StepRejectedError as error:
            yield error


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
    if isinstance(result, str):
        calls = called_in(result)
        yield {"role": "assistant", "content": None if calls else result, "tool_calls": calls}
        return
    for entry in result if isinstance(result, list) else [result]:
        if isinstance(entry, str):
            yield from _calls_of(entry)
        elif isinstance(entry, list):
            written = entry and all(isinstance(call, str) for call in entry)
            yield from [{"role": "assistant", "tool_calls": _written_calls(entry)}] if written else _calls_of(entry)
        elif isinstance(entry, Mapping):
            calls = [{"name": name, "arguments": arguments} for name, arguments in entry.items()]
            yield {"role": "assistant", "tool_calls": calls}
        else:
            yield {"role": "assistant", "content": text_of(entry)}


def _written_calls(texts: list[str]) -> list[dict[str, Any]]:
    """The calls in texts, each as it is where it cannot be read."""
    made = [called_in(text) or [{"name": text.split("(")[0] or "call", "arguments": text}] for text in texts]
    return [call for several in made for call in several]


def read_browsing(record: Mapping[str, Any], _: MessageReader) -> Reading:
    """The intent, then pages and actions in turn."""
    yield _asked(record.get("intent"))
    for entry in record["trajectory"]:
        if not isinstance(entry, Mapping):
            yield StepRejectedError(f"step is not an object but {type(entry).__name__}")
        elif "action" in entry:
            rest = without(entry, "action", "observation")
            yield {"role": "assistant", "content": text_of(entry["action"]), "metadata": rest}
            if entry.get("observation"):
                yield {"role": "tool", "tool_name": "browser", "content": text_of(entry["observation"])}
        else:
            field = next((name for name in ("axtree", "observation", "html", "text") if entry.get(name)), "axtree")
            seen = text_of(entry.get(field))
            rest = {key: value for key, value in entry.items() if key != field}
            yield {"role": "tool", "tool_name": "browser", "content": seen, "metadata": rest}


def is_operations(record: Any) -> bool:
    """Whether it is a task on a web site with the operations that did it."""
    return with_list("actions", of="operation")(record) and "confirmed_task" in record


def read_operations(record: Mapping[str, Any], _: MessageReader) -> Reading:
    """The task, then each operation as a call."""
    yield _asked(record["confirmed_task"])
    for entry in record["actions"]:
        operation = entry.get("operation") if isinstance(entry, Mapping) else None
        if not isinstance(operation, Mapping):
            yield StepRejectedError("action has no field 'operation'")
            continue
        call = call_of(str(operation.get("op") or "action"), operation)
        yield {"role": "assistant", "content": "", "tool_calls": (call,),
               "metadata": without(entry, "operation")}  # fmt: skip


def read_events(record: Mapping[str, Any], _: MessageReader) -> Reading:
    """A trajectory of the agent data protocol: observations and actions, each by its class."""
    last_tool = "environment"
    for event in record["content"]:
        if not isinstance(event, Mapping) or not isinstance(event.get("class_"), str):
            yield StepRejectedError("event has no field 'class_'")
            continue
        rest = {key: value for key, value in event.items() if value is not None}
        if (called := _called(event["class_"], rest)) is not None:
            last_tool = called["tool_calls"][0]["name"]
            yield called
        elif event["class_"] == "message_action":
            yield {"metadata": rest, "role": "assistant", "content": text_of(rest.pop("content", None))}
        else:
            yield _seen(rest, last_tool)


def _called(kind: str, rest: dict[str, Any]) -> Row | None:
    """The call of a tool, or of code; None if an event is none."""
    if kind == "api_action":
        call = call_of(str(rest.pop("function", "call")), rest.pop("kwargs", None) or {})
    elif kind == "code_action":
        call = call_of(str(rest.pop("language", "code")), {"code": rest.pop("content", "")})
    else:
        return None
    said = text_of(rest.pop("description", None))
    return {"metadata": rest, "tool_calls": (call,), "role": "assistant", "content": said}


def _seen(rest: dict[str, Any], last_tool: str) -> Row:
    content = rest.pop("content", None) or rest.pop("axtree", None) or rest.pop("html", None)
    if rest.get("source", "environment") == "user":
        return {"metadata": rest, "role": "user", "content": text_of(content)}
    return {"metadata": rest, "role": "tool", "tool_name": last_tool, "content": text_of(content)}
