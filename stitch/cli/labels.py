"""`stitch labels`."""

from __future__ import annotations

from typing import Any

import click

from stitch.api.listing_models import LabelsRequest
from stitch.api.operations import ask, made
from stitch.console.options import json_option, memory_options, opened_memory
from stitch.console.printing import one_line, print_json


@click.command()
@memory_options
@click.option("--trajectory", metavar="ID", help="Only the labels of this trajectory.")
@json_option
def command(as_json: bool, trajectory: str | None, **arguments: Any) -> None:
    """List the labels of a memory: scopes, event types and key entity types, with the steps that carry them.

    \b
    Example:
      stitch labels --memory trip.memory --trajectory trip-1
    """
    with opened_memory(**arguments) as memory:
        labels = ask(memory, "labels", made(LabelsRequest, trajectory=trajectory))
    if as_json:
        print_json(labels.model_dump(mode="json", exclude={"next"}))
        return
    click.echo("thematic scopes")
    for scope in labels.scopes:
        click.echo(f"  {scope.steps:>5}  {one_line(scope.name)}  ({one_line(scope.trajectory)})")
    click.echo("event types")
    for name, count in labels.event_types.items():
        click.echo(f"  {count:>5}  {one_line(name)}")
    click.echo("key entity types")
    for name, entry in labels.entity_types.items():
        examples = ", ".join(one_line(value, limit=40) for value in entry.values[:4])
        click.echo(f"  {entry.steps:>5}  {one_line(name)}" + (f"  ({examples})" if examples else ""))
    for merge in labels.merges:
        click.echo(f"  {merge.kind.value} {merge.alias!r} reads as {merge.into!r}")
