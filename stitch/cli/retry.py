"""`stitch retry`."""

from __future__ import annotations

from typing import Any

import click

from stitch.console.options import json_option, memory_options, opened_memory
from stitch.console.printing import print_json
from stitch.errors import StitchError


@click.command()
@memory_options
@json_option
@click.pass_context
def command(context: click.Context, /, *, as_json: bool, **arguments: Any) -> None:
    """Try again to label and store the steps that failed. The exit status is 1 if some fail again.

    \b
    Example:
      stitch retry --memory trip.memory
    """
    with opened_memory(**arguments) as memory:
        stored = memory.retry()
        failed = memory.status().failed
    if as_json:
        print_json({"stored": stored, "failed": failed})
    else:
        click.echo(f"{stored} stored, {failed} failed")
    if failed:
        click.echo("stitch: `stitch receipts --failed` tells why", err=True)
        context.exit(StitchError.exit_code)
