"""Steps accepted into the journal, and what became of them; a `Worker` labels and puts them.

More than 400 lines because all that is asked of it is one class.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence, Sized
from contextlib import contextmanager
from enum import Enum
from typing import Any, TypeVar

from stitch.core import (
    Embedder,
    Labeler,
    LabelInventory,
    MemoryEvent,
    Observer,
    Projection,
    Receipt,
    SnippetStore,
    Step,
    StepLabels,
    StepsAccepted,
    StepState,
    tenant_name,
    trajectory_name,
)
from stitch.core.progress import counted
from stitch.errors import JournalError, StepRejectedError, StoreError, StoreUnavailableError
from stitch.ingest.priorities import SearchPriority
from stitch.ingest.redact import Redact, Redactor
from stitch.ingest.shared import DelegatingWorker, FencedWorker
from stitch.ingest.snippets import EmbedMode, SnippetProjection
from stitch.ingest.state import TrajectoryState, TrajectoryStates
from stitch.ingest.store_health import StoreHealth
from stitch.ingest.worker import UNFINISHED, Worker
from stitch.journal import Entry, IngestCounts, Journal
from stitch.journal.journal import catch_up, follow
from stitch.lm import charged_key

_CHECKPOINT_STEPS = 32
"""After how many steps a worker saves the labeling of a trajectory: sooner than others, where another process may go on
with the trajectory, which learns the steps since then again."""

T = TypeVar("T")

_log = logging.getLogger(__name__)


class Role(Enum):
    """The part of a process in labeling the steps of a journal."""

    ALONE = "alone"
    """Whoever adds."""
    DELEGATES = "delegates"
    """Workers, and not this process."""
    WORKER = "worker"
    """This process is one of them."""


class Ingestor:
    """Takes in the steps of trajectories, and brings each to where it can be found by its labels.

    A step is *accepted* when the journal has it. Then it is labeled (the labels go into the journal), put into the
    store, and noted as *stored*. If its labels cannot be made now, it is put without labels, so that it can be
    found, and noted as *failed* with the reason; so it is if it cannot be embedded or put. Failed steps are tried
    again by `retry`; those without labels also when the trajectory goes on, because labels are made in order.
    A store that cannot be reached makes no step fail: what is accepted and labeled waits in the journal, and a thread
    puts it when the store is back.
    A `BatchingLabeler` lets steps wait: they stay accepted, and can be found without labels, until there are enough.
    With `label_threads` it is waited for in these: whoever adds gets the receipt at once, and labels follow.
    Whatever interrupts the work, an exception, Ctrl-C or the end of the process, `recover` takes it up where it was.

    Safe to use from several threads. Steps of different trajectories are worked on side by side; those of one
    trajectory one after the other.

    `observer` must not raise (see `stitch.observe.Observers`). `timer` gives seconds that no change of the clock moves.
    `interrupt` gives up the calls of a model that labels wait for, at once and for good.
    With `only` the steps of this tenant alone are labeled when what was left is taken up (`recover`, `flush`): the text
    of others is not shown to a labeler that they did not choose.
    `live_sessions` trajectories are kept ready to go on; others are resumed from the journal. After `checkpoint_steps`
    steps a trajectory's labeling is saved, after `flush_steps` puts the store is flushed.
    `projections` are what else is derived from the journal: they are caught up by `recover`, follow at each flush of
    the store, and are told of erasures first.
    """

    def __init__(
        self,
        *,
        journal: Journal,
        store: SnippetStore,
        embedder: Embedder,
        labeler: Labeler,
        observer: Observer | None = None,
        clock: Callable[[], float] = time.time,
        timer: Callable[[], float] = time.monotonic,
        interrupt: Callable[[], None] | None = None,
        only: str | None = None,
        redact: bool = True,
        redact_also: Redact | None = None,
        label_threads: int = 0,
        vectors: EmbedMode = EmbedMode.WITH,
        live_sessions: int = 256,
        checkpoint_steps: int = 512,
        flush_steps: int = 5_000,
        projections: Sequence[Projection] = (),
        role: Role = Role.ALONE,
    ) -> None:
        self.journal = journal
        self.store = store
        self.embedder = embedder
        self.labeler = labeler
        self._observer = observer
        self._clock = clock
        self._only = only
        self.secrets = Redactor(journal, redacts=redact, also=redact_also)
        self.searches = SearchPriority()
        """Whoever searches goes before whoever adds."""
        self._accepting = SearchPriority()
        self.store_health = StoreHealth(notice=self.notice, waiting=lambda: self.counts().waiting, timer=timer)
        """Whether the store can be reached."""
        self.snippets = SnippetProjection(
            journal=journal,
            store=store,
            embedder=embedder,
            vectors_follow=vectors is not EmbedMode.WITH,
        )
        """Those of the store that serves."""
        self.projections: tuple[Projection, ...] = (self.snippets, *projections)
        """All that is derived from the journal, the snippets of the store first."""
        self.states = TrajectoryStates(
            journal=journal,
            labeler=labeler,
            notice=self.notice,
            limit=live_sessions,
            checkpoint_steps=_CHECKPOINT_STEPS if role is Role.WORKER else checkpoint_steps,
            hold=journal.fenced if role is Role.WORKER else journal.exclusive,
        )
        """The trajectories that are ready to go on."""
        parts: dict[str, Any] = {
            "journal": journal, "labeler": labeler, "states": self.states, "searches": self.searches,
            "stand_back": self._stand_back, "notice": self.notice, "clock": clock, "timer": timer,
            "snippets": self.snippets, "store_health": self.store_health, "vectors": vectors,
            "label_threads": label_threads, "flushed": self._checkpoint_when_due,
        }  # fmt: skip
        self.role = role
        kinds = {Role.ALONE: Worker, Role.WORKER: FencedWorker, Role.DELEGATES: DelegatingWorker}
        self.worker = kinds[role](**parts)
        self._flush_steps = flush_steps
        self._interrupt = interrupt
        self._closed = False

    def add(self, step: Step, *, tenant: str, trajectory: str, wait: bool = True, again: bool = False) -> Receipt:
        """Take in the next step of a trajectory.

        If it does not wait for labels, the step is accepted and can be found, and labels follow. With `again` one that
        was erased is accepted again.

        Returns:
            The receipt: stored; labeled, if the store cannot be reached and the step waits for it; or failed with a
            reason (the step is kept, see `retry`). Of a step that is known word for word, what has become of it; of one
            that was erased, that it was.

        Raises:
            StepRejectedError: It is too long, or its id is known with other content. Nothing was written.
            JournalError: It is not accepted, unless the journal failed later: then it says so, and `recover` goes on.
        """
        return self.add_many([step], tenant=tenant, trajectory=trajectory, wait=wait, again=again)[0]

    def add_many(
        self, steps: Sequence[Step], *, tenant: str, trajectory: str, wait: bool = True, again: bool = False
    ) -> list[Receipt]:
        """As `add`, for the next steps of a trajectory at once: all are accepted, or none; one receipt a step."""
        results = self.add_each(steps, tenant=tenant, trajectory=trajectory, wait=wait, again=again, whole=True)
        return [result for result in results if isinstance(result, Receipt)]

    def add_each(
        self,
        steps: Sequence[Step],
        *,
        tenant: str,
        trajectory: str,
        wait: bool = True,
        again: bool = False,
        whole: bool = False,
    ) -> list[Receipt | StepRejectedError]:
        """As `add_many`, but unless `whole`, a rejected step is handed back as its error, in its place, and all others
        are taken in.
        """
        tenant, trajectory = tenant_name(tenant), trajectory_name(trajectory)
        steps, redacted = self.secrets.steps(steps, tenant=tenant, trajectory=trajectory)
        follow, accepted = self.worker.follows or not wait, list[Entry]()
        what = f"what was added to trajectory {trajectory!r} is accepted, and not all of it is found yet"
        outcomes: dict[int, Entry] = {}
        with standing(what, accepted), self._taken(tenant, trajectory, follow=follow) as state:
            state.key = charged_key.get() or state.key
            with state.door:
                results = self.journal.append_many(
                    steps,
                    tenant=tenant,
                    trajectory=trajectory,
                    recorded=self._clock(),
                    whole=whole,
                    again=again,
                    redacted=redacted,
                )
                given = [result for result in results if isinstance(result, Entry)]
                accepted += [each for each in given if not each.repeated and each.state is not StepState.ERASED]
                if follow:
                    self.worker.show(accepted)
            if accepted:
                ids = tuple(entry.id for entry in accepted)
                self.notice(StepsAccepted(tenant=tenant, trajectory=trajectory, steps=ids))
                if follow:
                    self.worker.announce(tenant, trajectory)
                else:
                    outcomes = {entry.seq: entry for entry in self.worker.add(state, accepted)}
        self._checkpoint_when_due()
        return [
            result
            if isinstance(result, StepRejectedError)
            else outcomes.get(result.seq, result)._replace(repeated=result.repeated).receipt()
            for result in results
        ]

    def recover(self) -> int:
        """Finish what was interrupted; return how much there was to do. To be called before anything is added.

        Lets what is derived follow the changes that it may have lost, and brings accepted steps to where they would be
        without the interruption: same ids, labels and payloads. Running it again changes nothing. Steps that waited
        for a window go on waiting for it.

        Raises:
            StoreError: What the store may have lost cannot be put again; nothing is lost by trying later.
        """
        if self.role is not Role.ALONE:  # workers put what is left
            return sum(catch_up(each, self.journal) for each in self.projections[1:])
        count = sum(catch_up(each, self.journal) for each in self.projections)
        for tenant, trajectory in self._waiting(StepState.ACCEPTED, StepState.LABELED):
            count += self.worker.take_up(tenant, trajectory)
        count += self.worker.take_up_left()
        if count:
            self.checkpoint()
        return count

    def retry(self, tenant: str | None = None) -> int:
        """Try again what failed or waits, for a tenant or for all; return how many steps are stored that were not.

        Raises:
            StoreUnavailableError: The store cannot be reached; nothing is lost by trying later.
        """
        before = self.journal.counts(tenant).stored
        self.worker.put_left()
        unfinished = [each for each in self.journal.unfinished(UNFINISHED) if tenant in (None, each[0])]
        if self.role is Role.DELEGATES:
            self.worker.finish_all(unfinished, interrupt=self.interrupt)
            unfinished = []
        for owner, trajectory in counted(unfinished, "trajectories tried again", of=lambda: len(unfinished)):
            self.worker.finish(owner, trajectory)
        self.worker.put_left()
        self.store_health.check()
        return self.journal.counts(tenant).stored - before

    def rework(self, tenant: str, trajectory: str, change: Callable[[], T]) -> T:
        """Change a trajectory in the journal while nobody adds to it; then label and put what the change left undone.

        Returns what the change returns.
        All that was remembered of the trajectory is forgotten and taken from the journal again.
        A step that has to be put again is left as `LABELED` by the change.
        """
        with self.states.reworked(tenant, trajectory) as state, self.snippets.behind(tenant, trajectory):
            changed = change()
            self.states.forget(state)
            self.worker.work_off(state, self.worker.accepted(state, states=(StepState.ACCEPTED, StepState.LABELED)))
        self._checkpoint_when_due()
        return changed

    def correct(
        self,
        tenant: str,
        trajectory: str,
        *,
        corrected: Callable[[], tuple[Entry, Step, StepLabels | None]],
        at: float,
        by: str,
    ) -> None:
        """Correct a step while nobody adds to its trajectory, and put it again; the labeling takes it in.

        `corrected` gives the step as it is, and as it and its labels are right.

        Raises:
            StoreError: It is corrected in the journal, and the store does not hold it so.
            JournalError: It is not corrected, unless the journal failed later: then it says so.
        """
        stands: list[Entry] = []
        what = f"a step of trajectory {trajectory!r} is corrected, and is not found so yet"
        with standing(what, stands), self.worker.held(tenant, trajectory) as state:
            entry, step, labels = corrected()
            with self.states.corrected(state, entry, step=step, labels=labels) as checkpoint:
                self.journal.correct(entry.seq, step=step, labels=labels, at=at, by=by, checkpoint=checkpoint)
                stands.append(entry)
            if labels is None:
                left = self.worker.accepted(state, states=(StepState.ACCEPTED, StepState.LABELED))
            else:
                left = self.worker.accepted(state, start=entry.position, states=(StepState.LABELED,))
            self.worker.work_off(state, left)
            self._check_put(tenant, trajectory, step=entry.id)
        self._checkpoint_when_due()

    def _check_put(self, tenant: str, trajectory: str, *, step: str) -> None:
        """See that the store holds a corrected step as it is right.

        Raises:
            StoreError: It does not.
        """
        entry = self.journal.entry(tenant, trajectory, step)
        if entry is None:
            return
        corrected = f"step {step!r} of trajectory {trajectory!r} is corrected, and is not found so yet"
        if away := self.store_health.reason:
            raise StoreUnavailableError(f"{corrected}: {away}", hint="it is put by itself when the store is back")
        if self.snippets.missing([entry], alike=True):
            raise StoreError(f"{corrected}: {entry.reason}", hint="`stitch retry` puts it into the store")

    def inventory(self, tenant: str, trajectory: str | None = None) -> LabelInventory:
        """The label space of a trajectory, or of all trajectories of a tenant; empty if there is none.

        Never waits for labels that are being made: while they are, the label space is the one before.
        """
        return self.states.inventory(tenant, trajectory)

    def counts(self, tenant: str | None = None) -> IngestCounts:
        """Step counts by state, of a tenant or of all."""
        return self.journal.counts(tenant)

    def receipts(self, tenant: str, *, state: StepState | None = None) -> Iterator[Receipt]:
        """Iterate over the receipts of a tenant, in the order of acceptance; only those in `state` if it is given."""
        redacted = self.journal.redactions(tenant)
        return (
            entry._replace(redacted=redacted.get(entry.seq, ())).receipt()
            for entry in self.journal.every_entry(tenant, state=state)
        )

    def flush(self) -> None:
        """Make everything accepted and stored so far survive a loss of power; waits for steps that are being added.

        Steps that wait for labels are labeled first, trajectories side by side where labels follow in threads; then
        vectors are made that follow. What waits for a store that cannot be reached survives in the journal.
        """
        states = (StepState.ACCEPTED, StepState.LABELED) if self.role is Role.DELEGATES else (StepState.ACCEPTED,)
        self.worker.finish_all(self._waiting(*states), interrupt=self.interrupt)
        self.worker.put_left()
        self.checkpoint()

    def checkpoint(self) -> None:
        """Make what is done so far survive a loss of power; waits for no labels and no vectors that follow."""
        self.save()
        self._checkpoint()

    def save(self) -> None:
        """Write down what the labeling of each trajectory remembers, merges of labels included."""
        if self.role is Role.ALONE:  # workers have done so
            self.states.save()

    def interrupt(self) -> None:
        """Give up the calls of a model that labels wait for, at once and for good; steps without labels go on waiting.

        For who is about to close; whoever is labeling gets a `CallInterruptedError`.
        """
        if self._interrupt is not None:
            self._interrupt()

    def close(self, *, finish: bool = True) -> None:
        """Flush, and close journal and store; closing twice is harmless. What waits for the store is told.

        Vectors that an earlier process left are not waited for. Unless `finish`, what waits for labels stays accepted,
        and `recover` goes on with it; a call of a model that is under way is given up.
        """
        if self._closed:
            return
        self._closed = True
        if not finish:
            self.interrupt()
        self.worker.threads.close()
        try:
            if finish and self.role is Role.ALONE:
                self.worker.finish_all(self._waiting(StepState.ACCEPTED), interrupt=self.interrupt)
                self.worker.put_left(found=False)
            self.checkpoint()
            if self.store_health.reason:
                _log.warning("%d steps wait for the store; who opens the memory next puts them", self.counts().waiting)
        finally:
            try:
                self.store.close()
            finally:
                self.journal.close()

    @contextmanager
    def _taken(self, tenant: str, trajectory: str, *, follow: bool) -> Iterator[TrajectoryState]:
        """A trajectory, to add to it; for this thread alone unless its labels follow."""
        if follow:
            pinned = self.states.pinned(tenant, trajectory)
            with self._accepting.first(), pinned as state, self.snippets.behind(tenant, trajectory):
                yield state
        else:
            with self.worker.held(tenant, trajectory) as state:
                yield state

    def _waiting(self, *states: StepState) -> list[tuple[str, str]]:
        """The trajectories with steps in some states that this labeler may label."""
        return [each for each in self.journal.unfinished(states) if self._only in (None, each[0])]

    def _checkpoint_when_due(self) -> None:
        if self.snippets.unflushed >= self._flush_steps and not self.store_health.reason:
            try:
                self._checkpoint()
            except StoreError as error:  # what was put is in the store; the next one has another go
                _log.warning("the store could not be flushed: %s", error)

    def _checkpoint(self) -> None:
        """Bring all that is derived up to the journal, durably; while the store is away, the journal alone."""
        try:
            self.store_health.check()
            for tenant, trajectory in self.snippets.owed:
                with self.states.held(tenant, trajectory):
                    self.snippets.settle(tenant, trajectory)
            self.snippets.checkpoint()
        except StoreUnavailableError as error:
            self.worker.lose(error)
            self.journal.sync()
        for each in self.projections[1:]:
            follow(each, self.journal)

    def _stand_back(self) -> None:
        """Let who searches, or adds and does not wait for labels, go first."""
        self.searches.stand_back()
        self._accepting.stand_back()

    def notice(self, event: MemoryEvent) -> None:
        """Tell who watches the memory."""
        if self._observer is not None:
            self._observer.notice(event)


@contextmanager
def standing(what: str, stands: Sized) -> Iterator[None]:
    """Meanwhile, say of a journal that cannot go on what it has already: a full disk may take one and not the other.

    `what` is that, and what is not done of it; `stands` is empty as long as nothing stands.
    """
    try:
        yield
    except JournalError as error:
        if not stands:
            raise
        hint = "; ".join(filter(None, (error.hint, "`stitch retry` goes on with it")))
        raise JournalError(f"{what}: {error.message}", hint=hint) from error
