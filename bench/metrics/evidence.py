"""Evidence of questions: found, in which order, in which budget, and how the labels that were selected lie to it."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence, Set
from typing import NamedTuple

from stitch.bench.metrics.scores import Mean, Score, Unscored, mean

# Evidence recall at k: |first k ∩ gold| / |gold|; and whether the first k hold all of it.

NO_EVIDENCE = Unscored("no evidence is named")


def recall_at(ranking: Sequence[str], gold: Collection[str], *, k: int | None = None) -> Score:
    """The share of gold steps among the first `k` of the ranking (the whole ranking if None)."""
    wanted = set(gold)
    if not wanted:
        return NO_EVIDENCE
    return len(wanted.intersection(ranking[:k])) / len(wanted)


def precision_of(ranking: Sequence[str], gold: Collection[str]) -> Score:
    """The share of the ranking that is gold; 0 of an empty one."""
    wanted = set(gold)
    if not wanted:
        return NO_EVIDENCE
    return len(wanted.intersection(ranking)) / (len(ranking) or 1)


def all_at(ranking: Sequence[str], gold: Collection[str], *, k: int | None = None) -> Score:
    """1 if all gold steps are among the first `k`, else 0."""
    found = recall_at(ranking, gold, k=k)
    return found if isinstance(found, Unscored) else float(found == 1.0)


# Reciprocal rank of the first gold step: 1 / rank, 0 if none is ranked (Voorhees 1999). Its mean is MRR.


def reciprocal_rank(ranking: Sequence[str], gold: Collection[str]) -> Score:
    """One over the rank, from 1, of the first gold step in the ranking."""
    wanted = set(gold)
    if not wanted:
        return NO_EVIDENCE
    return next((1.0 / rank for rank, step in enumerate(ranking, start=1) if step in wanted), 0.0)


# Normalized discounted cumulative gain with binary gains (Järvelin and Kekäläinen 2002).
#
# DCG@k = Σ_{i≤k} [step i is gold] / log2(i + 1); nDCG@k divides by the DCG of a ranking that begins with all gold
# steps.


def ndcg_at(ranking: Sequence[str], gold: Collection[str], *, k: int) -> Score:
    """NDCG of the first `k`, from 0 to 1; a step that is ranked twice counts once."""
    wanted = set(gold)
    if not wanted:
        return NO_EVIDENCE
    gain, seen = 0.0, set()
    for rank, step in enumerate(ranking[:k], start=1):
        if step in wanted and step not in seen:
            seen.add(step)
            gain += 1 / math.log2(rank + 1)
    return gain / sum(1 / math.log2(rank + 1) for rank in range(1, min(k, len(wanted)) + 1))


# What of a ranking fits a token budget: in its order; a text that does not fit what is left is passed over.

BUDGETS = (512, 1024, 2048, 4096)
"""The budgets for which recall is told, in tokens, beside the one that a run was made with."""


def within_budget(ranking: Sequence[str], tokens: Mapping[str, int], *, budget: int) -> list[str]:
    """The steps of the ranking that fit the budget, in ranking order."""
    kept = []
    for step in ranking:
        if tokens[step] <= budget:
            budget -= tokens[step]
            kept.append(step)
    return kept


# Diagnostics of the labels selected for a question (Appendix D.1, Table 4).
#
# With L the selected labels, o(t) = |L ∩ labels(t)| and G the gold steps, among all candidate steps: `gt_at_max` 1 if
# max over G of o equals the maximum and is above 0; `gt_dominant` share of G with o at the maximum (and above 0);
# `gt_coverage` mean over G of o / |L|; `gt_best_coverage` max over G of o / |L|; `gt_full` 1 if some gold step covers
# all of L; `zero` 1 if no candidate overlaps.


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
