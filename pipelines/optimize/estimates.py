"""Estimated costs of optimizing, before any call."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from pydantic import BaseModel

from stitch.pipelines.optimize import optimizers as own
from stitch.pipelines.optimize.tasks import Cost, Lesson, Task

_PROPOSAL_TOKENS = 600
"""What a call that proposes takes beside the lessons that it shows."""
_LESSONS_SHOWN = {"mipro": 1.5, "gepa": 3.0, "simba": 2.5}
"""Number of lessons such a call shows, about."""
_WITH_EXAMPLES = {"bootstrap": 0.5, "mipro": 0.35, "gepa": 0.0, "simba": 0.35}
"""The share of the runs whose prompts show examples, about."""


class OptimizingEstimate(BaseModel):
    """Estimated costs of optimizing."""

    target: str
    optimizer: str
    train_examples: int
    held_back_examples: int
    model_calls: int
    model_tokens: int
    runs: int
    """Of examples, those that judge included."""


def estimate(
    task: Task, lessons: Sequence[Lesson], *, held_back: Sequence[Lesson], optimizer: str
) -> OptimizingEstimate:
    """Say what optimizing will cost; no model is called.

    Args:
        task: What is learned.
        lessons: To learn from.
        held_back: To judge by: these are run twice, before and after.
        optimizer: Its name.
    """
    runs, proposals = _work(optimizer, len(lessons), demos=task.demos, predictors=len(task.trained))
    costs = [task.cost(each) for each in lessons] or [Cost(0, 0, 0)]
    judged = [task.cost(each) for each in held_back]
    calls = runs * fmean(cost.calls for cost in costs) + 2 * sum(cost.calls for cost in judged)
    tokens = runs * fmean(cost.tokens for cost in costs) + 2 * sum(cost.tokens for cost in judged)
    shown = fmean(cost.shown for cost in costs)
    calls_a_run = calls / max(1, runs + 2 * len(held_back))
    examples = _WITH_EXAMPLES[optimizer] * runs * 0.8 * (task.demos + 1) / 2
    tokens += examples * calls_a_run * shown
    tokens += proposals * (_PROPOSAL_TOKENS + _LESSONS_SHOWN.get(optimizer, 0.0) * shown)
    return OptimizingEstimate(
        target=task.target,
        optimizer=optimizer,
        train_examples=len(lessons),
        held_back_examples=len(held_back),
        runs=runs + 2 * len(held_back),
        model_calls=round(calls) + proposals,
        model_tokens=round(tokens),
    )


def _work(optimizer: str, lessons: int, *, demos: int, predictors: int) -> tuple[int, int]:
    """Runs of lessons, and calls that propose."""
    attempts = 3 * demos * own.SETS_OF_DEMOS  # about every third lesson is done better than on average
    if optimizer == "bootstrap":
        return lessons * (2 + own.SETS_OF_DEMOS) + attempts, 0
    if optimizer == "mipro":
        return lessons * (2 + own.TRIALS) + attempts, 3 + own.INSTRUCTIONS * predictors
    if optimizer == "gepa":
        return own.gepa_runs(lessons), own.REFLECTIONS
    batch = min(own.BATCH, lessons)
    return own.STEPS * batch * (2 * own.CANDIDATES + 1) + lessons * (own.STEPS + 1), own.STEPS * (
        own.CANDIDATES + 1
    ) // 2
