"""`stitch import`."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, BinaryIO

import click
import orjson

from stitch.api.maintenance_models import ImportRequest, ImportResponse
from stitch.api.operations import ask
from stitch.console.options import json_option, memory_options, opened_memory
from stitch.console.printing import print_json
from stitch.console.progress import progress_drawn
from stitch.core.progress import Progress
from stitch.errors import InputError, StepRejectedError, StitchError


@click.command()
@click.argument("file", type=click.File("rb"))
@memory_options
@click.option("--again", is_flag=True, help="Take in also steps that were erased here.")
@json_option
@click.pass_context
def command(context: click.Context, /, *, file: Any, again: bool, as_json: bool, **arguments: Any) -> None:
    """Take in FILE (`-` for standard input), which `stitch export` wrote, under the tenant that is named.

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
        request = ImportRequest(source=file.name, again=again)
        result: ImportResponse = ask(memory, "import", request, _told(chain([first], file), size=_size_of(file)))
    for rejection in result.rejections:
        click.echo(f"stitch: {rejection.source}, line {rejection.line}: {rejection.reason}", err=True)
    if as_json:
        print_json(result.model_dump())
    else:
        click.echo(
            f"{result.steps} steps of {result.trajectories} trajectories taken in ({result.failed} failed),"
            f" {result.known} were there already, {len(result.rejections)} lines rejected"
        )
    if result.trees and not as_json:
        click.echo(f"{result.trees} trees taken in")
    if result.erased and not as_json:
        erased = f"{result.erased} steps were erased here and are not taken in"
        click.echo(f"stitch: {erased}; the same command with --again takes them in", err=True)
    if result.failed:
        click.echo("stitch: failed steps are kept and searchable; `stitch retry` tries them again", err=True)
        context.exit(StitchError.exit_code)
    if result.rejections:
        context.exit(StepRejectedError.exit_code)


def _size_of(file: BinaryIO) -> int | None:
    """How many bytes there are to read; None if what is read comes as it likes."""
    about = os.fstat(file.fileno())
    return about.st_size if stat.S_ISREG(about.st_mode) else None


def _told(lines: Iterable[bytes], *, size: int | None) -> Iterator[bytes]:
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
