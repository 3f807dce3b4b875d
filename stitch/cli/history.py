"""`stitch history`."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import click

from stitch.api.maintenance_models import HistoryRequest, HistoryResponse
from stitch.api.operations import ask, made
from stitch.console.options import json_option, memory_options, opened_memory
from stitch.console.printing import print_json
from stitch.core import Step, StepLabels


@click.command()
@click.argument("step")
@memory_options
@click.option("--trajectory", metavar="ID", help="The trajectory of the step; needed if several have one of this id.")
@json_option
def command(step: str, *, as_json: bool, trajectory: str | None, **arguments: Any) -> None:
    """List what STEP was before each of its corrections, oldest first: text, labels, until when, and who corrected it.

    \b
    Example:
      stitch history 12 --trajectory trip-1 --memory trip.memory
    """
    request = made(HistoryRequest, step=step, trajectory=trajectory)
    with opened_memory(**arguments) as memory:
        told: HistoryResponse = ask(memory, "history", request)
    if as_json:
        print_json(told.model_dump(exclude={"next"}))
        return
    for revision in told.revisions:
        until = datetime.fromtimestamp(revision.until, timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
        click.echo(f"until {until}, corrected by {revision.corrected_by}")
        if revision.labels:
            intent = StepLabels.model_validate(revision.labels).intent
            kinds = ", ".join([*intent.event_types, *(f"[{name}]" for name in intent.entity_types)])
            click.echo(f"  {intent.scope or '-'}: {kinds}")
        click.echo(f"  {' '.join(Step.model_validate(revision.step).content.split())}")
    if not told.revisions:
        click.echo(f"stitch: step {step} of {told.trajectory} was never corrected", err=True)
