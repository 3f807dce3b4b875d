"""`stitch backup`."""

from __future__ import annotations

from typing import Any

import click

from stitch.console.options import json_option, memory_options
from stitch.console.printing import print_json
from stitch.console.progress import progress_drawn


@click.command()
@memory_options
@click.option("--to", metavar="FOLDER", required=True, help="A folder that is empty or not there.")
@json_option
def command(as_json: bool, to: str, **arguments: Any) -> None:
    """Copy a memory into FOLDER, of all tenants, or of the one that --tenant names.

    Works while another process has the memory open and goes on writing. Holds the journal, from which all else is
    made, and a manifest by which damage is known. What was erased before is not in it; what is erased later still is.

    \b
    Example:
      stitch backup --memory trip.memory --to backups/monday
    """
    from stitch.maintenance import backup_memory

    with progress_drawn("copying"):
        made = backup_memory(to=to, **arguments)
    if as_json:
        print_json({**made._asdict(), "folder": str(made.folder)})
    else:
        click.echo(f"{made.steps} steps of {made.tenants} tenants, {made.megabytes} MB, are backed up in {made.folder}")
