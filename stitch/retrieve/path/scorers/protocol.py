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

    __slots__ = ()
    __eq__ = object.__eq__
    __ne__ = object.__ne__
    __hash__ = object.__hash__


class Judgement(NamedTuple):
    """Scores of passages.

    Args:
        scores: Of each passage, in [0, 1]: .5 is "as likely as not".
        cut: From which score on a passage fulfils the condition, if nobody sets a threshold: the one that promises the
            best balance of what is found and what is right.
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


def best_cut(scores: Sequence[float], *, least: float = 0.2, most: float = 0.5) -> float:
    """The cut with the best expected F1, if scores are probabilities.

    Args:
        scores: Of all nodes that could be meant.
        least: Nothing less likely is ever taken: it may be that nothing is meant.
        most: What is more likely than not is always taken.
    """
    ordered = sorted(scores, reverse=True)
    expected, total, best, cut = 0.0, sum(ordered), 0.0, most
    for place, score in enumerate(ordered, start=1):
        expected += score
        balance = 2 * expected / (place + total) if total else 0.0
        if balance > best:
            best, cut = balance, score
    return min(most, max(least, cut))
