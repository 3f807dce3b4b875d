"""What a traveler can refer to at a moment of a trip: what was proposed, chosen and spoken of, slot by slot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from stitch.bench.generate.environment import TravelWorld
from stitch.bench.generate.storyboard import Operation


class Scene(NamedTuple):
    """What the slot of an operation has seen."""

    known: Sequence[str]
    """What was proposed for it so far, in order; what ordinals count."""
    chosen: str = ""
    """What was decided last."""
    last: str = ""
    """What the traveler spoke of last; empty after two things were compared."""
    near: bool = False
    """The exchange before was about the same slot of the same day."""
    told: tuple[tuple[str, str, str], ...] = ()
    """Of each known place its name, what is special about it and where it is, as the agent told."""

    def only(self, name: str) -> tuple[str, ...]:
        """What was told of a place and of no other known one."""
        mine = {told for owner, *traits in self.told if owner == name for told in traits}
        return tuple(sorted(mine - {told for owner, *traits in self.told if owner != name for told in traits}))


class Focus:
    """Follows the operations of a trip.

    Args:
        world: The places, for what the agent tells of them.
    """

    def __init__(self, world: TravelWorld) -> None:
        self._world = world
        self._known: dict[tuple[int, str], tuple[str, ...]] = {}
        self._chosen: dict[tuple[int, str], str] = {}
        self._last: dict[tuple[int, str], str] = {}
        self._before: tuple[int, str] | None = None

    def scene(self, operation: Operation) -> Scene:
        """The scene in which an operation is said; what the traveler proposes belongs to it already."""
        slot = operation.day, operation.slot
        known = self._known.get(slot, ())
        if operation.role == "user" and operation.action == "PROPOSE":
            known += operation.objects
        told = tuple((name, (traits := self._world.place(name).traits)["special"], traits["where"]) for name in known)
        return Scene(known, self._chosen.get(slot, ""), self._last.get(slot, ""), self._before == slot, told)

    def hear(self, operation: Operation) -> None:
        """Take in an operation that was said; what the agent says changes nothing."""
        if operation.role != "user":
            return
        slot = operation.day, operation.slot
        self._before = slot
        self._last[slot] = operation.objects[0] if len(operation.objects) == 1 else ""
        if operation.action == "PROPOSE":
            self._known[slot] = (*self._known.get(slot, ()), *operation.objects)
        elif operation.action == "DECIDE":
            self._chosen[slot] = operation.objects[0]
