"""From an accepted step to one that can be found by its labels: label, put, and note how far it has come."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from stitch.core import MemoryEvent, SnippetStore, StepsFailed, StepsStored, StepState
from stitch.errors import EmbedderError, ModelError, StitchError, StoreError, StoreUnavailableError
from stitch.ingest.labeling import Labeling
from stitch.ingest.priorities import RightOfWay
from stitch.ingest.revising import Revising
from stitch.ingest.state import BATCH_STEPS, TrajectoryState, chunks
from stitch.ingest.writing import SnippetWriter
from stitch.journal import Entry, Journal

_log = logging.getLogger(__name__)


class StepPipeline:
    """Brings steps of a trajectory that the caller holds as far as they can come.

    Args:
        journal: Is told how far they have come.
        store: Where their snippets are.
        labeling: Makes their labels.
        revising: Corrects those of earlier steps.
        writer: Puts their snippets.
        searches: Who searches goes first.
        stand_back: Is called before each piece of work, so that others can go first.
        notice: Is told what happens.
    """

    def __init__(
        self,
        *,
        journal: Journal,
        store: SnippetStore,
        labeling: Labeling,
        revising: Revising,
        writer: SnippetWriter,
        searches: RightOfWay,
        stand_back: Callable[[], None],
        notice: Callable[[MemoryEvent], None],
    ) -> None:
        self._journal = journal
        self._store = store
        self._labeling = labeling
        self._revising = revising
        self._writer = writer
        self._searches = searches
        self._stand_back = stand_back
        self._notice = notice

    def advance(self, state: TrajectoryState, entries: Iterable[Entry], blocked: str = "") -> Iterator[Entry]:
        """Label those entries that are not labeled, put all, and yield them as they are then.

        Args:
            state: Of their trajectory.
            entries: In order.
            blocked: Why labels cannot be made now. Once they cannot, no later step is labeled: order is kept.
        """
        for batch in self._labeling.batches(state, entries):
            ready = [entry for entry in batch if entry.labels is not None]
            waiting = batch[len(ready) :]
            if waiting and not blocked:
                try:
                    ready += self._labeling.label(state, waiting)
                    waiting = []
                except ModelError as error:
                    blocked = _reason(error)
            revised = self._revise(state) if ready else []
            yield from self._put(state, ready + waiting, blocked)
            self._put(state, revised, "")

    def work_off(self, state: TrajectoryState, entries: Iterable[Entry]) -> int:
        """As `advance`, at once; return how many steps that were."""
        return sum(1 for _ in self.advance(state, entries))

    def catch_up(self, state: TrajectoryState, position: int) -> str:
        """Label and store the steps before `position` that wait for labels; return why that cannot be done, or ""."""
        waiting = self._journal.entries(state.tenant, state.trajectory, start=state.position, stop=position)
        for batch in self._labeling.batches(state, waiting) if state.position < position else ():
            try:
                labeled = self._labeling.label(state, batch)
            except ModelError as error:
                return _reason(error)
            revised = self._revise(state)
            self._put(state, labeled, "")
            self._put(state, revised, "")
        return ""

    def _revise(self, state: TrajectoryState) -> list[Entry]:
        """Correct the earlier steps that were misread; only who labels several steps at once is told of such."""
        return self._revising.revise(state) if self._labeling.lets_wait else []

    def show(self, entries: Sequence[Entry], *, although_away: bool = False) -> None:
        """Put steps that wait for their labels, so that they can be found meanwhile; they stay accepted."""
        if not entries:
            return
        snippets = [entry.snippet() for entry in entries]
        try:
            self._writer.put(snippets, stand_back=self._searches.stand_back, although_away=although_away)
        except StoreUnavailableError:
            return  # they are put when it is back
        except (EmbedderError, StoreError) as error:
            _log.warning("steps that wait for labels cannot be found yet: %s", error)

    def show_again(self, tenant: str, trajectory: str) -> int:
        """Put the accepted steps of a trajectory that the store does not hold; return how many."""
        count = 0
        for chunk in chunks(self._journal.entries(tenant, trajectory, states=(StepState.ACCEPTED,)), BATCH_STEPS):
            missing = self._missing(tenant, chunk)
            self.show(missing)
            count += len(missing)
        return count

    def put_waiting(self, state: TrajectoryState, entries: Sequence[Entry]) -> None:
        """Put what waits for a store that was away: labeled steps, and those without labels that it does not hold."""
        labeled = [entry for entry in entries if entry.state is StepState.LABELED]
        if labeled:
            self._put(state, labeled, "", although_away=True)
        unlabeled = [entry for entry in entries if entry.labels is None]
        self.show(self._missing(state.tenant, unlabeled), although_away=True)

    def _missing(self, tenant: str, entries: Sequence[Entry]) -> list[Entry]:
        """Those of entries of which the store holds nothing."""
        held = {snippet.id for snippet in self._store.get(tenant, [entry.snippet().id for entry in entries])}
        return [entry for entry in entries if entry.snippet().id not in held]

    def _put(
        self, state: TrajectoryState, entries: Sequence[Entry], blocked: str, *, although_away: bool = False
    ) -> list[Entry]:
        """Put entries, those without labels as failed because of `blocked`; return them as they are then.

        While the store is away, what has labels waits: it is labeled, in the journal and here.
        """
        if not entries:
            return []
        labeled = [entry for entry in entries if entry.labels is not None]
        snippets = [entry.snippet() for entry in entries]
        try:
            self._writer.put(snippets, stand_back=self._stand_back, although_away=although_away)
        except StoreUnavailableError as error:
            reason = f"waits for the store: {error.message}"
            waiting = [entry._replace(reason=reason) for entry in labeled]
            return waiting + self._failed(state, entries[len(labeled) :], blocked)
        except (EmbedderError, StoreError) as error:
            return self._failed(state, entries, _reason(error))
        self._writer.count(len(entries))
        self._journal.record_stored([entry.seq for entry in labeled])
        for maker, group in groupby(labeled, key=lambda entry: entry.labels.made_by if entry.labels else ""):
            ids = tuple(entry.id for entry in group)
            self._notice(StepsStored(tenant=state.tenant, trajectory=state.trajectory, steps=ids, made_by=maker))
        stored = [entry._replace(state=StepState.STORED, reason="") for entry in labeled]
        return stored + self._failed(state, entries[len(labeled) :], blocked)

    def _failed(self, state: TrajectoryState, entries: Sequence[Entry], reason: str) -> list[Entry]:
        if not entries:
            return []
        self._journal.record_failed([entry.seq for entry in entries], reason)
        ids = tuple(entry.id for entry in entries)
        self._notice(StepsFailed(tenant=state.tenant, trajectory=state.trajectory, steps=ids, reason=reason))
        return [entry._replace(state=StepState.FAILED, reason=reason) for entry in entries]


def _reason(error: StitchError) -> str:
    return f"{error.message} ({error.hint})" if error.hint else error.message
