"""Runs as other tracers log them, in the form of LangSmith's, which `TraceReader` reads."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

import orjson

_KINDS = {"generation": "llm", "response": "llm", "llm": "llm", "chat_model": "llm", "function": "tool", "tool": "tool",
          "mcp_tool": "tool", "retriever": "retriever", "embedding": "chain", "span": "chain", "event": "chain",
          "agent": "chain", "chain": "chain"}  # fmt: skip
_LITERAL_CHARS = 20_000
_OBSERVED = ("observations", "input", "output", "timestamp", "startTime", "type")


def run_of(record: Any) -> dict[str, Any] | None:
    """A record of Langfuse, OpenAI's Agents SDK or Weave as a LangSmith run; None if it is none."""
    if not isinstance(record, Mapping) or "run_type" in record:
        return None
    return next((run for read in _TRACERS if (run := read(record)) is not None), None)


def _langfuse_trace(record: Mapping[str, Any]) -> dict[str, Any] | None:
    return _trace(record) if isinstance(record.get("observations"), list) else None


def _agents_trace(record: Mapping[str, Any]) -> dict[str, Any] | None:
    if record.get("object") != "trace" or record.get("id") is None:
        return None
    return {**record, "run_type": "chain", "trace_id": record["id"], "name": record.get("workflow_name")}


def _agents_span(record: Mapping[str, Any]) -> dict[str, Any] | None:
    span = record.get("span_data")
    if not isinstance(span, Mapping) or record.get("trace_id") is None:
        return None
    kind = span.get("type")
    return {
        **_without(record, "span_data", "parent_id", "started_at"),
        **_without(span, "type", "input", "output", "response"),
        "run_type": _KINDS.get(str(kind), "chain"),
        "span_type": kind,
        "name": span.get("name") or kind,
        "start_time": record.get("started_at"),
        "parent_run_id": record.get("parent_id"),
        "inputs": _arguments(span.get("input")),
        "outputs": span.get("output") or span.get("response"),
    }


def _langfuse_observation(record: Mapping[str, Any]) -> dict[str, Any] | None:
    trace = record.get("traceId")
    if trace is None or "startTime" not in record or str(record.get("type")).lower() not in _KINDS:
        return None
    return {"trace_id": trace, **_observation(record, parent=trace)}


def _weave_call(record: Mapping[str, Any]) -> dict[str, Any] | None:
    operation = record.get("op_name")
    if not isinstance(operation, str) or "inputs" not in record:
        return None
    inputs = record["inputs"]
    return {
        **_without(record, "output", "started_at", "parent_id"),
        "run_type": "llm" if isinstance(inputs, Mapping) and "messages" in inputs else "tool",
        "name": operation.rsplit("/", 1)[-1].split(":")[0],
        "start_time": record.get("started_at"),
        "parent_run_id": record.get("parent_id"),
        "outputs": record.get("output"),
    }


_TRACERS = (_langfuse_trace, _agents_trace, _agents_span, _langfuse_observation, _weave_call)


def _without(record: Mapping[str, Any], *fields: str) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key not in fields}


def _trace(record: Mapping[str, Any]) -> dict[str, Any]:
    """A trace of Langfuse: its observations are the runs inside it, in the order in which they began."""
    observations = [entry for entry in record["observations"] if isinstance(entry, Mapping)]
    trace = record.get("id") or record.get("traceId")
    begun = sorted(observations, key=lambda entry: str(entry.get("startTime") or ""))
    children = [_observation(entry, parent=trace) for entry in begun]
    rest = _without(record, *_OBSERVED)
    return {**rest, "run_type": "chain", "trace_id": trace, "start_time": record.get("timestamp"),
            "inputs": record.get("input"), "outputs": record.get("output"), "child_runs": children}  # fmt: skip


def _observation(entry: Mapping[str, Any], *, parent: Any) -> dict[str, Any]:
    """An observation of Langfuse as a run."""
    rest = _without(entry, *_OBSERVED)
    kind = _KINDS.get(str(entry.get("type")).lower(), "chain")
    called = kind == "chain" and isinstance(entry.get("input"), Mapping) and entry.get("output") is not None
    return {**rest, "run_type": "tool" if called else kind, "start_time": entry.get("startTime"),
            "observation_type": entry.get("type"), "parent_run_id": entry.get("parentObservationId") or parent,
            "inputs": _arguments(entry.get("input")) if called else entry.get("input"),
            "outputs": entry.get("output")}  # fmt: skip


def _arguments(given: Any) -> Any:
    return arguments_in({"input": given}) if isinstance(given, str) else given


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
