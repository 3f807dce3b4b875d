"""`stitch status`."""

from __future__ import annotations

from typing import Any

import click

from stitch.cli.spending import read_spending
from stitch.console.options import json_option, memory_options, opened_memory
from stitch.console.printing import print_json

_SHOWN_TRAJECTORIES = 5


@click.command()
@memory_options
@json_option
def command(as_json: bool, **arguments: Any) -> None:
    """Say what a memory holds, what waits or failed, and what language models have cost.

    \b
    Example:
      stitch status --memory trip.memory
    """
    with opened_memory(**arguments) as memory:
        status = memory.status()
        spent = read_spending(memory.folder, tenant=memory.tenant)
    if as_json:
        print_json({**status.model_dump(), "model": spent.row()})
        return
    for name, value in status.model_dump().items():
        shown = ", ".join(f"{kind} {count}" for kind, count in value.items()) if isinstance(value, dict) else value
        click.echo(f"{name.replace('_', ' '):<15} {shown if shown not in ('', None) else 'none'}")
    if spent.total.calls:
        click.echo("\nspent on language models")
        for line in spent.lines(most=_SHOWN_TRAJECTORIES):
            click.echo(line)
    if status.failed:
        click.echo(f"{status.failed} steps failed; they are kept, and searchable without labels", err=True)
