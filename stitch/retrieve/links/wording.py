"""Links in a few words."""

from __future__ import annotations

from collections.abc import Sequence

from stitch.core import Cause, SupersededValue

MOST_TOLD = 3
"""So many values of a step are told that no longer hold; of others, how many they are."""
_MOST_CHARS = 40


def no_longer(values: Sequence[SupersededValue], *, by_id: bool = False) -> str:
    """Describe the values of a step that no longer hold: "status is cancelled at step 12".

    With `by_id` steps are named by their ids, and not by their places as in a context.
    """
    told = [f"{one.field} is {_short(one.now) or 'empty'} at {_place(one, by_id=by_id)}" for one in values[:MOST_TOLD]]
    return "; ".join(told + ([f"{len(values) - MOST_TOLD} more"] if len(values) > MOST_TOLD else []))


def because(cause: Cause, *, by_id: bool = False) -> str:
    """Describe the cause of a step: "step 11: failure", or the value that it had from there."""
    return f"{_place(cause, by_id=by_id)}: {cause.outcome or _short(cause.value)}"


def _place(link: SupersededValue | Cause, *, by_id: bool) -> str:
    return f"step {link.step if by_id else link.position}"


def _short(value: str) -> str:
    return value if len(value) <= _MOST_CHARS else f"{value[: _MOST_CHARS - 1]}…"
