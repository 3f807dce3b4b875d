"""`stitch labels`."""

from __future__ import annotations

from typing import Any

import click

from stitch.console.options import json_option, known_trajectory, memory_options, opened_memory
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
        inventory = memory.inventory(known_trajectory(memory, trajectory))
    scopes: list[dict[str, Any]] = [
        {"name": scope.name, "trajectory": scope.trajectory, "steps": scope.steps, "spans": scope.spans,
         "summary": scope.summary}
        for scope in inventory.scopes
    ]  # fmt: skip
    events = dict(sorted(inventory.event_types.items(), key=lambda item: (-item[1], item[0])))
    entities: dict[str, dict[str, Any]] = {
        name: {"steps": summary.steps, "values": summary.values}
        for name, summary in sorted(inventory.entity_types.items(), key=lambda item: (-item[1].steps, item[0]))
    }
    merges = [merge.model_dump(mode="json") for merge in inventory.merges]
    if as_json:
        print_json({"scopes": scopes, "event_types": events, "entity_types": entities, "merges": merges})
        return
    click.echo("thematic scopes")
    for scope in scopes:
        click.echo(f"  {scope['steps']:>5}  {one_line(scope['name'])}  ({one_line(scope['trajectory'])})")
    click.echo("event types")
    for name, count in events.items():
        click.echo(f"  {count:>5}  {one_line(name)}")
    click.echo("key entity types")
    for name, entry in entities.items():
        examples = ", ".join(one_line(value, limit=40) for value in entry["values"][:4])
        click.echo(f"  {entry['steps']:>5}  {one_line(name)}" + (f"  ({examples})" if examples else ""))
    for merge in merges:
        click.echo(f"  {merge['kind']} {merge['alias']!r} reads as {merge['into']!r}")
