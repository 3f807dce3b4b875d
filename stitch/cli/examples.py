"""`stitch examples`: copies of the files that the pages use."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import click

from stitch.errors import InputError


@click.command()
@click.option("--to", "folder", required=True, metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
def command(folder: Path) -> None:
    """Copy the example files: two trajectories with questions, a plan as an outline, notes, programs.

    \b
    Example:
      stitch examples --to examples
      stitch ingest examples/trip.jsonl --memory trip.memory
    """
    shipped = sorted(files("stitch.examples").iterdir(), key=lambda file: file.name)
    held = {file.name: file.read_bytes() for file in shipped if file.is_file() and not file.name.startswith("__")}
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in held.items():
        there = folder / name
        if there.exists() and there.read_bytes() != content:
            raise InputError(f"{there} is there already, and holds something else", hint="give another folder")
    for name, content in held.items():
        (folder / name).write_bytes(content)
    click.echo(f"{len(held)} files are in {folder}: {', '.join(held)}")
