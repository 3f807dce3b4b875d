"""`stitch status`."""

from __future__ import annotations

from typing import Any

import click

from stitch.cli.options import json_option, memory_options, opened_memory, print_json


@click.command()
@memory_options
@json_option
def command(as_json: bool, **arguments: Any) -> None:
    """Say what a memory holds, and what waits or failed.

    \b
    Example:
      stitch status --memory trip.memory
    """
    with opened_memory(**arguments) as memory:
        status = memory.status()
    if as_json:
        print_json(status.model_dump())
        return
    for name, value in status.model_dump().items():
        click.echo(f"{name.replace('_', ' '):<15} {value}")
    if status.failed:
        click.echo(f"{status.failed} steps failed; they are kept, and searchable without labels", err=True)
