"""Running methods over a data set: resumable per question, parallel over trajectories, one JSON line per question.

A run folder holds the manifest, one file of records a method, and notes on preparation. Lines are only ever appended; a
run that was stopped anywhere goes on with the questions that have no line yet, and other methods can join it later.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Protocol

from stitch.bench.answering import AWAITED, Answerer, Diagnostician, answer_and_judge, is_unscored
from stitch.bench.data.types import DataSet, Question
from stitch.bench.kept import FOLDER, replies_of
from stitch.bench.memories import MemoryMethod
from stitch.bench.methods import Found, Method
from stitch.bench.metrics.answers import Judge
from stitch.bench.metrics.evidence import diagnose_selection
from stitch.bench.metrics.overlap import surfaces
from stitch.bench.metrics.scores import Unscored
from stitch.bench.records import (
    Answered,
    Prepared,
    Record,
    append,
    mend,
    prepared_file,
    read_prepared,
    read_records,
    record_file,
)
from stitch.bench.registry import make_methods
from stitch.console.progress import progress_drawn
from stitch.core import Trajectory
from stitch.core.progress import Progress
from stitch.lm import Totals, asking_again, keeping_replies
from stitch.lm.batch import AwaitedError
from stitch.lm.kept import KeptReplies

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
        contexts: Whether contexts are kept; evidence can be measured without.
        labels: Who labels, or files of written labels.
        filters: The labels chosen for each question; the memory chooses by default.
        workers: How many processes.
        answerer: Answers questions from contexts; None if no model is configured.
        judge: Judges the answers.
        diagnostician: Says of wrong answers what was wrong with the labels; None leaves it open.
        threads: How many questions are answered at the same time.
    """

    data: DataSet
    methods: tuple[str, ...]
    folder: Path
    budget_tokens: int
    contexts: bool = False
    labels: str = "local"
    filters: Path | None = None
    workers: int = 1
    answerer: Answerer | None = None
    judge: Judge | None = None
    diagnostician: Diagnostician | None = None
    threads: int = 1


class Advance(Protocol):
    """Is told of progress."""

    def __call__(self, count: int, cost_usd: float = 0.0) -> None:
        """Note that so many records were written, and what they cost."""
        ...


def run(job: Job) -> None:
    """Answer every question that has no record yet, or could not be scored, and write its record at once.

    Progress goes to standard error. When this returns, every method has a record for every question, but for those
    whose replies are awaited. Replies of models are kept as they come; memories that a model labeled stay there.
    """
    for method in job.methods:
        mend(record_file(job.folder, method))
    mend(prepared_file(job.folder))
    tasks, unscored = list(_tasks(job)), list(_unscored(job))
    total = len(unscored) + sum(len(own.questions) for part in tasks for own in (part.data,) for _ in part.methods)
    with progress_drawn():
        advance = _Answered(total, job)
        if job.answerer is not None:
            _answer(job, tasks, unscored, advance)
            return
        many = job.labels != "model" and sum(part.data.steps for part in tasks) >= _WORTH_WORKERS
        if job.workers > 1 and many and len(tasks) > 1:
            _run_side_by_side(tasks, workers=job.workers, advance=advance)
            return
        with keeping_replies(replies_of(job.folder)):
            for part in tasks:
                for method, record in _each(part):
                    append(record_file(job.folder, method), record)
                    advance(1)


def _run_side_by_side(tasks: Sequence[Job], *, workers: int, advance: Callable[[int], None]) -> None:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(workers, len(tasks)), mp_context=context) as pool:
        waiting = {pool.submit(_run_part, part) for part in tasks}
        try:
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    advance(future.result())
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _answer(job: Job, tasks: Iterable[Job], unscored: Iterable[tuple[str, Record]], advance: Advance) -> None:
    """Answer and judge what was found, several questions at a time; a record is written when its answer is there."""
    waiting: dict[Future[Record | None], str] = {}
    kept = replies_of(job.folder)

    def write(done: Iterable[Future[Record | None]]) -> None:
        for future in done:
            method, record = waiting.pop(future), future.result()
            if record is not None:
                append(record_file(job.folder, method), record)
                advance(1, (record.answered.cost_usd or 0.0) if record.answered else 0.0)

    with ThreadPoolExecutor(job.threads) as pool:
        try:
            for method, record in chain(unscored, (made for part in tasks for made in _kept_each(part, kept))):
                waiting[pool.submit(_answered, job, record, kept)] = method
                if len(waiting) >= 2 * job.threads:
                    write(wait(waiting, return_when=FIRST_COMPLETED).done)
            while waiting:
                write(wait(waiting, return_when=FIRST_COMPLETED).done)
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            write(own for own in list(waiting) if not own.cancelled() and own.exception() is None)  # paid for already
            raise


def _kept_each(part: Job, kept: KeptReplies) -> Iterator[tuple[str, Record]]:
    """As `_each`; what a model says of a question's labels is kept."""
    found = _each(part)
    while True:
        with keeping_replies(kept):  # not around the loop: whoever takes the records has contexts of its own
            made = next(found, None)
        if made is None:
            return
        yield made


def _answered(job: Job, record: Record, kept: KeptReplies) -> Record | None:
    """A record with its answer and verdict; while these are awaited from elsewhere, once what needs none of them."""
    if record.context is None or job.answerer is None or job.judge is None:
        return record
    tries = record.answered.tries if record.answered else 0
    try:
        with keeping_replies(kept), asking_again(times=2 * tries):  # each try asks once more by itself
            made = answer_and_judge(record, answerer=job.answerer, judge=job.judge, diagnostician=job.diagnostician)
    except AwaitedError:
        return (
            None if record.answered else record.model_copy(update={"answered": Answered(answer=None, reason=AWAITED)})
        )
    return record.model_copy(update={"answered": made})


def _unscored(job: Job) -> Iterator[tuple[str, Record]]:
    """The records of which a model's answer or verdict is missing."""
    if job.answerer is not None:
        asked = {question.id for question in job.data.questions}
        for method in job.methods:
            for record in read_records(job.folder, method):
                if record.question in asked and is_unscored(record):
                    yield method, record


def _tasks(job: Job) -> Iterator[Job]:
    """The work that is left, one trajectory a task, largest first, so that workers end together."""
    done = {method: {record.question for record in read_records(job.folder, method)} for method in job.methods}
    noted = {(note.method, note.trajectory) for note in read_prepared(job.folder)}
    parts = [part for trajectory in job.data.trajectories for part in _left_of(job, trajectory, done=done, noted=noted)]
    yield from sorted(parts, key=lambda part: -part.data.steps * (1 + len(part.data.questions)))


def _left_of(
    job: Job, trajectory: Trajectory, *, done: Mapping[str, set[str]], noted: set[tuple[str, str]]
) -> Iterator[Job]:
    """The work that is left of one trajectory: methods that were stopped at different questions are different tasks."""
    own = [question for question in job.data.questions if question.trajectory == trajectory.id]
    wanted = {method: tuple(question for question in own if question.id not in done[method]) for method in job.methods}
    left = [method for method in job.methods if wanted[method] or (own and (method, trajectory.id) not in noted)]
    for questions in dict.fromkeys(wanted[method] for method in left):
        names = tuple(method for method in left if wanted[method] == questions)
        yield replace(job, data=_only(job.data, trajectory, questions), methods=names)


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
    """Run a task in a process of its own; returns the number of records written."""
    written = 0
    for method, record in _each(job):
        append(record_file(job.folder, method), record)
        written += 1
    return written


def _each(job: Job) -> Iterator[tuple[str, Record]]:
    """Run the methods over one trajectory; yields each method's name with its record of each question."""
    keep = job.folder / FOLDER / "memories" if job.labels == "model" else None
    methods = make_methods(job.methods, job.data, labels=job.labels, filters=job.filters, keep=keep)
    try:
        for method in methods:
            _prepare(job, method)
            labels = method.labels(job.data.trajectories[0].id) if isinstance(method, MemoryMethod) else None
            for question in job.data.questions:
                found = method.search(question.inquiry, k=DEPTH, budget_tokens=job.budget_tokens)
                yield method.name, _record(job, question, found, labels=labels)
    finally:
        for method in methods:
            method.close()


def _prepare(job: Job, method: Method) -> None:
    from time import perf_counter

    started = perf_counter()
    method.prepare(job.data.trajectories)
    (trajectory,) = job.data.trajectories
    operations = job.data.operations.get(trajectory.id, ())
    named, seconds, spent, stand_ins = None, perf_counter() - started, Totals(), 0
    if isinstance(method, MemoryMethod):
        spent, stand_ins = method.shared.spent, method.shared.stand_ins
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
        model_calls=spent.calls,
        model_tokens=spent.tokens,
        cost_usd=spent.cost_usd,
        stand_ins=stand_ins,
        unusable_replies=spent.unusable,
    )
    append(prepared_file(job.folder), note)


def _record(
    job: Job,
    question: Question,
    found: Found,
    *,
    labels: Mapping[str, frozenset[tuple[str, str]]] | None,
) -> Record:
    diagnostics = None
    if labels is not None and found.labels is not None:
        selected = {(kind, value) for kind, values in found.labels.items() for value in values}
        diagnosed = diagnose_selection(selected, labels, gold=question.evidence)
        diagnostics = None if isinstance(diagnosed, Unscored) else tuple(diagnosed)
    return Record(
        question=question.id,
        trajectory=question.trajectory,
        type=question.type,
        domain=question.domain,
        text=question.text,
        gold_answer=question.answer,
        evidence=question.evidence,
        steps=found.steps,
        shown=dict(found.shown),
        milliseconds=round(found.milliseconds, 3),
        window_tokens=found.window_tokens,
        context=found.context if job.contexts else None,
        context_tokens=found.context_tokens,
        context_steps=found.context_steps,
        labels=None if found.labels is None else {kind: tuple(values) for kind, values in found.labels.items()},
        matched={step: {k: tuple(v) for k, v in kinds.items() if v} for step, kinds in found.matched.items()},
        parts={step: {name: round(number, 4) for name, number in own.items()} for step, own in found.parts.items()},
        decided_by=found.decided_by,
        diagnostics=diagnostics,
    )


class _Answered:
    """How many questions are answered and what that costs."""

    def __init__(self, total: int, job: Job) -> None:
        self._what, self._priced = f"{job.data.name}: questions x methods", job.answerer is not None
        self._progress, self._spent_usd = Progress(self._what, of=total), 0.0

    def __call__(self, count: int, cost_usd: float = 0.0) -> None:
        self._spent_usd += cost_usd
        if self._priced:
            self._progress.what = f"{self._what}, ${self._spent_usd:.4f}"
        self._progress.advance(count)
