"""From an accepted step to one that is found by its labels: label, record, put, mark.

More than 400 lines because whoever brings a step on, and for whatever reason, does it here.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby, islice

from stitch.core import MemorySnippet, StepsFailed, StepsStored, StepState
from stitch.core.progress import Progress
from stitch.core.text_cache import clear_text_caches
from stitch.errors import EmbedderError, ModelError, StitchError, StoreError, StoreUnavailableError
from stitch.ingest.labeling import Labeling
from stitch.ingest.snippets import EmbedMode, SnippetProjection
from stitch.ingest.state import BATCH_STEPS, TrajectoryState, chunks
from stitch.ingest.store_health import StoreHealth
from stitch.ingest.threads import ALL_LEFT, Job, WorkerThreads
from stitch.journal import DamagedStepError, Entry
from stitch.journal.entries import differences

FOLLOWS = "its vector follows"
"""Why a labeled step whose words and labels are in the store is not stored yet."""

LOOK_AGAIN_S = 1.0
"""After how long a window that is not full is looked at again, whether it has waited long enough."""

UNFINISHED = (StepState.ACCEPTED, StepState.LABELED, StepState.FAILED)

_PUT_STEPS = 48
"""Number of steps put at a time while somebody searches: a search waits for no more than these."""
_PIECE_STEPS = 32
"""Number of late steps embedded at a time, while nothing is held: a third of a second, at 10 ms each."""

_log = logging.getLogger(__name__)


@dataclass(eq=False, kw_only=True)
class Worker(Labeling):
    """Takes trajectories from the state that the journal names to the next one, until nothing is left.

    A step is accepted, then labeled (its labels are in the journal), then stored (the store has it with its labels and
    its vector). The journal's states are the only queue: whatever interrupts this, it is taken up from them.
    What cannot be labeled is put without labels and fails with the reason; so does what cannot be embedded or put.
    While the store cannot be reached nothing fails: steps wait, labeled, and a thread puts them when it is back. So
    they do, in the store with zeros for a vector, where vectors follow.
    """

    follows = False
    """Whether labels are never waited for by who adds."""

    snippets: SnippetProjection
    store_health: StoreHealth
    vectors: EmbedMode
    label_threads: int
    """Number of trajectories labeled in threads, side by side, because a model is waited for; 0 if none is."""
    flushed: Callable[[], None]
    """Called when something was put and nothing is held."""

    def __post_init__(self) -> None:
        super().__post_init__()
        # One more where vectors are made in one: who labels must not wait for them.
        count = max(1, self.label_threads) + (self.vectors is not EmbedMode.WITH)
        self.threads = WorkerThreads(self._do, count=count)
        self.label_threads *= self.lets_wait
        self.follows = self.follows or self.label_threads > 0
        self._sweeping = threading.Lock()
        self._left = self._found = False
        self._tried: set[int] = set()
        """The numbers of steps without labels whose vectors were made, or could not be, where vectors follow."""

    # A trajectory that is held.

    @contextmanager
    def held(self, tenant: str, trajectory: str) -> Iterator[TrajectoryState]:
        """A trajectory for this thread alone, whose changes come into the store before this ends."""
        with self.states.held(tenant, trajectory) as state, self.snippets.behind(tenant, trajectory):
            yield state

    def accepted(
        self, state: TrajectoryState, *, start: int = 0, states: Collection[StepState] = tuple(StepState)
    ) -> Iterator[Entry]:
        """The steps of a trajectory up to now: each that is labeled later on has been put without labels before."""
        with state.door:
            stop = self.journal.length(state.tenant, state.trajectory)
        return self.journal.entries(state.tenant, state.trajectory, start=start, stop=stop, states=states)

    def advance(
        self, state: TrajectoryState, entries: Iterable[Entry], blocked: str = "", *, awaited: bool = True
    ) -> Iterator[Entry]:
        """Label those entries that are not labeled, put all, and yield them as they are then.

        Once labels cannot be made, as `blocked` may say from the beginning, no later step is labeled: order is kept.
        Steps that somebody waits for (`awaited`) may be put with their vectors where those of others follow.
        """
        for batch in self.batches(state, entries):
            ready = [entry for entry in batch if entry.labels is not None]
            waiting = batch[len(ready) :]
            if waiting and not blocked:
                try:
                    ready += self.label(state, waiting)
                    waiting = []
                except ModelError as error:
                    blocked = reason_of(error)
            revised = self.revise(state) if ready else []
            yield from self._put(state, ready + waiting, blocked, awaited=awaited)
            self._put(state, revised, awaited=awaited)

    def work_off(self, state: TrajectoryState, entries: Iterable[Entry], *, awaited: bool | None = None) -> int:
        """As `advance`, at once; return how many steps that were. Vectors are waited for unless some follow already."""
        awaited = not self._pending if awaited is None else awaited
        return sum(1 for _ in self.advance(state, entries, awaited=awaited))

    def add(self, state: TrajectoryState, accepted: Sequence[Entry]) -> list[Entry]:
        """Label and put steps that were just accepted; return those that were, or could not be."""
        if not self.lets_wait:
            blocked = self._catch_up(state, accepted[0].position)
            return list(self.advance(state, accepted, blocked))
        outcomes, more = list[Entry](), True
        while more:
            labeled, _, more = self.label_next(state, awaited=True)
            outcomes += labeled
        done = {entry.seq for entry in outcomes}
        self.show([entry for entry in accepted if entry.seq not in done])
        return outcomes

    def label_next(
        self, state: TrajectoryState, *, awaited: bool, upto: int = 0
    ) -> tuple[list[Entry], list[Entry], bool]:
        """Label and put what is ready of the next steps without labels; the first `upto` of a trajectory always are.

        Returns:
            These steps as they are then; those that wait for their window, if none was ready; and whether there is more
            to do: not if labels cannot be made now, which are when the trajectory goes on, or by `retry`.
        """
        waiting = list(islice(self.accepted(state, start=state.position), BATCH_STEPS))
        ready = max(sum(entry.position < upto for entry in waiting), self.ready(state, waiting))
        done = list(self.advance(state, waiting[:ready], awaited=awaited))
        more = ready > 0 and waiting[0].position < state.position and not ready == len(waiting) < BATCH_STEPS
        return done, waiting if not ready else [], more

    def announce(self, tenant: str, trajectory: str) -> None:
        """Say that steps of a trajectory were accepted whose labels follow."""
        self.threads.announce(tenant, trajectory)

    def _catch_up(self, state: TrajectoryState, position: int) -> str:
        """Label and put the steps before `position` that wait for labels; return why that cannot be done, or ""."""
        if state.position >= position:
            return ""
        waiting = self.journal.entries(state.tenant, state.trajectory, start=state.position, stop=position)
        return next((entry.reason for entry in self.advance(state, waiting) if entry.labels is None), "")

    def show(self, entries: Sequence[Entry]) -> None:
        """Put steps that wait for their labels, so that they can be found meanwhile; they stay accepted."""
        if not entries:
            return
        with_vectors = self._embeds(awaited=False)
        try:
            self._put_snippets(entries, with_vectors=with_vectors, stand_back=self.searches.stand_back)
        except StoreUnavailableError:
            return  # they are put when it is back
        except (EmbedderError, StoreError) as error:
            _log.warning("steps that wait for labels cannot be found yet: %s", error)
        if not with_vectors:
            self._leave()

    def _put(
        self, state: TrajectoryState, entries: Sequence[Entry], blocked: str = "", *, awaited: bool
    ) -> list[Entry]:
        """Put entries, those without labels as failed because of `blocked`; return them as they are then.

        While the store is away, what has labels waits: it is labeled, in the journal and here. So it is while its
        vector follows; what had failed with its labels is put with its vector, for the journal has it as failed.
        """
        if not entries:
            return []
        labeled = [entry for entry in entries if entry.labels is not None]
        with_vectors = self._embeds(awaited=awaited) or any(entry.state is StepState.FAILED for entry in labeled)
        try:
            self._put_snippets(entries, with_vectors=with_vectors, stand_back=self.stand_back)
        except StoreUnavailableError as error:
            labeled = [entry._replace(reason=f"waits for the store: {error.message}") for entry in labeled]
        except (EmbedderError, StoreError) as error:
            return self._fail(state, entries, reason_of(error))
        else:
            if with_vectors:
                labeled = self._mark_stored(state, labeled)
            else:
                labeled = [entry._replace(reason=FOLLOWS) for entry in labeled]
                self._leave()
        return labeled + self._fail(state, entries[len(labeled) :], blocked)

    def _put_snippets(self, entries: Sequence[Entry], *, with_vectors: bool, stand_back: Callable[[], None]) -> None:
        """Put what the store is to hold of entries, in small pieces while somebody searches.

        Raises:
            EmbedderError: They cannot be embedded.
            StoreUnavailableError: The store is away; a thread puts them when it is back.
            StoreError: Nothing or only a part was put; putting again is safe.
        """
        try:
            self.store_health.check()
            for part in chunks(entries, _PUT_STEPS if self.searches.wanted else max(1, len(entries))):
                stand_back()
                self.snippets.put(self.snippets.records(part, with_vectors=with_vectors))
        except StoreUnavailableError as error:
            self.lose(error)
            raise

    def _embeds(self, *, awaited: bool) -> bool:
        """Whether steps that somebody waits for, or does not, are put with their vectors now."""
        return self.vectors is EmbedMode.WITH or (awaited and self.vectors is EmbedMode.AUTO)

    def _mark_stored(self, state: TrajectoryState, entries: Sequence[Entry]) -> list[Entry]:
        """Take note that labeled steps were put with their vectors; return them as they are then."""
        if not entries:
            return []
        self.journal.record_stored([entry.seq for entry in entries])
        for maker, group in groupby(entries, key=lambda entry: entry.labels.made_by if entry.labels else ""):
            ids = tuple(entry.id for entry in group)
            self.notice(StepsStored(tenant=state.tenant, trajectory=state.trajectory, steps=ids, made_by=maker))
        return [entry._replace(state=StepState.STORED, reason="") for entry in entries]

    def _fail(self, state: TrajectoryState, entries: Sequence[Entry], reason: str) -> list[Entry]:
        """Take note that steps cannot be labeled or put; return them as they are then."""
        if not entries:
            return []
        self.journal.record_failed([entry.seq for entry in entries], reason)
        ids = tuple(entry.id for entry in entries)
        self.notice(StepsFailed(tenant=state.tenant, trajectory=state.trajectory, steps=ids, reason=reason))
        return [entry._replace(state=StepState.FAILED, reason=reason) for entry in entries]

    # Trajectories in which steps wait.

    def finish(self, tenant: str, trajectory: str) -> int:
        """Bring what is open of a trajectory as far as it can come; return how many steps that were.

        What waits for a patient labeler is labeled now.
        """
        count = 0
        with _despite_damage(), self.held(tenant, trajectory) as state:
            count = self.work_off(state, self.accepted(state, states=UNFINISHED))
        self.flushed()
        return count

    def finish_all(self, trajectories: Sequence[Job], *, interrupt: Callable[[], None]) -> None:
        """Finish trajectories, side by side where a model is waited for.

        `interrupt` is called if Ctrl-C comes: the work ends when the calls that it waits for do.
        """
        if len(trajectories) < 2 or not self.label_threads:
            for tenant, trajectory in trajectories:
                self.finish(tenant, trajectory)
            return
        with ThreadPoolExecutor(self.label_threads) as pool:
            try:
                deque(pool.map(self.finish, *zip(*trajectories, strict=True)), maxlen=0)
            except BaseException as error:
                if not isinstance(error, Exception):
                    interrupt()
                raise

    def take_up(self, tenant: str, trajectory: str) -> int:
        """Go on with what an earlier process left of a trajectory; return how many steps it had to put.

        Steps that waited for a window go on waiting for it.
        """
        count, more = 0, not self.label_threads
        with _despite_damage(), self.held(tenant, trajectory) as state:
            count = self.work_off(state, self.accepted(state, states=(StepState.LABELED,)), awaited=False)
            while more:
                done, _, more = self.label_next(state, awaited=False)
                count += len(done)
        if self.label_threads:
            self.threads.announce(tenant, trajectory)
        return count

    def _go_on(self, tenant: str, trajectory: str) -> float | None:
        """Label what is ready of a trajectory; return after how many seconds to look again, None if nothing waits."""
        with self.held(tenant, trajectory) as state:
            _, waiting, more = self.label_next(state, awaited=False)
        self.flushed()
        return 0.0 if more else LOOK_AGAIN_S if waiting else None

    def _do(self, job: Job) -> float | None:
        if job != ALL_LEFT:
            return self._go_on(*job)
        self._sweep(in_thread=True)
        return self.store_health.next_pause() if self.store_health.reason else None

    # What was left: the store was away, or vectors follow.

    @property
    def _pending(self) -> bool:
        """Whether steps are left to be put, or are being put by a sweep."""
        return self._left or self._sweeping.locked()

    def _leave(self, *, after_s: float = 0.0) -> None:
        """Take note that steps are left in the journal for a thread to put."""
        self._left = True
        self.threads.announce_left(after_s=after_s)

    def lose(self, error: StoreUnavailableError) -> None:
        """Take note that the store could not be reached, and let a thread try again later."""
        self.store_health.lose(error)
        self._leave(after_s=self.store_health.pause_s)

    def take_up_left(self) -> int:
        """Put what an earlier process left, or let a thread make its vectors; return how many steps were put."""
        count = 0
        if self.vectors is EmbedMode.WITH:
            count = self._sweep()
        elif self.journal.unfinished(UNFINISHED):
            self._leave()
        self._found, self._left = self._left, False
        return count

    def put_left(self, *, found: bool = True) -> None:
        """Put all that was left, now; what a store that is away, or that fails, does not take goes on waiting.

        With `found` also if nothing was left but by an earlier process.
        """
        if self._pending or self.store_health.reason or (found and self._found):
            self._found = False
            self._sweep()

    def _sweep(self, *, in_thread: bool = False) -> int:
        """Put what was left of all trajectories; return how many steps that were. What cannot be put is left again."""
        with self._sweeping:
            shown = not in_thread and self.journal.unfinished(UNFINISHED)  # to count reads the label of every step
            progress = Progress("vectors made", of=self.journal.counts().waiting if shown else None)
            count, done = 0, False
            while not done or self._left:  # what was left meanwhile may have been looked for too early
                left, self._left = self._left, False
                try:
                    for put in self._put_all(progress):
                        count += put
                        if in_thread and self.threads.closed:
                            self._left |= left
                            return count
                    self.store_health.regain()
                    done = True
                except BaseException as error:
                    self._left |= left
                    if not isinstance(error, StoreUnavailableError):
                        raise
                    self.lose(error)
                    return count
        return count

    def _put_all(self, progress: Progress) -> Iterator[int]:
        """Put what was left of all trajectories, a piece at a time; yield how many steps each piece had.

        Raises:
            StoreUnavailableError: The store is away.
        """
        unlabeled = set[int]()
        for tenant, trajectory in self.journal.unfinished(UNFINISHED):
            entries = self.journal.entries(tenant, trajectory, states=UNFINISHED)
            with _despite_damage():
                for chunk in chunks(entries, _PIECE_STEPS):
                    self.stand_back()
                    unlabeled.update(entry.seq for entry in chunk if entry.labels is None)
                    piece = self._lacking(chunk)
                    if piece:
                        self._put_piece(tenant, trajectory, piece)
                        self.flushed()
                    progress.advance(len(chunk))
                    yield len(piece)
        self._tried &= unlabeled
        for tenant, trajectory in self.snippets.owed:
            with self.states.held(tenant, trajectory):
                self.snippets.settle(tenant, trajectory)

    def _lacking(self, entries: Sequence[Entry]) -> list[Entry]:
        """Entries of a trajectory of which something is missing in the store.

        Steps that wait for labels which come at once are none: it would be too early.
        """
        waits = (StepState.ACCEPTED, StepState.FAILED) if self.lets_wait else (StepState.FAILED,)
        unlabeled = [entry for entry in entries if entry.labels is None and entry.state in waits]
        if self.vectors is EmbedMode.WITH:
            lacking = self.snippets.missing(unlabeled)
        else:
            lacking = [entry for entry in unlabeled if entry.seq not in self._tried]
        return [entry for entry in entries if entry.state is StepState.LABELED] + lacking

    def _put_piece(self, tenant: str, trajectory: str, piece: Sequence[Entry]) -> None:
        """Put steps with vectors, which are made while nothing is held, unless these are other steps by then.

        Raises:
            StoreUnavailableError: The store is away.
        """
        failure: StitchError | None = None
        try:
            records = self.snippets.records(piece)
        except EmbedderError as error:
            records, failure = [], error
        with self.held(tenant, trajectory) as state:
            now = {entry.seq: entry for entry in self.journal.entries_of([entry.seq for entry in piece])}
            same = [
                number
                for number, before in enumerate(piece)
                if (entry := now.get(before.seq)) is not None
                and entry.state is before.state
                and not differences(before.snippet(), entry.snippet())
            ]
            try:
                if records:
                    self.snippets.put([records[number] for number in same])
                    self.store_health.regain()
            except StoreUnavailableError:
                raise
            except StoreError as error:
                failure = error
            self._note_put(state, [piece[number] for number in same], failure)
        if len(now) < len(piece):
            clear_text_caches()  # what was erased meanwhile may have been remembered again

    def _note_put(self, state: TrajectoryState, entries: Sequence[Entry], failure: StitchError | None) -> None:
        """Take note that steps were put with their vectors, or why they were not."""
        labeled = [entry for entry in entries if entry.labels is not None]
        if failure is None:
            self._mark_stored(state, labeled)
        else:
            self._fail(state, labeled, reason_of(failure))
        self._tried.update(entry.seq for entry in entries if entry.labels is None)

    # What is not there yet.

    def without_vectors(self, tenant: str) -> int:
        """Number of a tenant's steps that are found by words and labels, and lack their vectors."""
        if self.vectors is EmbedMode.WITH or self.store_health.reason:
            return 0
        return self.journal.number_in(StepState.LABELED, tenant=tenant)

    def lacking(self, tenant: str, snippets: Iterable[MemorySnippet]) -> frozenset[str]:
        """The ids of those of a tenant's snippets whose vectors are not there yet."""
        if self.vectors is EmbedMode.WITH or tenant not in {each for each, _ in self.journal.unfinished(UNFINISHED)}:
            return frozenset()
        entries = ((each.id, self.journal.entry(tenant, each.trajectory, each.step)) for each in snippets)
        return frozenset(
            name
            for name, entry in entries
            if entry is not None
            and entry.state in UNFINISHED
            and (entry.state is StepState.LABELED or (entry.labels is None and entry.seq not in self._tried))
        )


@contextmanager
def _despite_damage() -> Iterator[None]:
    """Let a trajectory with a step that cannot be read wait: the others, and other tenants, must not."""
    try:
        yield
    except DamagedStepError as error:
        _log.warning("%s; steps that wait there go on waiting (%s)", error.message, error.hint)


def reason_of(error: StitchError) -> str:
    """The reason a step failed, in one line."""
    return f"{error.message} ({error.hint})" if error.hint else error.message
