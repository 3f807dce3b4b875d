"""Earlier steps that later ones show to have been misread: corrected in the journal, with what they were."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from stitch.core import (
    CorrectableSession,
    LabelSession,
    MemoryEvent,
    RevisingSession,
    StepCorrected,
    StepLabels,
    StepState,
)
from stitch.ingest.state import TrajectoryState, TrajectoryStates, place_of
from stitch.journal import Entry, Journal


def corrector(labeler: str) -> str:
    """Who a labeler is where it corrects a step: nobody takes that for a person, whose labels stay."""
    return f"model {labeler}"


class Revising:
    """Corrects the steps that a labeling has misread, as it says itself; a person's word stays."""

    def __init__(
        self,
        *,
        journal: Journal,
        states: TrajectoryStates,
        labeler: str,
        notice: Callable[[MemoryEvent], None],
        clock: Callable[[], float],
    ) -> None:
        self._journal = journal
        self._states = states
        self._by = corrector(labeler)
        self._notice = notice
        self._clock = clock

    def revise(self, state: TrajectoryState) -> list[Entry]:
        """Correct what is unsettled in a trajectory that is held; return the corrected steps, which are to be put."""
        session = self._states.session(state)
        entries = []
        for entry, right in misread(session, self._journal, tenant=state.tenant, trajectory=state.trajectory):
            with self._states.corrected(state, entry, step=entry.step, labels=right) as checkpoint:
                self._journal.correct(
                    entry.seq, step=entry.step, labels=right, at=self._clock(), by=self._by, checkpoint=checkpoint
                )
            self._notice(StepCorrected(tenant=state.tenant, trajectory=state.trajectory, step=entry.id, by=self._by))
            entries.append(entry._replace(state=StepState.LABELED, reason="", labels=right))
        return entries

    def revise_apart(self, session: LabelSession, *, tenant: str, trajectory: str) -> None:
        """The same for a labeling that no state holds; who calls this writes down what it remembers then."""
        for entry, right in misread(session, self._journal, tenant=tenant, trajectory=trajectory):
            assert entry.labels is not None
            assert isinstance(session, CorrectableSession)  # each that can revise can
            place = place_of(self._journal, entry)
            session.correct(place, before=(entry.step, entry.labels), after=(entry.step, right))
            self._journal.correct(
                entry.seq, step=entry.step, labels=right, at=self._clock(), by=self._by, checkpoint=None
            )
            self._notice(StepCorrected(tenant=tenant, trajectory=trajectory, step=entry.id, by=self._by))


def misread(
    session: LabelSession, journal: Journal, *, tenant: str, trajectory: str
) -> Iterator[tuple[Entry, StepLabels]]:
    """The steps that a labeling has misread, as they are, and with the labels that are right."""
    if not isinstance(session, RevisingSession):
        return
    for step in session.unsettled():
        entry = journal.entry(tenant, trajectory, step)
        there = entry is not None and entry.state is not StepState.RETIRED
        right = session.settle(step, entry.labels if entry is not None and there else None)
        if entry is not None and right is not None:
            yield entry, right
