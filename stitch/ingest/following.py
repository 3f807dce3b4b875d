"""Vectors that follow: steps are found by words and labels at once, and by similarity when their vectors are there."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence

from stitch.core import MemorySnippet, SnippetRecord, StepState
from stitch.core.progress import Progress
from stitch.core.text_cache import clear_text_caches
from stitch.errors import EmbedderError, StitchError, StoreError, StoreUnavailableError
from stitch.ingest.pipeline import StepPipeline
from stitch.ingest.state import TrajectoryState, TrajectoryStates, chunks
from stitch.ingest.writing import SnippetWriter
from stitch.journal import Entry, Journal
from stitch.journal.entries import differences

PIECE_STEPS = 32
"""So many steps are embedded at a time: with a model of 10 ms a step a third of a second, in which nothing is held."""

LOOK_AGAIN_S = 5.0
"""After how long what could not be done is tried again."""

_OPEN = (StepState.ACCEPTED, StepState.LABELED, StepState.FAILED)

_log = logging.getLogger(__name__)


class FollowingVectors:
    """Makes the vectors of steps that were put without, in a thread, and puts them.

    A labeled step stays `LABELED` in the journal until the store has its vector: what lacks one is known from the
    journal, also after a kill. Until then the store has a vector of zeros, whose cosine with anything is none. Of steps
    that wait for labels it is known in this process alone which have a vector; the next one makes theirs again.

    Texts are embedded while nothing is held. Then the trajectory is taken, and what was changed, retired or erased
    meanwhile is left as it is.
    With `unlabeled` they are made of steps that wait for labels, too; where these come at once, it is too early.
    """

    def __init__(
        self,
        *,
        journal: Journal,
        states: TrajectoryStates,
        pipeline: StepPipeline,
        writer: SnippetWriter,
        stand_back: Callable[[], None],
        unlabeled: bool,
        flushed: Callable[[], None],
    ) -> None:
        self._journal, self._states, self._pipeline, self._writer = journal, states, pipeline, writer
        self._stand_back = stand_back
        self._unlabeled, self._flushed = unlabeled, flushed
        self._changed = threading.Condition()
        self._attempt = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._announced = self._found = self._asked = 0
        self._shown: set[int] = set()
        """The numbers of steps without labels whose vectors are there."""
        self._refused: set[int] = set()
        """Of those that cannot be embedded."""
        self.pending = False
        """Whether some may wait."""

    def begin(self) -> None:
        """Take note that steps were put without vectors."""
        with self._changed:
            self._announced += 1
            self.pending = True
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="stitch-vectors", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def note_found(self) -> None:
        """Take note that all that waits by now was left by another process."""
        self._found = self._announced

    def put(self, *, found: bool = True) -> None:
        """Make and put the vectors that are missing now; those of a store that is away, or that fail, are left.

        Args:
            found: Whether also if none are missing but those that another process left.
        """
        if not self.pending or not (found or self._announced > self._found):
            return
        self._asked += 1
        try:
            with self._attempt:
                self._put_all(Progress("vectors made", of=self._journal.counts().waiting), gives_way=False)
        finally:
            self._asked -= 1

    def count(self, tenant: str) -> int:
        """How many of a tenant's steps are found by words and labels, and lack their vectors."""
        return (
            self._journal.number_in(StepState.LABELED, tenant=tenant)
            if self._announced and not self._writer.away
            else 0
        )

    def lacking(self, tenant: str, snippets: Iterable[MemorySnippet]) -> frozenset[str]:
        """The ids of those of a tenant's snippets whose vectors are not there yet."""
        if not self._announced or tenant not in {owner for owner, _ in self._journal.unfinished(_OPEN)}:
            return frozenset()
        entries = ((each.id, self._journal.entry(tenant, each.trajectory, each.step)) for each in snippets)
        return frozenset(name for name, entry in entries if entry is not None and self._lacks(entry))

    def close(self) -> None:
        """Begin nothing any more, and wait for the piece that is under way; closing twice is harmless."""
        with self._changed:
            self._closed = True
            thread = self._thread
            self._changed.notify_all()
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        while True:
            went_well = False
            try:
                with self._attempt:
                    went_well = self._put_all(Progress("vectors made"), gives_way=True)
            except StitchError as error:
                _log.warning("vectors of steps have to wait: %s", error)
            except Exception:  # noqa: BLE001 - a thread that ends would leave them waiting
                _log.exception("vectors of steps have to wait")
            with self._changed:
                if not went_well:
                    self._changed.wait_for(lambda: self._closed, 0.0 if self._asked else LOOK_AGAIN_S)
                self._changed.wait_for(lambda: self._closed or self.pending)
                if self._closed:
                    return

    def _put_all(self, progress: Progress, *, gives_way: bool) -> bool:
        """Put what waits, once over all trajectories; return whether that came to its end."""
        announced, unlabeled = self._announced, set[int]()
        for tenant, trajectory in self._journal.unfinished(_OPEN):
            waiting = self._waiting(tenant, trajectory, unlabeled)
            for piece in chunks(waiting, PIECE_STEPS):
                if self._closed or (gives_way and self._asked):
                    return False
                self._stand_back()
                if not self._put_piece(tenant, trajectory, piece):
                    return False
                self._flushed()
                progress.advance(len(piece))
        with self._changed:
            self._shown &= unlabeled
            self._refused &= unlabeled
            self.pending = announced != self._announced
        return True

    def _waiting(self, tenant: str, trajectory: str, unlabeled: set[int]) -> Iterator[Entry]:
        """The steps of a trajectory whose vectors are to be made; the numbers of all without labels are noted."""
        for entry in self._journal.entries(tenant, trajectory, states=_OPEN):
            if entry.labels is None:
                unlabeled.add(entry.seq)
            early = entry.state is StepState.ACCEPTED and not self._unlabeled
            if self._lacks(entry) and not early and entry.seq not in self._refused:
                yield entry

    def _lacks(self, entry: Entry) -> bool:
        return entry.state is StepState.LABELED or (
            entry.labels is None and entry.state in _OPEN and entry.seq not in self._shown
        )

    def _put_piece(self, tenant: str, trajectory: str, piece: Sequence[Entry]) -> bool:
        """Make vectors of steps and put them, unless these are others by then; return whether the store answers."""
        failure: StitchError | None = None
        records: list[SnippetRecord] = []
        try:
            records = self._writer.embedded([entry.snippet() for entry in piece])
        except EmbedderError as error:
            failure = error
        with self._states.held(tenant, trajectory) as state, self._writer.behind(tenant, trajectory):
            now = {entry.seq: entry for entry in self._journal.entries_of([entry.seq for entry in piece])}
            same = [number for number, entry in enumerate(piece) if _is_same(entry, now.get(entry.seq))]
            try:
                self._writer.put_records([records[number] for number in same] if records else [])
            except StoreUnavailableError:
                return False
            except StoreError as error:
                failure = error
            self._note(state, [piece[number] for number in same], failure)
        if len(now) < len(piece):
            clear_text_caches()  # what was erased meanwhile may have been remembered again
        return True

    def _note(self, state: TrajectoryState, put: Sequence[Entry], failure: StitchError | None) -> None:
        """Take note that the vectors of steps are there, or why they are not."""
        labeled = [entry for entry in put if entry.labels is not None]
        others = [entry.seq for entry in put if entry.labels is None]
        if failure is None:
            self._pipeline.note_stored(state, labeled)
            self._shown.update(others)
        else:
            self._pipeline.fail(state, labeled, failure)
            self._refused.update(others)


def _is_same(before: Entry, now: Entry | None) -> bool:
    return now is not None and now.state is before.state and not differences(before.snippet(), now.snippet())
