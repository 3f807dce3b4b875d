"""`stitch why`."""

from __future__ import annotations

from typing import Any

import click

from stitch.api.models import WhyRequest
from stitch.api.operations import ask, made
from stitch.console.options import json_option, memory_options, opened_memory
from stitch.console.printing import print_json
from stitch.core import Trust


@click.command()
@click.argument("query")
@click.argument("step")
@memory_options
@click.option(
    "--trajectory", metavar="ID", help="The trajectory of the step; may be left out if only one has the step."
)
@click.option("-k", type=click.IntRange(min=1), help="How many steps count as hits.  [default: as a search]")
@click.option("--min-trust", type=click.Choice(["high", "medium", "low"]), help="As in `stitch query`.")
@click.option("--as-of", metavar="STEP|TIME", help="As in `stitch query`.")
@click.option("--asked-at", metavar="TIME", help="As in `stitch query`.")
@click.option("--ranking", type=click.Choice(["auto", "strict", "weighed"]), help="As in `stitch query`.")
@json_option
def command(
    query: str, step: str, *, as_json: bool, trajectory: str | None, min_trust: str | None, as_of: str | None,
    asked_at: str | None, **settings: Any,
) -> None:  # fmt: skip
    """Say why STEP comes back for QUERY, or why it does not: labels, rank, trust, state and budget.

    STEP is an id, the beginning of one, or a position in the trajectory.

    \b
    Example:
      stitch why "What did the hotel for day 1 cost?" 12 --trajectory trip-1 --memory trip.memory
    """
    request = made(
        WhyRequest,
        query=query,
        step=step,
        trajectory=trajectory,
        min_trust=min_trust and Trust(min_trust),
        as_of=as_of,
        asked_at=asked_at,
    )
    with opened_memory(**settings) as memory:
        why = ask(memory, "why", request)
    if as_json:
        print_json(why.model_dump())
    else:
        click.echo("\n".join(why.explanation))
