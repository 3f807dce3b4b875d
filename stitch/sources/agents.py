"""Trajectories of agents, in the forms in which their harnesses log them; each function reads one record.

What a record knows of the whole trajectory goes to the metadata of its first step, under `trajectory`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from stitch.errors import StepRejectedError
from stitch.sources.messages import GOLD_FIELDS, MessageReader, Row, text_of

Reading = Iterator["Row | StepRejectedError"]


def conversation(
    record: Mapping[str, Any], messages: Sequence[Any], reader: MessageReader, *, field: str, speaker: bool = False
) -> Reading:
    """Read the messages of a record; `field` is where they stand in it."""
    about: dict[str, Any] | None = about_trajectory(record, field)
    for message in messages:
        try:
            for row in reader.rows(message, speaker=speaker):
                if about:
                    row["metadata"] = {**row["metadata"], "trajectory": about}
                    about = None
                yield row
        except StepRejectedError as error:
            yield error


def about_trajectory(record: Mapping[str, Any], *fields: str) -> dict[str, Any]:
    """What a record says beside the steps in `fields`, without gold."""
    return {
        key: value
        for key, value in record.items()
        if key not in fields and key not in GOLD_FIELDS and value is not None
    }


def swe_agent(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """SWE-agent `.traj`: the messages of `history`, each action as a tool call and each observation as its result.

    The entries of `trajectory` repeat the same thoughts and observations; what they alone know (state, time) goes to
    the metadata of the action.
    """
    about: dict[str, Any] | None = about_trajectory(record, "trajectory", "history")
    entries = iter(record.get("trajectory") or ())
    history = record.get("history") or ()
    tool: str | None = None
    # The last actions of a run may stand in `trajectory` alone.
    for message in chain(history, (said for entry in entries for said in _swe_messages(entry))):
        action = message.get("action") if isinstance(message, Mapping) else None
        try:
            for row in reader.rows(message):
                if about:
                    row["metadata"]["trajectory"], about = about, None
                if isinstance(action, str) and row["role"] == "assistant":
                    entry: Mapping[str, Any] = next(entries, {}) if message.get("agent") else message
                    tool = (action.split() or ["submit"])[0]
                    row["metadata"].update(_only_in(entry, said=row["content"]))
                    if not row["tool_calls"]:
                        row["tool_calls"] = (_tool_call(tool, {"input": action}),)
                elif tool is not None:
                    # Older versions write what the environment answered as if the user had said it.
                    row["role"], row["tool_name"] = "tool", row.get("tool_name") or tool
                    tool = None
                yield row
        except StepRejectedError as error:
            yield error


def _only_in(entry: Mapping[str, Any], *, said: str) -> dict[str, Any]:
    """What an entry knows and its message does not say: its state, its time, and a thought in other words."""
    known = {key: entry[key] for key in ("state", "execution_time") if key in entry}
    thoughts = (text_of(entry.get(key)).strip() for key in ("response", "thought"))
    other = next((thought for thought in thoughts if thought not in said), None)
    return {**known, "entry_thought": other} if other else known


def _swe_messages(entry: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    thought = entry.get("thought") or entry.get("response")
    rest = {key: entry[key] for key in ("state", "execution_time") if key in entry}
    yield {"role": "assistant", "content": thought, "action": entry.get("action"), **rest}
    yield {"role": "user", "content": entry.get("observation")}


def open_hands(record: Mapping[str, Any]) -> Reading:
    """One event of OpenHands: an action of an agent or a user, or an observation."""
    rest = {
        key: value
        for key, value in record.items()
        if key not in ("id", "timestamp", "source", "action", "args", "observation", "content", "message")
    }
    row: Row = {"timestamp": record.get("timestamp"), "metadata": rest}
    if record.get("id") is not None:
        row["id"] = str(record["id"])
    source = {"agent": "assistant", "environment": "tool"}.get(record["source"], record["source"])
    if "observation" in record:
        yield {
            **row,
            "role": "tool",
            "tool_name": str(record["observation"]),
            "content": text_of(record.get("content")),
        }
        return
    arguments = record.get("args") if isinstance(record.get("args"), Mapping) else {}
    assert isinstance(arguments, Mapping)
    if record["action"] == "message":
        spoken = arguments.get("content") or record.get("message")
        yield {**row, "role": source, "content": text_of(spoken)}
        return
    said = arguments.get("thought") or record.get("message")
    yield {**row, "role": source, "content": text_of(said), "tool_calls": (_tool_call(record["action"], arguments),)}


def agent_data_protocol(record: Mapping[str, Any]) -> Reading:
    """A trajectory of the agent data protocol: observations and actions by class."""
    about: dict[str, Any] | None = about_trajectory(record, "content", "id")
    last_tool = "environment"
    for event in record["content"]:
        if not isinstance(event, Mapping) or not isinstance(event.get("class_"), str):
            yield StepRejectedError("event has no field 'class_'")
            continue
        kind = event["class_"]
        rest = {key: value for key, value in event.items() if value is not None}
        row: Row = {"metadata": rest}
        if about:
            row["metadata"]["trajectory"], about = about, None
        if kind == "api_action":
            last_tool = str(rest.pop("function", "call"))
            row["tool_calls"] = (_tool_call(last_tool, rest.pop("kwargs", None) or {}),)
            yield {**row, "role": "assistant", "content": text_of(rest.pop("description", None))}
        elif kind == "code_action":
            last_tool = str(rest.pop("language", "code"))
            row["tool_calls"] = (_tool_call(last_tool, {"code": rest.pop("content", "")}),)
            yield {**row, "role": "assistant", "content": text_of(rest.pop("description", None))}
        elif kind == "message_action":
            yield {**row, "role": "assistant", "content": text_of(rest.pop("content", None))}
        else:
            content = rest.pop("content", None) or rest.pop("axtree", None) or rest.pop("html", None)
            if rest.get("source", "environment") == "user":
                yield {**row, "role": "user", "content": text_of(content)}
            else:
                yield {**row, "role": "tool", "tool_name": last_tool, "content": text_of(content)}


def session_line(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """One line of a coding agent's session file: a message with who, when, and what came before."""
    if record.get("type") == "summary":
        rest = {key: value for key, value in record.items() if key not in ("type", "summary")}
        yield {"role": "summary", "content": text_of(record.get("summary")), "metadata": rest}
        return
    outer = {key: value for key, value in record.items() if key not in ("message", "type", "uuid", "parentUuid")}
    message = dict(record["message"])
    message.setdefault("role", record.get("type"))
    timestamp = outer.pop("timestamp", None)
    inner_id = message.pop("id", None)
    if inner_id is not None and inner_id != record.get("uuid"):
        outer["message_id"] = inner_id
    for number, row in enumerate(reader.rows(message)):
        row["metadata"] = {**outer, **row["metadata"]}
        row["timestamp"], row["session"] = timestamp, record.get("sessionId")
        row["parent"] = record.get("parentUuid")
        if record.get("uuid") is not None:
            row["id"] = record["uuid"] if number == 0 else f"{record['uuid']}-{number}"
        yield row


def inter_code(record: Mapping[str, Any]) -> Reading:
    """An episode of InterCode: the task, then each action with what it gave."""
    history = record["turn_history"]
    actions, observations = history.get("actions") or [], history.get("observations") or []
    tool = str(record.get("environment") or "run")
    yield {
        "role": "user",
        "content": text_of(record.get("query")),
        "metadata": {"trajectory": about_trajectory(record, "turn_history", "query")},
    }
    for number, action in enumerate(actions):
        rest = {
            key: column[number]
            for key, column in history.items()
            if key not in ("actions", "observations") and isinstance(column, list) and number < len(column)
        }
        yield {"role": "assistant", "content": "", "tool_calls": (_tool_call(tool, {"input": action}),)}
        answer = observations[number] if number < len(observations) else None
        yield {"role": "tool", "tool_name": tool, "content": text_of(answer), "metadata": rest}


def bfcl(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """A multi-turn task of BFCL: what the user asks, turn by turn."""
    messages = [message for turn in record["question"] for message in (turn if isinstance(turn, list) else [turn])]
    return conversation(record, messages, reader, field="question")


def web_trajectory(record: Mapping[str, Any]) -> Reading:
    """A browsing trajectory: the intent, then pages and actions in turn."""
    yield {
        "role": "user",
        "content": text_of(record.get("intent")),
        "metadata": {"trajectory": about_trajectory(record, "trajectory", "intent")},
    }
    for entry in record["trajectory"]:
        if not isinstance(entry, Mapping):
            yield StepRejectedError(f"step is not an object but {type(entry).__name__}")
        elif "action" in entry:
            rest = {key: value for key, value in entry.items() if key != "action"}
            yield {"role": "assistant", "content": text_of(entry["action"]), "metadata": rest}
        else:
            rest = {key: value for key, value in entry.items() if key != "axtree"}
            yield {"role": "tool", "tool_name": "browser", "content": text_of(entry.get("axtree")), "metadata": rest}


def _tool_call(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": name, "arguments": dict(arguments)}
