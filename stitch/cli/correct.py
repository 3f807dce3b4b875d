"""`stitch correct`: what a person knows better. `stitch forget correct` is the same command."""

from __future__ import annotations

from typing import Any

import click

from stitch.api.maintenance_models import CorrectRequest, CorrectResponse
from stitch.api.operations import ask, made
from stitch.console.options import json_option, memory_options, opened_memory
from stitch.console.printing import print_json


@click.command()
@click.argument("step")
@memory_options
@click.option("--trajectory", metavar="ID", help="Of the step; needed if several have a step of this id.")
@click.option("--text", metavar="TEXT", help="The right text.")
@click.option("--scope", metavar="NAME", help="The right thematic scope.")
@click.option("--event", "--event-type", "event_types", metavar="NAME", multiple=True, help="The right event types.")
@click.option(
    "--entity", "--entity-type", "entity_types", metavar="NAME", multiple=True, help="The right key entity types."
)
@click.option(
    "--undo-reference", "undo", metavar="N|all", multiple=True,
    help="Read a reference as the text has it: the N-th of those that `stitch show --steps` lists.",
)  # fmt: skip
@click.option("--by", metavar="NAME", default="person", show_default=True, help="Who corrects it.")
@json_option
def command(
    *, as_json: bool, step: str, trajectory: str | None, text: str | None, scope: str | None, by: str,
    event_types: tuple[str, ...], entity_types: tuple[str, ...], undo: tuple[str, ...], **arguments: Any,
) -> None:  # fmt: skip
    """Replace the text or the labels of STEP, or undo references; what it was stays in its history.

    Labels that were corrected stay when a memory is labeled anew, and are what `stitch optimize` learns from, if it is
    given the memory as --train.

    \b
    Example:
      stitch correct 12 --trajectory trip-1 --scope "day 2" --event "ask price" --memory trip.memory
      stitch correct 12 --trajectory trip-1 --undo-reference 1 --memory trip.memory
    """
    given = {"scope": scope, "event_types": list(event_types), "entity_types": list(entity_types)}
    labels = {name: value for name, value in given.items() if value}
    request = made(CorrectRequest, step=step, trajectory=trajectory, text=text, labels=labels, undo=undo, by=by)
    with opened_memory(**arguments) as memory:
        corrected: CorrectResponse = ask(memory, "correct", request)
    if as_json:
        print_json(corrected.model_dump())
    else:
        click.echo(
            f"step {step} of {corrected.trajectory} is corrected; {corrected.revisions} earlier versions are kept"
        )
