"""Threads in which labels follow: they bring on the trajectories in which accepted steps wait for labels."""

from __future__ import annotations

import heapq
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from stitch.errors import StitchError

SETTLE_S = 0.05
"""How long a trajectory is left alone after a step: what comes in a burst is labeled together, after it."""
_PATIENCE_S = 1.0
"""How long at most, however fast steps go on coming."""
_FAILED_S = 5.0
"""After how long what failed is looked at again."""

_log = logging.getLogger(__name__)

Key = tuple[str, str]
"""A tenant and a trajectory."""


class LabelThreads:
    """Works on trajectories that were announced, each in one thread at a time, several side by side.

    Only the names of trajectories are kept; the steps that wait are in the journal. The threads begin with the first
    announcement and end with `close`.
    The work returns after how many seconds to look again, None if nothing waits.
    """

    def __init__(self, work: Callable[[str, str], float | None], *, count: int) -> None:
        self._work = work
        self.count = count
        """How many threads there are at most."""
        self._changed = threading.Condition()
        self._due: dict[Key, float] = {}
        self._since: dict[Key, float] = {}
        self._order: list[tuple[float, Key]] = []
        self._running: set[Key] = set()
        self._threads: list[threading.Thread] = []
        self._closed = False

    def announce(self, tenant: str, trajectory: str) -> None:
        """Say that steps of a trajectory wait."""
        key, now = (tenant, trajectory), time.monotonic()
        with self._changed:
            if self._closed:
                return
            since = self._since.setdefault(key, now)
            self._put(key, min(now + SETTLE_S, max(now, since + _PATIENCE_S)))
            while len(self._threads) < self.count:
                name = f"stitch-labels-{len(self._threads)}"
                self._threads.append(threading.Thread(target=self._run, name=name, daemon=True))
                self._threads[-1].start()

    def finish(self, keys: Sequence[Key], work: Callable[[str, str], object], *, interrupt: Callable[[], None]) -> None:
        """Do a piece of work for each of some trajectories, as many side by side, and wait for all.

        `interrupt` is called if Ctrl-C comes: the work ends when the calls that it waits for do.
        """
        with ThreadPoolExecutor(self.count) as pool:
            try:
                deque(pool.map(work, *zip(*keys, strict=True)), maxlen=0)
            except BaseException as error:
                if not isinstance(error, Exception):
                    interrupt()
                raise

    def close(self) -> None:
        """Begin nothing any more, and wait for what is under way; closing twice is harmless."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()

    def _put(self, key: Key, due: float) -> None:
        self._due[key] = due
        heapq.heappush(self._order, (due, key))
        self._changed.notify()

    def _next(self) -> Key | None:
        """The next trajectory whose time has come, waited for; None when closed."""
        with self._changed:
            while not self._closed:
                while self._order and self._due.get(self._order[0][1]) != self._order[0][0]:
                    heapq.heappop(self._order)  # put off, or taken meanwhile
                if not self._order:
                    self._changed.wait()
                    continue
                due, key = self._order[0]
                if (waiting_s := due - time.monotonic()) > 0:
                    self._changed.wait(waiting_s)
                    continue
                heapq.heappop(self._order)
                if key in self._running:
                    self._put(key, time.monotonic() + SETTLE_S)
                    continue
                del self._due[key]
                self._since.pop(key, None)
                self._running.add(key)
                return key
        return None

    def _run(self) -> None:
        while (key := self._next()) is not None:
            again_s: float | None = _FAILED_S
            try:
                again_s = self._work(*key)
            except StitchError as error:  # what was accepted stays so; the next look, `retry` or `recover` goes on
                _log.warning("labels of trajectory %r have to wait: %s", key[1], error)
            except Exception:  # noqa: BLE001 - a thread that ends would leave all others waiting
                _log.exception("labels of trajectory %r have to wait", key[1])
            finally:
                with self._changed:
                    self._running.discard(key)
                    if again_s is not None and key not in self._due and not self._closed:
                        self._put(key, time.monotonic() + again_s)
