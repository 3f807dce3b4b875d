"""Commands that say how a memory stands, mend it and copy it: `stitch status`, `retry`, `verify`, `reindex`, ..."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click
import orjson

from stitch.console.options import Say, answering, json_option, memory_options, opened_memory
from stitch.console.out_file import written_privately
from stitch.console.printing import cost_lines, counted, print_json, print_told
from stitch.console.progress import progress_drawn
from stitch.core.progress import Progress
from stitch.errors import (
    InputError,
    StepRejectedError,
    StitchError,
    StoreError,
    StoreLockedError,
    StoreUnavailableError,
)
from stitch.lifecycle.repair import Repaired
from stitch.server.operations import steps, upkeep
from stitch.server.operations.operation import OPERATIONS

if TYPE_CHECKING:
    from stitch.maintenance import Restored

_SHOWN_TRAJECTORIES = 5


@click.command()
@memory_options
@json_option
def status(as_json: bool, **arguments: Any) -> None:
    """Show what a memory holds, what waits or failed, and what language models have cost.

    \b
    Example:
      stitch status --memory trip.memory
    """
    try:
        with opened_memory(**arguments) as memory:
            told = steps.status(memory)
    except StoreUnavailableError as error:
        _print_journal(as_json=as_json, away=error.message, **arguments)
        raise
    lines = [*_lines(told.model_dump(exclude={"away", "model", "next"}))]
    if told.model.total.calls:
        lines += ["\nspent on language models", *cost_lines(told.model, most=_SHOWN_TRAJECTORIES)]
    print_told(told.model_dump(exclude={"next"}), *lines, as_json=as_json)  # `next` is told of pages alone
    if as_json:
        return
    if told.away:
        click.echo(f"the store is away, {told.waiting} steps wait for it: {told.away}", err=True)
    elif told.without_vectors:
        waiting = f"{told.without_vectors} steps are found by words and labels, and wait for their vectors"
        click.echo(f"{waiting}; `stitch retry` makes these now", err=True)
    if told.failed:
        click.echo(f"{told.failed} steps failed; they are kept, and searchable without labels", err=True)


def _print_journal(*, as_json: bool, away: str, **arguments: Any) -> None:
    """Print what the journal says of a memory whose server cannot be reached."""
    from stitch.maintenance import count_steps

    counts = count_steps(**arguments)
    known = {**counts._asdict(), "waiting": counts.waiting}
    print_told({**known, "away": away}, *_lines(known), as_json=as_json)
    if not as_json:
        click.echo(f"the store is away, {counts.waiting} steps wait for it", err=True)


def _lines(values: dict[str, Any]) -> Iterator[str]:
    for name, value in values.items():
        shown = ", ".join(f"{kind} {count}" for kind, count in value.items()) if isinstance(value, dict) else value
        yield f"{name.replace('_', ' '):<15} {shown if shown not in ('', None) else 'none'}"


@answering(steps.retry, doing="trying again")
def retry(told: steps.Retried, say: Say, **_: Any) -> int:
    """Retry labeling and storing the steps that failed. The exit status is 1 if some fail again.

    \b
    Example:
      stitch retry --memory trip.memory
    """
    say(f"{told.stored} stored, {told.failed} failed")
    if told.failed:
        click.echo("stitch: `stitch receipts --failed` tells why", err=True)
    return StitchError.exit_code if told.failed else 0


@answering(upkeep.verify, doing="comparing", exclude={"choices"})
@click.option("--repair", is_flag=True, help="Add what the store lacks, and remove what the journal does not know.")
def verify(found: Repaired, say: Say, repair: bool, **_: Any) -> int:
    """Compare journal, store and labels, and list each difference. The exit status is 5 if there is one.

    \b
    Example:
      stitch verify --memory trip.memory
      stitch verify --repair --memory trip.memory
    """
    for choice in found.choices:
        say(choice)
    for disagreement in found.disagreements:
        where = " ".join(filter(None, (disagreement.trajectory, disagreement.step))) or "memory"
        say(f"{where}: {disagreement.what}")
    count = len(found.disagreements)
    agree = f"{count} do not agree" if count else "all agree"
    say(f"{counted(steps=found.steps)}, {counted(snippets=found.snippets)}: {agree}")
    if count and not repair:
        click.echo("stitch: `stitch verify --repair` mends the store; the journal is the truth", err=True)
    return StoreError.exit_code if count else 0


@click.command()
@memory_options
@click.option("--embedder", metavar="NAME", help="The embedder to use from now on, as in `stitch config`.")
@click.option("--adopt", is_flag=True, help="Take over a collection of another journal, and drop what it holds.")
@click.option("--dry-run", is_flag=True, help="With --adopt: say what would be dropped, and change nothing.")
@json_option
def reindex(as_json: bool, embedder: str | None, adopt: bool, dry_run: bool, **arguments: Any) -> None:
    """Rebuild the store from the journal, for all tenants, also with another embedder.

    A process that has the memory open puts all snippets again, and serves meanwhile. Else the old store serves until
    the new one is complete; an interrupted run continues where it stopped. No label is made again. A collection on a
    server is filled where it is; one that was made for something else is dropped first, one of another journal only
    where it is adopted.

    \b
    Example:
      stitch reindex --memory trip.memory
      stitch reindex --memory trip.memory --embedder sentence-transformers/all-MiniLM-L6-v2
      stitch reindex --memory http://localhost:6333 --adopt --dry-run
    """
    if dry_run:
        if not adopt:
            raise click.UsageError("--dry-run goes with --adopt")
        _tell_adoption(as_json=as_json, embedder=embedder, **arguments)
        return
    with progress_drawn("building"):
        result = _rebuilt(embedder=embedder, adopt=adopt, **arguments)
    line = f"{counted(snippets=result.snippets)} with the embedder {result.embedder!r}, {result.written} written now"
    told = {name: getattr(result, name) for name in ("snippets", "written", "embedder")}
    print_told(told, line, as_json=as_json)
    if embedder:
        click.echo(f"stitch: set STITCH_EMBEDDER={embedder}, or embedder: {embedder} in the settings", err=True)


def _tell_adoption(*, as_json: bool, embedder: str | None, **arguments: Any) -> None:
    """Say what an adoption would drop."""
    from stitch.maintenance import adoption

    found = adoption(embedder=embedder, **arguments)
    line = "nothing would be dropped: there is no collection, or it is this journal's"
    if found is not None:
        whose = f"of the journal {found.journal}" if found.journal else "that says of no journal whose they are"
        line = f"{counted(points=found.points)} {whose} would be dropped, and this journal's put"
    print_told(found._asdict() if found else {"journal": None, "points": 0}, line, as_json=as_json)


def _rebuilt(*, embedder: str | None, adopt: bool, **arguments: Any) -> Any:
    """Build the store anew, here or by the process that has the memory open."""
    from stitch.factory import owner_of
    from stitch.maintenance import reindex_memory

    try:
        return reindex_memory(embedder=embedder, adopt=adopt, **arguments)
    except StoreLockedError:
        owner = owner_of(**arguments) if embedder or adopt else None
        if owner is not None:
            raise StoreLockedError(
                f"process {owner} has the memory open, and goes on with its own embedder",
                hint="end it, run this command, and begin it again with STITCH_EMBEDDER set",
            ) from None
        if embedder or adopt:
            raise
        with opened_memory(**arguments) as memory:
            return upkeep.reindex(memory)


@click.command()
@memory_options
@click.option("--to", metavar="FOLDER", required=True, help="A new or empty folder.")
@json_option
def backup(as_json: bool, to: str, **arguments: Any) -> None:
    """Back up a memory into FOLDER: all tenants, or the one that --tenant names.

    Works while another process has the memory open and writes. A backup holds the journal, from which all else is made,
    and checksums. What was erased before is not in it; what is erased later still is.

    \b
    Example:
      stitch backup --memory trip.memory --to backups/monday
    """
    from stitch.maintenance import backup_memory

    with progress_drawn("copying"):
        made = backup_memory(to=to, **arguments)
    line = f"{counted(steps=made.steps, tenants=made.tenants)}, {made.megabytes} MB, are backed up in {made.folder}"
    print_told({**made._asdict(), "folder": str(made.folder)}, line, as_json=as_json)


@click.command()
@click.argument("folder", metavar="FOLDER")
@memory_options
@click.option("--embedder", metavar="NAME", help="The embedder to use, as in `stitch config`.")
@json_option
@click.pass_context
def restore(context: click.Context, /, *, folder: str, as_json: bool, **arguments: Any) -> None:
    """Restore a memory from the backup in FOLDER; --memory must not exist yet.

    The backup is checked first, and refused if it is damaged. The store is built from the journal and compared with it;
    the exit status is 5 if they differ.

    \b
    Example:
      stitch restore backups/monday --memory trip.memory
    """
    from stitch.maintenance import restore_memory

    _tell_made(context, restore_memory(folder, **arguments), as_json=as_json)


@click.command()
@click.argument("old", metavar="OLD")
@click.argument("memory", metavar="URL")
@click.option(
    "--journal", metavar="FOLDER|URL", help="The place of the new journal: a folder, or a PostgreSQL database."
)
@click.option("--embedder", metavar="NAME", help="The embedder to use, as in `stitch config`.")
@click.option("--config", metavar="FILE", type=click.Path(dir_okay=False), help="A YAML file of its settings.")
@json_option
@click.pass_context
def move(context: click.Context, /, *, old: str, memory: str, as_json: bool, **arguments: Any) -> None:
    """Copy the memory OLD to the Qdrant server at URL, all tenants, with nothing missing.

    Journal and vectors are compared in the end; the exit status is 5 if they differ. OLD stays as it is.

    \b
    Example:
      stitch move trip.memory http://localhost:6333
      stitch move trip.memory http://localhost:6333 --journal postgresql://stitch@localhost/stitch
    """
    from stitch.maintenance import move_memory

    with progress_drawn("moving"):
        made = move_memory(old, memory=memory, **arguments)
    _tell_made(context, made, as_json=as_json)


def _tell_made(context: click.Context, made: Restored, *, as_json: bool) -> None:
    agree = f"{made.disagreements} things do not agree" if made.disagreements else "all agree"
    line = f"{counted(steps=made.steps, tenants=made.tenants)}, {counted(snippets=made.snippets)}: {agree}"
    print_told({**made._asdict(), "folder": str(made.folder)}, line, as_json=as_json)
    if made.disagreements:
        context.exit(StoreError.exit_code)


@click.command()
@memory_options
@click.option("--trajectory", metavar="ID", help="Only this trajectory.")
@click.option("--out", metavar="FILE", type=click.Path(path_type=Path),
              help="The file to write.  [default: standard output]")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="With --out, print one JSON object.")
def export(out: Path | None, as_json: bool, **arguments: Any) -> None:
    """Export a tenant's memory as lines of JSON, which `stitch import` reads without loss.

    Works while another process has the memory open. An export holds nothing of other tenants, and no vectors: the
    memory that imports it may have another embedder.

    \b
    Example:
      stitch export --memory trip.memory > trip.export.jsonl
      stitch export --memory trip.memory --trajectory trip-1 --out trip-1.export.jsonl
    """
    from stitch.maintenance import export_memory

    lines = export_memory(**arguments)
    if out is None or out == Path("-"):
        with nullcontext() if sys.stdout.isatty() else progress_drawn("reading"):
            for line in lines:
                click.echo(line)
        return
    count = 0
    with written_privately(out) as file, progress_drawn("reading"):
        for line in lines:
            file.write(f"{line}\n".encode())
            count += 1
    if as_json:
        print_json({"lines": count})
    else:
        click.echo(f"{counted(lines=count)} written to {out}, for `stitch import` to read", err=True)


@click.command()
@click.argument("file", type=click.File("rb"))
@memory_options
@click.option("--again", is_flag=True, help="Import steps that were erased here, too.")
@json_option
@click.pass_context
def import_(context: click.Context, /, *, file: Any, again: bool, as_json: bool, **arguments: Any) -> None:
    """Import FILE (`-` for standard input), which `stitch export` wrote, into the tenant that is named.

    Steps keep their labels, references, corrections, clocks and states. What is there already is left alone: an import
    that was interrupted is taken up by the same command. Lines that cannot be read are named with their number, all
    others are taken in, and the exit status is 3. It is 1 if steps could not be stored
    here. What a later version wrote is not taken in at all. What was erased here stays so and is counted, unless
    --again is given.

    \b
    Example:
      stitch import trip.export.jsonl --memory other.memory
    """
    first = file.readline()
    if not _may_be_export(first):
        raise InputError(
            f"{file.name!r} is no export: its first line says no kind",
            hint="`stitch ingest` reads the logs of agents, chats and traces",
        )
    with opened_memory(must_exist=False, **arguments) as memory, progress_drawn("taking in"):
        lines = _counted(chain([first], file), size=_size_of(file))
        result = upkeep.import_(memory, lines, source=file.name, again=again)
    for rejection in result.rejections:
        click.echo(f"stitch: {rejection.source}, line {rejection.line}: {rejection.reason}", err=True)
    line = (
        f"{counted(steps=result.steps, trajectories=result.trajectories)} taken in ({result.failed} failed),"
        f" {result.known} were there already, {counted(lines=len(result.rejections))} rejected"
    )
    trees = [f"{counted(trees=result.trees)} taken in"] if result.trees else []
    print_told(OPERATIONS["import"].dumped(result), line, *trees, as_json=as_json)
    if result.erased:
        erased = f"{result.erased} steps were erased here and are not stored"
        click.echo(f"stitch: {erased}; the same command with --again stores them", err=True)
    if result.failed:
        click.echo("stitch: failed steps are kept and searchable; `stitch retry` tries them again", err=True)
        context.exit(StitchError.exit_code)
    if result.rejections:
        context.exit(StepRejectedError.exit_code)


def _size_of(file: BinaryIO) -> int | None:
    """Number of bytes to read; None of a stream."""
    about = os.fstat(file.fileno())
    return about.st_size if stat.S_ISREG(about.st_mode) else None


def _counted(lines: Iterable[bytes], *, size: int | None) -> Iterator[bytes]:
    """The lines; whoever looks on is told how much of them is read."""
    progress = Progress("bytes taken in", of=size)
    for line in lines:
        yield line
        progress.advance(len(line))


def _may_be_export(line: bytes) -> bool:
    """Whether the first line of a file may be that of an export; one that is damaged may."""
    try:
        fields = orjson.loads(line)
    except orjson.JSONDecodeError:
        return True
    return isinstance(fields, dict) and "kind" in fields
