"""`stitch export`."""

from __future__ import annotations

from typing import Any

import click

from stitch.cli.options import memory_options, print_json


@click.command()
@memory_options
@click.option("--trajectory", metavar="ID", help="Only this trajectory.")
@click.option("--out", metavar="FILE", type=click.File("w", lazy=True, atomic=True), default="-",
              help="Where to write the lines.  [default: standard output]")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="With --out, print one JSON object.")
def command(out: Any, as_json: bool, **arguments: Any) -> None:
    """Write all that a tenant's memory holds as lines of JSON, which `stitch import` reads without loss.

    Works while another process has the memory open. Nothing of another tenant is in it; vectors are not in it either,
    so the memory that reads it may have another embedder.

    \b
    Example:
      stitch export --memory trip.memory > trip.export.jsonl
      stitch export --memory trip.memory --trajectory trip-1 --out trip-1.export.jsonl
    """
    from stitch.upkeep import export_memory

    lines = 0
    for line in export_memory(**arguments):
        out.write(line + "\n")
        lines += 1
    if as_json and out.name != "<stdout>":
        print_json({"lines": lines})
