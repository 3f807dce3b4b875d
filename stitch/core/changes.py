"""The numbered sequence of changes of a journal, which can be followed from any position."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple, Protocol, runtime_checkable


class ChangeKind(str, Enum):
    """Kind of a change of steps."""

    ACCEPTED = "accepted"
    LABELED = "labeled"
    """Their labels were made, or made anew, or cleaned of what an erased step said."""
    MERGED = "merged"
    """The labels of a trajectory were merged with others of it; the merges are in its label space."""
    CORRECTED = "corrected"
    RETIRED = "retired"
    ERASED = "erased"
    """They are gone, or they were about to be, and are still there."""
    RESTORED = "restored"
    """They came in with all their past, by an import, or were retired and are found again."""


class Change(NamedTuple):
    """One change. It names steps and says nothing of what they say: that stands in the journal, or nowhere any more."""

    number: int
    """Its place among all changes of the journal; whoever has followed up to here goes on after it."""
    kind: ChangeKind
    tenant: str
    """Empty once nothing is left of the tenant."""
    trajectory: str | None
    """None once nothing is left of the trajectory."""
    steps: range
    """The numbers of the steps (`Entry.seq`); empty for a change of a whole trajectory."""


@runtime_checkable
class Projection(Protocol):
    """State that is derived from a journal by following its changes (`stitch.journal.journal.follow`).

    Whatever interrupts that, at any moment, it equals what `rebuild` would make.
    """

    @property
    def name(self) -> str:
        """The name under which its position is kept."""

    def position(self) -> int:
        """The number of the last change that it holds durably; 0 for none."""

    def apply(self, changes: Sequence[Change]) -> None:
        """Take in the next changes, in order; steps are read as the journal has them now. Repeating it is harmless."""

    def erase(self, tenant: str, *, trajectory: str, steps: Sequence[str]) -> None:
        """Remove all that is derived from these steps, named by their ids; called before the journal forgets them."""

    def checkpoint(self) -> None:
        """Make what was applied durable, and move `position` to it."""

    def rebuild(self) -> int:
        """Make everything as it is derived from the journal; return how much had to be derived."""
