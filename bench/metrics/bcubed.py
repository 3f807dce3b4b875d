"""B-cubed precision, recall and F1 of a clustering (Bagga and Baldwin 1998; Amigó et al. 2009).

For each item, precision is the share of its cluster that is of its gold class, recall the share of its gold class that
is in its cluster, the item itself included; the figures of a trajectory are means over items, F1 is harmonic. A set of
trajectories is averaged with equal weight (macro).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

from stitch.bench.metrics.scores import Unscored, harmonic, mean


class BCubed(NamedTuple):
    """B-cubed agreement, each from 0 to 1."""

    precision: float
    recall: float
    f1: float


def bcubed(clusters: Sequence[Hashable], gold: Sequence[Hashable], *, context: int = 0) -> BCubed | Unscored:
    """Compare two labelings of the same items; names do not matter.

    Args:
        clusters: The label of each item.
        gold: The class of each item.
        context: So many of the first items are there to be joined, and are not counted themselves.

    Returns:
        The agreement; `Unscored` without items that count.

    Raises:
        ValueError: The two differ in length.
    """
    pairs = list(zip(clusters, gold, strict=True))
    both, counted = Counter(pairs), Counter(pairs[context:])
    if not counted:
        return Unscored("no gold")
    in_cluster, in_class = Counter(clusters), Counter(gold)
    items = len(pairs) - context
    precision = sum(n * both[pair] / in_cluster[pair[0]] for pair, n in counted.items()) / items
    recall = sum(n * both[pair] / in_class[pair[1]] for pair, n in counted.items()) / items
    return BCubed(precision, recall, harmonic(precision, recall))


def macro_bcubed(trajectories: Iterable[tuple[Sequence[Hashable], Sequence[Hashable]]]) -> BCubed | Unscored:
    """The mean of each figure over trajectories, given as clusters and gold; those without items are left out."""
    each = [bcubed(clusters, gold) for clusters, gold in trajectories]
    scored = [score for score in each if not isinstance(score, Unscored)]
    if not scored:
        return Unscored("no gold")
    return BCubed(*(mean(figures).value or 0.0 for figures in zip(*scored, strict=True)))
