"""Server-sent events of a memory: each tenant's own, numbered, so that a reader who was away goes on.

A tenant's last events are kept once for all who read them, and a reader is a place among them: a thousand of them cost
no more than their connections. Nothing is kept of a tenant whose events nobody has asked for.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections import deque
from collections.abc import AsyncGenerator
from itertools import islice

import orjson

from stitch.core import MemoryEvent, StepsErased

MOST_EVENTS, MOST_BYTES = 1_024, 1 << 20
"""How much is kept of a tenant; a reader that is further behind is cut off."""
MOST_IDLE = 64
"""Of how many tenants events are kept that nobody reads at the moment."""
GATHER_S = 0.02
"""For how long a reader gathers events that come, before they are sent."""

_OF_WHAT = re.compile("^(Steps?|Store|Input|Labels)")
_ID = re.compile(r"([0-9a-f]{8})-(\d{1,18})")


class _Ring:
    """The last events of a tenant."""

    def __init__(self) -> None:
        self.epoch = secrets.token_hex(4)
        """Part of every id: numbers of another process, or of a ring that was thrown away, mean nothing here."""
        self.kept = deque[bytes]()
        self.size = 0
        self.last = 0
        self.readers = 0
        self.changed = asyncio.Event()

    def put(self, name: str, fields: dict[str, object]) -> None:
        self.last += 1
        data = orjson.dumps(fields)
        wire = b"id: %s-%d\nevent: %s\ndata: %s\n\n" % (self.epoch.encode(), self.last, name.encode(), data)
        self.kept.append(wire)
        self.size += len(wire)
        while len(self.kept) > MOST_EVENTS or (self.size > MOST_BYTES and len(self.kept) > 1):
            self.size -= len(self.kept.popleft())
        self.changed.set()

    def forget(self) -> None:
        """Let go of what was told; who has not read it learns that something is missing."""
        self.kept.clear()
        self.size = 0

    def after(self, place: int) -> list[bytes] | None:
        """The events after a place, in order; None if some of them are not kept any more."""
        behind = self.last - place
        return None if behind > len(self.kept) else list(islice(self.kept, len(self.kept) - behind, None))


class EventFeed:
    """Takes note of what happens, from any thread, and tells readers of it in the loop of the server."""

    def __init__(self) -> None:
        self._rings: dict[str, _Ring] = {}
        """By tenant; they change in the loop alone."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    @property
    def readers(self) -> int:
        """The number of readers at the moment."""
        return sum(ring.readers for ring in self._rings.values())

    def notice(self, event: MemoryEvent) -> None:
        """Take note of an event; costs next to nothing where nobody has asked for the tenant's."""
        tenant = getattr(event, "tenant", None)
        if self._loop is not None and not self._closed and (tenant is None or tenant in self._rings):
            self._loop.call_soon_threadsafe(self._put, event, tenant)

    async def read(self, tenant: str, *, after: str | None) -> AsyncGenerator[bytes, None]:
        """Yield what happens to a tenant, as it goes over the wire, until the server ends or the reader is too slow.

        It begins behind the event with the id `after`, or now if None. If what followed it is not known any more,
        `missed` is told first.
        """
        ring = self._begin(tenant)
        try:
            place = _place(ring, after)
            if place is None:
                place = ring.last
                yield _said("missed", ring)
            else:
                yield _said("ready", ring, at=place)
            while not self._closed:
                coming, place = ring.after(place), ring.last
                ring.changed.clear()
                if coming is None:
                    yield _said("missed", ring)
                    return
                if coming:
                    yield b"".join(coming)
                    continue
                await ring.changed.wait()
                await asyncio.sleep(GATHER_S)
            yield _said("closing", ring, at=place)
        finally:
            ring.readers -= 1

    def close(self) -> None:
        """End all readers once they have received every event; called in the loop."""
        self._closed = True
        for ring in self._rings.values():
            ring.changed.set()

    def _begin(self, tenant: str) -> _Ring:
        """The ring of a tenant, with one reader more; of tenants that nobody reads, the longest idle are let go."""
        self._loop = asyncio.get_running_loop()
        ring = self._rings.pop(tenant, None) or _Ring()
        self._rings[tenant] = ring  # behind all others: it was asked for last
        ring.readers += 1
        idle = [name for name, each in self._rings.items() if not each.readers]
        for name in idle[: max(0, len(idle) - MOST_IDLE)]:
            del self._rings[name]
        return ring

    def _put(self, event: MemoryEvent, tenant: str | None) -> None:
        name = _OF_WHAT.sub("", type(event).__name__).lower()  # `StepsStored` is `stored` on the wire
        fields = event.model_dump(mode="json", exclude={"tenant"})
        for ring in [each for whose, each in self._rings.items() if tenant in (None, whose)]:
            if isinstance(event, StepsErased):
                ring.forget()  # questions and labels that were told may hold words of what is gone
            ring.put(name, fields)


def _place(ring: _Ring, after: str | None) -> int | None:
    """The place where a reader goes on; None if that is not known, or what followed is not kept any more."""
    if after is None:
        return ring.last
    form = _ID.fullmatch(after.strip())
    if form is None or form[1] != ring.epoch or int(form[2]) > ring.last:
        return None
    return int(form[2]) if ring.after(int(form[2])) is not None else None


def _said(name: str, ring: _Ring, *, at: int | None = None) -> bytes:
    """An event about the reading itself; its id is the place from which to go on."""
    place = ring.last if at is None else at
    return b"id: %s-%d\nevent: %s\ndata: {}\n\n" % (ring.epoch.encode(), place, name.encode())
