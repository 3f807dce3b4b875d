"""Choosing what covers: a greedy choice among candidates that weighs what is new beside what is relevant.

`score(u) = (1 - share) * relevance(u) + share * gain(u) / Z` (Stage I of xMemory, §4.2). `gain` is that of facility
location: how much better all candidates, each by its relevance, are represented by what is chosen with `u`. The paper's
code divides it by the sum over all edges, which leaves it at a thirtieth of relevance at most, so that nothing but
relevance decides; here Z is the greatest gain that any candidate has at this step. What can only repeat a step of which
something is chosen already loses `repeat` for each time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.float32]

NEIGHBORS = 10
"""A candidate represents so many others at most: those that are most like it."""

_MOST_SHARE = 1 - 1e-9
"""Relevance orders what covers equally much, whatever the share."""
_EQUAL = 1e-12
"""Scores that differ by less are equal: which way their sums were rounded depends on the processor."""


class Covering(NamedTuple):
    """Candidates in the order in which they were chosen."""

    order: tuple[int, ...]
    by_coverage: float
    """The share of choices that relevance alone would have made otherwise; 0 if nothing was chosen."""


def choose_covering(
    relevance: Sequence[float],
    likeness: Numbers,
    *,
    share: float,
    groups: Sequence[int] | None = None,
    repeat: float = 0.0,
    first: int = 0,
    first_repeat: float = 0.0,
    enough: Callable[[int], bool] = lambda chosen: False,
) -> Covering:
    """Choose candidates one after the other.

    Args:
        relevance: Of each candidate, above 0; what counts is how they compare with the best.
        likeness: How alike the first candidates are, from 0 to 1, shape `(n, n)`, symmetric. Candidates behind the
            first `n` take part by relevance alone.
        share: How much coverage counts, from 0 to 1.
        groups: Which candidates repeat each other, such as sentences of one step; by default none do.
        repeat: What a candidate loses for each one of its group that is chosen, as a share of the best relevance.
        first: Of so many groups of which something is chosen first, candidates lose `first_repeat` instead.
        first_repeat: As `repeat`.
        enough: Is told of each choice; when it says so, that was the last.

    Returns:
        The order; of equals the first.
    """
    count = len(relevance)
    if not count:
        return Covering((), 0.0)
    share = min(share, _MOST_SHARE)
    worth = np.asarray(relevance, np.float64)
    worth = worth / (worth.max() or 1.0)
    near = _nearest(np.asarray(likeness, np.float64))
    known = len(near)
    weight = np.maximum(worth[:known], 0.0)
    covered = np.zeros(known)
    gain = weight @ near if share else np.zeros(known)
    of_group = _members(groups, count)
    seen: dict[int, int] = {}
    """The groups of which something is chosen, by which came first."""
    order: list[int] = []
    differing = 0
    while len(order) < count:
        score, best_gain = worth, gain.max(initial=0.0) if share else 0.0
        if best_gain > 0:
            score = (1.0 - share) * worth
            score[:known] += share / best_gain * gain
        chosen = int((score > score.max() - _EQUAL).argmax())
        differing += int(worth[chosen] < worth.max())
        worth[chosen] = -np.inf
        order.append(chosen)
        if enough(chosen):
            break
        if groups is not None:
            group = groups[chosen]
            place = seen.setdefault(group, len(seen))
            worth[of_group[group]] -= first_repeat if place < first else repeat
        if share and chosen < known:
            rows = np.flatnonzero(near[chosen] > covered)
            before, after = covered[rows], near[chosen][rows]
            reach = near[rows]
            lost = np.maximum(reach - before[:, None], 0.0) - np.maximum(reach - after[:, None], 0.0)
            gain = np.maximum(gain - weight[rows] @ lost, 0.0)
            covered[rows] = after
    return Covering(tuple(order), differing / len(order))


def _nearest(likeness: NDArray[np.float64]) -> NDArray[np.float64]:
    """The edges to the nearest neighbors of either side; each candidate represents itself in full."""
    count = len(likeness)
    if not count:
        return np.zeros((0, 0))
    near = np.maximum(likeness, 0.0)
    np.fill_diagonal(near, 1.0)
    if count > NEIGHBORS + 1:
        least = np.partition(near, count - NEIGHBORS - 1, axis=1)[:, count - NEIGHBORS - 1]
        kept = near >= least[:, None]
        near = np.where(kept | kept.T, near, 0.0)
    return near


def _members(groups: Sequence[int] | None, count: int) -> dict[int, list[int]]:
    members: dict[int, list[int]] = {}
    for place in range(count) if groups is not None else ():
        members.setdefault(groups[place], []).append(place)  # type: ignore[index]  # the loop is empty without groups
    return members
