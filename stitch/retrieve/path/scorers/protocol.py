"""The seam of scorers: how likely is it that a node fulfils a condition in words?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable


class Passage(NamedTuple):
    """Texts of a node's fields, its own and those of what it contains; without numbers, times and dates."""

    own: tuple[str, ...]
    below: tuple[str, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """All of it."""
        return self.own + self.below


class Passages(tuple[Passage, ...]):
    """Passages that are judged again and again: equal if they are the same object, so that comparing costs nothing."""

    tree = ""
    """The id of the root of their tree: versions of it share most passages."""
    __eq__ = object.__eq__
    __ne__ = object.__ne__
    __hash__ = object.__hash__


class Judgement(NamedTuple):
    """Scores of passages in [0, 1], and from which one on a passage fulfils the condition if nobody sets a threshold.

    .5 is "as likely as not"; the cut is the one that promises the best balance of what is found and what is right.
    """

    scores: tuple[float, ...]
    cut: float = 0.5


@runtime_checkable
class Scorer(Protocol):
    """Scores passages, many at once."""

    @property
    def name(self) -> str:
        """The scorer with its model; a calibration is fitted under this name."""

    @property
    def relative(self) -> bool:
        """Whether a score depends on the other passages; then all nodes of a type are scored together."""

    def judge(self, condition: str, passages: Sequence[Passage]) -> Judgement:
        """Score passages: one score each, in their order; equal passages have equal scores, an empty one is near 0.

        Raises:
            StitchError: The scorer cannot work; nothing is scored.
        """
