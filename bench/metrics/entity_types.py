"""Per-step F1 of induced entity types, whatever they are called.

Trajectories are dealt alternately into two halves. On the first, each induced type is mapped to the gold type that it
most often shares a step with (ties: the first by name); on the second, mapped types are compared with gold step by
step and counts are pooled (micro-F1). A type that the mapping does not know is kept as it is, so it counts as wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from stitch.bench.metrics.scores import Score, Unscored, harmonic

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
