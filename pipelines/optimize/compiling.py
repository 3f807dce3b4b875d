"""From a task to a compiled program that has been judged on what was held back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import dspy

from stitch import __version__
from stitch.errors import StitchError, require_extra
from stitch.label.model.compiled import CompiledProgram, Provenance, put_into, state_of
from stitch.lm import LanguageModel, Purpose, Totals, sum_up
from stitch.lm.replies import KeptReplies
from stitch.pipelines.optimize.optimizers import OPTIMIZERS, Setting, silenced
from stitch.pipelines.optimize.students import Decision, Metric, Student, decide, judge, prompt_tokens
from stitch.pipelines.optimize.tasks import Lesson, Task

OPTIMIZING = "optimize"
"""The stage under which the ledger counts what optimizers call themselves."""


class Compilation(NamedTuple):
    """A compiled program, judged beside the one that it is to replace."""

    compiled: CompiledProgram
    adopted: bool
    """Whether it is at least as good on what was held back; only then it may be used."""
    changed: bool
    """Whether it is anything but what it was to replace."""
    cost_alone: bool
    """Whether it did at least as well, and is worse for the length of its prompts alone."""
    decision: Decision
    """Whether the examples held back can tell it from what it replaces."""
    recalled_calls: int
    """How many of the calls that it took were paid for by earlier runs, which kept the replies."""


def compile_program(
    task: Task,
    lessons: Sequence[Lesson],
    *,
    held_back: Sequence[Lesson],
    optimizer: str,
    model: LanguageModel,
    proposer: LanguageModel | None = None,
    seed: int = 0,
    on_run: Callable[[], None] = lambda: None,
    log: Path | None = None,
) -> Compilation:
    """Compile the program of a task, and judge it.

    What is judged after is what the file will say: instructions with the paragraph that keeps quoted texts from giving
    orders, and examples as JSON.

    Args:
        task: What is learned.
        lessons: To learn from.
        held_back: To judge by.
        optimizer: One of `OPTIMIZERS`.
        model: Answers.
        proposer: Proposes instructions, and reflects; the same model if None.
        seed: Of whatever is drawn.
        on_run: Is called after every run of a lesson.
        log: A folder for what happens: replies that are kept, so that the same call goes on where one was stopped, what
            DSPy's optimizers say, and how each example held back was marked.

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

    models = [model, *([proposer] if proposer is not None else [])]
    threads, spent = model.limits.concurrency, _spent(models)
    _keep_replies(models, log)
    plain = task.program()
    metric = Metric(task, plain_tokens=prompt_tokens(plain))
    with ExitStack() as stack:
        told = stack.enter_context(proposer.held(Purpose(OPTIMIZING))) if proposer is not None else None
        lm = stack.enter_context(model.held(Purpose(OPTIMIZING)))
        before, each_before = judge(Student(task, run), held_back, metric=metric, threads=threads)
        setting = Setting(metric=metric, demos=task.demos, seed=seed, threads=threads, lm=lm, proposer=told or lm)
        with silenced(log / "optimizer.log" if log is not None else None):
            best = OPTIMIZERS[optimizer](Student(task, run), list(lessons), setting)
        if errors := [error for error in bugs if not isinstance(error, StitchError)]:
            raise errors[0]
        predictors = state_of(best.program(), plain=plain)
        made = task.program()
        put_into(made, predictors)
        student = Student(task, run)
        for name in task.trained:
            setattr(student, name, getattr(made, name))
        after, each_after = judge(student, held_back, metric=metric, threads=threads)
    total = _spent(models)
    decision = decide(each_before, each_after)
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
        p=decision.p,
    )
    compiled = CompiledProgram(target=task.target, predictors=predictors, provenance=provenance)
    if log is not None:
        _write_marks(log, zip(held_back, each_before, each_after, strict=True))
    unpaid = after.score + metric.cost_of(after.prompt_tokens)
    return Compilation(
        compiled,
        adopted=after.score >= before.score,
        changed=predictors != state_of(plain, plain=plain),
        cost_alone=after.score < before.score <= unpaid,
        decision=decision,
        recalled_calls=sum(each.ledger.recalled().calls for each in models),
    )


def _keep_replies(models: Sequence[LanguageModel], log: Path | None) -> None:
    """Let models keep their replies in a folder, if any."""
    if log is not None:
        log.mkdir(parents=True, exist_ok=True)
        kept = KeptReplies(log / "replies.jsonl")
        for each in models:
            each.keep_replies(kept)


def _write_marks(log: Path, marks: Iterable[tuple[Lesson, float, float]]) -> None:
    """Write how each example held back was marked, before and after."""
    rows = [{"key": own.key, "before": before, "after": after} for own, before, after in marks]
    (log / "held_back.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")


def _digest(lessons: Sequence[Lesson]) -> str:
    return hashlib.sha256("\0".join(lesson.key for lesson in lessons).encode()).hexdigest()


def _spent(models: Sequence[LanguageModel]) -> Totals:
    """Costs of models so far, together, with what earlier processes paid for the same."""
    ledgers = [model.ledger for model in models]
    made = [*(each.total() for each in ledgers), *(each.recalled() for each in ledgers)]
    return sum_up(each for each in made if each.calls)
