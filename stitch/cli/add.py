"""`stitch add`: one step, as it is typed."""

from __future__ import annotations

import sys
from typing import Any

import click

from stitch.console.options import json_option, memory_options, opened_memory
from stitch.console.printing import print_json


@click.command()
@click.argument("text")
@memory_options
@click.option("--trajectory", metavar="ID", default="notes", show_default=True, help="Where the step goes on.")
@click.option("--role", metavar="NAME", default="user", show_default=True, help="Who says it.")
@click.option("--id", "step_id", metavar="ID", help="The id of the step: given again, it changes nothing.")
@click.option("--timestamp", metavar="TIME", help="When it happened, if that is not now.")
@json_option
def command(
    *, text: str, trajectory: str, role: str, step_id: str | None, timestamp: str | None, as_json: bool, **settings: Any
) -> None:
    """Store TEXT as one step; when this ends, it is durable and a search finds it. `-` reads TEXT from standard input.

    \b
    Example:
      stitch add "The hotel in Porto is Casa Azul." --memory trip.memory
      stitch search "Which hotel is in Porto?" --memory trip.memory -k 1
    """
    if text == "-":
        text = sys.stdin.read()
    step = {"role": role, "content": text, "id": step_id, "timestamp": timestamp}
    with opened_memory(must_exist=False, **settings) as memory:
        given = {name: value for name, value in step.items() if value is not None}
        receipt = memory.add(given, trajectory=trajectory)
    if as_json:
        print_json(receipt.model_dump(mode="json"))
        return
    known = " already, and nothing was changed" if receipt.repeated else ""
    click.echo(f"step {receipt.step} of {receipt.trajectory} is {receipt.state.value}{known}")
    for each in receipt.redacted:
        click.echo(f"stitch: taken out before anything was written: {each.kind} {each.count}", err=True)
