"""Operations of a memory as spans: `open_memory(..., observers=[TelemetryObserver("trip.memory")])`.

Names and attributes are those of the GenAI conventions for memories as they are in development, and of OpenInference
for retrieval, on one span. Spans hold no word of anybody, unless that is asked for.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from stitch.errors import missing_extra

try:
    from opentelemetry import trace
except ImportError as error:
    raise missing_extra("otel", needed_by=__name__) from error

from stitch import __version__, core

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider


CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""The variable that asks for content, in all that follows the conventions."""

_MOST_DOCUMENTS = 40
_NANOSECONDS = 1_000_000


class TelemetryObserver:
    """Tells the tracer of the process what a memory does; each span stands in the one in which the memory was called.

    Args:
        store_id: What the memory is called in spans.
        capture_content: Whether questions stand in spans; by default, whether the variable of the conventions says so.
        provider: Where spans go; the global one by default.
    """

    def __init__(
        self, store_id: str, *, capture_content: bool | None = None, provider: TracerProvider | None = None
    ) -> None:
        asked = os.environ.get(CAPTURE, "").lower() in ("true", "1")
        self._store_id, self._content = store_id, asked if capture_content is None else capture_content
        self._tracer = trace.get_tracer("stitch", __version__, tracer_provider=provider)

    def notice(self, event: core.MemoryEvent) -> None:
        """Make a span of an event, if it is an operation of the conventions."""
        match event:
            case core.Searched():
                self._span("search_memory", self._of_search(event), milliseconds=event.milliseconds)
            case core.StepsAccepted():
                self._span("create_memory", self._of_steps(event.trajectory, event.steps))
            case core.StepCorrected():
                self._span("update_memory", self._of_steps(event.trajectory, (event.step,)))
            case core.StepsRestored():
                self._span("update_memory", self._of_steps(event.trajectory, event.steps))
            case core.StepsRetired():
                self._span("delete_memory", self._of_steps(event.trajectory, event.steps))
            case core.StepsErased():  # nothing of them may be left in what is told
                self._span("delete_memory", {"gen_ai.memory.record.count": event.steps})
            case core.StepsFailed():
                self._span("create_memory", self._of_steps(event.trajectory, event.steps), failed="steps failed")
            case core.InputRejected():
                self._span("create_memory", {}, failed="input rejected")

    def _of_search(self, event: core.Searched) -> dict[str, Any]:
        about: dict[str, Any] = {
            "gen_ai.memory.record.count": len(event.hits),
            "openinference.span.kind": "RETRIEVER",
            "stitch.decided_by": event.decided_by,
        }
        if event.trajectory is not None:
            about["session.id"] = event.trajectory
        for number, hit in enumerate(event.hits[:_MOST_DOCUMENTS]):
            about[f"retrieval.documents.{number}.document.id"] = hit
            if number < len(event.parts):
                about[f"retrieval.documents.{number}.document.score"] = event.parts[number].get("similarity", 0.0)
        if self._content:
            about |= {"gen_ai.memory.query.text": event.query, "input.value": event.query}
        return about

    def _of_steps(self, trajectory: str, steps: tuple[str, ...]) -> dict[str, Any]:
        about: dict[str, Any] = {"gen_ai.memory.record.count": len(steps), "session.id": trajectory}
        return {**about, "gen_ai.memory.record.id": steps[0]} if len(steps) == 1 else about

    def _span(self, name: str, about: Mapping[str, Any], *, milliseconds: float = 0.0, failed: str = "") -> None:
        ended = time.time_ns()
        attributes = {"gen_ai.operation.name": name, "gen_ai.memory.store.id": self._store_id, **about}
        began = ended - int(milliseconds * _NANOSECONDS)
        span = self._tracer.start_span(name, kind=trace.SpanKind.INTERNAL, attributes=attributes, start_time=began)
        if failed:
            span.set_attribute("error.type", failed)
            span.set_status(trace.StatusCode.ERROR, failed)
        span.end(ended)
