"""Evidence of questions: found, in which order, in which budget, and how the labels that were selected lie to it."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence, Set
from typing import NamedTuple

from stitch.bench.metrics.scores import Mean, Score, Unscored, mean

NO_EVIDENCE = Unscored("no evidence is named")
BUDGETS = (512, 1024, 2048, 4096)
"""The budgets for which recall is told, in tokens, beside the one that a run was made with."""
TOKENIZER = "pieces-1"
"""The name of how tokens are counted (`stitch.text.words.count_tokens`)."""


def recall_at(ranking: Sequence[str], gold: Collection[str], *, k: int | None = None) -> Score:
    """The share of gold steps among the first `k` of the ranking (the whole ranking if None)."""
    wanted = set(gold)
    return len(wanted.intersection(ranking[:k])) / len(wanted) if wanted else NO_EVIDENCE


def precision_of(ranking: Sequence[str], gold: Collection[str]) -> Score:
    """The share of the ranking that is gold; 0 of an empty one."""
    wanted = set(gold)
    return len(wanted.intersection(ranking)) / (len(ranking) or 1) if wanted else NO_EVIDENCE


def all_at(ranking: Sequence[str], gold: Collection[str], *, k: int | None = None) -> Score:
    """1 if all gold steps are among the first `k`, else 0."""
    found = recall_at(ranking, gold, k=k)
    return found if isinstance(found, Unscored) else float(found == 1.0)


def reciprocal_rank(ranking: Sequence[str], gold: Collection[str]) -> Score:
    """One over the rank of the first gold step, 0 if none is ranked; its mean is MRR (Voorhees 1999)."""
    wanted = set(gold)
    ranks = (1.0 / rank for rank, step in enumerate(ranking, start=1) if step in wanted)
    return next(ranks, 0.0) if wanted else NO_EVIDENCE


def ndcg_at(ranking: Sequence[str], gold: Collection[str], *, k: int) -> Score:
    """NDCG of the first `k` with binary gains (Järvelin and Kekäläinen 2002); a step that is ranked twice counts once.

    DCG@k = Σ_{i≤k} [step i is gold] / log2(i + 1), divided by that of a ranking that begins with all gold steps.
    """
    wanted = set(gold)
    if not wanted:
        return NO_EVIDENCE
    first = {step: rank for rank, step in reversed(list(enumerate(ranking[:k], start=1)))}
    gain = sum(1 / math.log2(rank + 1) for step, rank in first.items() if step in wanted)
    return gain / sum(1 / math.log2(rank + 1) for rank in range(1, min(k, len(wanted)) + 1))


class SelectionDiagnostics(NamedTuple):
    """Overlap of the selected labels L of one question with its gold steps G (Appendix D.1, Table 4).

    With o(t) = |L ∩ labels(t)|, over all candidate steps t.
    """

    gt_at_max: float
    """1 if max over G of o equals the maximum and is above 0."""
    gt_dominant: float
    """The share of G with o at the maximum, if that is above 0."""
    gt_coverage: float
    """The mean over G of o / |L|."""
    gt_best_coverage: float
    """The maximum over G of o / |L|."""
    gt_full: float
    """1 if some gold step covers all of L."""
    zero: float
    """1 if no candidate overlaps."""


def diagnose_selection(
    selected: Set[Hashable], labels: Mapping[str, Set[Hashable]], *, gold: Collection[str]
) -> SelectionDiagnostics | Unscored:
    """Diagnose one question; gold steps that are no candidates have no overlap."""
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
    names = ("Q_GT@MAX", "GT_DOM", "GT_COV", "GT_BEST_COV", "Q_GT_FULL", "Q_ZERO")
    return {
        name: mean(own if isinstance(own, Unscored) else own[place] for own in known)
        for place, name in enumerate(names)
    }
