"""A collection on a server that a journal's store cannot be built in as it is: who may drop it, and what goes then."""

from __future__ import annotations

from typing import NamedTuple

from stitch.core import snippet_id
from stitch.errors import StoreMismatchError
from stitch.journal import Journal
from stitch.store.collection import LAYOUT, Found, count, drop, look, points
from stitch.store.connection import Connection


class Adoption(NamedTuple):
    """What is under the name of a collection that a journal would take over, and goes when it does."""

    journal: str | None
    """The id of the journal whose it is; None if it does not say."""
    points: int


def adopted(connection: Connection, *, journal: str) -> Adoption | None:
    """What goes when a journal takes a collection over; None if there is none, or it is that journal's."""
    found = look(connection)
    if found is None or found.journal == journal:
        return None
    return Adoption(found.journal, count(connection))


def make_room(connection: Connection, journal: Journal, *, own: str, dimension: int, adopt: bool) -> bool:
    """Drop a collection in which the store of a journal cannot be built; return whether one was dropped.

    With `adopt` it is dropped though others may have put something there.

    Raises:
        StoreMismatchError: It is, or may be, of use to others; nothing was dropped.
    """
    found = look(connection)
    if found is None or (found.journal, found.layout, found.dimension) == (own, LAYOUT, dimension):
        return False
    if not adopt and (reason := _of_others(found, connection, journal, own=own)):
        raise StoreMismatchError(
            f"{connection.what} is not built anew: {reason}",
            hint="name another with STITCH_COLLECTION, or see with --adopt --dry-run what would be dropped",
        )
    drop(connection)
    return True


def _of_others(found: Found, connection: Connection, journal: Journal, *, own: str) -> str:
    """What a collection holds that this journal did not put there; nothing if it knows all of it."""
    if found.journal == own:
        return ""
    if found.journal is not None:
        return f"it belongs to the journal {found.journal}, and this one is {own}"
    known = {
        snippet_id(tenant, each.trajectory, each.step)
        for tenant in journal.tenants()
        for each in journal.select(tenant)
    }
    unknown = sum(point not in known for point in points(connection))
    return f"it holds {unknown} points that this journal does not know" if unknown else ""
