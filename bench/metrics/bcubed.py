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


def bcubed(clusters: Sequence[Hashable], gold: Sequence[Hashable]) -> BCubed | Unscored:
    """Compare two labelings of the same items; names do not matter.

    Returns:
        The agreement; `Unscored` without items.

    Raises:
        ValueError: The two differ in length.
    """
    both = Counter(zip(clusters, gold, strict=True))
    if not both:
        return Unscored("no gold")
    in_cluster, in_class = Counter(clusters), Counter(gold)
    items = len(gold)
    precision = sum(n * n / in_cluster[cluster] for (cluster, _), n in both.items()) / items
    recall = sum(n * n / in_class[label] for (_, label), n in both.items()) / items
    return BCubed(precision, recall, harmonic(precision, recall))


def macro_bcubed(trajectories: Iterable[tuple[Sequence[Hashable], Sequence[Hashable]]]) -> BCubed | Unscored:
    """The mean of each figure over trajectories, given as clusters and gold; those without items are left out."""
    each = [bcubed(clusters, gold) for clusters, gold in trajectories]
    scored = [score for score in each if not isinstance(score, Unscored)]
    if not scored:
        return Unscored("no gold")
    return BCubed(*(mean(figures).value or 0.0 for figures in zip(*scored, strict=True)))
