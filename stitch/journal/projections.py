"""Following of a journal by state that is derived from it."""

from __future__ import annotations

from itertools import groupby, islice

from stitch.core import Projection
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
            for (tenant, trajectory), some in groupby(changes, key=lambda each: (each.tenant, each.trajectory)):
                with journal.exclusive(tenant, trajectory or ""):  # while no other process works on it
                    projection.apply(list(some))
        projection.checkpoint()
        count, position = count + len(changes), changes[-1].number
    return count


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
