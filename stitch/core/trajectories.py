"""What a memory says of the trajectories that it has."""

from __future__ import annotations

from typing import Any


class KeptTrajectory(str):
    """The name of a trajectory that a memory has: a text, which also says how long it is and when it was taken in."""

    __slots__ = ("began", "ended", "steps")

    steps: int
    """How many steps it has."""
    began: float
    """When its first step was accepted, in Unix seconds; 0 if it has none."""
    ended: float
    """When its last step was accepted."""

    def __new__(cls, name: str, *, steps: int, began: float, ended: float) -> KeptTrajectory:
        """Make one of its name and of what is known of it."""
        made = super().__new__(cls, name)
        made.steps, made.began, made.ended = steps, began, ended
        return made

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]:
        return (str(self),), {"steps": self.steps, "began": self.began, "ended": self.ended}
