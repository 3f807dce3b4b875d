"""WindowDiff (Pevzner and Hearst 2002): as Pk, but a window is wrong if the numbers of boundaries differ; 0 is best."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from stitch.bench.metrics.pk import TOO_SHORT, boundary_counts, window_width
from stitch.bench.metrics.scores import Score


def window_diff(labels: Sequence[Hashable], gold: Sequence[Hashable]) -> Score:
    """WindowDiff of one trajectory; `Unscored` if it is no longer than the window.

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
    wrong = sum(mine[i + width] - mine[i] != theirs[i + width] - theirs[i] for i in range(windows))
    return wrong / windows
