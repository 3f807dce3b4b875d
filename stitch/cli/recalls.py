"""`stitch recalls`."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import click

from stitch.api.listing_models import RecallsRequest, RecallsResponse
from stitch.api.operations import ask
from stitch.console.options import json_option, memory_options, opened_memory
from stitch.console.printing import print_json


@click.command()
@memory_options
@click.option("--last", type=click.IntRange(min=1), metavar="N", help="Only the last N questions.")
@json_option
def command(as_json: bool, last: int | None, **arguments: Any) -> None:
    """List what was asked last, which labels were chosen, which steps came back, and why.

    Questions are kept only if the setting recall_log says how many (STITCH_RECALL_LOG=1000); erasing a step erases
    every question that found it.

    \b
    Example:
      stitch recalls --memory trip.memory --last 5
    """
    with opened_memory(**arguments) as memory:
        response: RecallsResponse = ask(memory, "recalls", RecallsRequest(last=last))
    if as_json:
        print_json(response.model_dump(mode="json"))
        return
    recalls = response.recalls
    if not recalls:
        click.echo("stitch: no question is kept; STITCH_RECALL_LOG=1000 keeps the last 1000 that are asked", err=True)
    for recall in recalls:
        moment = _said(recall.at)
        labels = ", ".join(f"{kind.value} {value!r}" for kind, value in sorted(recall.intent_filter.labels()))
        past = "" if recall.as_of is None else f"  (as of {_said(recall.as_of)})"
        click.echo(f"{moment}  {recall.query}{past}")
        click.echo(f"  labels: {labels or 'none'}")
        for hit in recall.hits[:5]:
            matched = ", ".join(value for values in hit.matched.values() for value in values) or "no label"
            click.echo(f"  {hit.trajectory} step {hit.step}: {matched}, similarity {hit.similarity:.2f}")
        if len(recall.hits) > 5:
            click.echo(f"  and {len(recall.hits) - 5} more")


def _said(at: float) -> str:
    return datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
