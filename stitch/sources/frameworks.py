"""What frameworks for agents keep of a run, where it is no list of messages; each function reads one record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stitch.sources.agents import Reading, about_trajectory, conversation, event, first_knowing
from stitch.sources.fields import Row, is_message, system_of
from stitch.sources.messages import MessageReader
from stitch.sources.parts import text_of

_PART_ROLES = {"system-prompt": "system", "user-prompt": "user", "tool-return": "tool", "retry-prompt": "tool"}


def run_step(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """A step of a run of OpenAI's Assistants: the calls of tools with what they gave, or a mark."""
    details = record["step_details"]
    calls = details.get("tool_calls")
    rest = {key: value for key, value in record.items() if key not in ("step_details", "type", "id")}
    if isinstance(calls, list) and calls:
        yield from reader.rows({**rest, "id": record.get("id"), "role": "assistant", "tool_calls": calls})
    else:
        rest.pop("created_at", None)
        yield {
            "id": record.get("id"),
            "timestamp": record.get("created_at"),
            **event(record, {**rest, "step_details": details}),
        }


def agent_run(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """A run of an agent of LangChain: what it was given, pairs of an action and an observation, what it gave."""
    rows = (row for message in _run_messages(record) for row in reader.rows(message))
    return first_knowing(about_trajectory(record, "input", "output", "intermediate_steps"), rows)


def _run_messages(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if record.get("input"):
        yield {"role": "user", "content": text_of(record["input"])}
    for pair in record["intermediate_steps"]:
        action, observed = pair if isinstance(pair, list) and len(pair) == 2 else (pair, None)
        if isinstance(action, Mapping):
            rest = {key: value for key, value in action.items() if key not in ("tool", "tool_input", "log", "type")}
            call = {"name": str(action.get("tool") or "action"), "arguments": action.get("tool_input")}
            yield {**rest, "role": "assistant", "content": text_of(action.get("log")), "tool_calls": [call]}
            if observed is not None:
                yield {"role": "tool", "name": call["name"], "content": text_of(observed)}
        else:
            yield {"role": "assistant", "content": text_of(action)}
    if record.get("output"):
        yield {"role": "assistant", "content": text_of(record["output"])}


def memory_step(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """A step in the memory of smolagents: its task, or what the model said, called and saw."""
    taken = ("task", "system_prompt", "model_output", "observations", "tool_calls", "error", "timing")
    rest = {key: value for key, value in record.items() if key not in taken and value is not None}
    timing = record.get("timing")
    at = timing.get("start_time") if isinstance(timing, Mapping) else None
    if timing is not None:
        rest["timing"] = timing
    about: Row = {"timestamp": at, "metadata": rest}
    for name, role in (("system_prompt", "system"), ("task", "user")):
        if record.get(name) and "step_number" not in record:
            yield {**about, "role": role, "content": text_of(record[name])}
            return
    rows = list(reader.rows({"role": "assistant", "content": record.get("model_output") or "",
                             "tool_calls": record.get("tool_calls") or []}))  # fmt: skip
    rows[0]["metadata"] = {**rest, **rows[0]["metadata"]}
    yield from ({**row, "timestamp": at} for row in rows)
    seen = record.get("observations") or record.get("error")
    if seen:
        called = rows[0].get("tool_calls")
        yield {"timestamp": at, "role": "tool", "tool_name": called[-1].name if called else "tool",
               "content": text_of(seen)}  # fmt: skip


def typed_parts(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """A request or a response of Pydantic AI: each of its parts says what it is."""
    rest = {key: value for key, value in record.items() if key not in ("parts", "kind") and value is not None}
    said: list[Any] = []
    for part in record["parts"]:
        kind = str(part.get("part_kind")) if isinstance(part, Mapping) else ""
        inner = {key: value for key, value in part.items() if key != "part_kind"} if kind else part
        if kind in _PART_ROLES:
            yield from reader.rows({**rest, **inner, "role": _PART_ROLES[kind]})
        else:
            said.append({**inner, "type": {"tool-call": "tool_call"}.get(kind, kind)} if kind else part)
    if said:
        yield from reader.rows({**rest, "role": "assistant", "content": said})


def protocol_message(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """A message of the Model Context Protocol: the call of a tool, its result, or a mark."""
    rest = {key: value for key, value in record.items() if key not in ("params", "result", "id")}
    called, result = record.get("params"), record.get("result", record.get("error"))
    if record.get("method") == "tools/call" and isinstance(called, Mapping):
        call = {"name": called.get("name"), "arguments": called.get("arguments"), "id": record.get("id")}
        yield from reader.rows({**rest, "role": "assistant", "tool_calls": [call]})
    elif "method" not in record:
        inner = dict(result) if isinstance(result, Mapping) else {"content": result}
        content = inner.pop("content", None) or inner
        yield from reader.rows({**rest, **inner, "type": "tool_result", "id": record.get("id"), "content": content})
    else:
        yield event({"type": str(record["method"]).replace("/", " ")}, {**rest, "params": called})


def message_tree(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """A tree of messages, each with its replies: read from the root, every branch to its end."""
    if not isinstance(record.get("prompt"), Mapping):
        return _branches(record, reader)
    return first_knowing(about_trajectory(record, "prompt"), _branches(record["prompt"], reader))


def _branches(root: Mapping[str, Any], reader: MessageReader) -> Iterator[Row]:
    waiting: list[tuple[Any, Any]] = [(root, None)]
    while waiting:
        message, parent = waiting.pop()
        if not isinstance(message, Mapping):
            continue
        own = message.get("message_id") or message.get("id")
        waiting.extend((reply, own) for reply in reversed(message.get("replies") or ()))
        said = {key: value for key, value in message.items() if key != "replies"}
        yield from reader.rows({**({"parent_id": parent} if parent else {}), **said})


def node_update(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """What a node of a graph has added to its state: the messages that it says."""
    (node, update), *_ = record.items()
    about = {"node": node, **update}
    yield from conversation(about, update["messages"], reader, field="messages")


def numbered_thoughts(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """A run of DSPy's ReAct: its thoughts, tools and observations are numbered fields, its outputs stand beside."""
    return first_knowing(about_trajectory(record, "trajectory"), _thoughts(record, reader))


def _thoughts(record: Mapping[str, Any], reader: MessageReader) -> Iterator[Row]:
    steps, number = record["trajectory"], 0
    while f"thought_{number}" in steps or f"tool_name_{number}" in steps:
        named, observed = steps.get(f"tool_name_{number}"), steps.get(f"observation_{number}")
        calls = [] if named is None else [{"name": named, "arguments": steps.get(f"tool_args_{number}")}]
        yield from reader.rows({"role": "assistant", "content": steps.get(f"thought_{number}"), "tool_calls": calls})
        if observed is not None:
            yield {"role": "tool", "tool_name": str(named or "tool"), "content": text_of(observed), "metadata": {}}
        number += 1
    outputs = {key: value for key, value in record.items() if key != "trajectory" and isinstance(value, str)}
    if outputs:
        yield {"role": "assistant", "content": "\n".join(outputs.values()), "metadata": {"outputs": list(outputs)}}


def crew_task(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """A line of the log of a crew: what an agent is to do, or what it has done."""
    said = "output" if record.get("output") else "task"
    rest = {key: value for key, value in record.items() if key not in (said, "timestamp", "agent")}
    yield {"role": str(record["agent"]).strip() if said == "output" else "task", "content": text_of(record.get(said)),
           "timestamp": record.get("timestamp"), "metadata": {**rest, "agent": record["agent"]}}  # fmt: skip


def live_message(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """A message between a program and Gemini's live interface."""
    (kind, said), *others = record.items()
    rest = dict(others)
    inner = said if isinstance(said, Mapping) else {}
    turns = list(inner.get("turns") or ())
    if isinstance(inner.get("modelTurn"), Mapping):
        turns.append({"role": "model", **inner["modelTurn"]})
    if isinstance(inner.get("functionCalls"), list):
        turns.append({"role": "model", "parts": [{"functionCall": call} for call in inner["functionCalls"]]})
    if isinstance(inner.get("functionResponses"), list):
        turns.append({"role": "user", "parts": [{"functionResponse": done} for done in inner["functionResponses"]]})
    if turns:
        about = {key: value for key, value in inner.items() if key not in _LIVE}
        yield from conversation({**rest, **about}, turns, reader, field="turns")
    elif system := system_of(inner):
        for row in reader.rows(system[1]):
            yield {**row, "metadata": {**rest, **{key: value for key, value in inner.items() if key != system[0]}}}
    else:
        yield event({"type": kind}, {**rest, **inner})


_LIVE = ("turns", "modelTurn", "functionCalls", "functionResponses")


def turns_without_speakers(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """A dialogue that says what is said and not by whom: two speak in turn."""
    field = dialogue_of(record) or ""
    turns = (said if isinstance(said, Mapping) else {"text": said} for said in record[field])
    rows = (
        row for number, words in enumerate(turns) for row in reader.rows({"role": f"speaker {number % 2 + 1}", **words})
    )
    return first_knowing(about_trajectory(record, field), rows)


def dialogue_of(record: Any) -> str | None:
    """The field under which a record keeps such a dialogue."""
    if not isinstance(record, Mapping):
        return None
    for name in ("dialog", "dialogue", "utterances", "turns", "conversation", "log"):
        turns = record.get(name)
        if isinstance(turns, list) and len(turns) > 1 and (
            all(isinstance(said, str) for said in turns)
            or all(isinstance(said, Mapping) and isinstance(said.get("text"), str) and not is_message(said)
                   and "type" not in said for said in turns)
        ):  # fmt: skip
            return name
    return None
