"""Diagnostics of the labels selected for a question (Appendix D.1, Table 4).

With L the selected labels, o(t) = |L ∩ labels(t)| and G the gold steps, among all candidate steps:
`gt_at_max` 1 if max over G of o equals the maximum and is above 0; `gt_dominant` share of G with o at the maximum (and
above 0); `gt_coverage` mean over G of o / |L|; `gt_best_coverage` max over G of o / |L|; `gt_full` 1 if some gold step
covers all of L; `zero` 1 if no candidate overlaps.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Set
from typing import NamedTuple

from stitch.bench.metrics.scores import Mean, Unscored, mean


class SelectionDiagnostics(NamedTuple):
    """How the selected labels of one question lie to its gold steps."""

    gt_at_max: float
    gt_dominant: float
    gt_coverage: float
    gt_best_coverage: float
    gt_full: float
    zero: float


def diagnose_selection(
    selected: Set[Hashable], labels: Mapping[str, Set[Hashable]], *, gold: Collection[str]
) -> SelectionDiagnostics | Unscored:
    """Diagnose one question.

    Args:
        selected: The labels of the filter.
        labels: The labels of every candidate step, by step id.
        gold: The gold steps; those that are no candidates have no overlap.

    Returns:
        The diagnostics; `Unscored` if there is no gold step. An empty filter overlaps nowhere: `zero` is 1.
    """
    gold = dict.fromkeys(gold)
    if not gold:
        return Unscored("no gold step")
    overlap = {step: len(selected & own) for step, own in labels.items()}
    highest = max(overlap.values(), default=0)
    if not highest:
        return SelectionDiagnostics(0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    reached = [overlap.get(step, 0) for step in gold]
    return SelectionDiagnostics(
        gt_at_max=float(max(reached) == highest),
        gt_dominant=sum(count == highest for count in reached) / len(reached),
        gt_coverage=sum(reached) / len(reached) / len(selected),
        gt_best_coverage=max(reached) / len(selected),
        gt_full=float(max(reached) == len(selected)),
        zero=0.0,
    )


def mean_diagnostics(diagnoses: Iterable[SelectionDiagnostics | Unscored]) -> dict[str, Mean]:
    """The mean of each figure under the paper's name for it."""
    known = list(diagnoses)

    def one(place: int) -> Mean:
        return mean(d if isinstance(d, Unscored) else d[place] for d in known)

    names = ("Q_GT@MAX", "GT_DOM", "GT_COV", "GT_BEST_COV", "Q_GT_FULL", "Q_ZERO")
    return {name: one(place) for place, name in enumerate(names)}
