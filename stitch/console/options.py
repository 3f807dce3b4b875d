"""Options that the subcommands share, and the memory that they open."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from stitch.errors import InputError, no_trajectory, some_of

if TYPE_CHECKING:
    from stitch.core import Receipt
    from stitch.memory import Memory

Command = TypeVar("Command", bound=Callable[..., Any])


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
        click.option("--labels", type=click.Choice(["local", "model"]), help="Who labels the steps.  [default: local]"),
        model_options,
        click.option("--window", metavar="auto|N", help="How many steps one call labels.  [default: auto]"),
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
    """Open the memory that the options name and close it in the end."""
    from stitch.assemble import open_memory

    with open_memory(must_exist=must_exist, **settings) as memory:
        if must_exist and settings.get("tenant") and not memory.trajectories():
            click.echo(f"stitch: nothing in this memory is of the tenant {memory.tenant!r}", err=True)
        yield memory


def known_trajectory(memory: Memory, trajectory: str | None) -> str | None:
    """The trajectory that an option names.

    Raises:
        InputError: The memory has none of this name: what comes back would be nothing, and look like an answer.
    """
    if trajectory is not None and trajectory not in memory.trajectories():
        raise no_trajectory(trajectory, memory.trajectories())
    return trajectory


def trajectory_of(step: str, memory: Memory) -> str:
    """The only trajectory that has a step of this id.

    Raises:
        InputError: None has, or several have.
    """
    found = [receipt.trajectory for receipt in memory.receipts() if receipt.step == step]
    if len(found) == 1:
        return found[0]
    if not found:
        raise InputError(
            f"no trajectory has a step {step!r}: it was never accepted, or it was erased",
            hint="`stitch show --steps` lists the steps",
        )
    raise InputError(
        f"{len(found)} trajectories have a step {step!r}", hint=f"name one with --trajectory: {some_of(found)}"
    )


_LEAST_PREFIX = 4
"""Shorter beginnings of ids are taken for a mistake."""


def find_step(named: str, memory: Memory, *, trajectory: str | None) -> Receipt:
    """The one step that a person means: by its id, its position in the trajectory, or the beginning of its id.

    Raises:
        InputError: None is meant, or several are.
    """
    found = _meant(named, [own for own in memory.receipts() if trajectory in (None, own.trajectory)])
    if not found:
        where = "no trajectory has a" if trajectory is None else f"trajectory {trajectory!r} has no"
        raise InputError(
            f"{where} step {named!r}: it was never accepted, or it was erased",
            hint="`stitch show --steps` lists the steps; name one by its id, the beginning of it, or its position",
        )
    trajectories = list(dict.fromkeys(own.trajectory for own in found))
    if len(trajectories) > 1:
        raise InputError(
            f"{len(trajectories)} trajectories have a step {named!r}",
            hint=f"name one with --trajectory: {some_of(trajectories)}",
        )
    if len(found) > 1:
        ids = some_of([own.step for own in found])
        raise InputError(f"{len(found)} steps begin with {named!r}", hint=f"write more: {ids}")
    return found[0]


def _meant(named: str, receipts: Sequence[Receipt]) -> list[Receipt]:
    """Those that have the id; else those at the position; else those whose id begins so."""
    by_id = [own for own in receipts if own.step == named]
    by_position = [own for own in receipts if str(own.position) == named]
    if by_id or by_position or len(named) < _LEAST_PREFIX:
        return by_id or by_position
    return [own for own in receipts if own.step.startswith(named)]
