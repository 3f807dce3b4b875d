"""Options that the subcommands share, and the memory that they open."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from stitch.api.naming import find_step, known_trajectory, trajectory_of
from stitch.console.idle import refuse_idle_model

if TYPE_CHECKING:
    from stitch.memory import Memory

Command = TypeVar("Command", bound=Callable[..., Any])

__all__ = [
    "find_step", "json_option", "known_trajectory", "labeling_options", "memory_options", "model_options",
    "opened_memory", "trajectory_of",
]  # fmt: skip


def memory_options(command: Command) -> Command:
    """Add `--memory`, `--tenant` and `--config`; pass them on to `opened_memory`."""
    options = (
        click.option("--memory", "-m", metavar="DIR", help="The memory: a folder, or the URL of a Qdrant server."),
        click.option("--tenant", metavar="NAME", help="Whose memory it is.  [default: default]"),
        click.option("--config", metavar="FILE", type=click.Path(), help="A YAML file of settings."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def model_options(command: Command) -> Command:
    """Add the options that name a model and bound what it spends; pass them on to `opened_memory`."""
    options = (
        click.option("--model", metavar="NAME", help="The language model, such as openai/gpt-5-mini."),
        click.option("--base-url", metavar="URL", help="A server that speaks OpenAI's chat completions."),
        click.option("--model-budget-tokens", type=click.IntRange(min=0), metavar="N",
                     help="Tokens that the model may spend, prompts and replies together."),
        click.option("--model-budget-usd", type=click.FloatRange(min=0), metavar="N",
                     help="Dollars that it may spend; needs its price in the settings."),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def labeling_options(command: Command) -> Command:
    """Add those of `model_options`, and how a model labels."""
    options = (
        click.option(
            "--labels",
            type=click.Choice(["local", "model"]),
            help="Who labels the steps.  [default: model if --model is given for them, else local]",
        ),
        model_options,
        click.option("--window", metavar="auto|N", help="How many steps one call labels.  [default: auto]"),
        click.option(
            "--asks/--no-asks",
            default=None,
            help="Let it also write what a step is found by in other words.  [default: asks]",
        ),
        click.option("--stepwise", is_flag=True, default=None, help="Label step by step, as in the paper."),
        click.option("--program", "label_program", metavar="FILE", help="Prompts compiled by `stitch optimize`."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def json_option(command: Command) -> Command:
    """Add `--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")(command)


@contextmanager
def opened_memory(*, must_exist: bool = True, **settings: Any) -> Iterator[Memory]:
    """Open the memory that the options name and close it in the end; refuse options that would do nothing."""
    from stitch.assemble import open_memory

    refuse_idle_model(settings)
    with open_memory(must_exist=must_exist, **settings) as memory:
        if must_exist and settings.get("tenant") and not memory.trajectories() and not memory.trees.names():
            click.echo(f"stitch: nothing in this memory is of the tenant {memory.tenant!r}", err=True)
        yield memory
