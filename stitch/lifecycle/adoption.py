"""A collection on a server that a journal's store cannot be built in as it is: who may drop it, and what goes then."""

from __future__ import annotations

from typing import NamedTuple

from stitch.errors import StoreMismatchError
from stitch.store.collection import LAYOUT, count, drop, look
from stitch.store.connection import Server


class Adoption(NamedTuple):
    """Contents of a collection that a journal would take over, and that go when it does."""

    journal: str | None
    """The id of the journal whose it is; None if it does not say."""
    points: int


def adopted(server: Server, *, journal: str) -> Adoption | None:
    """Contents that go when a journal takes a collection over; None if there are none, or they are its own."""
    found = look(server)
    if found is None or found.journal == journal:
        return None
    return Adoption(found.journal, count(server))


def make_room(server: Server, *, own: str, dimension: int, adopt: bool) -> bool:
    """Drop a collection in which the store of a journal cannot be built; return whether one was dropped.

    Args:
        server: Where it is.
        own: The id of the journal.
        dimension: The length of the vectors.
        adopt: Whether it is dropped though others may have put something there.

    Raises:
        StoreMismatchError: It is, or may be, of use to others; nothing was dropped.
    """
    found = look(server)
    if found is None or (found.journal, found.layout, found.dimension) == (own, LAYOUT, dimension):
        return False
    reason = ""
    if found.journal is None and (points := count(server)):
        reason = f"it holds {points} points, and does not say whose they are"
    elif found.journal not in (None, own):
        reason = f"it belongs to the journal {found.journal}, and this one is {own}"
    if reason and not adopt:
        raise StoreMismatchError(
            f"{server.what} is not built anew: {reason}",
            hint="name another with STITCH_COLLECTION, or see with --adopt --dry-run what would be dropped",
        )
    drop(server)
    return True
