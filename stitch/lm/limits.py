"""Limits of a model: who goes next where only so many calls may be under way at once, and how calls are given up."""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from typing import Generic, TypeVar

from stitch.errors import CallInterruptedError

T = TypeVar("T")


@dataclass(frozen=True)
class Limits:
    """Limits of a model.

    Attributes:
        timeout_s: How long to wait for a reply.
        retries: How often what is transient is tried again, with growing pauses or those the provider asks for.
        concurrency: How many calls may be under way at once.
        budget_tokens: Tokens that may be spent, prompts and replies together; calls under way may go over it.
        budget_usd: Money that may be spent; needs a price.
        budget_calls: Calls that may be made.
        reply_tokens: The longest reply to ask for; the provider's own limit if None.
    """

    timeout_s: float = 120.0
    retries: int = 3
    concurrency: int = 8
    budget_tokens: int | None = None
    budget_usd: float | None = None
    budget_calls: int | None = None
    reply_tokens: int | None = None


class _Call(Generic[T]):
    """A call in a thread of its own."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self.results: list[T] = []
        self.error: BaseException | None = None

    def run(self, call: Callable[[], T]) -> None:
        try:
            self.results.append(call())
        except BaseException as error:  # noqa: BLE001 - whoever waits raises it
            self.error = error
        finally:
            self.over.set()


class PendingCalls:
    """Calls that wait for somebody else, a provider: who waits for one can be told to give it up.

    A call runs in a thread of its own, because nothing ends a thread that waits for a socket. What is given up goes on
    there until it is answered or the process ends, and nobody hears of it.

    Args:
        name: Of the model, for what is raised.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._waits: set[threading.Event] = set()
        self._interrupted = threading.Event()

    def run(self, call: Callable[[], T]) -> T:
        """Return or raise what a call returns or raises.

        Raises:
            CallInterruptedError: `interrupt` was called before it was over.
        """
        pending = _Call[T]()
        with self._lock:
            self._waits.add(pending.over)
        try:
            self._check()
            within = copy_context().run  # what is bound to the caller, such as where replies are kept, is bound there
            threading.Thread(target=within, args=(pending.run, call), name="stitch-model-call", daemon=True).start()
            pending.over.wait()
        finally:
            with self._lock:
                self._waits.discard(pending.over)
        if pending.error is not None:
            raise pending.error
        if not pending.results:
            self._check()
        return pending.results[0]

    def pause(self, seconds: float) -> None:
        """Wait so long, or until an interruption, which is raised."""
        self._interrupted.wait(seconds)
        self._check()

    def interrupt(self) -> None:
        """Give up all calls, and let no more begin."""
        self._interrupted.set()
        with self._lock:
            for over in self._waits:
                over.set()

    def _check(self) -> None:
        if self._interrupted.is_set():
            raise CallInterruptedError(
                f"the call of model {self._name!r} was given up",
                hint="opening the memory again goes on with its labels",
            )


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
