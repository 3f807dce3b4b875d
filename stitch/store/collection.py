"""A collection on a Qdrant server: whose it is, what it is made like, and what it allows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from stitch.errors import StoreError, StoreMismatchError
from stitch.store.connection import Connection
from stitch.store.limits import Limits

if TYPE_CHECKING:
    from qdrant_client import QdrantClient, models

LAYOUT = 1
"""What points of a collection are like."""

VECTOR = "text"
"""The name of the vector of a point: of its text."""

_OWN = "stitch"
"""Under which key of a collection's metadata stands whose it is."""

_EARLIER = ("words", "labels")
"""The further vectors of collections that several journals shared, with all texts and labels in them."""

_PAGE = 10_000
"""How many points are asked for at a time."""


class Found(NamedTuple):
    """What there is under the name of a collection."""

    info: models.CollectionInfo

    @property
    def journal(self) -> str | None:
        """The id of the journal whose it is; None if it does not say."""
        return self.own.get("journal")

    @property
    def layout(self) -> int | None:
        """What its points are like; None if it does not say."""
        return self.own.get("layout")

    @property
    def is_earlier(self) -> bool:
        """Whether it was made when several journals could share one, with all texts and labels in it."""
        return self.journal is None and set(_EARLIER) <= (self.info.config.params.sparse_vectors or {}).keys()

    @property
    def dimension(self) -> int | None:
        """The length of its vectors; None if they are not those of snippets."""
        vectors = self.info.config.params.vectors
        return vectors[VECTOR].size if isinstance(vectors, Mapping) and VECTOR in vectors else None

    @property
    def readable(self) -> bool:
        """Whether it has, or has had, texts and labels."""
        return self.is_earlier or bool(self.own.get("readable"))

    @property
    def own(self) -> Mapping[str, Any]:
        """What it says of whose it is."""
        own = (self.info.config.metadata or {}).get(_OWN)
        return own if isinstance(own, Mapping) else {}


def look(connection: Connection) -> Found | None:
    """What there is under the name of a collection; None if nothing is."""

    def ask(client: QdrantClient) -> Found | None:
        if not client.collection_exists(connection.collection):
            return None
        return Found(client.get_collection(connection.collection))

    return connection.ask_first("open", ask)


def make(connection: Connection, *, dimension: int, journal: str) -> Found:
    """Make a collection that is a journal's, unless somebody makes one at this moment; return what there is then."""
    from qdrant_client import models

    def create(client: QdrantClient) -> None:
        client.create_collection(
            connection.collection,
            vectors_config={
                VECTOR: models.VectorParams(
                    size=dimension, distance=models.Distance.DOT, on_disk=connection.options.on_disk
                )
            },
            # No graph: of all vectors bounds are here, and the few that are left are asked for by their ids.
            hnsw_config=models.HnswConfigDiff(m=0),
            metadata={_OWN: {"journal": journal, "layout": LAYOUT}},
            **connection.options.making,
        )

    try:
        connection.ask("make", create)
    except StoreError:
        if (found := look(connection)) is None:
            raise
        return found  # another process was quicker
    found = look(connection)
    if found is None or found.journal != journal:
        raise StoreError(
            f"{connection.what} cannot say whose it is: the server is older than version 1.16",
            hint="install a newer qdrant",
        )
    return found


def note_readable(found: Found, connection: Connection) -> None:
    """Let a collection say that texts and labels are put into it."""
    own = {**found.own, "readable": True}
    connection.ask("open", lambda client: client.update_collection(connection.collection, metadata={_OWN: own}))


def drop(connection: Connection) -> None:
    """Delete a collection with all that it holds."""
    connection.ask("delete", lambda client: client.delete_collection(connection.collection))


def check(found: Found, connection: Connection, *, dimension: int, journal: str, reindex: str) -> None:
    """Refuse a collection that is not this journal's, or not of this embedder's vectors.

    Args:
        found: The collection.
        connection: The way to it.
        dimension: The length of vectors.
        journal: The id of the journal.
        reindex: The command that builds a store anew.

    Raises:
        StoreMismatchError: It is; nothing of it was touched.
    """
    adopt = f"name another with STITCH_COLLECTION, or see what would be replaced: {reindex} --adopt --dry-run"
    if found.is_earlier:
        does = (
            "was written by an earlier version, which kept all texts in it and weighed words by what all tenants hold"
        )
        raise StoreMismatchError(f"{connection.what} {does}", hint=f"{reindex} makes it anew from the journal")
    if found.journal is None:
        raise StoreMismatchError(f"{connection.what} holds something else than a memory of stitch", hint=adopt)
    if found.journal != journal:
        raise StoreMismatchError(
            f"{connection.what} belongs to the journal {found.journal}, and this one is {journal}", hint=adopt
        )
    if found.layout != LAYOUT:
        raise StoreMismatchError(
            f"{connection.what} was written by a newer version of stitch", hint="pip install -U stitch"
        )
    if found.dimension != dimension:
        raise StoreMismatchError(
            f"{connection.what} was made for vectors of dimension {found.dimension}, not {dimension}", hint=reindex
        )


def points(connection: Connection, *, page: int = _PAGE) -> list[int | str]:
    """The ids of all points of a collection."""
    reading = connection.options.reading
    return connection.ask("read", lambda client: list(_scroll(client, connection.collection, page=page, **reading)))


def count(connection: Connection, limits: Limits) -> int:
    """How many points a collection has."""
    if not limits.counts:
        return len(points(connection, page=limits.page))
    return connection.ask("read", lambda client: client.count(connection.collection, exact=True).count)


def _scroll(client: QdrantClient, collection: str, *, page: int, **reading: Any) -> Iterator[int | str]:
    offset: Any = None
    while True:
        found, offset = client.scroll(
            collection, limit=page, offset=offset, with_payload=False, with_vectors=False, **reading
        )
        yield from (point.id for point in found)  # type: ignore[misc]  # UUIDs come as texts
        if offset is None:
            return
