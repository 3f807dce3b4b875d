"""`stitch show`: the intent timeline, of a memory or of files that are in none."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import orjson

from stitch.console.options import all_pages, json_option, memory_options, opened_memory
from stitch.console.out_file import written_privately
from stitch.console.printing import counted, draw_lanes, one_line, print_json
from stitch.core import Rejection
from stitch.errors import InputError
from stitch.server.operations.steps import Timeline, timeline
from stitch.server.page import drawing

if TYPE_CHECKING:
    from stitch.memory import Memory


_REASON_CHARS = 200


@click.command()
@click.argument("files", nargs=-1, metavar="[FILE...]")
@memory_options
@click.option("--trajectory", metavar="ID", help="The trajectory to draw.  [default: all]")
@click.option("--steps/--no-steps", default=False, help="List the steps with their labels and references.")
@click.option("--html", "page", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Draw them on a page for any browser, complete in one file.")  # fmt: skip
@json_option
def command(
    files: tuple[str, ...], as_json: bool, trajectory: str | None, steps: bool, page: Path | None, **arguments: Any
) -> None:
    """Draw the scopes of a trajectory as lanes over its steps: where each began, was left, and was resumed.

    With FILEs (folders, or `-`) these are drawn as they would be stored, labeled without a model; no memory is made.

    \b
    Example:
      stitch show --memory trip.memory --trajectory trip-1 --steps
      stitch show agent-run.jsonl --steps
      stitch show agent-run.jsonl --html run.html
    """
    with drawn_from(files, **arguments) if files else opened_memory(**arguments) as memory:
        wanted = memory.trajectories() if trajectory is None else [trajectory]
        shown: list[Timeline] = [
            all_pages(timeline, memory, trajectory=name, steps=steps or as_json or page is not None, listed="steps")
            for name in wanted
        ]
    if page is not None:
        with written_privately(page) as file:
            file.write(_drawn(shown).encode())
        click.echo(f"stitch: {page} ({page.stat().st_size // 1024} KB)", err=True)
    if as_json:
        print_json({"trajectories": [each.model_dump(exclude={"next"}) for each in shown]})
        return
    if page is None:
        for each in shown:
            _draw(each)


def _drawn(shown: Sequence[Timeline]) -> str:
    """The page of some trajectories: the lanes are drawn by the script of the server's page."""
    told = orjson.dumps([each.model_dump(mode="json") for each in shown]).decode().replace("<", "\\u003c")
    parts = {**drawing(), "told": told}
    template = (resources.files("stitch.cli") / "drawn.html").read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], template)


def _draw(shown: Timeline) -> None:
    """Print the lanes of a trajectory, and its steps, where it has them."""
    click.echo(f"{shown.trajectory}  ({counted(steps=shown.length)}, counted from 0)")
    click.echo(draw_lanes(shown.scopes, length=shown.length))
    for step in shown.steps:
        labels = ", ".join([*step.event_types, *(f"[{name}]" for name in step.entity_types)])
        name = "" if step.step == str(step.position) else f"  (id {step.step})"
        apart = f"  {step.state}" if step.state in ("failed", "retired") else ""
        click.echo(f"  {step.position:>4} {step.role:<12.12} {step.scope or '-'}: {labels}{name}{apart}")
        for said in filter(None, (step.text, *step.calls)):
            click.echo(f"       {one_line(said, limit=100)}")
        for read in step.references:
            since = f", from step {read.antecedent}" if read.antecedent is not None else ""
            read_as = f"{read.said!r} reads {read.replacement!r}"
            click.echo(f"       {read.number}. {one_line(read_as, limit=100)} ({read.confidence:.2f}{since})")
    click.echo()


@contextmanager
def drawn_from(files: Sequence[str], **arguments: Any) -> Iterator[Memory]:
    """A memory of files alone, which is gone afterwards; what cannot be read of them is told.

    Raises:
        InputError: A memory is named as well, or nothing of the files can be read.
    """
    from stitch.factory import open_memory
    from stitch.sources import FileSource, StandardInput, expand_paths

    if named := next((name for name, value in arguments.items() if value is not None), None):
        raise InputError(
            f"FILEs are drawn without a memory, and --{named} is given", hint=f"leave out --{named}, or the FILEs"
        )
    with (
        tempfile.TemporaryDirectory(prefix="stitch-show-") as folder,
        open_memory(Path(folder) / "memory", labels="local", embedder="static", share=False) as memory,
    ):
        sources = (StandardInput() if path == "-" else FileSource(path) for path in expand_paths(list(files)))
        taken = memory.stream(chain.from_iterable(sources))
        rejected = [
            f"line {each.line} of {each.source}: {each.reason}" for each in taken if isinstance(each, Rejection)
        ]
        first = one_line(rejected[0], limit=_REASON_CHARS) if rejected else ""
        if not memory.trajectories():
            reason = f": {first}" if first else ""
            raise InputError(f"no step could be read{reason}", hint="`stitch ingest --help` says what can be read")
        if rejected:
            click.echo(f"stitch: {len(rejected)} could not be read, the first: {first}", err=True)
        yield memory
