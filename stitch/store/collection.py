"""A collection on a Qdrant server: whose it is, what it is made like, and what it allows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from stitch.errors import StoreError, StoreMismatchError
from stitch.store.connection import Connection
from stitch.store.payload import INDEXES
from stitch.store.points import DENSE, LABELS, WORDS

if TYPE_CHECKING:
    from qdrant_client import QdrantClient, models

LAYOUT = 2
"""What points of a collection are like."""

_OWN = "stitch"
"""Under which key of a collection's metadata stands whose it is."""
_EARLIER = "text"
"""The vector of collections that had vectors alone."""


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
        """Whether an earlier version made it."""
        return self.layout == 1 or (
            self.journal is None and {"words", "labels"} <= self._sparse and DENSE not in self._dense
        )

    @property
    def dimension(self) -> int | None:
        """The length of its vectors; None if they are not those of snippets."""
        return self._dense[DENSE].size if DENSE in self._dense else None

    @property
    def _dense(self) -> Mapping[str, Any]:
        vectors = self.info.config.params.vectors
        return vectors if isinstance(vectors, Mapping) else {}

    @property
    def _sparse(self) -> set[str]:
        return set(self.info.config.params.sparse_vectors or {})

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
                DENSE: models.VectorParams(
                    size=dimension, distance=models.Distance.DOT, on_disk=connection.options.on_disk
                )
            },
            sparse_vectors_config={WORDS: models.SparseVectorParams(), LABELS: models.SparseVectorParams()},
            hnsw_config=models.HnswConfigDiff(m=0),  # no graph, for the ranking is exact
            metadata={_OWN: {"journal": journal, "layout": LAYOUT}},
            **connection.options.making,
        )
        for field, kind in INDEXES.items():
            keyword = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
            schema: Any = keyword if kind == "tenant" else models.PayloadSchemaType(kind)
            client.create_payload_index(connection.collection, field, schema)

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
        raise StoreMismatchError(
            f"{connection.what} was written by an earlier version", hint=f"{reindex} makes it anew from the journal"
        )
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


def count(connection: Connection) -> int:
    """How many points a collection has."""
    return connection.ask("read", lambda client: client.count(connection.collection, exact=True).count)
