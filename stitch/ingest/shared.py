"""Labels made by workers: processes that do what others accepted into a journal that all of them share."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

from stitch.core import StepState
from stitch.errors import ConflictError, StoreUnavailableError
from stitch.ingest.state import TrajectoryState
from stitch.ingest.threads import Job
from stitch.ingest.worker import UNFINISHED, Worker
from stitch.journal import Entry

STORE_PAUSE_S = 5.0
"""Seconds after which a store that is away is tried again."""


class DelegatingWorker(Worker):
    """Leaves labels to workers: steps are accepted here, and their jobs stand in the journal's database by then.

    What somebody corrects here is put here.
    """

    follows = True

    def announce(self, tenant: str, trajectory: str) -> None:
        """Nothing: the transaction that accepted the steps has done so."""

    def show(self, entries: Sequence[Entry]) -> None:
        """Nothing: a worker puts them."""

    def advance(
        self, state: TrajectoryState, entries: Iterable[Entry], blocked: str = "", *, awaited: bool = True
    ) -> Iterator[Entry]:
        """Put entries that have labels; wait for a worker where some have none."""
        given = list(entries)
        labeled = [entry for entry in given if entry.labels is not None]
        yield from super().advance(state, labeled, blocked, awaited=awaited)
        if len(labeled) < len(given):
            self.journal.queue.finish([(state.tenant, state.trajectory)])

    def finish(self, tenant: str, trajectory: str) -> int:
        """Wait until a worker has done what it can of a trajectory; return how many steps were open."""
        count = sum(1 for _ in self.journal.entries(tenant, trajectory, states=UNFINISHED))
        self.journal.queue.finish([(tenant, trajectory)])
        return count

    def finish_all(self, trajectories: Sequence[Job], *, interrupt: Callable[[], None]) -> None:
        """Wait until workers have done what they can of trajectories."""
        self.journal.queue.finish(trajectories)

    def put_left(self, *, found: bool = True) -> None:
        """Nothing: workers do."""


class FencedWorker(Worker):
    """Labels and puts what other processes accepted, one trajectory a call.

    No trajectory is held in the database while a model is asked. What this writes fails instead, if somebody else has
    changed the trajectory meanwhile; so a worker that stood still and comes back late changes nothing. What it may have
    put by then is put as the journal says.
    """

    def __init__(self, **parts: Any) -> None:
        super().__init__(**parts)
        self._away_until = 0.0
        self._put_by_state: dict[Job, list[Entry]] = {}

    def work(self, tenant: str, trajectory: str, *, upto: int = 0, whole: bool = False) -> int:
        """Bring a trajectory as far as it can come.

        The steps before the position `upto` have waited for their window long enough. With `whole` no step is let wait,
        and what failed is tried again.

        Returns:
            The position up to which steps wait for a window; 0 if none does.

        Raises:
            ConflictError: Somebody else has changed it meanwhile; what is left is to be done again.
            StoreUnavailableError: The store is away; what is labeled waits.
        """
        put = self._put_by_state[tenant, trajectory] = []
        try:
            with self.held(tenant, trajectory) as state:
                left = UNFINISHED if whole else (StepState.LABELED,)
                self.work_off(state, self.accepted(state, states=left), awaited=True)
                waiting, more = list[Entry](), True
                while more:
                    _, waiting, more = self.label_next(state, awaited=True, upto=upto)
                self.show(self.snippets.missing(waiting))
            self.flushed()
        except ConflictError:
            self._put_again(tenant, trajectory, put)
            raise
        finally:
            del self._put_by_state[tenant, trajectory]
        if self.store_health.reason:
            self.store_health.check()
        return waiting[-1].position + 1 if waiting else 0

    def accepted(
        self, state: TrajectoryState, *, start: int = 0, states: Collection[StepState] = tuple(StepState)
    ) -> Iterator[Entry]:
        """The steps of a trajectory, also those that others accept meanwhile: nobody has put them yet."""
        return self.journal.entries(state.tenant, state.trajectory, start=start, states=states)

    def _put_snippets(self, entries: Sequence[Entry], *, with_vectors: bool, stand_back: Callable[[], None]) -> None:
        if time.monotonic() < self._away_until:
            self.store_health.check()
        try:
            self.snippets.put(self.snippets.records(entries))
        except StoreUnavailableError as error:
            self.lose(error)
            raise
        self.store_health.regain()
        self._put_by_state[entries[0].tenant, entries[0].trajectory] += entries

    def _put_again(self, tenant: str, trajectory: str, put: Sequence[Entry]) -> None:
        """Bring steps that were put up to the journal: erase those that are gone, put the others again."""
        there = {entry.id for entry in self.journal.entries_of([each.seq for each in put])}
        if gone := [each.id for each in put if each.id not in there]:
            self.snippets.erase(tenant, trajectory=trajectory, steps=gone)
        again = (self.journal.entry(tenant, trajectory, each.id) for each in put)
        self.snippets.bring_up([each.seq for each in again if each is not None])

    def _leave(self, *, after_s: float = 0.0) -> None:
        """Take note that the store is away: the queue knows what waits."""
        self._away_until = time.monotonic() + STORE_PAUSE_S
