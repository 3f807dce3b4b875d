"""Running methods over a data set: resumable per question, parallel over trajectories, one JSON line per question.

A run folder holds the manifest, one file of records a method, and notes on preparation. Lines are only ever appended; a
run that was stopped anywhere goes on with the questions that have no line yet, and other methods can join it later.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from stitch.bench.answering import Answerer, answer_and_judge
from stitch.bench.data.types import DataSet, Question
from stitch.bench.memories import MemoryMethod
from stitch.bench.methods import Found, Method
from stitch.bench.metrics.entity_resolution import surfaces
from stitch.bench.metrics.judging import Judge
from stitch.bench.metrics.label_selection import diagnose_selection
from stitch.bench.metrics.scores import Unscored
from stitch.bench.records import Prepared, Record, append, mend, prepared_file, read_prepared, read_records, record_file
from stitch.bench.registry import make_methods

from stitch.core import Trajectory

if TYPE_CHECKING:
    from rich.progress import Progress

DEPTH = 200
"""How many steps a method ranks: enough to fill the budget with short steps."""
_WORTH_WORKERS = 2_000
"""Below so many steps, starting further processes takes longer than they save."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """What to run.

    Attributes:
        data: The set.
        methods: Names of methods.
        folder: The run folder.
        budget_tokens: The budget of a context.
        contexts: Whether contexts are made and kept; evidence can be measured without.
        labels: Who labels.
        workers: How many processes.
        answerer: Answers questions from contexts; None if no model is configured.
        judge: Judges the answers.
    """

    data: DataSet
    methods: tuple[str, ...]
    folder: Path
    budget_tokens: int
    contexts: bool = False
    labels: str = "local"
    workers: int = 1
    answerer: Answerer | None = None
    judge: Judge | None = None


def run(job: Job) -> None:
    """Answer every question that has no record yet, and write its record at once.

    Progress goes to standard error. When this returns, every method has a record for every question.
    """
    for method in job.methods:
        mend(record_file(job.folder, method))
    mend(prepared_file(job.folder))
    tasks = list(_tasks(job))
    total = sum(len(own.questions) for part in tasks for own in (part.data,) for _ in part.methods)
    with _progress(total, job) as advance:
        many = sum(part.data.steps for part in tasks) >= _WORTH_WORKERS
        if job.workers > 1 and job.answerer is None and many and len(tasks) > 1:
            context = multiprocessing.get_context("spawn")
            with ProcessPoolExecutor(min(job.workers, len(tasks)), mp_context=context) as pool:
                waiting = {pool.submit(_run_part, part) for part in tasks}
                try:
                    while waiting:
                        done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                        for future in done:
                            advance(future.result())
                except BaseException:
                    pool.shutdown(wait=True, cancel_futures=True)
                    raise
        else:
            for part in tasks:
                for count in _each(part):
                    advance(count)


def _tasks(job: Job) -> Iterator[Job]:
    """The work that is left, one trajectory a task, largest first, so that workers end together."""
    done = {method: {record.question for record in read_records(job.folder, method)} for method in job.methods}
    noted = {(note.method, note.trajectory) for note in read_prepared(job.folder)}
    parts = []
    for trajectory in job.data.trajectories:
        own = tuple(question for question in job.data.questions if question.trajectory == trajectory.id)
        wanted = {
            method: tuple(question for question in own if question.id not in done[method]) for method in job.methods
        }
        left = tuple(m for m in job.methods if wanted[m] or (own and (m, trajectory.id) not in noted))
        # Methods that were stopped at different questions are different tasks.
        for questions in dict.fromkeys(wanted[method] for method in left):
            names = tuple(method for method in left if wanted[method] == questions)
            parts.append(replace(job, data=_only(job.data, trajectory, questions), methods=names))
    yield from sorted(parts, key=lambda part: -part.data.steps * (1 + len(part.data.questions)))


def _only(data: DataSet, trajectory: Trajectory, questions: tuple[Question, ...]) -> DataSet:
    name = trajectory.id
    return replace(
        data,
        trajectories=(trajectory,),
        questions=questions,
        gold={name: data.gold[name]} if name in data.gold else {},
        operations={name: data.operations[name]} if name in data.operations else {},
    )


def _run_part(job: Job) -> int:
    return sum(_each(job))


def _each(job: Job) -> Iterator[int]:
    """Run the methods over one trajectory; yields the number of records written, one by one."""
    methods = make_methods(job.methods, job.data, contexts=job.contexts, labels=job.labels)
    try:
        for method in methods:
            _prepare(job, method)
            labels = method.labels(job.data.trajectories[0].id) if isinstance(method, MemoryMethod) else None
            tokens = _step_tokens(job.data.trajectories[0])
            for question in job.data.questions:
                found = method.search(question.inquiry, k=DEPTH, budget_tokens=job.budget_tokens)
                record = _record(job, question, found, tokens=tokens, labels=labels)
                append(record_file(job.folder, method.name), record)
                yield 1
    finally:
        for method in methods:
            method.close()


def _prepare(job: Job, method: Method) -> None:
    from time import perf_counter

    started = perf_counter()
    method.prepare(job.data.trajectories)
    (trajectory,) = job.data.trajectories
    operations = job.data.operations.get(trajectory.id, ())
    named, seconds = None, perf_counter() - started
    if isinstance(method, MemoryMethod):
        seconds = method.shared.seconds  # methods that share a memory share what it took
        texts = method.texts(trajectory.id) if operations else {}
        named = sum(surfaces(operation.entity, texts.get(operation.step, "")) for operation in operations)
    note = Prepared(
        method=method.name,
        trajectory=trajectory.id,
        steps=len(trajectory.steps),
        seconds=seconds,
        named=named,
        operations=len(operations),
    )
    append(prepared_file(job.folder), note)


def _step_tokens(trajectory: Trajectory) -> dict[str, int]:
    from stitch.retrieve import PieceCounter

    count = PieceCounter().count
    return {str(step.id): count(step.content) for step in trajectory.steps}


def _record(
    job: Job,
    question: Question,
    found: Found,
    *,
    tokens: Mapping[str, int],
    labels: Mapping[str, frozenset[tuple[str, str]]] | None,
) -> Record:
    diagnostics = None
    if labels is not None and found.labels is not None:
        selected = {(kind, value) for kind, values in found.labels.items() for value in values}
        diagnosed = diagnose_selection(selected, labels, gold=question.evidence)
        diagnostics = None if isinstance(diagnosed, Unscored) else tuple(diagnosed)
    answered = None
    if job.answerer is not None and job.judge is not None and found.context is not None:
        answered = answer_and_judge(question, found.context, answerer=job.answerer, judge=job.judge)
    return Record(
        question=question.id,
        trajectory=question.trajectory,
        type=question.type,
        domain=question.domain,
        text=question.text,
        gold_answer=question.answer,
        evidence=question.evidence,
        steps=found.steps,
        step_tokens=tuple(tokens[step] for step in found.steps),
        milliseconds=round(found.milliseconds, 3),
        window_tokens=found.window_tokens,
        context=found.context if job.contexts else None,
        context_tokens=found.context_tokens,
        context_steps=found.context_steps,
        labels=None if found.labels is None else {kind: tuple(values) for kind, values in found.labels.items()},
        matched={step: {k: tuple(v) for k, v in kinds.items() if v} for step, kinds in found.matched.items()},
        diagnostics=diagnostics,
        answered=answered,
    )


@contextmanager
def _progress(total: int, job: Job) -> Iterator[partial[None]]:
    """Show on standard error how many questions are answered and how long the rest will take."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), disable=not total) as shown:
        task = shown.add_task(f"{job.data.name}: questions x methods", total=total)
        yield partial(_advance, shown, task)


def _advance(shown: Progress, task: object, count: int) -> None:
    shown.update(task, advance=count)  # type: ignore[arg-type]  # a TaskID, which rich exports for typing only
