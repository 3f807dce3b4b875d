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
    if isinstance(record.get("observations"), list):
        return _trace(record)
    if record.get("object") == "trace" and record.get("id") is not None:
        return {**record, "run_type": "chain", "trace_id": record["id"], "name": record.get("workflow_name")}
    if isinstance(span := record.get("span_data"), Mapping) and record.get("trace_id") is not None:
        rest = {key: value for key, value in span.items() if key not in ("type", "input", "output", "response")}
        beside = {key: value for key, value in record.items() if key not in ("span_data", "parent_id", "started_at")}
        given = span.get("output") or span.get("response")
        return {**beside, **rest, "run_type": _KINDS.get(str(span.get("type")), "chain"),
                "span_type": span.get("type"), "name": span.get("name") or span.get("type"),
                "start_time": record.get("started_at"), "parent_run_id": record.get("parent_id"),
                "inputs": _arguments(span.get("input")), "outputs": given}  # fmt: skip
    if record.get("traceId") is not None and "startTime" in record and _KINDS.get(str(record.get("type")).lower()):
        return {"trace_id": record["traceId"], **_observation(record, parent=record["traceId"])}
    if isinstance(record.get("op_name"), str) and "inputs" in record:
        name = record["op_name"].rsplit("/", 1)[-1].split(":")[0]
        rest = {key: value for key, value in record.items() if key not in ("output", "started_at", "parent_id")}
        kind = "llm" if isinstance(record["inputs"], Mapping) and "messages" in record["inputs"] else "tool"
        return {**rest, "run_type": kind, "name": name, "start_time": record.get("started_at"),
                "parent_run_id": record.get("parent_id"), "outputs": record.get("output")}  # fmt: skip
    return None


def _trace(record: Mapping[str, Any]) -> dict[str, Any]:
    """A trace of Langfuse: its observations are the runs inside it, in the order in which they began."""
    observations = [entry for entry in record["observations"] if isinstance(entry, Mapping)]
    trace = record.get("id") or record.get("traceId")
    begun = sorted(observations, key=lambda entry: str(entry.get("startTime") or ""))
    children = [_observation(entry, parent=trace) for entry in begun]
    rest = {key: value for key, value in record.items() if key not in _OBSERVED}
    return {**rest, "run_type": "chain", "trace_id": trace, "start_time": record.get("timestamp"),
            "inputs": record.get("input"), "outputs": record.get("output"), "child_runs": children}  # fmt: skip


def _observation(entry: Mapping[str, Any], *, parent: Any) -> dict[str, Any]:
    """An observation of Langfuse as a run."""
    rest = {key: value for key, value in entry.items() if key not in _OBSERVED}
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
