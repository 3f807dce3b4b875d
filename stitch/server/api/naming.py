"""What is meant by a name that somebody gives: a trajectory, or a step by its id, its place or how its id begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stitch.errors import InputError, no_trajectory, some_of

if TYPE_CHECKING:
    from stitch.core import Receipt
    from stitch.memory import Memory


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
