"""`stitch receipts`."""

from __future__ import annotations

from typing import Any

import click

from stitch.console.options import json_option, memory_options, opened_memory
from stitch.console.printing import print_json
from stitch.core import StepState


@click.command()
@memory_options
@click.option("--failed", "state", flag_value="failed", help="Only the steps that failed, with the reason.")
@click.option("--retired", "state", flag_value="retired", help="Only the steps that were taken out of retrieval.")
@json_option
def command(as_json: bool, state: str | None, **arguments: Any) -> None:
    """Say of each step what has become of it: accepted, labeled, stored, failed (and why), or retired.

    How many secrets of which kind were taken out of it before it was written stands there too, and never which.

    \b
    Example:
      stitch receipts --failed --memory trip.memory
    """
    with opened_memory(**arguments) as memory:
        receipts = list(memory.receipts(state=None if state is None else StepState(state)))
    if as_json:
        print_json({"receipts": [receipt.model_dump(mode="json", exclude={"repeated"}) for receipt in receipts]})
        return
    for receipt in receipts:
        reason = f"  {receipt.reason}" if receipt.reason else ""
        kinds = ", ".join(f"{taken.kind} {taken.count}" for taken in receipt.redacted)
        taken_out = f"  taken out: {kinds}" if kinds else ""
        click.echo(f"{receipt.state.value:<8}  {receipt.trajectory}  {receipt.step}{reason}{taken_out}")
    if any(receipt.state is StepState.FAILED for receipt in receipts):
        click.echo("stitch: failed steps are kept; `stitch retry` tries them again", err=True)
