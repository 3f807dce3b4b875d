"""Runs as frameworks for agents keep them, where it is no list of messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stitch.core import Origin
from stitch.sources.conversation import Done, RowStream, conversation, talk, with_about
from stitch.sources.fields import event, is_message, system_of
from stitch.sources.messages import MessageReader
from stitch.sources.parts import first_of, text_of, without
from stitch.sources.recognizing import FileReading, TrajectoryRow, has
from stitch.sources.traces import SpanContent

Messages = Iterator[Any]

_PART_ROLES = {"system-prompt": "system", "user-prompt": "user", "tool-return": "tool", "retry-prompt": "tool"}
_LIVE = ("turns", "modelTurn", "functionCalls", "functionResponses")
LIVE = ("setup", "setupComplete", "clientContent", "serverContent", "toolCall", "toolResponse", "realtimeInput")
_DIALOGUES = ("dialog", "dialogue", "utterances", "turns", "conversation", "log", "segments")


def is_memory_step(record: Any) -> bool:
    """Whether it is a step in the memory of smolagents: what was said and seen in it, its task, or how to behave."""
    if not isinstance(record, Mapping):
        return False
    step = "step_number" in record and ("model_output" in record or "observations" in record)
    alone = [name for name in record if name != "step_type"] == ["system_prompt"]
    planned = {"plan", "model_input_messages"} <= record.keys()
    return step or planned or {"task", "task_images"} <= record.keys() or alone


def run_step(record: Mapping[str, Any]) -> Messages:
    """A step of a run of OpenAI's Assistants: the calls of tools with what they gave, or a mark."""
    details, identity = record["step_details"], record.get("id")
    rest = without(record, "step_details", "type", "id")
    if isinstance(details.get("tool_calls"), list) and details["tool_calls"]:
        yield {**without(details, "type"), **rest, "id": identity, "role": "assistant"}
    else:
        at = rest.pop("created_at", None)
        yield Done({"id": identity, "timestamp": at, **event(record, {**rest, "step_details": details})})


def agent_run(record: Mapping[str, Any]) -> Messages:
    """A run of an agent of LangChain: what it was given, pairs of an action and an observation, what it gave."""
    if record.get("input"):
        yield {"role": "user", "content": text_of(record["input"])}
    for pair in record["intermediate_steps"]:
        action, observed = pair if isinstance(pair, list) and len(pair) == 2 else (pair, None)
        if isinstance(action, Mapping):
            call = {"name": str(action.get("tool") or "action"), "arguments": action.get("tool_input")}
            yield {**without(action, "tool", "tool_input", "log", "type"), "thought": action.get("log"),
                   "action": call, "observation": observed}  # fmt: skip
        else:
            yield {"role": "assistant", "content": text_of(action)}
    if record.get("output"):
        yield {"role": "assistant", "content": text_of(record["output"])}


def memory_step(record: Mapping[str, Any]) -> Messages:
    """A step in the memory of smolagents: its task, or what the model planned or said, called and saw."""
    alone = () if "step_number" in record else (("system_prompt", "system"), ("task", "user"), ("plan", "assistant"))
    said = next(((name, role) for name, role in alone if record.get(name)), None)
    yield (
        {"model_output": None, **record}
        if said is None
        else {"role": said[1], "content": text_of(record[said[0]]), **without(record, said[0])}
    )


def typed_parts(record: Mapping[str, Any]) -> Messages:
    """A request or a response of Pydantic AI: each of its parts says what it is."""
    rest = {key: value for key, value in record.items() if key not in ("parts", "kind") and value is not None}
    said: list[Any] = []
    for part in record["parts"]:
        kind = str(part.get("part_kind")) if isinstance(part, Mapping) else ""
        inner = without(part, "part_kind") if kind else part
        if kind in _PART_ROLES:
            told = {"outcome": "failure"} if kind == "retry-prompt" and "tool_name" in inner else {}
            yield {**rest, **inner, "role": _PART_ROLES[kind], **told}
        else:
            said.append({**inner, "type": {"tool-call": "tool_call"}.get(kind, kind)} if kind else part)
    if said:
        yield {**rest, "role": "assistant", "content": said}


def protocol_message(record: Mapping[str, Any]) -> Messages:
    """A message of the Model Context Protocol: the call of a tool, its result, or a mark."""
    rest, identity = without(record, "params", "result", "id"), record.get("id")
    called, result = record.get("params"), record.get("result", record.get("error"))
    if record.get("method") == "tools/call" and isinstance(called, Mapping):
        call = {"name": called.get("name"), "arguments": called.get("arguments"), "id": identity}
        yield {**rest, "role": "assistant", "tool_calls": [call]}
    elif "method" not in record:
        inner = dict(result) if isinstance(result, Mapping) else {"content": result}
        content = inner.pop("content", None) or inner
        yield {**rest, **inner, "type": "tool_result", "id": identity, "content": content}
    else:
        yield Done(event({"type": str(record["method"]).replace("/", " ")}, {**rest, "params": called}))


def node_update(record: Mapping[str, Any], reader: MessageReader) -> RowStream:
    """Update of a node of a graph: the messages that it adds to the state."""
    ((node, update),) = record.items()
    return talk({"node": node, **update}, update["messages"], reader, field="messages")


def graph_state(record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
    """A state of a graph of LangGraph: what its messages say that no other state of the thread has said."""
    named = first_of(record.get("config"), ("configurable",), Mapping)
    thread = str(first_of(named, ("thread_id",)) or reading.name(None, record, whole=False))
    about = {**without(record, "values"), **without(record["values"], "messages")}
    said = record["values"]["messages"]
    told = SpanContent(thread, {"metadata": {}, "timestamp": None}, "state", "state", said, identified=True)
    for row in with_about(about, reading.traces.rows(told)):
        yield thread, row


def numbered_thoughts(record: Mapping[str, Any]) -> Messages:
    """A run of DSPy's ReAct: its thoughts, tools and observations are numbered fields, its outputs stand beside."""
    steps, number = record["trajectory"], 0
    numbered = ("thought_", "tool_name_", "tool_args_", "observation_")
    rest = {key: value for key, value in steps.items() if not key.startswith(numbered)}
    while f"thought_{number}" in steps or f"tool_name_{number}" in steps:
        thought, name, given, observed = (steps.get(f"{field}{number}") for field in numbered)
        if name is None:
            yield {**rest, "role": "assistant", "content": thought}
            yield from [] if observed is None else [{"role": "tool", "content": text_of(observed)}]
        else:
            yield {**rest, "thought": thought, "action": {"name": name, "arguments": given}, "observation": observed}
        rest, number = {}, number + 1
    outputs = {key: value for key, value in record.items() if key != "trajectory" and isinstance(value, str)}
    if outputs:
        yield Done({"role": "assistant", "content": "\n".join(outputs.values()),
                    "metadata": {"outputs": list(outputs)}})  # fmt: skip


def graph_entry(record: Mapping[str, Any]) -> Messages:
    """Notes of an agent on a thing, or on how two things are tied, in the official memory server."""
    if "relationType" in record:
        said = [" ".join(text_of(record[name]).replace("_", " ") for name in ("from", "relationType", "to"))]
    else:
        noted = record.get("observations")
        said = [f"{record['name'].replace('_', ' ')} ({record['entityType']})",
                *map(text_of, noted if isinstance(noted, list) else [])]  # fmt: skip
    yield Done({"role": "memory", "content": "\n".join(said), "origin": Origin.AGENT,
                "metadata": without(record, "observations")})  # fmt: skip


def crew_task(record: Mapping[str, Any]) -> Messages:
    """A line of the log of a crew: what an agent is to do, or what it has done."""
    said = "output" if record.get("output") else "task"
    yield Done({"role": str(record["agent"]).strip() if said == "output" else "user",
                "content": text_of(record.get(said)), "timestamp": record.get("timestamp"),
                "metadata": without(record, said, "timestamp")})  # fmt: skip


def live_message(record: Mapping[str, Any], reader: MessageReader) -> RowStream:
    """A message between a program and Gemini's live interface."""
    (kind, said), *others = record.items()
    inner = said if isinstance(said, Mapping) else {}
    turns = list(inner.get("turns") or ())
    if isinstance(inner.get("modelTurn"), Mapping):
        turns.append({"role": "model", **inner["modelTurn"]})
    for part, role in (("functionCall", "model"), ("functionResponse", "user")):
        if isinstance(several := inner.get(f"{part}s"), list):
            turns.append({"role": role, "parts": [{part: one} for one in several]})
    rest = {**dict(others), **without(inner, *_LIVE)}
    if turns or not (system := system_of(inner)):
        return talk(rest, turns, reader, field="turns") if turns else iter([event({"type": kind}, rest)])
    return conversation([{**system[1], "metadata": without(rest, system[0])}], reader)


def spoken_in_turn(record: Mapping[str, Any], reader: MessageReader) -> RowStream:
    """A dialogue that says what is said and not by whom: two speak in turn."""
    field = dialogue_of(record) or ""
    who = "text" if field == "segments" else "speaker {}"  # of a transcript nobody knows who speaks
    turns = [{"role": who.format(number % 2 + 1), **(said if isinstance(said, Mapping) else {"text": said})}
             for number, said in enumerate(record[field])]  # fmt: skip
    return talk(record, turns, reader, field=field)


def dialogue_of(record: Any) -> str | None:
    """The field under which a record keeps such a dialogue."""
    if not isinstance(record, Mapping):
        return None
    lists = ((name, record[name]) for name in _DIALOGUES if isinstance(record.get(name), list))
    return next((name for name, turns in lists if len(turns) > 1 and (
        all(isinstance(said, str) for said in turns) or all(map(_is_unspoken, turns)))), None)  # fmt: skip


def _is_unspoken(said: Any) -> bool:
    return has(text=str)(said) and not is_message(said) and "type" not in said
