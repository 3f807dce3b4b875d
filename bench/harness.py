"""Running methods over a data set: resumable per question, parallel over trajectories, one JSON line per question.

A run folder holds the manifest, one file of records a method, and notes on preparation. Lines are only ever appended; a
run that was stopped anywhere goes on with the questions that have no line yet, and other methods can join it later.
"""

from __future__ import annotations

import multiprocessing
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from stitch.bench.answering import AWAITED, Answerer, answer_and_judge, is_unscored
from stitch.bench.data.types import DataSet, Question
from stitch.bench.kept import FOLDER, replies_of
from stitch.bench.memories import MemoryMethod
from stitch.bench.metrics.answers import Judge, surfaces
from stitch.bench.metrics.evidence import diagnose_selection
from stitch.bench.metrics.scores import Unscored
from stitch.bench.records import (
    Answered,
    MethodResult,
    Prepared,
    Record,
    append,
    mend,
    prepared_file,
    read_prepared,
    read_records,
    record_file,
)
from stitch.bench.registry import Method, make_methods
from stitch.console.progress import progress_drawn
from stitch.core import Trajectory
from stitch.core.progress import Progress
from stitch.lm import Totals, asking_again, keeping_replies
from stitch.lm.batch import AwaitedError
from stitch.lm.replies import KeptReplies

_Done = TypeVar("_Done")

DEPTH = 200
"""How many steps a method ranks: enough to fill the budget with short steps."""
_WORTH_WORKERS = 2_000
"""Below so many steps, starting further processes takes longer than they save."""


class AnswerModels(NamedTuple):
    """The models that take part."""

    answerer: Answerer
    judge: Judge
    threads: int = 1
    """How many questions are answered at the same time."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """A set, the methods that are run on it, and how."""

    data: DataSet
    methods: tuple[str, ...]
    folder: Path
    budget_tokens: int
    contexts: bool = False
    """Whether contexts are kept; evidence can be measured without."""
    labels: str = "local"
    """Who labels, or files of written labels."""
    filters: Path | None = None
    """The labels chosen for each question; the memory chooses by default."""
    workers: int = 1
    asked: AnswerModels | None = None
    """Who answers questions from contexts; None leaves answers out."""


def run(job: Job) -> None:
    """Answer every question that has no record yet, or could not be scored, and write its record at once.

    Progress goes to standard error. When this returns, every method has a record for every question, but for those
    whose replies are awaited. Replies of models are kept as they come; memories that a model labeled stay there.
    """
    for method in job.methods:
        mend(record_file(job.folder, method))
    mend(prepared_file(job.folder))
    parts, unscored = _parts(job), list(_unscored(job))
    with progress_drawn():
        what, spent_usd = f"{job.data.name}: questions x methods", 0.0
        progress = Progress(what, of=len(unscored) + sum(len(own) for part in parts for own in part.left.values()))
        large = job.labels != "model" and sum(part.job.data.steps for part in parts) >= _WORTH_WORKERS
        if large and job.asked is None and job.workers > 1 and len(parts) > 1:
            pool = ProcessPoolExecutor(min(job.workers, len(parts)), mp_context=multiprocessing.get_context("spawn"))
            for written in _in_order(pool, _run_part, ((part,) for part in parts), ahead=len(parts)):
                progress.advance(written)
            return
        for method, record in filter(None, _made(job, parts, unscored)):
            append(record_file(job.folder, method), record)
            if record.answered:
                spent_usd += record.answered.cost_usd or 0.0
                progress.what = f"{what}, ${spent_usd:.4f}"
            progress.advance(1)


def _made(
    job: Job, parts: Sequence[_Part], unscored: Iterable[tuple[str, Record]]
) -> Iterator[tuple[str, Record] | None]:
    """The records of all parts, answered if a model is asked, behind those of which an answer is missing."""
    kept = replies_of(job.folder)
    found = (made for part in parts for made in _each(part, kept))
    if job.asked is None:
        return found
    tasks = ((kept, job.asked, *each) for each in chain(unscored, found))
    return _in_order(ThreadPoolExecutor(job.asked.threads), _answered, tasks, ahead=2 * job.asked.threads)


def _in_order(
    pool: Executor, do: Callable[..., _Done], tasks: Iterable[tuple[Any, ...]], *, ahead: int
) -> Iterator[_Done]:
    """Results of tasks in their order, few begun ahead; if one fails, no other is begun."""
    waiting: deque[Future[_Done]] = deque()
    with pool:
        try:
            for each in tasks:
                waiting.append(pool.submit(do, *each))
                if len(waiting) >= ahead:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _answered(kept: KeptReplies, asked: AnswerModels, method: str, record: Record) -> tuple[str, Record] | None:
    """A record with its answer and verdict; while these are awaited from elsewhere, once what needs none of them."""
    if record.context is None:
        return method, record
    tries = record.answered.tries if record.answered else 0
    try:
        with keeping_replies(kept), asking_again(times=2 * tries):  # each try asks once more by itself
            made = answer_and_judge(record, answerer=asked.answerer, judge=asked.judge)
    except AwaitedError:
        if record.answered:
            return None
        made = Answered(answer=None, reason=AWAITED)
    return method, record.model_copy(update={"answered": made})


def _unscored(job: Job) -> Iterator[tuple[str, Record]]:
    """The records of which a model's answer or verdict is missing."""
    asked = {question.id for question in job.data.questions} if job.asked else set()
    for method in job.methods if asked else ():
        for record in read_records(job.folder, method):
            if record.question in asked and is_unscored(record):
                yield method, record


class _Part(NamedTuple):
    """The work that is left on one trajectory."""

    job: Job
    left: dict[str, list[Question]]
    """The questions that have no record yet, by method."""


def _parts(job: Job) -> list[_Part]:
    """The work that is left, largest first, so that workers end together."""
    done = {method: {record.question for record in read_records(job.folder, method)} for method in job.methods}
    noted = {(note.method, note.trajectory) for note in read_prepared(job.folder)}
    parts = []
    for trajectory in job.data.trajectories:
        own = tuple(question for question in job.data.questions if question.trajectory == trajectory.id)
        left = {method: [each for each in own if each.id not in done[method]] for method in job.methods if own}
        left = {method: asked for method, asked in left.items() if asked or (method, trajectory.id) not in noted}
        if left:
            parts.append(_Part(replace(job, data=job.data.only(own, of=trajectory.id)), left))
    return sorted(parts, key=lambda part: -part.job.data.steps * (1 + sum(map(len, part.left.values()))))


def _run_part(part: _Part) -> int:
    """Run a part in a process of its own; returns the number of records written."""
    made = 0
    for made, (method, record) in enumerate(_each(part, replies_of(part.job.folder)), start=1):  # noqa: B007
        append(record_file(part.job.folder, method), record)
    return made


def _each(part: _Part, kept: KeptReplies) -> Iterator[tuple[str, Record]]:
    """Run the methods over one trajectory; yields each method's name with its record of each question."""
    job = part.job
    keep = job.folder / FOLDER / "memories" if job.labels == "model" else None
    methods = make_methods(list(part.left), job.data, labels=job.labels, filters=job.filters, keep=keep)
    (trajectory,) = job.data.trajectories
    try:
        drawn = next((method for method in methods if isinstance(method, MemoryMethod)), None)
        for method in methods:
            with keeping_replies(kept):  # not while a record is taken: whoever does has contexts of its own
                note = _prepared(job.data, trajectory, method)
            if method is drawn:
                note = note.model_copy(update={"labeled": drawn.labeled(trajectory.id)})
            append(prepared_file(job.folder), note)
            labels = method.labels(trajectory.id) if isinstance(method, MemoryMethod) else None
            for question in part.left[method.name]:
                with keeping_replies(kept):
                    found = method.search(question.inquiry, k=DEPTH, budget_tokens=job.budget_tokens)
                yield method.name, _record(question, found, labels=labels, contexts=job.contexts)
    finally:
        for method in methods:
            method.close()


def _prepared(data: DataSet, trajectory: Trajectory, method: Method) -> Prepared:
    started = time.perf_counter()
    method.prepare([trajectory])
    operations = data.operations.get(trajectory.id, ())
    named, seconds, spent, stand_ins = None, time.perf_counter() - started, Totals(), 0
    if isinstance(method, MemoryMethod):
        spent, stand_ins = method.shared.spent, method.shared.stand_ins
        seconds = method.shared.seconds  # methods that share a memory share what it took
        texts = method.texts(trajectory.id) if operations else {}
        named = sum(surfaces(operation.entity, texts.get(operation.step, "")) for operation in operations)
    return Prepared(
        method=method.name, trajectory=trajectory.id, steps=len(trajectory.steps), seconds=seconds, named=named,
        operations=len(operations), model_calls=spent.calls, model_tokens=spent.tokens, cost_usd=spent.cost_usd,
        stand_ins=stand_ins, unusable_replies=spent.unusable,
    )  # fmt: skip


def _record(
    question: Question, found: MethodResult, *, labels: Mapping[str, frozenset[tuple[str, str]]] | None, contexts: bool
) -> Record:
    diagnostics: Sequence[float] | Unscored | None = None
    if labels is not None and found.labels is not None:
        selected = {(kind, value) for kind, values in found.labels.items() for value in values}
        diagnostics = diagnose_selection(selected, labels, gold=question.evidence)
    return Record(
        question=question.id,
        trajectory=question.trajectory,
        type=question.type,
        domain=question.domain,
        text=question.text,
        gold_answer=question.answer,
        evidence=question.evidence,
        diagnostics=None if diagnostics is None or isinstance(diagnostics, Unscored) else tuple(diagnostics),
        **{**dict(found), "context": found.context if contexts else None},
    )
