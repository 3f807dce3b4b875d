"""What frameworks for agents keep of a run, where it is no list of messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stitch.core import Origin
from stitch.sources.conversation import Reading, about_trajectory, conversation, event, with_about
from stitch.sources.fields import Row, is_message, system_of
from stitch.sources.messages import MessageReader
from stitch.sources.parts import text_of, without
from stitch.sources.recognizing import with_fields, with_list

_PART_ROLES = {"system-prompt": "system", "user-prompt": "user", "tool-return": "tool", "retry-prompt": "tool"}
_LIVE = ("turns", "modelTurn", "functionCalls", "functionResponses")
_LIVE_KINDS = ("setup", "setupComplete", "clientContent", "serverContent", "toolCall", "toolResponse", "realtimeInput")
_DIALOGUES = ("dialog", "dialogue", "utterances", "turns", "conversation", "log")


def is_memory_step(record: Any) -> bool:
    """Whether it is a step in the memory of smolagents: what was said and seen in it, its task, or how to behave."""
    if not isinstance(record, Mapping):
        return False
    step = "step_number" in record and ("model_output" in record or "observations" in record)
    alone = [name for name in record if name != "step_type"] == ["system_prompt"]
    return step or {"task", "task_images"} <= record.keys() or alone


def is_node_update(record: Any) -> bool:
    """Whether it is what a node of a graph of LangGraph has added."""
    return isinstance(record, Mapping) and len(record) == 1 and with_list("messages", of="type")(*record.values())


def is_numbered(record: Any) -> bool:
    """Whether it is a run of DSPy's ReAct."""
    return with_fields(trajectory=dict)(record) and "thought_0" in record["trajectory"]


def is_protocol_message(record: Any) -> bool:
    """Whether it is a message of the Model Context Protocol."""
    return with_fields("jsonrpc")(record) and any(name in record for name in ("method", "result", "error"))


def is_live_message(record: Any) -> bool:
    """Whether it is a message of Gemini's live interface."""
    return isinstance(record, Mapping) and next(iter(record), "") in _LIVE_KINDS


def run_step(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """A step of a run of OpenAI's Assistants: the calls of tools with what they gave, or a mark."""
    details = record["step_details"]
    calls = details.get("tool_calls")
    rest = without(record, "step_details", "type", "id")
    if isinstance(calls, list) and calls:
        about = {**without(details, "type"), **rest, "id": record.get("id"), "role": "assistant", "tool_calls": calls}
        yield from reader.rows(about)
    else:
        rest.pop("created_at", None)
        yield {
            "id": record.get("id"),
            "timestamp": record.get("created_at"),
            **event(record, {**rest, "step_details": details}),
        }


def agent_run(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """A run of an agent of LangChain: what it was given, pairs of an action and an observation, what it gave."""
    return (row for message in _run_messages(record) for row in reader.rows(message))


def _run_messages(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if record.get("input"):
        yield {"role": "user", "content": text_of(record["input"])}
    for pair in record["intermediate_steps"]:
        action, observed = pair if isinstance(pair, list) and len(pair) == 2 else (pair, None)
        if isinstance(action, Mapping):
            rest = without(action, "tool", "tool_input", "log", "type")
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
        inner = without(part, "part_kind") if kind else part
        if kind in _PART_ROLES:
            yield from reader.rows({**rest, **inner, "role": _PART_ROLES[kind]})
        else:
            said.append({**inner, "type": {"tool-call": "tool_call"}.get(kind, kind)} if kind else part)
    if said:
        yield from reader.rows({**rest, "role": "assistant", "content": said})


def protocol_message(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """A message of the Model Context Protocol: the call of a tool, its result, or a mark."""
    rest = without(record, "params", "result", "id")
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


def node_update(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """What a node of a graph has added to its state: the messages that it says."""
    (node, update), *_ = record.items()
    about = {"node": node, **update}
    yield from conversation(about, update["messages"], reader, field="messages")


def numbered_thoughts(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """A run of DSPy's ReAct: its thoughts, tools and observations are numbered fields, its outputs stand beside."""
    steps, number = record["trajectory"], 0
    numbered = ("thought_", "tool_name_", "tool_args_", "observation_")
    rest = {key: value for key, value in steps.items() if not key.startswith(numbered)}
    while f"thought_{number}" in steps or f"tool_name_{number}" in steps:
        named, observed = steps.get(f"tool_name_{number}"), steps.get(f"observation_{number}")
        calls = [] if named is None else [{"name": named, "arguments": steps.get(f"tool_args_{number}")}]
        said = {"role": "assistant", "content": steps.get(f"thought_{number}"), "tool_calls": calls}
        yield from reader.rows({**(rest if number == 0 else {}), **said})
        if observed is not None:
            yield {"role": "tool", "tool_name": str(named or "tool"), "content": text_of(observed), "metadata": {}}
        number += 1
    outputs = {key: value for key, value in record.items() if key != "trajectory" and isinstance(value, str)}
    if outputs:
        yield {"role": "assistant", "content": "\n".join(outputs.values()), "metadata": {"outputs": list(outputs)}}


def is_graph_entry(record: Any) -> bool:
    """Whether it is an entity or a relation of the official memory server."""
    return with_fields("entityType", name=str)(record) or with_fields("relationType", "from", "to")(record)


def graph_entry(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """What an agent has noted of a thing, or how two things are tied."""
    if "relationType" in record:
        said = [" ".join(text_of(record[name]).replace("_", " ") for name in ("from", "relationType", "to"))]
    else:
        noted = record.get("observations")
        said = [f"{record['name'].replace('_', ' ')} ({record['entityType']})",
                *map(text_of, noted if isinstance(noted, list) else [])]  # fmt: skip
    yield {"role": "memory", "content": "\n".join(said), "origin": Origin.AGENT,
           "metadata": without(record, "observations")}  # fmt: skip


def crew_task(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """A line of the log of a crew: what an agent is to do, or what it has done."""
    said = "output" if record.get("output") else "task"
    rest = without(record, said, "timestamp", "agent")
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
        about = without(inner, *_LIVE)
        yield from conversation({**rest, **about}, turns, reader, field="turns")
    elif system := system_of(inner):
        for row in reader.rows(system[1]):
            yield {**row, "metadata": {**rest, **{key: value for key, value in inner.items() if key != system[0]}}}
    else:
        yield event({"type": kind}, {**rest, **inner})


def turns_without_speakers(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """A dialogue that says what is said and not by whom: two speak in turn."""
    field = dialogue_of(record) or ""
    turns = (said if isinstance(said, Mapping) else {"text": said} for said in record[field])
    rows = (
        row for number, words in enumerate(turns) for row in reader.rows({"role": f"speaker {number % 2 + 1}", **words})
    )
    return with_about(about_trajectory(record, field), rows)


def dialogue_of(record: Any) -> str | None:
    """The field under which a record keeps such a dialogue."""
    if not isinstance(record, Mapping):
        return None
    for name in _DIALOGUES:
        turns = record.get(name)
        if isinstance(turns, list) and len(turns) > 1 and (
            all(isinstance(said, str) for said in turns)
            or all(isinstance(said, Mapping) and isinstance(said.get("text"), str) and not is_message(said)
                   and "type" not in said for said in turns)
        ):  # fmt: skip
            return name
    return None
