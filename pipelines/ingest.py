"""The command `stitch ingest`: steps from files or standard input."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click
import orjson

from stitch.console.ending import Terminated
from stitch.console.idle import awaiting_no_vectors, labeled_by_model
from stitch.console.options import json_option, labeling_options, memory_options, opened_memory
from stitch.console.printing import counted, print_told
from stitch.console.progress import progress_drawn
from stitch.core import Rejection, SourcedStep
from stitch.core.files import private
from stitch.core.progress import Progress
from stitch.errors import InputError, StepRejectedError, some_of, system_reason
from stitch.ingest.redact import redact_path, redact_value
from stitch.pipelines.follow import are_followed, read_input
from stitch.pipelines.intake import IngestReport, Intake, LabelingEstimate, estimate
from stitch.sources import FileSource, StandardInput, expand_paths, left_out
from stitch.text.secrets import redact_text

if TYPE_CHECKING:
    from stitch.memory import Memory

BATCH_STEPS = 256
_ADDERS = 3
"""Number of trajectories that are added side by side where labels follow: with more, the first would be ready later."""
_REJECTIONS_SHOWN = 10
_BUFFERED_STEPS = 4 * BATCH_STEPS
_BLOCK_BYTES = 1 << 20


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@memory_options
@labeling_options
@click.option(
    "--statements",
    type=click.Choice(["local", "model"]),
    help="The source of the statements that themes are made of: rules, or the model.  [default: local]",
)
@click.option("--follow", is_flag=True, help="Keep reading what is appended to the FILEs, until Ctrl-C or SIGTERM.")
@click.option("--again", is_flag=True, help="Store steps that were erased, too.")
@click.option("--dry-run", is_flag=True, help="Estimate what the model would cost, and store nothing.")
@click.option("--trajectory", metavar="ID", help="The trajectory of steps that name none.  [default: the file's name]")
@click.option("--rejects", metavar="FILE", help="The file for rejected input.  [default: beside the memory]")
@json_option
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    files: tuple[str, ...],
    again: bool,
    as_json: bool,
    dry_run: bool,
    follow: bool,
    trajectory: str | None,
    rejects: str | None,
    **settings: Any,
) -> None:
    """Store the steps of FILEs (folders, or `-` for standard input): JSON, JSON lines, tables or text, plain or gzip.

    A line is a step {"role", "content", "id"?, "timestamp"?, "trajectory"?} or a trajectory {"id", "steps": [...]}.
    The logs of many agents, chats and traces are recognized by their content, and text of the form `Speaker: text`; a
    file that is not is told which are known, and how to write it anew.
    What cannot be read is written to the rejects file and counted; everything else is stored, and the exit status is
    3. It is 1 if steps failed, 5 if they wait for a server that cannot be reached, and 6 if a model should have labeled
    and labeled nothing; all are kept.
    The same file twice changes nothing: what is known keeps its labels, and `stitch relabel` makes others; what was
    erased stays so and is counted, unless --again is given.

    \b
    Example:
      stitch ingest trip.jsonl --memory trip.memory
      stitch ingest trip.jsonl --memory trip.memory --model openai/gpt-5-mini
      stitch ingest trip.jsonl --memory trip.memory --model openai/gpt-5-mini --statements model --labels local
      some-agent | stitch ingest - --memory agent.memory
      stitch ingest --follow agent.jsonl --memory agent.memory
      stitch ingest kafka://localhost:9092/agents --memory agent.memory

    With --follow, files may grow, be rotated or emptied, and need not be there yet. Ctrl-C and SIGTERM end it with a
    report (exit status 130 and 143); the same command goes on where it stopped. Standard input is stored as it comes.
    A topic of Kafka is read without an end by the group stitch-TENANT; options of librdkafka stand behind a `?`.
    """
    follow = are_followed(files, asked=follow)
    if follow and dry_run:
        raise InputError("--dry-run cannot follow a file", hint="leave out one of the two")
    settings = awaiting_no_vectors(labeled_by_model(settings))
    paths = list(files) if follow else expand_paths(files)
    _tell_left_out(files)
    if dry_run:
        sources = (StandardInput() if path == "-" else FileSource(path, trajectory=trajectory) for path in paths)
        _print_estimate(estimate(chain.from_iterable(sources), **settings), as_json=as_json)
        return
    with opened_memory(must_exist=False, **settings) as memory:
        rejects_path = Path(rejects) if rejects else memory.folder / "rejects.jsonl"
        with _rejects_file(rejects_path, tenant=memory.tenant) as reject, progress_drawn():
            reading = _IngestProgress([] if follow else paths)
            report = IngestReport()
            try:
                report = ingest(
                    memory,
                    reading.watched(read_input(files, follow=follow, memory=memory, trajectory=trajectory)),
                    on_rejection=reject,
                    on_progress=reading.stored,
                    workers=memory.workers,
                    on_vectors=_tell_vectors,
                    again=again,
                    report=report,
                )
            except (KeyboardInterrupt, Terminated):
                if follow or "-" in paths:
                    _print_report(report, as_json=as_json, files=len(paths), rejects_path=rejects_path)
                raise
    _print_report(report, as_json=as_json, files=len(paths), rejects_path=rejects_path)
    quiet = context.find_root().params.get("quiet")  # then the notes that say it are not printed
    if quiet and report.exit_status == StepRejectedError.exit_code:
        raise StepRejectedError(f"{report.rejected} rejected, see {rejects_path}")
    context.exit(report.exit_status)


def _tell_left_out(files: tuple[str, ...]) -> None:
    if others := left_out(files):
        shown = some_of([Path(name).name for name in others])
        why = f"left out in folders, for their endings are not known: {counted(files=len(others))} ({shown})"
        click.echo(f"stitch: {why}; name a file itself to have it read", err=True)


def _print_report(report: IngestReport, *, as_json: bool, files: int, rejects_path: Path) -> None:
    lines = [_outcome(report, files=files)]
    if report.labels:  # not if it was interrupted
        lines.append(
            "labels: " + ", ".join(counted(**{f"{name.replace('_', ' ')}s": n}) for name, n in report.labels.items())
        )
    if report.model_calls:
        cost = "" if report.model_cost_usd is None else f", ${report.model_cost_usd:.4f}"
        lines.append(f"model: {counted(calls=report.model_calls)}, {counted(tokens=report.model_tokens)}{cost}")
    print_told(report.model_dump(), *lines, as_json=as_json)
    kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(report.redacted.items()))
    lists = ", ".join(f"{name} ({count})" for name, count in report.not_read.items())
    notes = (
        (report.fallback_steps, (f"{report.fallback_steps} steps have local labels, for the model did not label them:"
         f" {report.fallback_reason}; `stitch relabel` with the same options does it later")),
        (report.statements_failure, ("the model did not read all steps for statements:"
         f" {report.statements_failure}; the next `stitch ingest` goes on with them")),
        (report.repeated_with_other_labels, (f"{report.repeated_with_other_labels} steps were in the memory already and"
         " keep the labels they have; `stitch relabel` with the same options labels them with the model")),
        (report.redacted, f"secrets redacted before anything was written: {kinds}"),
        (report.erased, (f"{counted(steps=report.erased)} erased before and not stored;"
         " the same command with --again stores them")),
        (report.failed, "failed steps are kept and searchable; `stitch retry` tries them again"),
        (report.not_read, f"not read: {lists}; kept as metadata of the step that follows"),
        (report.placeholders, (f"{counted(messages=report.placeholders)} not stored: media that were left out, what was"
         " deleted, notices of encryption")),
        (report.not_utf8, f"{counted(steps=report.not_utf8)} not written in UTF-8, and read as Windows-1252"),
        (report.rejected, f"{report.rejected} rejected, see {rejects_path}"),
    )  # fmt: skip
    for said, note in notes:
        if said:
            click.echo(f"stitch: {note}", err=True)


def _print_estimate(cost: LabelingEstimate, *, as_json: bool) -> None:
    """Print an estimate to standard output."""
    money = "" if cost.model_cost_usd is None else f", ${cost.model_cost_usd:.4f}"
    line = (
        f"{counted(steps=cost.steps, trajectories=cost.trajectories)}: about {counted(calls=cost.model_calls)}"
        f" of the model and {counted(tokens=cost.model_tokens)}{money}"
    )
    reads = f"beside these, at most {counted(calls=cost.statement_calls)} to read what the steps assert"
    print_told(cost.model_dump(), line, *([reads] if cost.statement_calls else []), as_json=as_json)


def _tell_vectors(steps: int) -> None:
    click.echo(
        f"stitch: {steps} steps are found by words and labels, and wait for their vectors;"
        " what is interrupted goes on when the memory is next opened",
        err=True,
    )


def _outcome(report: IngestReport, *, files: int) -> str:
    """The outcome of all steps, in one line."""
    source = f" from {files} files" if files > 1 else ""
    known = f", {report.repeated} known before" if report.repeated else ""
    retired = f", {report.retired} retired" if report.retired else ""
    waiting = f", {report.waiting} wait for the store" if report.waiting else ""
    return (
        f"{counted(steps=report.steps, trajectories=report.trajectories)}{source} in {report.seconds:.1f} s{known}:"
        f" {report.stored} stored{retired}, {report.failed} failed, {report.rejected} rejected{waiting}"
    )


def ingest(
    memory: Memory,
    items: Iterable[SourcedStep | Rejection | None],
    *,
    on_rejection: Callable[[Rejection], None],
    on_progress: Callable[[int], None] = lambda steps: None,
    batch_steps: int = BATCH_STEPS,
    on_vectors: Callable[[int], None] = lambda steps: None,
    workers: int = 1,
    again: bool = False,
    report: IngestReport | None = None,
) -> IngestReport:
    """Store what a source yields; return what became of it.

    A None among the items says that nothing more has come just now, so that what came is stored. `on_progress` is told
    the number of steps just taken in, `on_vectors` in the end that of steps whose vectors are made then. With 1 for
    `batch_steps` no step waits for another; `workers` trajectories are worked on side by side, which pays where a model
    is waited for. A given report is filled in as the work goes on, for who is interrupted.
    """
    intake = Intake(memory, again=again, report=report, on_rejection=on_rejection, on_progress=on_progress)
    at_once = workers == 1 or batch_steps == 1
    buffered_steps = _BUFFERED_STEPS if at_once else workers * 2 * BATCH_STEPS
    with (
        ThreadPoolExecutor(workers) as pool,
        ThreadPoolExecutor(min(workers, _ADDERS)) as adders,
        _interruptible(memory),  # left first: threads end when the calls that they wait for do
    ):
        each = map if at_once else adders.map
        for item in items:
            if item is None:
                intake.store_all(each)
            elif isinstance(item, Rejection):
                intake.store_all(each)  # who reads of a rejection may count on all before it
                intake.reject(item)
            else:
                waiting = intake.keep(item)
                if at_once and waiting >= batch_steps:
                    intake.store(item.trajectory)
                elif intake.kept % buffered_steps == 0:
                    intake.store_all(each)
        intake.store_all(each)
        list(pool.map(memory.finish, intake.to_label))
    return intake.finish(on_vectors=on_vectors)


@contextmanager
def _interruptible(memory: Memory) -> Iterator[None]:
    """Give up the calls of a model at once when Ctrl-C or SIGTERM ends this."""
    try:
        yield
    except (KeyboardInterrupt, Terminated):
        memory.interrupt()
        raise


def _redacted(record: str) -> str:
    """A record without secrets; one that is JSON stays JSON, but for what is nested deeper than anything walks."""
    try:
        return orjson.dumps(redact_value(orjson.loads(record))).decode()
    except (orjson.JSONDecodeError, orjson.JSONEncodeError, RecursionError):
        return redact_text(record)[0]


@contextmanager
def _rejects_file(path: Path, *, tenant: str) -> Iterator[Callable[[Rejection], None]]:
    """Yield a function that appends a rejection of a tenant to the file; the file is made when there is one."""
    file: IO[bytes] | None = None
    printed = 0
    named = lru_cache(maxsize=16)(redact_path)  # a file may hold nothing else than what is rejected

    def reject(rejection: Rejection) -> None:
        nonlocal file, printed
        said = {
            "source": named(rejection.source),
            "reason": redact_text(rejection.reason)[0],
            "text": redact_text(rejection.text)[0],
            "record": _redacted(rejection.record),
        }
        rejection = rejection.model_copy(update=said)  # what is rejected may hold secrets too
        where = f"{rejection.source}, line {rejection.line}" if rejection.line else rejection.source
        printed += 1
        if printed <= _REJECTIONS_SHOWN:
            click.echo(f"stitch: {where}: {rejection.reason}", err=True)
        elif printed == _REJECTIONS_SHOWN + 1:
            click.echo(f"stitch: further rejected input is in {path}", err=True)
        try:
            if file is None:
                file = open(path, "ab", opener=private)  # noqa: SIM115 - closed below
            file.write(orjson.dumps({"tenant": tenant, **rejection.model_dump()}, option=orjson.OPT_APPEND_NEWLINE))
            file.flush()
        except OSError as error:
            raise InputError(
                f"cannot write the rejects file {str(path)!r}: {system_reason(error)}",
                hint="name another with --rejects; what was stored so far is kept, the same command goes on",
            ) from error

    try:
        yield reject
    finally:
        if file is not None:
            file.close()


class _IngestProgress:
    """Progress in steps, and in lines of all where these can be counted."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._lines = count_lines(paths) if sys.stderr.isatty() else {}  # nothing if nobody looks on
        self._progress = Progress("0 steps", of=sum(self._lines.values()) or None)
        self._steps = self._before = 0
        self._source = ""

    def stored(self, steps: int) -> None:
        """Count stored steps."""
        self._steps += steps
        self._progress.what = f"{counted(steps=self._steps)}"
        self._progress.advance(0)

    def watched(self, items: Iterable[SourcedStep | Rejection | None]) -> Iterator[SourcedStep | Rejection | None]:
        """The same items; each tells how many lines are read."""
        for item in items:
            if item is not None and self._lines:
                if item.source != self._source:
                    self._before += self._lines.get(self._source, 0)
                    self._source = item.source
                self._progress.advance(self._before + item.line - self._progress.done)
            yield item


def count_lines(paths: Sequence[str]) -> dict[str, int]:
    """Number of lines of each file; nothing if one of them is not read line by line: then no time can be told."""
    if not all(path.endswith((".jsonl", ".ndjson")) and os.path.isfile(path) for path in paths):
        return {}
    found = dict[str, int]()
    for path in paths:
        with open(path, "rb") as file:
            found[path] = sum(block.count(b"\n") for block in iter(partial(file.read, _BLOCK_BYTES), b""))
    return found
