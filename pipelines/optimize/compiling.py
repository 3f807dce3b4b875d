"""From a task to a compiled program that has been judged on what was held back."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import dspy

from stitch import __version__
from stitch.errors import StitchError, require_extra
from stitch.label.model.compiled import CompiledProgram, Provenance, Scores, put_into, state_of
from stitch.lm import LanguageModel, Purpose
from stitch.pipelines.optimize.optimizers import OPTIMIZERS, Setting, silenced
from stitch.pipelines.optimize.students import Metric, Student, judge, prompt_tokens
from stitch.pipelines.optimize.tasks import Lesson, Task

OPTIMIZING = "optimize"
"""The stage under which the ledger counts what optimizers call themselves."""


class Compilation(NamedTuple):
    """What came of it."""

    compiled: CompiledProgram
    before: Scores
    after: Scores
    adopted: bool
    """Whether it is at least as good on what was held back; only then it may be used."""


def compile_program(
    task: Task,
    lessons: Sequence[Lesson],
    *,
    held_back: Sequence[Lesson],
    optimizer: str,
    model: LanguageModel,
    seed: int = 0,
    on_run: Callable[[], None] = lambda: None,
) -> Compilation:
    """Compile the program of a task, and judge it.

    What is judged after is what the file will say: instructions with the paragraph that keeps quoted texts from giving
    orders, and examples as JSON.

    Args:
        task: What is learned.
        lessons: To learn from.
        held_back: To judge by.
        optimizer: One of `OPTIMIZERS`.
        model: Answers, and proposes instructions.
        seed: Of whatever is drawn.
        on_run: Is called after every run of a lesson.

    Raises:
        ModelUnavailableError: The provider is down.
        BudgetSpentError: The budget is spent.
        SettingsError: The optimizer needs an extra that is not installed.
    """
    if optimizer == "mipro":  # said before the first call is paid for
        require_extra("optimize", package="optuna", needed_by="the optimizer 'mipro'")
    bugs: list[Exception] = []

    def run(program: Any, lesson: Lesson) -> Any:
        try:
            outcome = task.run(program, lesson, model=model)
        except Exception as error:  # the optimizers would take it for a bad answer
            bugs.append(error)
            raise
        on_run()
        return outcome

    threads, spent = model.limits.concurrency, model.ledger.total()
    plain = task.program()
    metric = Metric(task, plain_tokens=prompt_tokens(plain))
    with model.held(Purpose(OPTIMIZING)) as lm:
        before = judge(Student(task, run), held_back, metric=metric, threads=threads)
        setting = Setting(metric=metric, demos=task.demos, seed=seed, threads=threads, lm=lm)
        with silenced():
            best = OPTIMIZERS[optimizer](Student(task, run), list(lessons), setting)
        if errors := [error for error in bugs if not isinstance(error, StitchError)]:
            raise errors[0]
        predictors = state_of(best.program(), plain=plain)
        made = task.program()
        put_into(made, predictors)
        student = Student(task, run)
        for name in task.trained:
            setattr(student, name, getattr(made, name))
        after = judge(student, held_back, metric=metric, threads=threads)
    total = model.ledger.total()
    provenance = Provenance(
        model=model.name,
        optimizer=optimizer,
        seed=seed,
        dspy=dspy.__version__,
        stitch=__version__,
        data_sha256=_digest([*lessons, *held_back]),
        train_examples=len(lessons),
        held_back_examples=len(held_back),
        before=before,
        after=after,
        model_calls=total.calls - spent.calls,
        model_tokens=total.tokens - spent.tokens,
        model_cost_usd=None if total.cost_usd is None else total.cost_usd - (spent.cost_usd or 0.0),
    )
    compiled = CompiledProgram(target=task.target, predictors=predictors, provenance=provenance)
    return Compilation(compiled, before, after, adopted=after.score >= before.score)


def _digest(lessons: Sequence[Lesson]) -> str:
    return hashlib.sha256("\0".join(lesson.key for lesson in lessons).encode()).hexdigest()
