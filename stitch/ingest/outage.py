"""What waits for a store that cannot be reached, and who puts it once the store is back."""

from __future__ import annotations

import logging
import threading
from itertools import islice

from stitch.core import StepState
from stitch.errors import StitchError, StoreUnavailableError
from stitch.ingest.pipeline import StepPipeline
from stitch.ingest.reach import StoreReach
from stitch.ingest.state import BATCH_STEPS, TrajectoryStates
from stitch.ingest.writing import SnippetWriter
from stitch.journal import Journal

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 30.0
"""After how long a store that is away is tried again: at first, and at most; each pause is twice the one before."""

_PROBE_STEPS = 16
"""So many steps are put to see whether it is back."""

_OPEN = (StepState.ACCEPTED, StepState.LABELED, StepState.FAILED)

_log = logging.getLogger(__name__)


class WaitingSteps:
    """The steps that wait for the store: they are in the journal, and nothing of them is kept here.

    Once the store is lost, a thread tries to put them, with growing pauses, until all are stored.
    """

    def __init__(
        self,
        *,
        journal: Journal,
        states: TrajectoryStates,
        pipeline: StepPipeline,
        writer: SnippetWriter,
        reach: StoreReach,
    ) -> None:
        self._journal, self._states, self._pipeline = journal, states, pipeline
        self._writer, self._reach = writer, reach
        self._changed = threading.Condition()
        self._attempt = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False
        self.pending = False
        """Whether some may wait."""

    def begin(self) -> None:
        """Take note that the store is lost, and try again from now on."""
        with self._changed:
            self.pending = True
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="stitch-store", daemon=True)
                self._thread.start()

    def put(self) -> bool:
        """Put all that waits, now; return whether that came to its end."""
        with self._attempt:
            if not self.pending:
                return True
            done = self._put_all()
            with self._changed:
                self.pending = not done or bool(self._reach.reason)  # it may be lost again meanwhile
                self._changed.notify_all()
                return not self.pending

    def close(self) -> None:
        """Try no more, and wait for what is under way; closing twice is harmless."""
        with self._changed:
            self._closed = True
            thread = self._thread
            self._changed.notify_all()
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        pause_s = FIRST_PAUSE_S
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or not self.pending, pause_s)
                if self._closed or not self.pending:
                    self._thread = None
                    return
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
            try:
                self.put()
            except StitchError as error:
                _log.warning("steps that wait for the store have to wait longer: %s", error)
            except Exception:  # noqa: BLE001 - a thread that ends would leave them waiting
                _log.exception("steps that wait for the store have to wait longer")

    def _put_all(self) -> bool:
        while True:
            losses, away = self._reach.losses, bool(self._reach.reason)
            try:
                if not self._put_once():
                    return False
            except StoreUnavailableError as error:
                self._reach.lose(error)
                return False
            self._reach.regain()
            # Whoever found it away until now has let steps wait that may have been looked for too early.
            if not away and losses == self._reach.losses:
                return True

    def _put_once(self) -> bool:
        for tenant, trajectory in self._journal.unfinished(_OPEN):
            if not self._put_trajectory(tenant, trajectory):
                return False
        for tenant, trajectory in self._writer.owed:
            with self._states.held(tenant, trajectory):
                self._writer.settle(tenant, trajectory)
        return True

    def _put_trajectory(self, tenant: str, trajectory: str) -> bool:
        """Put what waits of a trajectory, a batch at a time, so that others can add to it; whether that went well."""
        start: int | None = 0
        while start is not None and not self._closed:
            size = _PROBE_STEPS if self._reach.reason else BATCH_STEPS
            with self._states.held(tenant, trajectory) as state:
                entries = self._journal.entries(tenant, trajectory, start=start, states=_OPEN)
                batch = list(islice(entries, size))
                self._pipeline.put_waiting(state, batch)
            if self._reach.reason:
                return False
            start = batch[-1].position + 1 if len(batch) == size else None
        return start is None
