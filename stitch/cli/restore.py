"""`stitch restore`."""

from __future__ import annotations

from typing import Any

import click

from stitch.console.options import json_option, memory_options
from stitch.console.printing import print_json
from stitch.errors import StoreError


@click.command()
@click.argument("folder", metavar="FOLDER")
@memory_options
@click.option("--embedder", metavar="NAME", help="The embedder to use, as in `stitch config`.")
@json_option
@click.pass_context
def command(context: click.Context, /, *, folder: str, as_json: bool, **arguments: Any) -> None:
    """Make a memory of the backup in FOLDER, where there is none yet.

    The backup is checked first, and one that is damaged is refused. The store is built from the journal, and the two
    are compared; the exit status is 5 if they do not agree.

    \b
    Example:
      stitch restore backups/monday --memory trip.memory
    """
    from stitch.maintenance import restore_memory

    made = restore_memory(folder, **arguments)
    if as_json:
        print_json({**made._asdict(), "folder": str(made.folder)})
    else:
        agree = f"{made.disagreements} things do not agree" if made.disagreements else "all agree"
        click.echo(f"{made.steps} steps of {made.tenants} tenants, {made.snippets} snippets: {agree}")
    if made.disagreements:
        context.exit(StoreError.exit_code)
