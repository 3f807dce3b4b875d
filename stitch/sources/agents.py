"""Trajectories of agents, in the forms in which their harnesses log them; each function reads one record.

What a record knows of the whole trajectory goes to the metadata of its first step, under `trajectory`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from stitch.errors import StepRejectedError
from stitch.sources.fields import BROKEN, Row, is_message, oldest_first, system_of
from stitch.sources.messages import MessageReader
from stitch.sources.model_calls import is_system
from stitch.sources.parts import arguments_of, text_of
from stitch.sources.spoken import called_in

Reading = Iterator["Row | StepRejectedError"]

_WORDS = ("content", "message", "text", "instructions", "transcript", "result", "prompt", "summary", "description")


def conversation(
    record: Mapping[str, Any], messages: Sequence[Any], reader: MessageReader, *, field: str, speaker: bool = False
) -> Reading:
    """Read the messages of a record; `field` is where they stand in it.

    Instructions that stand beside them are the first message. An entry that nobody says, but that names its kind, is an
    event of this kind.
    """
    system = None if messages and is_system(messages[0]) else system_of(record)
    about: dict[str, Any] | None = about_trajectory(record, field, system[0] if system else field)
    said = oldest_first(list(messages))
    for message in [system[1], *said] if system else said:
        try:
            for row in _rows_or_event(message, reader, speaker=speaker):
                if about:
                    row["metadata"] = {**row["metadata"], "trajectory": about}
                    about = None
                yield row
        except StepRejectedError as error:
            yield error
        except BROKEN as error:  # the messages after it are read all the same
            yield StepRejectedError(f"broken message: {type(error).__name__}: {error}")


def _rows_or_event(message: Any, reader: MessageReader, *, speaker: bool) -> Iterator[Row]:
    if isinstance(message, Mapping) and not is_message(message) and "action" not in message:
        kind = next((message[name] for name in ("type", "kind", "event") if isinstance(message.get(name), str)), None)
        if kind:
            rest = {key: value for key, value in message.items() if key not in ("type", "timestamp", "id")}
            said = {"timestamp": message.get("timestamp"), **event({**message, "type": kind}, rest)}
            yield {**said, "id": str(message["id"])} if message.get("id") is not None else said
            return
    yield from reader.rows(message, speaker=speaker)


def event(record: Mapping[str, Any], rest: Mapping[str, Any]) -> Row:
    """What is no message of anybody: it is named by its kind, and its words, if it has any, are its text."""
    kind = str(record.get("type") or record.get("event") or "event")
    words = next((key for key in _WORDS if isinstance(record.get(key), str)), "")
    said = str(record[words]) if words and record[words].strip() else kind.replace("_", " ").replace("-", " ")
    metadata = {key: value for key, value in rest.items() if key != words and value is not None}
    heard = "input_audio_transcription" in kind and words == "transcript"  # the user's voice, as it was understood
    return {"role": "user" if heard else kind, "content": said, "metadata": metadata}


def about_trajectory(record: Mapping[str, Any], *fields: str) -> dict[str, Any]:
    """What a record says beside the steps in `fields`."""
    return {key: value for key, value in record.items() if key not in fields and value is not None}


def first_knowing(about: Mapping[str, Any], rows: Iterable[Row]) -> Reading:
    """The rows; the first of them says in its metadata what is known `about` the whole trajectory."""
    for row in rows:
        yield {**row, "metadata": {**row["metadata"], "trajectory": about}} if about else row
        about = {}


def swe_agent(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """SWE-agent `.traj`: the messages of `history`, each action as a tool call and each observation as its result.

    The entries of `trajectory` repeat the same thoughts and observations; what they alone know (state, time) goes to
    the metadata of the action.
    """
    about: dict[str, Any] | None = about_trajectory(record, "trajectory", "history")
    entries = iter(record.get("trajectory") or ())
    history = record.get("history") or ()
    tool: str | None = None
    observed: Any = None
    # The last actions of a run may stand in `trajectory` alone.
    for message in chain(history, (said for entry in entries for said in _swe_messages(entry))):
        action = message.get("action") if isinstance(message, Mapping) else None
        try:
            for row in reader.rows(message):
                if about:
                    row["metadata"]["trajectory"], about = about, None
                if isinstance(action, str) and row["role"] == "assistant":
                    entry: Mapping[str, Any] = next(entries, {}) if message.get("agent") else message
                    tool, observed = (action.split() or ["submit"])[0], entry.get("observation")
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
    if tool is not None and history and observed:
        yield {"role": "tool", "tool_name": tool, "content": text_of(observed), "metadata": {}}


_SWE_TOLD = ("action", "observation", "response", "thought", "query", "messages")
"""What of an entry stands in the messages of the history."""


def _only_in(entry: Mapping[str, Any], *, said: str) -> dict[str, Any]:
    """What an entry knows and its message does not say: its state, its time, and a thought in other words."""
    known = {key: value for key, value in entry.items() if key not in _SWE_TOLD and value}
    thoughts = (text_of(entry.get(key)).strip() for key in ("response", "thought"))
    other = next((thought for thought in thoughts if thought not in said), None)
    return {**known, "entry_thought": other} if other else known


def _swe_messages(entry: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    thought = entry.get("thought") or entry.get("response")
    rest = {key: value for key, value in entry.items() if key not in _SWE_TOLD and value}
    yield {"role": "assistant", "content": thought, "action": entry.get("action"), **rest}
    yield {"role": "user", "content": entry.get("observation")}


def open_hands(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """One event of OpenHands: an action of an agent or a user, or an observation."""
    taken = ("id", "timestamp", "source", "action", "args", "observation", "content", "tool_name", "thought")
    rest = {key: value for key, value in record.items() if key not in (*taken, "message") and value is not None}
    row: Row = {"timestamp": record.get("timestamp"), "metadata": rest}
    if record.get("id") is not None:
        row["id"] = str(record["id"])
    for name in ("cause", "action_id"):
        if rest.get(name) is not None:
            row["parent"] = str(rest.pop(name))
    said_so = str(record.get("source") or ("environment" if "observation" in record else "agent"))
    source = {"agent": "assistant", "environment": "tool"}.get(said_so, said_so)
    message = record.get("message")
    if isinstance(record.get("llm_message"), Mapping):
        rest.pop("llm_message")
        for number, said_row in enumerate(reader.rows({"role": source, **record["llm_message"]})):
            own_id = {"id": f"{row['id']}-{number}"} if number and "id" in row else {}
            yield {**said_row, **row, **own_id, "metadata": {**rest, **said_row["metadata"]}}
        return
    if "observation" in record:
        seen = record["observation"]
        known = seen if isinstance(seen, Mapping) else {}
        content = record.get("content")
        if content is None and known:
            content = next((known[key] for key in ("content", "output", "text") if known.get(key)), None) or seen
            beside = {key: value for key, value in known.items() if value is not content and value is not None}
            rest |= {f"observation_{key}" if key in rest else key: value for key, value in beside.items()}
        if message and message != content:
            rest["message"] = message
        tool = record.get("tool_name") or known.get("kind") or (seen if isinstance(seen, str) else None)
        yield {**row, "role": "tool", "tool_name": str(tool or "tool"), "content": text_of(content)}
        return
    action = record["action"]
    about = action if isinstance(action, Mapping) else {}
    arguments: dict[str, Any] = dict(record["args"] if isinstance(record.get("args"), Mapping) else about)
    made = record.get("tool_call")
    if about and isinstance(made, Mapping) and made.get("arguments"):  # the call as the model made it
        rest["action"], arguments = rest.get("action", dict(about)), dict(arguments_of(made["arguments"]))
        rest["tool_call"] = {key: value for key, value in made.items() if key not in ("name", "arguments")}
    if action in ("message", "system") or (not action and message):
        key = "content" if arguments.get("content") else None
        spoken: Any = arguments.pop(key) if key else message
        role = "system" if action == "system" else source
        if message and message != spoken:
            rest["message"] = message
        if arguments := {name: value for name, value in arguments.items() if value not in (None, "", [])}:
            rest["args"] = arguments
        yield {**row, "role": role, "content": text_of(spoken) or str(action)}
        return
    said: Any = arguments.pop("thought", None) or record.get("thought") or message
    if message and message != said:
        rest["message"] = message
    name = record.get("tool_name") or about.get("kind") or (action if isinstance(action, str) else None) or "action"
    yield {**row, "role": source, "content": text_of(said), "tool_calls": (_tool_call(str(name), arguments),)}


def open_hands_history(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """A run of OpenHands: its events, or pairs of an action and an observation."""
    about: dict[str, Any] | None = about_trajectory(record, "history")
    for entry in record["history"]:
        for event in entry if isinstance(entry, list) else [entry]:
            if not isinstance(event, Mapping) or not ("action" in event or "observation" in event):
                yield StepRejectedError("event is no action and no observation")
                continue
            for row in open_hands(event, reader):
                if about and not isinstance(row, StepRejectedError):
                    row["metadata"]["trajectory"], about = about, None
                yield row


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


def chat_export(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """A conversation as ChatGPT exports it: a tree of messages, read from the root, branches in their order."""
    nodes = record["mapping"]
    about: dict[str, Any] | None = about_trajectory(record, "mapping", "id", "conversation_id")
    waiting = [key for key, node in reversed(nodes.items()) if isinstance(node, Mapping) and not node.get("parent")]
    seen = set[str]()
    while waiting:
        key = waiting.pop()
        node = nodes.get(key)
        if key in seen or not isinstance(node, Mapping):
            continue
        seen.add(key)
        waiting.extend(reversed([child for child in node.get("children") or () if isinstance(child, str)]))
        message = node.get("message")
        if not isinstance(message, Mapping):
            continue
        content = message.get("content")
        if isinstance(content, Mapping) and not any(map(text_of, content.get("parts") or [content.get("text")])):
            continue  # the empty message with which each export begins
        try:
            if isinstance(content, Mapping) and "parts" not in content and isinstance(content.get("text"), str):
                rest = {key: value for key, value in content.items() if key != "text"}
                message = {**message, **rest, "content": content["text"]}
                message.pop("text", None)
            for row in reader.rows({**message, **({"parent": node["parent"]} if node.get("parent") else {})}):
                if about:
                    row["metadata"]["trajectory"], about = about, None
                yield row
        except StepRejectedError as error:
            yield error


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
        thoughts = rest.pop("thoughts", None) or rest.pop("thought", None)
        yield {"role": "assistant", "content": text_of(thoughts), "tool_calls": (_tool_call(tool, {"input": action}),)}
        answer = observations[number] if number < len(observations) else None
        yield {"role": "tool", "tool_name": tool, "content": text_of(answer), "metadata": rest}


def bfcl(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """A multi-turn task of BFCL: what the user asks, turn by turn."""
    messages = [message for turn in record["question"] for message in (turn if isinstance(turn, list) else [turn])]
    return conversation(record, messages, reader, field="question")


def bfcl_result(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """What a model did in a task of BFCL: the messages of its log if there is one, its calls otherwise."""
    about: dict[str, Any] | None = about_trajectory(record, "id", "result", "inference_log")
    messages = [_as_called(message) for message in _messages_below(record.get("inference_log"))]
    if messages:
        about = {**about_trajectory(record, "id", "inference_log")}
    else:
        messages = list(_calls_of(record["result"]))
    if not messages:
        yield StepRejectedError("neither calls nor messages in 'result' and 'inference_log'")
    for message in messages:
        try:
            for row in reader.rows(message):
                if about:
                    row["metadata"]["trajectory"], about = about, None
                yield row
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
            "role": value["role"], "content": text_of({k: v for k, v in value.items() if k != "role"})}  # fmt: skip
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
        if isinstance(entry, list):
            texts = [call for call in entry if isinstance(call, str)]
            if texts and len(texts) == len(entry):
                made = [
                    called_in(text) or [{"name": text.split("(")[0] or "call", "arguments": text}] for text in texts
                ]
                yield {"role": "assistant", "tool_calls": [call for several in made for call in several]}
            else:
                yield from _calls_of(entry)
        elif isinstance(entry, Mapping):
            yield {"role": "assistant", "tool_calls": [{"name": name, "arguments": arguments}
                                                       for name, arguments in entry.items()]}  # fmt: skip
        elif isinstance(entry, str):
            yield from _calls_of(entry)
        else:
            yield {"role": "assistant", "content": text_of(entry)}


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
            rest = {key: value for key, value in entry.items() if key not in ("action", "observation")}
            yield {"role": "assistant", "content": text_of(entry["action"]), "metadata": rest}
            if entry.get("observation"):
                yield {"role": "tool", "tool_name": "browser", "content": text_of(entry["observation"])}
        else:
            field = next((name for name in ("axtree", "observation", "html", "text") if entry.get(name)), "axtree")
            seen = text_of(entry.get(field))
            rest = {key: value for key, value in entry.items() if key != field}
            yield {"role": "tool", "tool_name": "browser", "content": seen, "metadata": rest}


def web_actions(record: Mapping[str, Any]) -> Reading:
    """A task on a web site and the operations that did it."""
    yield {"role": "user", "content": text_of(record["confirmed_task"]),
           "metadata": {"trajectory": about_trajectory(record, "actions", "confirmed_task")}}  # fmt: skip
    for entry in record["actions"]:
        operation = entry.get("operation") if isinstance(entry, Mapping) else None
        if not isinstance(operation, Mapping):
            yield StepRejectedError("action has no field 'operation'")
            continue
        call = _tool_call(str(operation.get("op") or "action"), operation)
        yield {"role": "assistant", "content": "", "tool_calls": (call,),
               "metadata": {key: value for key, value in entry.items() if key != "operation"}}  # fmt: skip


def _tool_call(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": name, "arguments": dict(arguments)}
