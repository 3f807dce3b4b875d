"""From an accepted step to one that can be found by its labels: label, put, and note how far it has come."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from itertools import groupby

from stitch.core import MemoryEvent, SnippetStore, StepsFailed, StepsStored, StepState
from stitch.errors import EmbedderError, ModelError, StitchError, StoreError, StoreUnavailableError
from stitch.ingest.labeling import Labeling
from stitch.ingest.priorities import RightOfWay
from stitch.ingest.revising import Revising
from stitch.ingest.state import BATCH_STEPS, TrajectoryState, chunks
from stitch.ingest.writing import SnippetWriter
from stitch.journal import Entry, Journal
from stitch.journal.entries import differences

FOLLOWS = "its vector follows"
"""Why a labeled step whose words and labels are in the store is not stored yet."""

_log = logging.getLogger(__name__)


class VectorTime(str, Enum):
    """When steps get their vectors."""

    WITH = "with"
    """A step is put with its vector."""
    UNLESS_AWAITED = "unless awaited"
    """A step whose labels are waited for is put with its vector; that of any other follows."""
    AFTER = "after"
    """Vectors follow always."""

    @classmethod
    def of(cls, given: str | None, *, slow: bool) -> VectorTime:
        """As the setting `vectors` says; if it says nothing, by whether a vector is waited for longer than labels."""
        if given is not None:
            return cls(given)
        return cls.UNLESS_AWAITED if slow else cls.WITH


class StepPipeline:
    """Brings steps of a trajectory that the caller holds as far as they can come.

    `stand_back` is called before each piece of work, so that others can go first.
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
        vectors: VectorTime,
        follow: Callable[[], None],
    ) -> None:
        self._vectors, self._follow = vectors, follow
        self._journal = journal
        self._store = store
        self._labeling = labeling
        self._revising = revising
        self._writer = writer
        self._searches = searches
        self._stand_back = stand_back
        self._notice = notice

    def advance(
        self, state: TrajectoryState, entries: Iterable[Entry], blocked: str = "", *, awaited: bool = True
    ) -> Iterator[Entry]:
        """Label those entries that are not labeled, put all, and yield them as they are then.

        Once labels cannot be made, as `blocked` may say from the beginning, no later step is labeled: order is kept.
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
            yield from self._put(state, ready + waiting, blocked, awaited=awaited)
            self._put(state, revised, "", awaited=awaited)

    def work_off(self, state: TrajectoryState, entries: Iterable[Entry], *, awaited: bool = True) -> int:
        """As `advance`, at once; return how many steps that were."""
        return sum(1 for _ in self.advance(state, entries, awaited=awaited))

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
        snippets, embedded = [entry.snippet() for entry in entries], self._embeds(awaited=False)
        try:
            self._writer.put(
                snippets, stand_back=self._searches.stand_back, although_away=although_away, embedded=embedded
            )
        except StoreUnavailableError:
            return  # they are put when it is back
        except (EmbedderError, StoreError) as error:
            _log.warning("steps that wait for labels cannot be found yet: %s", error)
        if not embedded:
            self._follow()

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
            self._put(state, labeled, "", although_away=True, awaited=False)
        unlabeled = [entry for entry in entries if entry.labels is None]
        self.show(self._missing(state.tenant, unlabeled), although_away=True)

    def check_put(self, tenant: str, trajectory: str, *, step: str) -> None:
        """See that the store holds a corrected step as it is right.

        Raises:
            StoreError: It does not.
        """
        entry = self._journal.entry(tenant, trajectory, step)
        if entry is None:
            return
        corrected = f"step {step!r} of trajectory {trajectory!r} is corrected, and is not found so yet"
        if away := self._writer.away:
            raise StoreUnavailableError(f"{corrected}: {away}", hint="it is put by itself when the store is back")
        wanted = entry.snippet()
        held = self._store.get(tenant, [wanted.id])
        if not held or differences(held[0], wanted):
            raise StoreError(f"{corrected}: {entry.reason}", hint="`stitch retry` puts it into the store")

    def _missing(self, tenant: str, entries: Sequence[Entry]) -> list[Entry]:
        """Those of entries of which the store holds nothing."""
        held = {snippet.id for snippet in self._store.get(tenant, [entry.snippet().id for entry in entries])}
        return [entry for entry in entries if entry.snippet().id not in held]

    def _put(
        self,
        state: TrajectoryState,
        entries: Sequence[Entry],
        blocked: str,
        *,
        although_away: bool = False,
        awaited: bool = True,
    ) -> list[Entry]:
        """Put entries, those without labels as failed because of `blocked`; return them as they are then.

        While the store is away, what has labels waits: it is labeled, in the journal and here. So it is while its
        vector follows; what had failed with its labels is put with its vector, for the journal has it as failed.
        """
        if not entries:
            return []
        labeled = [entry for entry in entries if entry.labels is not None]
        embedded = self._embeds(awaited=awaited) or any(entry.state is StepState.FAILED for entry in labeled)
        snippets = [entry.snippet() for entry in entries]
        try:
            self._writer.put(snippets, stand_back=self._stand_back, although_away=although_away, embedded=embedded)
        except StoreUnavailableError as error:
            reason = f"waits for the store: {error.message}"
            waiting = [entry._replace(reason=reason) for entry in labeled]
            return waiting + self._failed(state, entries[len(labeled) :], blocked)
        except (EmbedderError, StoreError) as error:
            return self._failed(state, entries, _reason(error))
        if embedded:
            self._writer.count(len(entries) - len(labeled))
            labeled = self.note_stored(state, labeled)
        else:
            self._writer.count(len(entries))
            labeled = [entry._replace(reason=FOLLOWS) for entry in labeled]
        failed = self._failed(state, entries[len(labeled) :], blocked)
        if not embedded:
            self._follow()
        return labeled + failed

    def _embeds(self, *, awaited: bool) -> bool:
        """Whether steps that somebody waits for, or does not, are put with their vectors now."""
        return self._vectors is VectorTime.WITH or (awaited and self._vectors is VectorTime.UNLESS_AWAITED)

    def note_stored(self, state: TrajectoryState, entries: Sequence[Entry]) -> list[Entry]:
        """Take note that labeled steps were put with their vectors; return them as they are then."""
        self._writer.count(len(entries))
        self._journal.record_stored([entry.seq for entry in entries])
        for maker, group in groupby(entries, key=lambda entry: entry.labels.made_by if entry.labels else ""):
            ids = tuple(entry.id for entry in group)
            self._notice(StepsStored(tenant=state.tenant, trajectory=state.trajectory, steps=ids, made_by=maker))
        return [entry._replace(state=StepState.STORED, reason="") for entry in entries]

    def fail(self, state: TrajectoryState, entries: Sequence[Entry], error: StitchError) -> None:
        """Take note that steps cannot be put."""
        self._failed(state, entries, _reason(error))

    def _failed(self, state: TrajectoryState, entries: Sequence[Entry], reason: str) -> list[Entry]:
        if not entries:
            return []
        self._journal.record_failed([entry.seq for entry in entries], reason)
        ids = tuple(entry.id for entry in entries)
        self._notice(StepsFailed(tenant=state.tenant, trajectory=state.trajectory, steps=ids, reason=reason))
        return [entry._replace(state=StepState.FAILED, reason=reason) for entry in entries]


def _reason(error: StitchError) -> str:
    return f"{error.message} ({error.hint})" if error.hint else error.message
