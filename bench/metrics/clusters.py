"""Labels of steps against gold, whatever they are called: B-cubed, switches, Pk, WindowDiff, V-measure, ARI, types."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from stitch.bench.metrics.scores import Score, Unscored, harmonic, mean

# B-cubed precision, recall and F1 of a clustering (Bagga and Baldwin 1998; Amigó et al. 2009).
#
# For each item, precision is the share of its cluster that is of its gold class, recall the share of its gold class
# that is in its cluster, the item itself included; the figures of a trajectory are means over items, F1 is harmonic.
# A set of trajectories is averaged with equal weight (macro).


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


# Switch F1: are the steps found at which the label changes?
#
# A switch stands at item i > 0 if its label differs from that of item i - 1. Counts are pooled over all trajectories:
# P = hits / predicted, R = hits / gold, F1 harmonic.


class Switches(NamedTuple):
    """Agreement on switches, and how often either side switches."""

    precision: float
    recall: float
    f1: float
    rate: float
    """Predicted switches per pair of neighbors."""
    gold_rate: float


def switch_places(labels: Sequence[Hashable]) -> frozenset[int]:
    """The places, from 1, at which the label differs from the one before."""
    return frozenset(i for i in range(1, len(labels)) if labels[i] != labels[i - 1])


def switch_f1(trajectories: Iterable[tuple[Sequence[Hashable], Sequence[Hashable]]]) -> Switches | Unscored:
    """Compare switches, pooled over trajectories given as predicted and gold labels of the same items.

    Returns:
        The agreement; `Unscored` if no trajectory has two items. Where neither side switches, all three are 1.
    """
    pairs = hits = predicted = wanted = 0
    for labels, gold in trajectories:
        mine, theirs = switch_places(labels), switch_places(gold)
        pairs += max(0, len(gold) - 1)
        hits += len(mine & theirs)
        predicted += len(mine)
        wanted += len(theirs)
    if not pairs:
        return Unscored("no gold")
    if not predicted and not wanted:
        return Switches(1.0, 1.0, 1.0, 0.0, 0.0)
    precision = hits / predicted if predicted else 0.0
    recall = hits / wanted if wanted else 0.0
    return Switches(precision, recall, harmonic(precision, recall), predicted / pairs, wanted / pairs)


# Pk (Beeferman, Berger and Lafferty 1999): the chance that a probe of width k is judged wrongly; 0 is best.
#
# Pk = share of windows (i, i + k) for which the two segmentations disagree on whether a boundary lies between. k is
# half the mean length of the gold segments. On sparse sets 'no boundary' has a good Pk: never report it alone.

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


# WindowDiff (Pevzner and Hearst 2002): as Pk, but a window is wrong if the numbers of boundaries differ; 0 is best.


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


# V-measure (Rosenberg and Hirschberg 2007): harmonic mean of homogeneity and completeness.
#
# h = 1 - H(class | cluster) / H(class), c = 1 - H(cluster | class) / H(cluster), each 1 where its entropy is 0. The
# same as scikit-learn's `v_measure_score`, which the tests compare it with; here in a few lines, so that nothing
# heavy loads.


def v_measure(clusters: Sequence[Hashable], gold: Sequence[Hashable]) -> Score:
    """V-measure of two labelings of the same items, from 0 to 1; names do not matter. `Unscored` without items."""
    if not gold:
        return Unscored("no gold")
    of_gold, of_clusters = _entropy(gold), _entropy(clusters)
    together = _entropy(list(zip(clusters, gold, strict=True)))
    homogeneity = 1 - (together - of_clusters) / of_gold if of_gold else 1.0
    completeness = 1 - (together - of_gold) / of_clusters if of_clusters else 1.0
    return harmonic(max(0.0, homogeneity), max(0.0, completeness))


def _entropy(labels: Sequence[Hashable]) -> float:
    total = len(labels)
    return -math.fsum(n / total * math.log(n / total) for n in sorted(Counter(labels).values()))


# Adjusted Rand index (Hubert and Arabie 1985): agreement on pairs of items, 0 by chance, 1 if equal.
#
# ARI = (Σ_ij C(n_ij,2) - E) / ((Σ_i C(a_i,2) + Σ_j C(b_j,2)) / 2 - E), E = Σ_i C(a_i,2) Σ_j C(b_j,2) / C(n,2). The
# same as scikit-learn's `adjusted_rand_score`, which the tests compare it with.


def adjusted_rand_index(clusters: Sequence[Hashable], gold: Sequence[Hashable]) -> Score:
    """ARI of two labelings of the same items; names do not matter. `Unscored` without items."""
    both = _pairs(zip(clusters, gold, strict=True))
    if not gold:
        return Unscored("no gold")
    mine, theirs, everything = _pairs(clusters), _pairs(gold), math.comb(len(gold), 2)
    expected = mine * theirs / everything if everything else 0.0
    highest = (mine + theirs) / 2
    return (both - expected) / (highest - expected) if highest != expected else 1.0


def _pairs(labels: Iterable[Hashable]) -> int:
    return sum(math.comb(n, 2) for n in Counter(labels).values())


# Per-step F1 of induced entity types, whatever they are called.
#
# Trajectories are dealt alternately into two halves. On the first, each induced type is mapped to the gold type that it
# most often shares a step with (ties: the first by name); on the second, mapped types are compared with gold step by
# step and counts are pooled (micro-F1). A type that the mapping does not know is kept as it is, so it counts as wrong.

StepTypes = tuple[Collection[str], Collection[str]]
"""Induced and gold entity types of one step."""


def majority_mapping(steps: Iterable[StepTypes]) -> dict[str, str]:
    """The gold type that each induced type most often stands beside."""
    together: dict[str, Counter[str]] = {}
    for induced, gold in steps:
        for name in set(induced):
            together.setdefault(name, Counter()).update(set(gold))
    return {name: min(counts, key=lambda g: (-counts[g], g)) for name, counts in together.items() if counts}


def entity_type_f1(trajectories: Sequence[Sequence[StepTypes]]) -> Score:
    """Micro-F1 on the trajectories at odd places, with the mapping learned on those at even places.

    Returns:
        The score; `Unscored` if either half has no gold type.
    """
    first = [step for trajectory in trajectories[::2] for step in trajectory]
    second = [step for trajectory in trajectories[1::2] for step in trajectory]
    if not any(gold for _, gold in first) or not any(gold for _, gold in second):
        return Unscored("no gold in both halves")
    mapping = majority_mapping(first)
    hits = predicted = wanted = 0
    for induced, gold in second:
        mapped = {("gold", mapping[name]) if name in mapping else ("unknown", name) for name in induced}
        expected = {("gold", name) for name in gold}
        hits += len(mapped & expected)
        predicted += len(mapped)
        wanted += len(expected)
    return harmonic(hits / predicted, hits / wanted) if predicted else 0.0
