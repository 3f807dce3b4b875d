"""Evidence recall inside a token budget: what a reader of the context could have seen.

Steps are taken in ranking order; one that does not fit what is left as a method shows it is passed over.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from stitch.bench.metrics.recall import all_at, recall_at
from stitch.bench.metrics.scores import Score

BUDGETS = (512, 1024, 2048, 4096)
"""The budgets for which recall is told, in tokens, beside the one that a run was made with."""
CURVE = (256, *BUDGETS, 8192)
"""Those at which it is drawn."""


def within_budget(ranking: Sequence[str], tokens: Mapping[str, int], *, budget: int) -> list[str]:
    """The steps of the ranking that fit the budget, in ranking order."""
    kept = []
    for step in ranking:
        if tokens[step] <= budget:
            budget -= tokens[step]
            kept.append(step)
    return kept


def budget_recall(ranking: Sequence[str], gold: Collection[str], *, tokens: Mapping[str, int], budget: int) -> Score:
    """The share of gold steps that fit the budget.

    Args:
        ranking: Steps, best first.
        gold: Gold steps.
        tokens: Length of each ranked step, in tokens.
        budget: Length of the context, in tokens.
    """
    return recall_at(within_budget(ranking, tokens, budget=budget), gold)


def budget_all(ranking: Sequence[str], gold: Collection[str], *, tokens: Mapping[str, int], budget: int) -> Score:
    """1 if every gold step fits the budget, else 0; the arguments are those of `budget_recall`."""
    return all_at(within_budget(ranking, tokens, budget=budget), gold)
