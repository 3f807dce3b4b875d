"""Runs of LangSmith, and those of other tracers, which are read in the form of LangSmith's."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

import orjson

from stitch.sources.parts import text_of, without
from stitch.sources.traces import NESTED, NamedReading, Told, TraceReader, messages_in, words_of

_KINDS = {"generation": "llm", "response": "llm", "llm": "llm", "chat_model": "llm", "function": "tool", "tool": "tool",
          "mcp_tool": "tool", "retriever": "retriever", "embedding": "chain", "span": "chain", "event": "chain",
          "agent": "chain", "chain": "chain"}  # fmt: skip
_LITERAL_CHARS = 20_000
_OBSERVED = ("observations", "input", "output", "timestamp", "startTime", "type")


def named_run(run: Mapping[str, Any], traces: TraceReader) -> NamedReading:
    """The steps of a run with their trajectory; the runs inside it follow."""
    trajectory = run.get("trace_id") or run.get("session_id")
    for row in traces.rows(_told(run)):
        yield None if trajectory is None else str(trajectory), row
    for child in run.get("child_runs") or ():
        if isinstance(child, Mapping) and "run_type" in child:
            yield from named_run({**({"trace_id": trajectory} if trajectory else {}), **child}, traces)


def _told(run: Mapping[str, Any]) -> Told:
    """The messages of a call of a model, or the call of a tool with its result."""
    rest = {key: value for key, value in without(run, "inputs", "outputs", "child_runs").items() if value is not None}
    inputs, outputs = run.get("inputs") or {}, run.get("outputs") or {}
    told = Told(str(run.get("trace_id") or run.get("id")), {"timestamp": run.get("start_time"), "metadata": rest},
                "run", str(run.get("name") or run["run_type"]), [])  # fmt: skip
    if run["run_type"] in ("tool", "retriever"):
        return told._replace(**_called(run, inputs, outputs))
    for field, role, side in (("inputs", "user", inputs), ("outputs", "assistant", outputs)):
        said = messages_in(side)
        if said and isinstance(side, Mapping) and (more := without(side, *NESTED)):
            rest[field] = more
        # What a chain passes on is no message, but its words count once as well.
        told.messages.extend(said if said or not side else [{"role": role, "content": words_of(side)}])
    return told


def _called(run: Mapping[str, Any], inputs: Any, outputs: Any) -> dict[str, Any]:
    """The call of a tool, its answer, and what stands beside that."""
    given = arguments_in(inputs)
    call = {"name": str(run.get("name") or "tool"),
            "arguments": given if isinstance(given, Mapping) else {"input": given}}  # fmt: skip
    answer = outputs.get("output", outputs) if isinstance(outputs, Mapping) else outputs
    beside: dict[str, Any] = {}
    if isinstance(answer, Mapping) and "tool_call_id" in answer and "content" in answer:  # a message of a tool
        beside, answer = without(answer, "content", "type", "name"), answer["content"]
    return {"call": call, "answer": text_of(answer or run.get("error")), "beside": beside}


def run_of(record: Any) -> dict[str, Any] | None:
    """A record of Langfuse, OpenAI's Agents SDK or Weave as a LangSmith run; None if it is none."""
    if not isinstance(record, Mapping) or "run_type" in record:
        return None
    return next((run for read in _TRACERS if (run := read(record)) is not None), None)


def _langfuse_trace(record: Mapping[str, Any]) -> dict[str, Any] | None:
    """A trace of Langfuse: its observations are the runs inside it, in the order in which they began."""
    observations = record.get("observations")
    if not isinstance(observations, list) or not all(isinstance(entry, Mapping) for entry in observations):
        return None
    trace = record.get("id") or record.get("traceId")
    begun = sorted(observations, key=lambda entry: str(entry.get("startTime") or ""))
    return {**without(record, *_OBSERVED), "run_type": "chain", "trace_id": trace,
            "start_time": record.get("timestamp"), "inputs": record.get("input"), "outputs": record.get("output"),
            "child_runs": [_observation(entry, parent=trace) for entry in begun]}  # fmt: skip


def _langfuse_observation(record: Mapping[str, Any]) -> dict[str, Any] | None:
    trace = record.get("traceId")
    if trace is None or "startTime" not in record or str(record.get("type")).lower() not in _KINDS:
        return None
    return {"trace_id": trace, **_observation(record, parent=trace)}


def _observation(entry: Mapping[str, Any], *, parent: Any) -> dict[str, Any]:
    """An observation of Langfuse as a run."""
    kind = _KINDS.get(str(entry.get("type")).lower(), "chain")
    called = kind == "chain" and isinstance(entry.get("input"), Mapping) and entry.get("output") is not None
    return {**without(entry, *_OBSERVED), "run_type": "tool" if called else kind, "start_time": entry.get("startTime"),
            "observation_type": entry.get("type"), "parent_run_id": entry.get("parentObservationId") or parent,
            "inputs": entry.get("input"), "outputs": entry.get("output")}  # fmt: skip


def _agents_trace(record: Mapping[str, Any]) -> dict[str, Any] | None:
    if record.get("object") != "trace" or record.get("id") is None:
        return None
    return {**record, "run_type": "chain", "trace_id": record["id"], "name": record.get("workflow_name")}


def _agents_span(record: Mapping[str, Any]) -> dict[str, Any] | None:
    span = record.get("span_data")
    if not isinstance(span, Mapping) or record.get("trace_id") is None:
        return None
    kind, given = span.get("type"), span.get("input")
    return {**_begun(record, "span_data"), **without(span, "type", "input", "output", "response"),
            "run_type": _KINDS.get(str(kind), "chain"), "span_type": kind, "name": span.get("name") or kind,
            "inputs": arguments_in({"input": given}) if isinstance(given, str) else given,
            "outputs": span.get("output") or span.get("response")}  # fmt: skip


def _weave_call(record: Mapping[str, Any]) -> dict[str, Any] | None:
    operation, inputs = record.get("op_name"), record.get("inputs")
    if not isinstance(operation, str) or "inputs" not in record:
        return None
    kind = "llm" if isinstance(inputs, Mapping) and "messages" in inputs else "tool"
    name = operation.rsplit("/", 1)[-1].split(":")[0]
    return {**_begun(record, "output"), "run_type": kind, "name": name, "outputs": record.get("output")}


def _begun(record: Mapping[str, Any], taken: str) -> dict[str, Any]:
    """The fields of a run, of which one is `taken`, with when and inside which other it began."""
    return {**without(record, taken, "parent_id", "started_at"), "start_time": record.get("started_at"),
            "parent_run_id": record.get("parent_id")}  # fmt: skip


_TRACERS = (_langfuse_trace, _agents_trace, _agents_span, _langfuse_observation, _weave_call)


def arguments_in(inputs: Any) -> Any:
    """The arguments of a tool; those that were printed into one text are read out of it."""
    if not isinstance(inputs, Mapping) or list(inputs) != ["input"] or not isinstance(inputs["input"], str):
        return inputs
    text = inputs["input"].strip()
    if not text.startswith("{") or len(text) > _LITERAL_CHARS or text.count("{") + text.count("[") > 100:
        return inputs
    for read in (orjson.loads, ast.literal_eval):
        try:
            value = orjson.loads(orjson.dumps(read(text)))
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            continue
        return value if isinstance(value, dict) else inputs
    return inputs
