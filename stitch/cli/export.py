"""`stitch export`."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from stitch.console.options import memory_options
from stitch.console.out_file import written_privately
from stitch.console.printing import print_json
from stitch.console.progress import progress_drawn


@click.command()
@memory_options
@click.option("--trajectory", metavar="ID", help="Only this trajectory.")
@click.option("--out", metavar="FILE", type=click.Path(path_type=Path),
              help="Where to write the lines.  [default: standard output]")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="With --out, print one JSON object.")
def command(out: Path | None, as_json: bool, **arguments: Any) -> None:
    """Write all that a tenant's memory holds as lines of JSON, which `stitch import` reads without loss.

    Works while another process has the memory open. Nothing of another tenant is in it; vectors are not in it either,
    so the memory that reads it may have another embedder.

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
        click.echo(f"{count} lines are written to {out}; `stitch import` reads them", err=True)
