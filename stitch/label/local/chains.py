"""Which step a step follows, where its source says so, and to what that one belongs."""

from __future__ import annotations

from stitch.core.steps import Step

_MAX_PARENTS = 512


def followed_by(parents: dict[str, int], step: Step) -> int | None:
    """The number of what the step belongs to that a step says it follows; None if it says none that is known.

    Many sources chain each step to the one before, which says nothing of what it is for.
    """
    parent = step.parent
    if parent is None or parent not in parents or parent == next(reversed(parents)):
        return None
    return parents[parent]


def note(parents: dict[str, int], step: Step, number: int) -> None:
    """Take in to what a step belongs that others may follow."""
    if step.id is None:
        return
    parents[step.id] = number
    if len(parents) > _MAX_PARENTS:
        del parents[next(iter(parents))]
