"""`stitch correct`: what a person knows better. `stitch forget correct` is the same command."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import click

from stitch.console.options import json_option, memory_options, opened_memory, trajectory_of
from stitch.console.printing import print_json
from stitch.errors import InputError

if TYPE_CHECKING:
    from stitch.core import ReferenceRewrite
    from stitch.memory import Memory


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
    given = {"scope": scope, "event_types": event_types, "entity_types": entity_types}
    with opened_memory(**arguments) as memory:
        labels = {name: value for name, value in given.items() if value}
        trajectory = trajectory or trajectory_of(step, memory)
        references = _kept(undo, step, trajectory=trajectory, memory=memory) if undo else None
        memory.lifecycle.correct(step, trajectory=trajectory, text=text, labels=labels, references=references, by=by)
        revisions = memory.lifecycle.history(step, trajectory=trajectory)
    if as_json:
        print_json({"step": step, "trajectory": trajectory, "revisions": len(revisions)})
    else:
        click.echo(f"step {step} of {trajectory} is corrected; {len(revisions)} earlier versions are kept")


def _kept(undone: Collection[str], step: str, *, trajectory: str, memory: Memory) -> list[ReferenceRewrite]:
    """The references of a step but for those undone, which are named by their places from 1, or all at once.

    Raises:
        InputError: The step has no reference of such a number.
    """
    labels = next((entry.labels for entry in memory.steps(trajectory) if entry.id == step), None)
    known = {str(number): reference for number, reference in enumerate(labels.references if labels else (), 1)}
    for name in undone:
        if name not in known and name != "all":
            raise InputError(
                f"step {step!r} has no reference {name!r}: it has {len(known)}", hint="`stitch show --steps` lists them"
            )
    return [] if "all" in undone else [reference for name, reference in known.items() if name not in undone]
