"""A trajectory whose journal is being changed, and what its labeling remembers after that."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stitch.core import ErasedText, Forgotten, Step
from stitch.ingest.state import TrajectoryState, TrajectoryStates
from stitch.journal import Checkpoint


class Rework:
    """A trajectory whose journal is being changed, held by this thread.

    Args:
        states: Where it is remembered.
        state: What is remembered of it.
    """

    def __init__(self, states: TrajectoryStates, state: TrajectoryState) -> None:
        self._states, self._state = states, state
        self._kept: Checkpoint | None = None

    def without(
        self,
        gone: Sequence[Forgotten],
        *,
        erased: ErasedText,
        left: Sequence[Step],
        position: int,
        is_clean: Callable[[Checkpoint], bool],
    ) -> Checkpoint | None:
        """What the labeling remembers without some steps, to be written down with their erasure.

        None if it cannot forget them, or not all that they said: then it is learnt again from what is left.

        Args:
            gone: The steps, of those that are labeled.
            erased: What only they say.
            left: The labeled steps that remain.
            position: The place behind the last of these in the journal.
            is_clean: Whether a checkpoint has nothing of the steps.
        """
        checkpoint = self._states.without(self._state, gone, erased=erased, left=left)
        if checkpoint is not None and is_clean(checkpoint):
            self._kept = checkpoint._replace(position=position)
        return self._kept

    def changed(self) -> TrajectoryState:
        """Take in that the journal is changed; return the state from which to go on."""
        self._states.go_on(self._state, self._kept)
        return self._state
