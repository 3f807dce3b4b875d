"""The holdings of a server, and its bounds."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from stitch.server.spending import Spending
from stitch.server.threads import Threads

if TYPE_CHECKING:
    from prometheus_client import Metric

    from stitch.server.access import Access
    from stitch.server.events import EventFeed
    from stitch.server.metrics import Metrics
    from stitch.tenants import Tenants


class Limits(NamedTuple):
    """Bounds of what one client may ask at once."""

    body_bytes: int = 32 << 20
    """Of a body that is not read line by line."""
    line_bytes: int = 8 << 20
    """Of a line, where one is read line by line."""
    searches: int = 64
    """Under way or waiting at once; one more is told to come again."""
    streams: int = 1_000
    """Streams of events open at once."""


@dataclass(kw_only=True)
class AppState:
    """The holdings of a server: the memories of its tenants, who may ask, what happens in them, and its bounds."""

    tenants: Tenants
    access: Access
    feed: EventFeed
    metrics: Metrics
    limits: Limits
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the server is about to end: what goes on as long as the client likes ends then."""
    spending: Spending = field(init=False)
    threads: Threads = field(init=False)

    def __post_init__(self) -> None:
        from stitch.lifecycle.folder import LEDGER_FILE
        from stitch.lm import read_ledger

        self.spending = Spending(self.tenants.ledger, earlier=read_ledger(self.tenants.folder / LEDGER_FILE))
        self.threads = Threads(searches=self.limits.searches)
        self.metrics.ask(_LiveMetrics(self))

    def begin_to_close(self) -> None:
        """Let everything end that goes on for as long as a client likes; called in the loop of the server."""
        self.closing.set()
        self.feed.close()


class _LiveMetrics(Collector):
    """Numbers that are asked for when the metrics are read."""

    def __init__(self, served: AppState) -> None:
        self._served = served

    def collect(self) -> Iterator[Metric]:
        """Ask for them."""
        served, calls = self._served, self._served.tenants.ledger.total()
        yield GaugeMetricFamily("stitch_event_streams", "Streams of events that are open.", served.feed.readers)
        yield GaugeMetricFamily("stitch_searches_under_way", "Questions under way.", served.threads.searching)
        yield CounterMetricFamily("stitch_model_calls", "Calls of a model.", calls.calls)
        yield CounterMetricFamily("stitch_model_tokens", "Tokens of calls of a model.", calls.tokens)
        said = "Dollars that calls of a model cost to which a key led, where prices are known."
        spent = GaugeMetricFamily("stitch_key_spent_usd", said, labels=["key"])
        for key, usd in served.spending.by_key().items():
            if usd is not None:
                spent.add_metric([key], usd)
        yield spent
