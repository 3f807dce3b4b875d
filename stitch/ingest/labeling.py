"""The labels of accepted steps: made in order, in windows, and in the journal before anybody sees them.

Earlier steps that later ones show to have been misread are corrected, with what they were kept in their history.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from stitch.core import (
    BatchingLabeler,
    Labeler,
    MemoryEvent,
    Step,
    StepCorrected,
    StepLabels,
    StepState,
)
from stitch.errors import CallInterruptedError, ModelError, ModelUnavailableError, ReplyError
from stitch.ingest.lineage import LineageSession
from stitch.ingest.priorities import SearchPriority
from stitch.ingest.state import BATCH_STEPS, TrajectoryState, TrajectoryStates, place_of
from stitch.journal import Checkpoint, Entry, Journal
from stitch.journal.entries import encode_labels
from stitch.lm import charged_to, keeping_replies, led_by

_AT_ONCE, _AT_ONCE_ALONE = 4, 32
"""So many steps are labeled locally between two times of standing back: for a millisecond or two if others search."""


class JournaledReplies:
    """The replies of a model about a trajectory, in the journal for as long as their labels are not."""

    def __init__(self, journal: Journal, *, tenant: str, trajectory: str) -> None:
        self._journal = journal
        self._names = (tenant, trajectory)
        self._known: dict[bytes, bytes] | None = None
        self._times: Counter[bytes] = Counter()
        self.asked = False
        """Whether a model was asked, now or by an earlier process."""

    def get(self, request: bytes) -> bytes | None:
        """The reply to a request; None if there is none. What is asked twice has two replies."""
        self.asked = True
        if self._known is None:
            self._known = self._journal.replies(*self._names)
        self._times[request] += 1
        return self._known.get(self._numbered(request))

    def keep(self, request: bytes, reply: bytes) -> None:
        """Keep the reply to a request that was asked for and not known."""
        self._journal.keep_reply(*self._names, request=self._numbered(request), reply=reply)

    def _numbered(self, request: bytes) -> bytes:
        return b"%b %d" % (request, self._times[request])

    def drop(self) -> None:
        """Keep none of them: what they led to cannot be used."""
        self._journal.drop_replies(*self._names)


def encoded_labels(entries: Sequence[Entry], labels: Sequence[StepLabels], *, labeler: str) -> list[tuple[int, bytes]]:
    """Labels as the journal keeps them, by the numbers of their steps.

    Raises:
        ReplyError: There are more or fewer than steps, or JSON cannot carry them.
    """
    if len(labels) != len(entries):
        raise ReplyError(f"labeler {labeler!r} gave {len(labels)} labels for {len(entries)} steps")
    return [(entry.seq, encode_labels(made, step=entry.id)) for entry, made in zip(entries, labels, strict=True)]


@dataclass(eq=False, kw_only=True)
class Labeling:
    """Labels the steps of trajectories, each after those before it.

    With a `BatchingLabeler` steps are labeled in windows. Full windows depend on the steps alone. Where a window is cut
    early, because it waited long enough or because labels are wanted now, the cut is in the journal before the model is
    asked, and so is each reply before anything is made of it. So labels after an interruption are those that would have
    been made without it, and nothing is paid for twice.
    """

    journal: Journal
    labeler: Labeler
    states: TrajectoryStates
    searches: SearchPriority
    stand_back: Callable[[], None]
    """Called before each piece of work, so that others can go first."""
    notice: Callable[[MemoryEvent], None]
    clock: Callable[[], float]
    timer: Callable[[], float]

    def __post_init__(self) -> None:
        self._batching = self.labeler if isinstance(self.labeler, BatchingLabeler) else None

    @property
    def lets_wait(self) -> bool:
        """Whether steps may wait for others to be labeled with."""
        return self._batching is not None

    def ready(self, state: TrajectoryState, waiting: Sequence[Entry]) -> int:
        """Number of waiting steps, in order, to be labeled now.

        How long a step has waited is measured from when this process saw it: a memory that was closed for a day, or a
        clock that jumps, closes no window.
        """
        if self._batching is None or not waiting:
            return len(waiting)
        if cut := self._cut(state, waiting):
            return cut
        now, seen = self.timer(), state.seen
        while seen and seen[0][0] < waiting[0].seq:
            seen.popleft()
        if not seen or seen[-1][0] < waiting[-1].seq:
            seen.append((waiting[-1].seq, now))
        return self._batching.ready([entry.step for entry in waiting], waited_s=now - seen[0][1])

    def batches(self, state: TrajectoryState, entries: Iterable[Entry]) -> Iterator[list[Entry]]:
        """Cut entries that are all to be labeled now, in order: those that have labels first, the others by windows."""
        iterator, held = iter(entries), list[Entry]()
        while True:
            held += islice(iterator, BATCH_STEPS - len(held))
            if not held:
                return
            size = len(held)
            if self._batching is not None:
                labeled = sum(entry.labels is not None for entry in held)
                full = self._whole_windows(self._batching, held) if size == BATCH_STEPS and not labeled else size
                size = labeled or self._cut(state, held) or full
            yield held[:size]
            del held[:size]

    def label(self, state: TrajectoryState, entries: Sequence[Entry]) -> list[Entry]:
        """Label the next steps of a trajectory, and write that down.

        Raises:
            ModelError: None of them is labeled; asking again is safe.
            CallInterruptedError: The same, because the memory is about to be closed.
        """
        steps = [entry.step for entry in entries]
        replies = JournaledReplies(self.journal, tenant=state.tenant, trajectory=state.trajectory)
        if self._batching is not None:
            self.journal.record_cut(state.tenant, state.trajectory, entries[-1].position + 1)
        session, labels = self.states.session(state), list[StepLabels]()
        try:
            with charged_to(state.tenant), led_by(state.key), keeping_replies(replies):
                for piece in self._pieces(steps, replies):
                    labels += session.label(piece)
            encoded = encoded_labels(entries, labels, labeler=self.labeler.name)
        except Exception as error:
            state.session = None  # it may have taken in what nobody else knows of
            if not isinstance(error, (ModelUnavailableError, CallInterruptedError)):
                replies.drop()
            if isinstance(error, (ModelError, CallInterruptedError)):
                raise
            # A bug in a labeler must neither lose a step nor lock the memory.
            raise ReplyError(f"labeler {self.labeler.name!r} broke: {type(error).__name__}: {error}") from error
        position = entries[-1].position + 1
        # What a model made of more than these steps, such as merges, is in no label: it is kept together with them.
        checkpoint = self.states.checkpoint(session, position=position) if replies.asked else None
        self.journal.record_labels(encoded, checkpoint=checkpoint)
        state.position = position
        if checkpoint is not None:
            state.saved, state.saved_bytes = position, len(checkpoint.session)
        return [
            entry._replace(state=StepState.LABELED, reason="", labels=made)
            for entry, made in zip(entries, labels, strict=True)
        ]

    def revise(self, state: TrajectoryState) -> list[Entry]:
        """Correct what was misread in a held trajectory; return the corrected steps, which are to be put.

        Only who labels several steps at once is asked for such.
        """
        if self._batching is None:
            return []
        revised = list[Entry]()
        session = self.states.session(state)
        for entry, right in self._misread(session, tenant=state.tenant, trajectory=state.trajectory):
            with self.states.corrected(state, entry, step=entry.step, labels=right) as checkpoint:
                self._correct(entry, right, checkpoint=checkpoint)
            revised.append(entry._replace(state=StepState.LABELED, reason="", labels=right))
        return revised

    def revise_apart(self, session: LineageSession, *, tenant: str, trajectory: str) -> None:
        """The same for a labeling that no state holds; who calls this writes down what it remembers then."""
        for entry, right in self._misread(session, tenant=tenant, trajectory=trajectory):
            assert entry.labels is not None  # or there were nothing to settle
            place = place_of(self.journal, entry)
            session.correct(place, before=(entry.step, entry.labels), after=(entry.step, right))
            self._correct(entry, right, checkpoint=None)

    def _misread(self, session: LineageSession, *, tenant: str, trajectory: str) -> Iterator[tuple[Entry, StepLabels]]:
        """The steps that a labeling has misread, as they are, and with the labels that are right."""
        for step in session.unsettled():
            entry = self.journal.entry(tenant, trajectory, step)
            there = entry is not None and entry.state is not StepState.RETIRED
            right = session.settle(step, entry.labels if entry is not None and there else None)
            if entry is not None and right is not None:
                yield entry, right

    def _correct(self, entry: Entry, right: StepLabels, *, checkpoint: Checkpoint | None) -> None:
        by = f"model {self.labeler.name}"  # nobody takes that for a person, whose labels stay
        self.journal.correct(entry.seq, step=entry.step, labels=right, at=self.clock(), by=by, checkpoint=checkpoint)
        self.notice(StepCorrected(tenant=entry.tenant, trajectory=entry.trajectory, step=entry.id, by=by))

    def _pieces(self, steps: Sequence[Step], replies: JournaledReplies) -> Iterator[Sequence[Step]]:
        """Cut steps for a session, and stand back before each piece; who asks a model lets others go anyway."""
        start = 0
        while start < len(steps):
            self.stand_back()
            size = _AT_ONCE if self.searches.wanted else _AT_ONCE_ALONE
            end = start + size if self._batching is None and not replies.asked else len(steps)
            yield steps[start:end]
            start = end

    def _cut(self, state: TrajectoryState, entries: Sequence[Entry]) -> int:
        """Number of these entries before the last cut; 0 if it is behind them."""
        cut = self.journal.cut(state.tenant, state.trajectory)
        return sum(entry.position < cut for entry in entries)

    def _whole_windows(self, labeler: BatchingLabeler, entries: Sequence[Entry]) -> int:
        """Number of these entries that fill windows; all if they do not fill one."""
        return labeler.ready([entry.step for entry in entries], waited_s=0.0) or len(entries)
