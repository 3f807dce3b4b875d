"""Traces: OpenTelemetry spans, LangSmith runs, and the runs of other tracers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from typing_extensions import TypedDict

from stitch.sources.recognizing import FileReading, Format, TrajectoryRow, with_fields, with_list
from stitch.sources.runs import run_of
from stitch.sources.spans import is_span


class Span(TypedDict, total=False):
    """A span, in the JSON of OTLP or as the console exporter prints it; many exporters spell its fields otherwise."""

    name: str
    traceId: str
    spanId: str
    attributes: dict[str, Any] | list[Any]
    events: list[dict[str, Any]]
    startTimeUnixNano: int | str


class Export(TypedDict, total=False):
    """An OTLP export."""

    resourceSpans: list[dict[str, Any]]
    resourceLogs: list[dict[str, Any]]


class Run(TypedDict, total=False):
    """A run of LangSmith."""

    id: str
    trace_id: str
    name: str
    run_type: str
    inputs: Any
    outputs: Any
    child_runs: list[Any]
    start_time: str


class OtherRun(TypedDict, total=False):
    """A trace or observation of Langfuse, a span of OpenAI's Agents SDK, or a call of Weave."""

    id: str
    trace_id: str
    traceId: str
    span_data: dict[str, Any]
    observations: list[Any]
    op_name: str


def is_export(record: Any) -> bool:
    """Whether it is an OTLP export."""
    return with_list("resourceSpans")(record) or with_list("resourceLogs")(record)


def _export(record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
    return reading.traces.export(record)


def _span(record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
    return reading.traces.named_span(record)


def _run(record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
    return reading.traces.named_run(record)


def _other_run(record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
    return reading.traces.named_run(run_of(record) or {})


EXPORT = Format("OpenTelemetry export", is_export, _export, model=Export)
SPAN = Format("OpenTelemetry span", is_span, _span, model=Span)
RUN = Format("LangSmith run", with_fields("inputs", run_type=str), _run, model=Run)
OTHER_RUN = Format("run of another tracer", lambda record: run_of(record) is not None, _other_run, model=OtherRun)
