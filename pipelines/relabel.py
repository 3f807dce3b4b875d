"""Label anew in place: `stitch relabel`."""

from __future__ import annotations

from typing import Any

import click

from stitch.console.idle import labeled_by_model
from stitch.console.options import json_option, labeling_options, memory_options, opened_memory
from stitch.console.printing import print_json
from stitch.console.progress import progress_drawn
from stitch.errors import ModelError


@click.command()
@memory_options
@labeling_options
@json_option
@click.pass_context
def command(context: click.Context, /, *, as_json: bool, **settings: Any) -> None:
    """Let a labeler make the labels that another has made, in place: a model those that stood in for its own.

    Can be interrupted, and goes on when it is called again. What the labeler cannot label keeps or gets local labels;
    if it could label nothing, the exit status is 6.

    \b
    Example:
      stitch relabel --memory trip.memory --model openai/gpt-5-mini --model-budget-tokens 200000
    """
    with opened_memory(**labeled_by_model(settings)) as memory, progress_drawn("labeling"):
        done = memory.lifecycle.relabel()
        spent = memory.ledger.labeling()
    if as_json:
        print_json(
            {
                "trajectories": done.trajectories,
                "steps": done.steps,
                "relabeled": done.relabeled,
                "fallback_steps": done.steps - done.relabeled,
                "model_calls": spent.calls,
                "model_tokens": spent.tokens,
                "model_cost_usd": spent.cost_usd,
            }
        )
    else:
        click.echo(f"{done.relabeled} of {done.steps} steps of {done.trajectories} trajectories labeled anew")
        if spent.calls:
            click.echo(f"model: {spent.calls} calls, {spent.tokens} tokens")
    if done.steps and not done.relabeled:
        click.echo("stitch: the model labeled nothing; every step has the labels it had", err=True)
        context.exit(ModelError.exit_code)
