"""Search-priority scheduler: work that can be done in pieces stands back for what somebody waits for."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

SLICE_S = 0.004
"""How long at least is worked between two times of standing back: half of what a search takes."""
PATIENCE_S = 0.1
"""How long at most is stood back at a time: whatever waits, work goes on."""
_LATELY_S = 0.25
"""For how long after the last one more are expected."""


class SearchPriority:
    """Scheduler that lets short work go before long work that can be done in pieces.

    Python runs one thread at a time, and takes its turn from one that does not wait only every few milliseconds; a
    search that has to ask for its turn again and again takes several times as long as it would alone. So whoever has
    long work to do calls `stand_back` between two pieces, which waits for what is in a hurry then.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._going = 0
        self._ended = 0
        self._last = float("-inf")
        self._own = threading.local()

    @contextmanager
    def first(self) -> Iterator[None]:
        """Do what is in a hurry."""
        with self._changed:
            self._going += 1
        try:
            yield
        finally:
            with self._changed:
                self._going -= 1
                self._ended += 1
                self._last = time.monotonic()
                self._changed.notify_all()

    @property
    def wanted(self) -> bool:
        """Whether something is in a hurry, or was a moment ago: then pieces had better be small."""
        return self._going > 0 or time.monotonic() - self._last < _LATELY_S

    def stand_back(self) -> None:
        """Wait for what is in a hurry now, but not for what comes after it; to be called with no lock of the store."""
        if not self._going or time.monotonic() - getattr(self._own, "since", 0.0) < SLICE_S:
            return
        with self._changed:
            enough = self._ended + self._going
            self._changed.wait_for(lambda: not self._going or self._ended >= enough, PATIENCE_S)
        self._own.since = time.monotonic()
