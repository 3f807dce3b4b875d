"""What optimizing will cost, before any call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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

_FOUND = 0.8
"""How often lessons are found that are worth showing as examples; of these a prompt has one to as many as it may."""
_PROPOSAL_TOKENS = 600
"""What a call that proposes takes beside the lessons that it shows."""
_LESSONS_SHOWN = {"mipro": 1.5, "gepa": 3.0, "simba": 2.5}
"""How many lessons such a call shows, about."""


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
    runs, proposals = _work(optimizer, len(lessons), demos=task.demos, predictors=len(task.trained))
    costs, judged = [task.cost(each) for each in lessons], [task.cost(each) for each in held_back]
    calls = runs * _mean(cost.calls for cost in costs) + 2 * sum(cost.calls for cost in judged)
    tokens = runs * _mean(cost.tokens for cost in costs) + 2 * sum(cost.tokens for cost in judged)
    shown = _mean(cost.shown for cost in costs)
    calls_a_run = calls / max(1, runs + 2 * len(held_back))
    examples = _examples(optimizer, runs, lessons=len(lessons), held_back=len(held_back), demos=task.demos)
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
    attempts = 3 * demos * SETS_OF_DEMOS  # about every third lesson is done better than on average
    if optimizer == "bootstrap":
        return lessons * (2 + SETS_OF_DEMOS) + attempts, 0
    if optimizer == "mipro":
        return lessons * (2 + TRIALS) + attempts, 3 + INSTRUCTIONS * predictors
    if optimizer == "gepa":
        return gepa_runs(lessons), REFLECTIONS
    batch = min(BATCH, lessons)
    return STEPS * batch * (2 * CANDIDATES + 1) + lessons * (STEPS + 1), STEPS * (CANDIDATES + 1) // 2


def _examples(optimizer: str, runs: int, *, lessons: int, held_back: int, demos: int) -> float:
    """How many examples the prompts of all runs show together, about."""
    if optimizer == "gepa":
        return 0.0
    in_a_prompt = _FOUND * (demos + 1) / 2
    tried = {
        "bootstrap": SETS_OF_DEMOS * lessons,
        "mipro": TRIALS * lessons / 2,  # every second set has some
        "simba": 0.35 * runs,  # prompts come to their examples step by step
    }
    return in_a_prompt * (tried[optimizer] + held_back / 2)


def _mean(values: Iterable[float]) -> float:
    known = list(values)
    return sum(known) / max(1, len(known))
