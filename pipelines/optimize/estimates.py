"""What optimizing will cost, before any call."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel

from stitch.pipelines.optimize.optimizers import (
    BATCH,
    CANDIDATES,
    INSTRUCTIONS,
    REFLECTIONS,
    SETS_OF_DEMOS,
    STEPS,
    TRIALS,
    gepa_runs,
)
from stitch.pipelines.optimize.tasks import Lesson, Task

_PROPOSAL_TOKENS = 2_000
_DEMO_TOKENS = 350


class OptimizingEstimate(BaseModel):
    """What optimizing will cost, about."""

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
    runs, proposals, with_demos = _work(optimizer, len(lessons), demos=task.demos, predictors=len(task.trained))
    costs, judged = [task.cost(each) for each in lessons], [task.cost(each) for each in held_back]
    calls = runs * sum(cost.calls for cost in costs) / max(1, len(costs)) + 2 * sum(cost.calls for cost in judged)
    tokens = runs * sum(cost.tokens for cost in costs) / max(1, len(costs)) + 2 * sum(cost.tokens for cost in judged)
    return OptimizingEstimate(
        target=task.target,
        optimizer=optimizer,
        train_examples=len(lessons),
        held_back_examples=len(held_back),
        runs=runs + 2 * len(held_back),
        model_calls=round(calls) + proposals,
        model_tokens=round(tokens + calls * with_demos * task.demos * _DEMO_TOKENS) + proposals * _PROPOSAL_TOKENS,
    )


def _work(optimizer: str, lessons: int, *, demos: int, predictors: int) -> tuple[int, int, float]:
    """Runs of lessons, calls that propose, and which share of the runs has examples in the prompt."""
    attempts = 2 * demos * SETS_OF_DEMOS  # about every second lesson is done better than on average
    if optimizer == "bootstrap":
        return lessons * (2 + SETS_OF_DEMOS) + attempts, 0, 0.6
    if optimizer == "mipro":
        return lessons * (2 + TRIALS) + attempts, 3 + INSTRUCTIONS * predictors, 0.6
    if optimizer == "gepa":
        return gepa_runs(lessons), REFLECTIONS, 0.0
    batch = min(BATCH, lessons)
    return STEPS * batch * (2 * CANDIDATES + 1) + lessons * (STEPS + 1), STEPS * (CANDIDATES + 1) // 2, 0.4
