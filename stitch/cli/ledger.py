"""`stitch ledger`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from stitch.cli.options import json_option, memory_options, opened_memory, print_json
from stitch.lm import Charge, Totals, read_ledger, sum_up


@click.command()
@memory_options
@click.option("--trajectory", metavar="ID", help="Only what this trajectory cost.")
@json_option
def command(as_json: bool, trajectory: str | None, **arguments: Any) -> None:
    """Say what the calls of language models have cost this memory: by model, stage and trajectory.

    \b
    Example:
      stitch ledger --memory trip.memory
    """
    with opened_memory(**arguments) as memory:
        file: Path | None = memory.ledger.file
    charges = [charge for charge in read_ledger(file) if trajectory in (None, charge.trajectory)] if file else []
    rows = {
        "total": {"": sum_up(charges)},
        "models": _grouped(charges, "model"),
        "stages": _grouped(charges, "stage"),
        "trajectories": _grouped(charges, "trajectory"),
    }
    steps = sum(charge.steps for charge in charges if charge.used and charge.stage in _LABELING)
    if as_json:
        shown: dict[str, Any] = {
            kind: {name: _row(totals) for name, totals in group.items()} for kind, group in rows.items()
        }
        print_json({**shown, "total": shown["total"][""], "steps": steps})
        return
    for kind, group in rows.items():
        click.echo(kind)
        for name, totals in group.items():
            cost = "cost unknown" if totals.cost_usd is None else f"${totals.cost_usd:.4f}"
            click.echo(f"  {name or '-':<32} {totals.calls:>7} calls {totals.tokens:>10} tokens  {cost}")
    if steps:
        total = rows["total"][""]
        click.echo(f"a labeled step: {total.calls / steps:.3f} calls, {total.tokens / steps:.0f} tokens")


_LABELING = frozenset({"window", "scope"})
"""The stages that each labeled step goes through once."""


def _grouped(charges: Iterable[Charge], field: str) -> dict[str, Totals]:
    groups: dict[str, Totals] = {}
    for charge in charges:
        groups.setdefault(getattr(charge, field), Totals()).add(charge)
    return groups


def _row(totals: Totals) -> dict[str, Any]:
    return {**totals.model_dump(), "tokens": totals.tokens}
