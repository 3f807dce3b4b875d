"""`stitch why`."""

from __future__ import annotations

from typing import Any

import click

from stitch.console.options import find_step, json_option, known_trajectory, memory_options, opened_memory
from stitch.console.printing import print_json
from stitch.core import matched_by_kind
from stitch.retrieve import WhyNot


@click.command()
@click.argument("query")
@click.argument("step")
@memory_options
@click.option(
    "--trajectory", metavar="ID", help="The trajectory of the step; may be left out if only one has the step."
)
@click.option("-k", type=click.IntRange(min=1), help="How many steps count as hits.  [default: 40]")
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
    with opened_memory(**settings) as memory:
        meant = find_step(step, memory, trajectory=known_trajectory(memory, trajectory))
        step, where = meant.step, meant.trajectory
        why = memory.why(query, step=step, trajectory=where, min_trust=min_trust, as_of=as_of, asked_at=asked_at)
    if not as_json:
        click.echo(str(why))
        return
    print_json(
        {
            "step": step,
            "trajectory": where,
            "found": why.found,
            "in_context": why.in_context,
            "state": why.state.value,
            "trust": why.trust.value,
            "filter": matched_by_kind(why.intent_filter.labels()),
            "reasons": why.reasons,
            "ranked": _ranked(why.place) if why.place else None,
            "explanation": why.sentences,
        }
    )


def _ranked(place: WhyNot) -> dict[str, Any]:
    return {
        "rank": place.rank,
        "of": place.ranked,
        "k": place.k,
        "parts": place.hit.parts,
        "density": place.hit.density,
        "similarity": round(place.hit.similarity, 6),
        "matched": matched_by_kind(place.hit.matched),
        "lacking": matched_by_kind(place.lacking),
        "lost_by": place.lost_by or None,
        "change": {"drop": matched_by_kind(place.change.drop), "add": matched_by_kind(place.change.add)}
        if place.change
        else None,
    }
