"""A collection of a Qdrant server as a store uses it: vectors by row, scored exactly, and whose they are.

It holds no text, no label and no name unless it is asked to: what a collection is told it keeps in its log and its
pages for a while after it was deleted.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from stitch.core.process import never_free
from stitch.errors import StoreError
from stitch.store.collection import VECTOR, check, count, look, make, note_readable, points
from stitch.store.connection import Connection
from stitch.store.payload import LABEL_FIELDS, to_payload

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from qdrant_client import QdrantClient, models

    from stitch.core.snippets import MemorySnippet

    Vectors = NDArray[np.float32]

_BATCH = 256
"""How many vectors go over the wire at a time."""

_PAGE = 10_000
"""How many scores or ids are asked for at a time."""

_ROW_BITS, _GENERATION_BITS, _TAG_BITS = 32, 8, 24
"""The id of a point: who put it, for which of its stores, and the row."""

_READABLE = ("tenant", "trajectory", "step", "role", "text", *LABEL_FIELDS.values())
"""What is kept of a snippet for who looks into the collection with other tools."""


class ServerEngine:
    """Unit vectors by row in a collection, which is one journal's.

    A journal may build a store in a collection while another of its stores serves there: each is a generation, which
    sees its own rows alone.

    Args:
        connection: The way to the collection.
        dimension: The length of a vector.
        journal: The id of the journal.
        generation: Which of its stores this is; one that none of its points has, if None.
        readable: Whether texts and labels are kept beside vectors, for people with other tools.
        location: The memory, as a command names it.

    Raises:
        StoreUnavailableError: The server does not answer.
        StoreMismatchError: The collection is another journal's, or of something else.
        StoreError: The server refuses the key or the request.
    """

    durable = True

    def __init__(
        self,
        connection: Connection,
        *,
        dimension: int,
        journal: str,
        generation: int | None,
        readable: bool = False,
        location: str,
    ) -> None:
        self._connection = connection
        self._dimension, self._journal, self._location = dimension, journal, location
        self.tells_snippets = readable
        self._name = connection.collection
        self._batch, self._page = _BATCH, _PAGE
        self._exact = False
        self._tag = crc32(journal.encode()) >> (32 - _TAG_BITS)
        found = look(connection) or make(connection, dimension=dimension, journal=journal)
        check(found, connection, dimension=dimension, journal=journal, reindex=f"stitch reindex --memory {location}")
        self.held_texts = found.readable or readable
        """Whether the collection has, or has had, texts and labels."""
        if readable and not found.readable:
            note_readable(found, connection)
        self._adapt(found.info.config)
        self.generation = self._unused_generation() if generation is None else generation

    # Vectors

    def put(self, rows: Sequence[int], vectors: Vectors, *, snippets: Sequence[MemorySnippet] = ()) -> None:
        """Write vectors; they are in the server's log when this returns. See `VectorEngine.put`."""
        from qdrant_client import models

        ids, lists = list(map(self._id, rows)), vectors.tolist()
        payloads = [_readable(snippet) for snippet in snippets] if self.tells_snippets else None

        def write(client: QdrantClient) -> None:
            for start in range(0, len(ids), self._batch):
                part = slice(start, start + self._batch)
                batch = models.Batch(
                    ids=ids[part], vectors={VECTOR: lists[part]}, payloads=payloads[part] if payloads else None
                )
                client.upsert(self._name, batch, wait=True)

        self._connection.ask("write to", write)

    def delete(self, rows: Sequence[int]) -> None:
        """Delete vectors; the server frees their bytes when it likes."""
        self._delete_points([self._id(row) for row in rows])

    def cosines(self, rows: Sequence[int], vector: Sequence[float]) -> NDArray[np.float64]:
        """The cosine of each of these rows with a unit vector; one request for 10,000 of them."""
        from qdrant_client import models

        ids = [self._id(row) for row in rows]
        params = models.SearchParams(
            exact=self._exact or None, quantization=models.QuantizationSearchParams(ignore=True)
        )

        def ask(client: QdrantClient) -> dict[int, float]:
            scores: dict[int, float] = {}
            for start in range(0, len(ids), self._page):
                part: list[Any] = ids[start : start + self._page]
                found = client.query_points(
                    self._name,
                    query=list(vector),
                    using=VECTOR,
                    query_filter=models.Filter(must=[models.HasIdCondition(has_id=part)]),
                    limit=len(part),
                    with_payload=False,
                    search_params=params,
                ).points
                scores.update({int(point.id): point.score for point in found})
            return scores

        scores = self._connection.ask("search", ask) if ids else {}
        if len(scores) < len(ids):
            raise StoreError(
                f"{self._connection.what} lacks vectors of {len(ids) - len(scores)} snippets",
                hint=f"stitch verify --repair --memory {self._location}",
            )
        # As the server computed them; what stands in JSON has fewer digits than single precision.
        return np.array([scores[each] for each in ids], dtype=np.float32).astype(np.float64)

    def vectors(self, rows: Sequence[int]) -> dict[int, Vectors]:
        """The vectors of these rows; those that are not there are left out."""
        ids = [self._id(row) for row in rows]
        mask = (1 << _ROW_BITS) - 1

        def ask(client: QdrantClient) -> dict[int, Vectors]:
            vectors = {}
            step = min(self._page, 4 * _BATCH)
            for start in range(0, len(ids), step):
                part = ids[start : start + step]
                for point in client.retrieve(self._name, part, with_payload=False, with_vectors=[VECTOR]):
                    if isinstance(point.vector, dict) and VECTOR in point.vector:
                        vectors[int(point.id) & mask] = np.array(point.vector[VECTOR], dtype=np.float32)
            return vectors

        return self._connection.ask("read", ask)

    def __len__(self) -> int:
        """How many points the collection has, those of other generations included: then something has to be done."""
        return count(self._connection)

    def rows(self) -> list[int]:
        """Every row that is there."""
        mask = (1 << _ROW_BITS) - 1
        return [point & mask for point in self._own_points() if point >> _ROW_BITS == self._store]

    def flush(self) -> None:
        """Do nothing: what was put is in the server's log already."""

    def shrink(self) -> None:
        """Do nothing: the server frees the room of what was deleted when it likes."""

    def close(self) -> None:
        """Let go of the connection; closing twice is harmless."""
        self._connection.close()

    def leave_to_parent(self) -> None:
        """In a fork: the connection is the parent's."""
        never_free(self._connection)

    def about(self) -> dict[str, str]:
        """What the server says of itself and of the collection."""

        def ask(client: QdrantClient) -> dict[str, str]:
            info = client.get_collection(self._name)
            params = info.config.params
            return {
                "version": client.info().version,
                "state": info.status.value,
                "points": str(client.count(self._name, exact=True).count),
                "shards": str(params.shard_number),
                "replicas": str(params.replication_factor),
                "payload": "readable" if self.tells_snippets else "none",
            }

        return self._connection.ask("read", ask)

    def sweep(self, *, keep: Collection[int] = ()) -> int:
        """Delete what this journal has put for other stores than this one and those of some generations."""
        kept = {self.generation, *keep}
        mask = (1 << _GENERATION_BITS) - 1
        strays = [point for point in self._own_points() if (point >> _ROW_BITS) & mask not in kept]
        self._delete_points(strays)
        return len(strays)

    def _adapt(self, config: models.CollectionConfig) -> None:
        """Keep within what the collection allows."""
        self._exact = config.hnsw_config.m != 0  # else there is no graph, and every search is exact
        limits = config.strict_mode_config
        if limits is None or not limits.enabled:
            return
        self._batch = min(self._batch, limits.upsert_max_batchsize or self._batch)
        self._page = min(self._page, limits.max_query_limit or self._page, limits.condition_max_size or self._page)

    # Points

    @property
    def _store(self) -> int:
        return self._tag << _GENERATION_BITS | self.generation

    def _id(self, row: int) -> int:
        return self._store << _ROW_BITS | row

    def _unused_generation(self) -> int:
        mask = (1 << _GENERATION_BITS) - 1
        used = {(point >> _ROW_BITS) & mask for point in self._own_points()}
        return random.SystemRandom().choice([number for number in range(mask + 1) if number not in used])

    def _own_points(self) -> list[int]:
        """The ids of all points that this journal has put."""
        shift = _ROW_BITS + _GENERATION_BITS
        return [
            point
            for point in points(self._connection, page=self._page)
            if isinstance(point, int) and point >> shift == self._tag
        ]

    def _delete_points(self, ids: Sequence[int]) -> None:
        from qdrant_client import models

        def write(client: QdrantClient) -> None:
            for start in range(0, len(ids), self._page):
                part: list[Any] = list(ids[start : start + self._page])
                client.delete(self._name, models.PointIdsList(points=part), wait=True)

        if ids:
            self._connection.ask("delete from", write)


def _readable(snippet: MemorySnippet) -> dict[str, Any]:
    payload = to_payload(snippet, embedder_name="")
    return {name: payload[name] for name in _READABLE if name in payload}
