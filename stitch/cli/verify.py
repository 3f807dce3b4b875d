"""`stitch verify`."""

from __future__ import annotations

from typing import Any

import click

from stitch.api.maintenance_models import VerifyRequest, VerifyResponse
from stitch.api.operations import ask
from stitch.console.options import json_option, memory_options, opened_memory
from stitch.console.printing import print_json
from stitch.console.progress import progress_drawn
from stitch.errors import StoreError


@click.command()
@memory_options
@click.option("--repair", is_flag=True, help="Put what is missing, remove what the journal does not know.")
@json_option
@click.pass_context
def command(context: click.Context, /, *, as_json: bool, repair: bool, **arguments: Any) -> None:
    """Compare journal, store and labels, and name each thing that does not agree. The exit status is 5 if there is one.

    \b
    Example:
      stitch verify --memory trip.memory
      stitch verify --repair --memory trip.memory
    """
    with opened_memory(**arguments) as memory, progress_drawn("comparing"):
        found: VerifyResponse = ask(memory, "verify", VerifyRequest(repair=repair))
    if as_json:
        print_json(found.model_dump(exclude={"choices"}))
    else:
        for choice in found.choices:
            click.echo(choice)
        for disagreement in found.disagreements:
            where = " ".join(filter(None, (disagreement.trajectory, disagreement.step))) or "memory"
            click.echo(f"{where}: {disagreement.what}")
        click.echo(
            f"{found.steps} steps, {found.snippets} snippets: "
            + (f"{len(found.disagreements)} do not agree" if found.disagreements else "all agree")
        )
    if found.disagreements:
        if not repair:
            click.echo("stitch: `stitch verify --repair` mends the store; the journal is the truth", err=True)
        context.exit(StoreError.exit_code)
