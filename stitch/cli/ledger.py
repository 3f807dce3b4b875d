"""`stitch ledger`."""

from __future__ import annotations

from typing import Any

import click

from stitch.api.spending import read_spending
from stitch.console.options import json_option, known_trajectory, memory_options, opened_memory
from stitch.console.printing import print_json


@click.command()
@memory_options
@click.option("--trajectory", metavar="ID", help="Only what this trajectory cost, and each step of it.")
@json_option
def command(as_json: bool, trajectory: str | None, **arguments: Any) -> None:
    """Say what the calls of language models have cost this tenant's memory: by model, stage, trajectory and step.

    A call that covered several steps counts in equal shares for each of them.

    \b
    Example:
      stitch ledger --memory trip.memory
    """
    with opened_memory(**arguments) as memory:
        spent = read_spending(memory.folder, tenant=memory.tenant, trajectory=trajectory)
        if not spent.total.calls:  # what is asked for by name may be gone, and its costs kept
            known_trajectory(memory, trajectory)
    if as_json:
        positions = {str(position): dict(share) for position, share in spent.positions.items()}
        print_json({**spent.model().model_dump(), **({} if trajectory is None else {"positions": positions})})
        return
    if not spent.total.calls:
        click.echo("no language model was called for this memory")
        return
    for line in spent.lines():
        click.echo(line)
    for position, share in spent.positions.items():
        cost = share["cost_usd"]
        shown = "" if cost is None else f"  ${cost:.6f}"
        click.echo(f"  step {position:<27} {share['calls']:>7.2f} calls {share['tokens']:>10.0f} tokens{shown}")
