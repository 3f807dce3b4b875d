"""Numbers of a server as OpenMetrics: how often, how long, how much; no text and no name of a tenant is in them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST as CONTENT_TYPE
from prometheus_client.openmetrics.exposition import generate_latest

from stitch.core import (
    MemoryEvent,
    Searched,
    StepsAccepted,
    StepsErased,
    StepsFailed,
    StepsRestored,
    StepsRetired,
    StepsStored,
    StoreAway,
    StoreBack,
)

if TYPE_CHECKING:
    from prometheus_client.registry import Collector

__all__ = ["CONTENT_TYPE", "Metrics"]

BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_STATES: dict[type[MemoryEvent], str] = {
    StepsAccepted: "accepted",
    StepsStored: "stored",
    StepsFailed: "failed",
    StepsRetired: "retired",
    StepsRestored: "restored",
    StepsErased: "erased",
}


class Metrics:
    """Counts what a server does; as an observer, what happens in the memory."""

    def __init__(self) -> None:
        own = self._registry = CollectorRegistry()
        self._requests = Counter("stitch_requests", "Requests answered.", ["operation", "status"], registry=own)
        self._seconds = Histogram(
            "stitch_request_seconds", "How long requests took.", ["operation"], buckets=BUCKETS_S, registry=own
        )
        self._steps = Counter("stitch_steps", "Steps by what became of them.", ["state"], registry=own)
        self._searches = Counter("stitch_searches", "Questions answered.", registry=own)
        self._away = Gauge("stitch_store_away", "1 while the store cannot be reached.", registry=own)
        began = Gauge("process_start_time_seconds", "When the server began, in Unix seconds.", registry=own)
        began.set(round(time.time(), 3))

    def ask(self, other: Collector) -> None:
        """Show also what is known elsewhere, whenever they are read."""
        self._registry.register(other)

    def answered(self, operation: str, *, status: int, seconds: float) -> None:
        """Count a request, by an operation of one of few names; seconds go from its first byte to its last."""
        self._requests.labels(operation, status).inc()
        self._seconds.labels(operation).observe(seconds)

    def notice(self, event: MemoryEvent) -> None:
        """Count what happens in the memory."""
        if (state := _STATES.get(type(event))) is not None:
            steps = getattr(event, "steps", ())
            self._steps.labels(state).inc(steps if isinstance(steps, int) else len(steps))
        elif isinstance(event, Searched):
            self._searches.inc()
        elif isinstance(event, StoreAway | StoreBack):
            self._away.set(isinstance(event, StoreAway))

    def show(self) -> bytes:
        """All of them, as a scraper reads them."""
        return bytes(generate_latest(self._registry))  # type: ignore[no-untyped-call]
