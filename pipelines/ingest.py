"""Store steps from files or standard input: `stitch ingest`.

More than 400 lines because what is read, what is stored and what is said of it are one command.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click
import orjson
from pydantic import BaseModel

from stitch.console.ending import Terminated
from stitch.console.options import json_option, labeling_options, memory_options, opened_memory
from stitch.console.printing import print_json
from stitch.core import Receipt, Rejection, SourcedStep, StepState
from stitch.core.files import private
from stitch.errors import InputError, ModelError, StepRejectedError, StitchError
from stitch.ingest.secrets import redact_text
from stitch.pipelines.estimating import estimate, print_estimate
from stitch.pipelines.follow import read_input
from stitch.sources import FileSource, StandardInput, expand_paths, left_out

if TYPE_CHECKING:
    from stitch.memory import Memory

BATCH_STEPS = 256
_ADDERS = 3
"""How many trajectories are added side by side where labels follow: with more, the first would be ready later."""
_NAMES_SHOWN = 3
_REJECTIONS_SHOWN = 10
_BUFFERED_STEPS = 4 * BATCH_STEPS


class IngestReport(BaseModel):
    """What became of the input."""

    trajectories: int = 0
    steps: int = 0
    """Steps read and accepted, those known already included."""
    stored: int = 0
    """Steps that are now in the store by their labels, those known already included."""
    failed: int = 0
    rejected: int = 0
    repeated: int = 0
    """Steps that were in the memory already; they are as they were."""
    erased: int = 0
    """Steps that were erased before; they are not taken in, and not among `steps`."""
    model_calls: int = 0
    model_tokens: int = 0
    """Of prompts and replies."""
    model_cost_usd: float | None = None
    """None if the price of the model is not known."""
    fallback_steps: int = 0
    """Steps that a model should have labeled and that have local labels instead."""
    repeated_with_other_labels: int = 0
    """Steps known already whose labels are not those of the model that is to label."""
    redacted: dict[str, int] = {}  # pydantic copies it
    """How many secrets of each kind were taken out before anything was written."""
    seconds: float = 0.0
    labels: dict[str, int] = {}  # pydantic copies it
    """How many labels of each kind the trajectories of the input have."""

    @property
    def exit_status(self) -> int:
        """With which the command ends: 1 if steps failed, 6 if the model labeled nothing, 3 if some were rejected."""
        new = self.steps - self.repeated
        if self.failed:
            return StitchError.exit_code
        if self.fallback_steps and self.fallback_steps >= new:
            return ModelError.exit_code
        return StepRejectedError.exit_code if self.rejected else 0


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@memory_options
@labeling_options
@click.option("--follow", is_flag=True, help="Go on reading what is appended to the FILEs, until Ctrl-C or SIGTERM.")
@click.option("--again", is_flag=True, help="Take in also steps that were erased.")
@click.option("--dry-run", is_flag=True, help="Say what a model would cost, and store nothing.")
@click.option("--trajectory", metavar="ID", help="The trajectory of steps that name none.  [default: the file's name]")
@click.option("--rejects", metavar="FILE", help="Where rejected input is written.  [default: beside the memory]")
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
    3. It is 1 if steps failed, and 6 if a model should have labeled and labeled nothing; all steps are kept.
    The same file twice changes nothing: what is known keeps its labels, and `stitch relabel` makes others; what was
    erased stays so and is counted, unless --again is given.

    \b
    Example:
      stitch ingest trip.jsonl --memory trip.memory
      stitch ingest trip.jsonl --memory trip.memory --labels model --model openai/gpt-5-mini
      some-agent | stitch ingest - --memory agent.memory
      stitch ingest --follow agent.jsonl --memory agent.memory

    With --follow, files may grow, be rotated or emptied, and need not be there yet. Ctrl-C and SIGTERM end it with a
    report (exit status 130 and 143); the same command goes on where it stopped. Standard input is stored as it comes.
    """
    if follow and dry_run:
        raise InputError("--dry-run cannot follow a file", hint="leave out one of the two")
    paths = list(files) if follow else expand_paths(files)
    if others := left_out(files):
        shown = ", ".join(Path(name).name for name in others[:_NAMES_SHOWN])
        more = ", ..." if len(others) > _NAMES_SHOWN else ""
        click.echo(
            f"stitch: {len(others)} files in folders are left out, for their endings are not known ({shown}{more});"
            " name a file itself to have it read",
            err=True,
        )
    if dry_run:
        sources = (StandardInput() if path == "-" else FileSource(path, trajectory=trajectory) for path in paths)
        print_estimate(estimate(chain.from_iterable(sources), **settings), as_json=as_json)
        return
    with opened_memory(must_exist=False, **settings) as memory:
        rejects_path = Path(rejects) if rejects else memory.folder / "rejects.jsonl"
        with _rejects_file(rejects_path, tenant=memory.tenant) as reject, _progress() as advance:
            report = IngestReport()
            try:
                report = ingest(
                    memory,
                    read_input(files, follow=follow, memory=memory, trajectory=trajectory),
                    on_rejection=reject,
                    on_progress=advance,
                    workers=memory.workers,
                    again=again,
                    report=report,
                )
            except (KeyboardInterrupt, Terminated):
                if follow or "-" in paths:
                    _print_report(report, as_json=as_json, files=len(paths), rejects_path=rejects_path)
                raise
    _print_report(report, as_json=as_json, files=len(paths), rejects_path=rejects_path)
    context.exit(report.exit_status)


def _print_report(report: IngestReport, *, as_json: bool, files: int, rejects_path: Path) -> None:
    if as_json:
        print_json(report.model_dump())
    else:
        click.echo(
            f"{report.steps} steps of {report.trajectories} trajectories"
            + (f" from {files} files" if files > 1 else "")
            + f" in {report.seconds:.1f} s:"
            f" {report.stored} stored, {report.failed} failed, {report.rejected} rejected"
        )
        if report.labels:  # not if it was interrupted
            counts = (f"{count} {name.replace('_', ' ')}s" for name, count in report.labels.items())
            click.echo("labels: " + ", ".join(counts))
    if report.model_calls and not as_json:
        cost = "" if report.model_cost_usd is None else f", ${report.model_cost_usd:.4f}"
        click.echo(f"model: {report.model_calls} calls, {report.model_tokens} tokens{cost}")
    if report.fallback_steps:
        click.echo(
            f"stitch: {report.fallback_steps} steps have local labels, for the model did not label them;"
            " `stitch relabel` with the same options does it later",
            err=True,
        )
    if report.repeated_with_other_labels:
        click.echo(
            f"stitch: {report.repeated_with_other_labels} steps were in the memory already and keep the labels they"
            " have; `stitch relabel` with the same options labels them with the model",
            err=True,
        )
    if report.redacted:
        kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(report.redacted.items()))
        click.echo(f"stitch: secrets taken out before anything was written: {kinds}", err=True)
    if report.erased:
        erased = f"{report.erased} steps were erased before and are not taken in"
        click.echo(f"stitch: {erased}; the same command with --again takes them in", err=True)
    if report.failed:
        click.echo("stitch: failed steps are kept and searchable; `stitch retry` tries them again", err=True)
    if report.rejected:
        click.echo(f"stitch: {report.rejected} rejected, see {rejects_path}", err=True)


def ingest(
    memory: Memory,
    items: Iterable[SourcedStep | Rejection | None],
    *,
    on_rejection: Callable[[Rejection], None],
    on_progress: Callable[[int], None] = lambda steps: None,
    batch_steps: int = BATCH_STEPS,
    workers: int = 1,
    again: bool = False,
    report: IngestReport | None = None,
) -> IngestReport:
    """Store what a source yields; return what became of it.

    Args:
        memory: Where to.
        items: What a source yields; None where nothing more has come just now, so that what came is stored.
        on_rejection: Is called with all that is rejected, by the source or by the memory.
        on_progress: Is called with the number of steps that were just taken in.
        batch_steps: How many steps of a trajectory are stored at a time. With 1, no step waits for another.
        workers: How many trajectories are worked on side by side, which pays where a model is waited for.
        again: Whether steps that were erased are taken in again.
        report: Is filled in as the work goes on, for who is interrupted; a new one by default.
    """
    started = time.perf_counter()
    report = report or IngestReport()
    waiting: dict[str, list[SourcedStep]] = {}
    seen: set[str] = set()
    new: dict[str, int] = {}
    known: dict[str, set[int]] = {}
    at_once = workers == 1 or batch_steps == 1
    buffered_steps = _BUFFERED_STEPS if at_once else workers * 2 * BATCH_STEPS

    def store(batch: tuple[str, list[SourcedStep]]) -> list[Receipt | StepRejectedError]:
        trajectory, items = batch
        return memory.add_each([item.step for item in items], trajectory=trajectory, again=again)

    def count(batch: tuple[str, list[SourcedStep]], results: Sequence[Receipt | StepRejectedError]) -> None:
        trajectory, items = batch
        seen.add(trajectory)
        for item, result in zip(items, results, strict=True):
            if isinstance(result, StepRejectedError):
                report.rejected += 1
                on_rejection(Rejection(source=item.source, line=item.line, reason=result.message,
                                       text=item.step.content[:200]))  # fmt: skip
                continue
            if result.state is StepState.ERASED:
                report.erased += 1
                continue
            report.steps += 1
            if result.repeated:
                report.repeated += 1
                known.setdefault(trajectory, set()).add(result.position)
            for taken in () if result.repeated else result.redacted:
                report.redacted[taken.kind] = report.redacted.get(taken.kind, 0) + taken.count
            if not result.repeated and memory.uses_model:
                new.setdefault(trajectory, result.position)
            else:
                report.stored += result.state is StepState.STORED
                report.failed += result.state is StepState.FAILED
        report.trajectories, report.seconds = len(seen), round(time.perf_counter() - started, 3)
        on_progress(len(items))

    with (
        ThreadPoolExecutor(workers) as pool,
        ThreadPoolExecutor(min(workers, _ADDERS)) as adders,
        _interruptible(memory),  # left first: threads end when the calls that they wait for do
    ):

        def empty() -> None:
            batches = list(waiting.items())
            waiting.clear()
            for batch, results in zip(
                batches, map(store, batches) if at_once else adders.map(store, batches), strict=True
            ):
                count(batch, results)

        steps = 0
        for item in items:
            if item is None:
                empty()
                continue
            if isinstance(item, Rejection):
                empty()  # who reads of a rejection may count on all before it
                report.rejected += 1
                on_rejection(item)
                continue
            waiting.setdefault(item.trajectory, []).append(item)
            steps += 1
            if at_once and len(waiting[item.trajectory]) >= batch_steps:
                batch = (item.trajectory, waiting.pop(item.trajectory))
                count(batch, store(batch))
            elif steps % buffered_steps == 0:
                empty()
        empty()
        list(pool.map(memory.finish, new))
    if memory.uses_model:
        _count_new(memory, new, report)
        report.repeated_with_other_labels = _count_other_labels(memory, known)
    report.labels = _count_labels(memory, seen)
    report.seconds = round(time.perf_counter() - started, 3)
    return report


@contextmanager
def _interruptible(memory: Memory) -> Iterator[None]:
    """Give up the calls of a model at once when Ctrl-C or SIGTERM ends this."""
    try:
        yield
    except (KeyboardInterrupt, Terminated):
        memory.interrupt()
        raise


def _count_new(memory: Memory, new: dict[str, int], report: IngestReport) -> None:
    """Count what became of steps that a model was to label, those from a position on, now that none of them waits."""
    for trajectory, first in new.items():
        for entry in memory.steps(trajectory):
            if entry.position >= first:
                report.stored += entry.state is StepState.STORED
                report.failed += entry.state is StepState.FAILED
                report.fallback_steps += entry.labels is not None and entry.labels.made_by != memory.labeler
    spent = memory.ledger.total()
    report.model_calls, report.model_tokens, report.model_cost_usd = spent.calls, spent.tokens, spent.cost_usd


def _count_other_labels(memory: Memory, known: dict[str, set[int]]) -> int:
    """Of steps that were known already, by position, those whose labels the memory's labeler has not made."""
    return sum(
        entry.position in positions and entry.labels is not None and entry.labels.made_by != memory.labeler
        for trajectory, positions in known.items()
        for entry in memory.steps(trajectory)
    )


def _count_labels(memory: Memory, trajectories: Iterable[str]) -> dict[str, int]:
    scopes, events, entities = 0, set[str](), set[str]()
    for trajectory in trajectories:
        inventory = memory.inventory(trajectory)
        scopes += len(inventory.scopes)
        events.update(inventory.event_types)
        entities.update(inventory.entity_types)
    return {"scope": scopes, "event_type": len(events), "entity_type": len(entities)}


@contextmanager
def _rejects_file(path: Path, *, tenant: str) -> Iterator[Callable[[Rejection], None]]:
    """Yield a function that appends a rejection of a tenant to the file; the file is made when there is one."""
    file: IO[bytes] | None = None
    printed = 0

    def reject(rejection: Rejection) -> None:
        nonlocal file, printed
        said = {"reason": redact_text(rejection.reason)[0], "text": redact_text(rejection.text)[0]}
        rejection = rejection.model_copy(update=said)  # what is rejected may hold secrets too
        where = f"{rejection.source}, line {rejection.line}" if rejection.line else rejection.source
        printed += 1
        if printed <= _REJECTIONS_SHOWN:
            click.echo(f"stitch: {where}: {rejection.reason}", err=True)
        elif printed == _REJECTIONS_SHOWN + 1:
            click.echo(f"stitch: more is rejected, see {path}", err=True)
        try:
            if file is None:
                file = open(path, "ab", opener=private)  # noqa: SIM115 - closed below
            file.write(orjson.dumps({"tenant": tenant, **rejection.model_dump()}, option=orjson.OPT_APPEND_NEWLINE))
            file.flush()
        except OSError as error:
            raise InputError(
                f"cannot write the rejects file {str(path)!r}: {str(error.strerror).lower()}",
                hint="name another with --rejects; what was stored so far is kept, the same command goes on",
            ) from error

    try:
        yield reject
    finally:
        if file is not None:
            file.close()


@contextmanager
def _progress() -> Iterator[Callable[[int], None]]:
    """Yield a function that advances a counter of steps on standard error, if that is a terminal."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.completed} steps"), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as progress:
        task = progress.add_task("", total=None)
        yield lambda steps: progress.advance(task, steps)
