"""`stitch retry`."""

from __future__ import annotations

from typing import Any

import click

from stitch.api.listing_models import RetryResponse
from stitch.api.models import Nothing
from stitch.api.operations import ask
from stitch.console.options import json_option, memory_options, opened_memory
from stitch.console.printing import print_json
from stitch.console.progress import progress_drawn
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
    with opened_memory(**arguments) as memory, progress_drawn("trying again"):
        done: RetryResponse = ask(memory, "retry", Nothing())
    if as_json:
        print_json(done.model_dump())
    else:
        click.echo(f"{done.stored} stored, {done.failed} failed")
    if done.failed:
        click.echo("stitch: `stitch receipts --failed` tells why", err=True)
        context.exit(StitchError.exit_code)
