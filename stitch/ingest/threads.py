"""Threads that bring on the trajectories in which steps wait."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from stitch.errors import StitchError

SETTLE_S = 0.05
"""How long a trajectory is left alone after a step: what comes in a burst is labeled together, after it."""
FAILED_S = 5.0
"""After how long what failed is looked at again."""
_PATIENCE_S = 1.0
"""How long a trajectory is left alone at most, however fast steps go on coming."""

Job = tuple[str, str]
"""A tenant and a trajectory."""
ALL_LEFT: Job = ("", "")
"""The job for all that was left in the journal; no trajectory has such a name."""

_log = logging.getLogger(__name__)


class WorkerThreads:
    """Does jobs when they are due, each in one thread at a time, several side by side.

    Only the names of trajectories are kept; the steps that wait are in the journal. The threads begin with the first
    job and end with `close`.
    The work returns after how many seconds to look again, None if nothing waits.
    """

    def __init__(self, work: Callable[[Job], float | None], *, count: int) -> None:
        self._work, self._count = work, count
        self._changed = threading.Condition()
        self._due: dict[Job, float] = {}
        self._since: dict[Job, float] = {}
        self._running: set[Job] = set()
        self._threads: list[threading.Thread] = []
        self.closed = False
        """Whether nothing is to be begun any more."""

    def announce(self, tenant: str, trajectory: str) -> None:
        """Say that steps of a trajectory wait."""
        job, now = (tenant, trajectory), time.monotonic()
        with self._changed:
            since = self._since.setdefault(job, now)
            self._put(job, min(now + SETTLE_S, max(now, since + _PATIENCE_S)))

    def announce_left(self, *, after_s: float) -> None:
        """Say that steps were left in the journal, which are to be looked at after so many seconds."""
        due = time.monotonic() + after_s
        with self._changed:
            if due < self._due.get(ALL_LEFT, float("inf")):
                self._put(ALL_LEFT, due)

    def close(self) -> None:
        """Begin nothing any more, and wait for what is under way; closing twice is harmless."""
        with self._changed:
            self.closed = True
            self._changed.notify_all()
        for thread in self._threads:
            if thread is not threading.current_thread():  # whom an observer closes from
                thread.join()

    def _put(self, job: Job, due: float) -> None:
        if self.closed:
            return
        self._due[job] = due
        self._changed.notify()
        while len(self._threads) < self._count:
            name = f"stitch-worker-{len(self._threads)}"
            self._threads.append(threading.Thread(target=self._run, name=name, daemon=True))
            self._threads[-1].start()

    def _next(self) -> Job | None:
        """The next job whose time has come, waited for; None when closed."""
        with self._changed:
            while not self.closed:
                job = min(self._due.keys() - self._running, key=self._due.__getitem__, default=None)
                waiting_s = None if job is None else self._due[job] - time.monotonic()
                if job is None or (waiting_s or 0) > 0:
                    self._changed.wait(waiting_s)
                    continue
                del self._due[job]
                self._since.pop(job, None)
                self._running.add(job)
                return job
        return None

    def _run(self) -> None:
        while (job := self._next()) is not None:
            what = f"steps of trajectory {job[1]!r}" if job != ALL_LEFT else "steps that were left"
            again_s: float | None = FAILED_S
            try:
                again_s = self._work(job)
            except StitchError as error:  # what was accepted stays so; the next look, `retry` or `recover` goes on
                _log.warning("%s have to wait: %s", what, error)
            except Exception:  # noqa: BLE001 - a thread that ends would leave all others waiting
                _log.exception("%s have to wait", what)
            finally:
                with self._changed:
                    self._running.discard(job)
                    self._changed.notify()  # it may be due again
                    if again_s is not None and job not in self._due:
                        self._put(job, time.monotonic() + again_s)
