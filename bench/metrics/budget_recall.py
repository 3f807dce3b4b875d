"""What of a ranking fits a token budget: in its order; a text that does not fit what is left is passed over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
