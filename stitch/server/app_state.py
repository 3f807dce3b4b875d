"""The holdings of a server, its bounds, and what each key may cost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from stitch.errors import BudgetSpentError
from stitch.lm import Ledger, read_ledger, sum_up
from stitch.server.threads import Threads

if TYPE_CHECKING:
    from prometheus_client import Metric

    from stitch.lm import Charge
    from stitch.server.access import Access
    from stitch.server.events import EventFeed
    from stitch.server.keys import Caller
    from stitch.server.metrics import Metrics
    from stitch.tenants import Tenants

T = TypeVar("T")


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


class Spending:
    """Knows what each key has led to; a ceiling holds for each.

    Calls are counted for the key whose request led to them: a question at once, labels for the key that added to the
    trajectory last. Sums go on over a restart, for the ledger of the memory names the keys; labels that waited when the
    server ended are nobody's. `earlier` was charged before the server began.
    """

    def __init__(self, ledger: Ledger, *, earlier: Iterable[Charge] = ()) -> None:
        self._ledgers = (Ledger(), ledger)
        for charge in earlier:
            self._ledgers[0].charge(charge)

    def by_key(self) -> Mapping[str, float | None]:
        """Dollars by key; None where a price is not known."""
        spent = [each.keys() for each in self._ledgers]
        keys = dict.fromkeys(key for each in spent for key in each)
        return {key: sum_up(each[key] for each in spent if key in each).cost_usd for key in keys}

    def check(self, caller: Caller) -> None:
        """Refuse what may lead to a call of a model, once the ceiling of the key is reached.

        Raises:
            BudgetSpentError: It is reached; or there is one, and what calls cost is not known.
        """
        by_key = {} if caller.spend_usd is None else self.by_key()
        if caller.spend_usd is None or caller.id not in by_key:
            return
        spent = by_key[caller.id]
        if spent is None:
            raise BudgetSpentError(
                f"key {caller.id} may spend ${caller.spend_usd:g}, and what its calls cost is not known",
                hint="set price_prompt and price_reply, or make a key without --spend-usd",
            )
        if spent >= caller.spend_usd:
            raise BudgetSpentError(
                f"key {caller.id} has spent ${spent:.4f} of ${caller.spend_usd:g} on language models",
                hint="`stitch keys add --spend-usd N` makes one with another ceiling",
            )


@dataclass(kw_only=True, eq=False)
class AppState(Collector):
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

        self.spending = Spending(self.tenants.ledger, earlier=read_ledger(self.tenants.folder / LEDGER_FILE))
        self.threads = Threads(searches=self.limits.searches)
        self.metrics.ask(self)

    def begin_to_close(self) -> None:
        """Let everything end that goes on for as long as a client likes; called in the loop of the server."""
        self.closing.set()
        self.feed.close()

    async def until_closing(self, work: Awaitable[T]) -> T | None:
        """The result of work that goes on for as long as a client likes; None if the server is about to end before."""
        working, ending = asyncio.ensure_future(work), asyncio.ensure_future(self.closing.wait())
        both: set[asyncio.Future[Any]] = {working, ending}
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            # The end goes first: who sends without a pause would never hear of it.
            return None if self.closing.is_set() else working.result()
        finally:
            for each in both:
                each.cancel()
            await asyncio.wait(both)

    def collect(self) -> Iterator[Metric]:
        """Numbers that are asked for when the metrics are read."""
        calls = self.tenants.ledger.total()
        yield GaugeMetricFamily("stitch_event_streams", "Streams of events that are open.", self.feed.readers)
        yield GaugeMetricFamily("stitch_searches_under_way", "Questions under way.", self.threads.searching)
        yield CounterMetricFamily("stitch_model_calls", "Calls of a model.", calls.calls)
        yield CounterMetricFamily("stitch_model_tokens", "Tokens of calls of a model.", calls.tokens)
        said = "Dollars that calls of a model cost to which a key led, where prices are known."
        spent = GaugeMetricFamily("stitch_key_spent_usd", said, labels=["key"])
        for key, usd in self.spending.by_key().items():
            if usd is not None:
                spent.add_metric([key], usd)
        yield spent
