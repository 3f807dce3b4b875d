"""Pk (Beeferman, Berger and Lafferty 1999): the chance that a probe of width k is judged wrongly; 0 is best.

Pk = share of windows (i, i + k) for which the two segmentations disagree on whether a boundary lies between. k is half
the mean length of the gold segments. On sparse sets 'no boundary' has a good Pk: never report it alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import accumulate

from stitch.bench.metrics.scores import Score, Unscored
from stitch.bench.metrics.switches import switch_places

TOO_SHORT = Unscored("too short for a window")


def window_width(gold: Sequence[Hashable]) -> int:
    """Half the mean length of the gold segments, at least 1 (Beeferman et al. 1999, §5)."""
    return max(1, round(len(gold) / (len(switch_places(gold)) + 1) / 2))


def boundary_counts(labels: Sequence[Hashable]) -> list[int]:
    """For each item, how many boundaries lie between the first item and it."""
    places = switch_places(labels)
    return list(accumulate(int(i in places) for i in range(len(labels))))


def pk(labels: Sequence[Hashable], gold: Sequence[Hashable]) -> Score:
    """Pk of one trajectory; `Unscored` if it is no longer than the window.

    Raises:
        ValueError: The two differ in length.
    """
    if len(labels) != len(gold):
        raise ValueError(f"{len(labels)} labels for {len(gold)} items")
    width = window_width(gold)
    if len(gold) <= width:
        return TOO_SHORT
    mine, theirs = boundary_counts(labels), boundary_counts(gold)
    windows = len(gold) - width
    wrong = sum((mine[i] == mine[i + width]) != (theirs[i] == theirs[i + width]) for i in range(windows))
    return wrong / windows
