"""Labels of steps against gold, whatever they are called: B-cubed, switches, V-measure, types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import NamedTuple

from stitch.bench.metrics.scores import Score, Unscored, harmonic, mean
from stitch.errors import require_extra

Labels = Sequence[Hashable]
"""The label of each item, in order."""
NO_GOLD = Unscored("no gold")


class BCubed(NamedTuple):
    """B-cubed agreement (Bagga and Baldwin 1998; Amigó et al. 2009), each from 0 to 1.

    For each item, precision is the share of its cluster that is of its gold class, recall the share of its gold class
    that is in its cluster, the item itself included; means over items, F1 harmonic.
    """

    precision: float
    recall: float
    f1: float


def bcubed(clusters: Labels, gold: Labels, *, context: int = 0) -> BCubed | Unscored:
    """B-cubed of one trajectory; the first `context` items are there to be joined, and are not counted themselves."""
    pairs = list(zip(clusters, gold, strict=True))
    both, counted = Counter(pairs), Counter(pairs[context:])
    if not counted:
        return NO_GOLD
    in_cluster, in_class = Counter(clusters), Counter(gold)
    items = len(pairs) - context
    precision = sum(n * both[pair] / in_cluster[pair[0]] for pair, n in counted.items()) / items
    recall = sum(n * both[pair] / in_class[pair[1]] for pair, n in counted.items()) / items
    return BCubed(precision, recall, harmonic(precision, recall))


def macro_bcubed(trajectories: Iterable[tuple[Labels, Labels]]) -> BCubed | Unscored:
    """The mean of each figure over trajectories, given as clusters and gold; those without items are left out."""
    each = [bcubed(clusters, gold) for clusters, gold in trajectories]
    kept = [score for score in each if not isinstance(score, Unscored)]
    if not kept:
        return NO_GOLD
    return BCubed(*(mean(figures).value or 0.0 for figures in zip(*kept, strict=True)))


class Switches(NamedTuple):
    """Agreement on the places at which the label changes, and how often either side switches."""

    precision: float
    recall: float
    f1: float
    rate: float
    """Predicted switches per pair of neighbors."""
    gold_rate: float


def switch_places(labels: Labels) -> frozenset[int]:
    """The places, from 1, at which the label differs from the one before."""
    return frozenset(i for i in range(1, len(labels)) if labels[i] != labels[i - 1])


def switch_f1(trajectories: Iterable[tuple[Labels, Labels]]) -> Switches | Unscored:
    """Switches pooled over trajectories, given as predicted and gold; where neither side switches, all three are 1."""
    pairs = hits = predicted = wanted = 0
    for labels, gold in trajectories:
        mine, theirs = switch_places(labels), switch_places(gold)
        pairs += max(0, len(gold) - 1)
        hits += len(mine & theirs)
        predicted += len(mine)
        wanted += len(theirs)
    if not pairs:
        return NO_GOLD
    if not predicted and not wanted:
        return Switches(1.0, 1.0, 1.0, 0.0, 0.0)
    precision = hits / predicted if predicted else 0.0
    recall = hits / wanted if wanted else 0.0
    return Switches(precision, recall, harmonic(precision, recall), predicted / pairs, wanted / pairs)


def v_measure(clusters: Labels, gold: Labels) -> Score:
    """V-measure (Rosenberg and Hirschberg 2007): harmonic mean of homogeneity and completeness, by scikit-learn."""
    from sklearn.metrics import v_measure_score

    return float(v_measure_score(*_numbered(gold, clusters))) if gold else NO_GOLD


def _numbered(*sides: Labels) -> list[list[int]]:
    """The labels of each side as numbers."""
    require_extra("bench", package="sklearn", needed_by="agreement of labels with gold")
    known: dict[Hashable, int] = {}
    return [[known.setdefault(label, len(known)) for label in labels] for labels in sides]


StepTypes = tuple[Collection[str], Collection[str]]
"""Induced and gold entity types of one step."""


def majority_mapping(steps: Iterable[StepTypes]) -> dict[str, str]:
    """The gold type that each induced type most often stands beside; of equals the first by name."""
    together: dict[str, Counter[str]] = {}
    for induced, gold in steps:
        for name in set(induced):
            together.setdefault(name, Counter()).update(set(gold))
    return {name: min(counts, key=lambda g: (-counts[g], g)) for name, counts in together.items() if counts}


def entity_type_f1(trajectories: Sequence[Sequence[StepTypes]]) -> Score:
    """Micro-F1 on the trajectories at odd places, with the mapping learned on those at even places.

    A type that the mapping does not know is kept as it is, so it counts as wrong.
    """
    first, second = ([step for trajectory in trajectories[half::2] for step in trajectory] for half in (0, 1))
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
