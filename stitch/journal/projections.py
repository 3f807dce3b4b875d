"""Following of a journal by state that is derived from it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby, islice

from stitch.core import Change, Projection
from stitch.journal.journal import Journal

_CHANGES = 256
"""So many changes are applied between two checkpoints: an interruption repeats no more."""


def follow(projection: Projection, journal: Journal) -> int:
    """Bring a projection up to the journal; return the number of changes taken in."""
    count, position = 0, projection.position()
    while changes := list(islice(journal.changes(after=position), _CHANGES)):
        if journal.shared_id is None:
            projection.apply(changes)
        else:
            _apply_in_turn(projection, journal, changes)
        projection.checkpoint()
        count, position = count + len(changes), changes[-1].number
    return count


def _apply_in_turn(projection: Projection, journal: Journal, changes: Iterable[Change]) -> None:
    """Apply changes of one trajectory after another, each while no other process works on it."""
    for (tenant, trajectory), some in groupby(changes, key=lambda each: (each.tenant, each.trajectory)):
        with journal.exclusive(tenant, trajectory or ""):
            projection.apply(list(some))


def catch_up(projection: Projection, journal: Journal) -> int:
    """Bring a projection up to the journal when a process begins; return how much that was, in any measure.

    It follows from where it was, and is rebuilt where that is not known, or is no place in this journal. Where other
    processes work meanwhile it always follows: to rebuild would take away what they are about to note.
    """
    position, last = projection.position(), journal.last_change()
    if 0 < position <= last or position == last or journal.shared_id is not None:
        return follow(projection, journal)
    count = projection.rebuild()
    projection.checkpoint()
    return count
