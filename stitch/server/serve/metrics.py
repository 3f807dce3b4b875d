"""Numbers of a server as OpenMetrics: how often, how long, how much; no text and no name of a tenant is in them."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from stitch.core import (
    MemoryEvent,
    Searched,
    StepsAccepted,
    StepsErased,
    StepsFailed,
    StepsRetired,
    StepsStored,
    StoreAway,
    StoreBack,
)

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

Labels = tuple[tuple[str, str], ...]


class Gauge(NamedTuple):
    """A number that is asked for when the metrics are read."""

    name: str
    help: str
    read: Callable[[], Mapping[Labels, float]]
    kind: str = "gauge"
    """Or `counter`: then it never falls."""


class _Times:
    """How long requests of one kind took."""

    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKETS_S) + 1)
        self.total_s = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BUCKETS_S, seconds)] += 1
        self.total_s += seconds


class Metrics:
    """Counts what a server does. Safe for threads; as an observer it counts what happens in the memory."""

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._gauges: list[Gauge] = []
        self._started = clock()
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._times: dict[str, _Times] = {}
        self._steps: Counter[str] = Counter()
        self._searches = 0
        self._away = False

    def ask(self, gauge: Gauge) -> None:
        """Show a number too that is known elsewhere."""
        self._gauges.append(gauge)

    def answered(self, operation: str, *, status: int, seconds: float) -> None:
        """Count a request.

        An operation has one of few names, whatever the request was; seconds go from its first byte to its last.
        """
        with self._lock:
            self._requests[operation, status] += 1
            self._times.setdefault(operation, _Times()).add(seconds)

    def notice(self, event: MemoryEvent) -> None:
        """Count what happens in the memory."""
        with self._lock:
            if isinstance(event, StepsAccepted):
                self._steps["accepted"] += len(event.steps)
            elif isinstance(event, StepsStored):
                self._steps["stored"] += len(event.steps)
            elif isinstance(event, StepsFailed):
                self._steps["failed"] += len(event.steps)
            elif isinstance(event, StepsRetired):
                self._steps["retired"] += len(event.steps)
            elif isinstance(event, StepsErased):
                self._steps["erased"] += event.steps
            elif isinstance(event, Searched):
                self._searches += 1
            elif isinstance(event, StoreAway | StoreBack):
                self._away = isinstance(event, StoreAway)

    @property
    def away(self) -> bool:
        """Whether the store could not be reached when it was last heard of."""
        return self._away

    def show(self) -> bytes:
        """All of them, as a scraper reads them."""
        return "".join(f"{line}\n" for line in self._lines()).encode()

    def _lines(self) -> Iterator[str]:
        with self._lock:
            requests, steps = dict(self._requests), dict(self._steps)
            times = {name: (tuple(each.counts), each.total_s) for name, each in self._times.items()}
            searches, away = self._searches, self._away
        yield from _family("stitch_requests", "counter", "Requests answered.", {
            (("operation", name), ("status", str(status))): count for (name, status), count in requests.items()
        })  # fmt: skip
        yield from _head("stitch_request_seconds", "histogram", "How long requests took.", unit="seconds")
        for name, (counts, total_s) in sorted(times.items()):
            so_far = 0
            for bound, count in zip((*map(str, BUCKETS_S), "+Inf"), counts, strict=True):
                so_far += count
                yield _sample("stitch_request_seconds_bucket", (("operation", name), ("le", bound)), so_far)
            yield _sample("stitch_request_seconds_count", (("operation", name),), so_far)
            yield _sample("stitch_request_seconds_sum", (("operation", name),), round(total_s, 6))
        yield from _family(
            "stitch_steps", "counter", "Steps by what became of them since the server began.",
            {(("state", state),): count for state, count in steps.items()},
        )  # fmt: skip
        yield from _family("stitch_searches", "counter", "Questions answered.", {(): searches})
        yield from _family("stitch_store_away", "gauge", "1 while the store cannot be reached.", {(): int(away)})
        for gauge in self._gauges:
            yield from _family(gauge.name, gauge.kind, gauge.help, gauge.read())
        yield from _family(
            "process_start_time_seconds", "gauge", "When the server began, in Unix seconds.",
            {(): round(self._started, 3)}, unit="seconds",
        )  # fmt: skip
        yield "# EOF"


def _family(name: str, kind: str, said: str, samples: Mapping[Labels, float], *, unit: str = "") -> Iterator[str]:
    yield from _head(name, kind, said, unit=unit)
    for labels, value in sorted(samples.items()):
        yield _sample(f"{name}_total" if kind == "counter" else name, labels, value)


def _head(name: str, kind: str, said: str, *, unit: str = "") -> Iterator[str]:
    yield f"# TYPE {name} {kind}"
    if unit:
        yield f"# UNIT {name} {unit}"
    yield f"# HELP {name} {said}"


def _sample(name: str, labels: Labels, value: float) -> str:
    marked = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels)
    return f"{name}{{{marked}}} {value}" if labels else f"{name} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
