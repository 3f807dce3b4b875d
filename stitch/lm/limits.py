"""Who goes next where only so many calls may be under way at once."""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Places:
    """So many calls may be under way. What has no position in a trajectory, such as a question, need not queue up.

    Of all others, those go first that are nearest to the beginning of their trajectory: the calls of a trajectory are
    made one after the other, and the one that is furthest behind would be the last to end.

    Args:
        count: How many may be under way.
    """

    def __init__(self, count: int) -> None:
        self._free = count
        self._waiting: list[tuple[int, int, threading.Event]] = []
        self._tickets = itertools.count()
        self._lock = threading.Lock()

    @contextmanager
    def taken(self, position: int | None) -> Iterator[None]:
        """Wait for a place, and keep it for as long as this is entered."""
        turn = None
        with self._lock:
            if self._free:
                self._free -= 1
            else:
                turn = threading.Event()
                heapq.heappush(self._waiting, (-1 if position is None else position, next(self._tickets), turn))
        try:
            if turn is not None:
                turn.wait()
        except BaseException:  # Ctrl-C: the place must not be kept for nobody
            self._leave(turn)
            raise
        try:
            yield
        finally:
            self._give_back()

    def _leave(self, turn: threading.Event | None) -> None:
        with self._lock:
            left = [entry for entry in self._waiting if entry[2] is not turn]
            had_none = len(left) < len(self._waiting)
            self._waiting = left
            heapq.heapify(self._waiting)
        if not had_none:
            self._give_back()

    def _give_back(self) -> None:
        with self._lock:
            if self._waiting:
                heapq.heappop(self._waiting)[2].set()
            else:
                self._free += 1
