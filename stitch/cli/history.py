"""`stitch history`."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import click

from stitch.console.options import json_option, known_trajectory, memory_options, opened_memory, trajectory_of
from stitch.console.printing import print_json


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
    with opened_memory(**arguments) as memory:
        where = known_trajectory(memory, trajectory) or trajectory_of(step, memory)
        revisions = memory.lifecycle.history(step, trajectory=where)
    if as_json:
        told = [
            {
                "until": revision.replaced,
                "corrected_by": revision.by,
                "step": revision.step.model_dump(mode="json", exclude_defaults=True),
                "labels": revision.labels and revision.labels.model_dump(mode="json", exclude_defaults=True),
            }
            for revision in revisions
        ]
        print_json({"step": step, "trajectory": where, "revisions": told})
        return
    for revision in revisions:
        until = datetime.fromtimestamp(revision.replaced, timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
        click.echo(f"until {until}, corrected by {revision.by}")
        if revision.labels:
            intent = revision.labels.intent
            kinds = ", ".join([*intent.event_types, *(f"[{name}]" for name in intent.entity_types)])
            click.echo(f"  {intent.scope or '-'}: {kinds}")
        click.echo(f"  {' '.join(revision.step.content.split())}")
    if not revisions:
        click.echo(f"stitch: step {step} of {where} was never corrected", err=True)
