"""`stitch status`."""

from __future__ import annotations

from typing import Any

import click

from stitch.api.listing_models import StatusRequest
from stitch.api.operations import ask
from stitch.api.spending import read_spending
from stitch.console.options import json_option, memory_options, opened_memory
from stitch.console.printing import print_json
from stitch.errors import StoreUnavailableError

_SHOWN_TRAJECTORIES = 5


@click.command()
@memory_options
@json_option
def command(as_json: bool, **arguments: Any) -> None:
    """Say what a memory holds, what waits or failed, and what language models have cost.

    \b
    Example:
      stitch status --memory trip.memory
    """
    try:
        with opened_memory(**arguments) as memory:
            status = ask(memory, "status", StatusRequest())
            spent = read_spending(memory.folder, tenant=memory.tenant)
    except StoreUnavailableError as error:
        _print_journal(as_json=as_json, away=error.message, **arguments)
        raise
    if as_json:
        print_json(status.model_dump(exclude={"next"}))  # which is told of pages alone
        return
    _print_lines(status.model_dump(exclude={"away", "model", "next"}))
    if spent.total.calls:
        click.echo("\nspent on language models")
        for line in spent.lines(most=_SHOWN_TRAJECTORIES):
            click.echo(line)
    if status.away:
        click.echo(f"the store is away, {status.waiting} steps wait for it: {status.away}", err=True)
    elif status.without_vectors:
        waiting = f"{status.without_vectors} steps are found by words and labels, and wait for their vectors"
        click.echo(f"{waiting}; `stitch retry` makes these now", err=True)
    if status.failed:
        click.echo(f"{status.failed} steps failed; they are kept, and searchable without labels", err=True)


def _print_journal(*, as_json: bool, away: str, **arguments: Any) -> None:
    """Print what the journal says of a memory whose server cannot be reached."""
    from stitch.maintenance import count_steps

    counts = count_steps(**arguments)
    known = {**counts._asdict(), "waiting": counts.waiting}
    if as_json:
        print_json({**known, "away": away})
    else:
        _print_lines(known)
        click.echo(f"the store is away, {counts.waiting} steps wait for it", err=True)


def _print_lines(values: dict[str, Any]) -> None:
    for name, value in values.items():
        shown = ", ".join(f"{kind} {count}" for kind, count in value.items()) if isinstance(value, dict) else value
        click.echo(f"{name.replace('_', ' '):<15} {shown if shown not in ('', None) else 'none'}")
