"""Switch F1: are the steps found at which the label changes?

A switch stands at item i > 0 if its label differs from that of item i - 1. Counts are pooled over all trajectories:
P = hits / predicted, R = hits / gold, F1 harmonic.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

from stitch.bench.metrics.scores import Unscored, harmonic


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
