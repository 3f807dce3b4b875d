"""A collection of a Qdrant server as a store uses it: vectors by row, scored exactly, and whose they are.

It holds no text, no label and no name unless it is asked to: what a collection is told it keeps in its log and its
pages for a while after it was deleted.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from stitch.core.process import never_free
from stitch.errors import StoreError, StoreUnavailableError
from stitch.store.collection import VECTOR, check, count, look, make, note_readable, points
from stitch.store.connection import Connection
from stitch.store.limits import Limits
from stitch.store.payload import LABEL_FIELDS, to_payload

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from qdrant_client import QdrantClient, models

    from stitch.core.snippets import MemorySnippet

    Vectors = NDArray[np.float32]

_ROW_BITS, _GENERATION_BITS, _TAG_BITS = 32, 8, 24
"""The id of a point: who put it, for which of its stores, and the row."""
_ROW_MASK = (1 << _ROW_BITS) - 1

_log = logging.getLogger(__name__)

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
        self._tag = crc32(journal.encode()) >> (32 - _TAG_BITS)
        found = look(connection) or make(connection, dimension=dimension, journal=journal)
        check(found, connection, dimension=dimension, journal=journal, reindex=f"stitch reindex --memory {location}")
        self.held_texts = found.readable or readable
        """Whether the collection has, or has had, texts and labels."""
        if readable and not found.readable:
            note_readable(found, connection)
        self._limits = Limits.of(found.info.config, what=connection.what)
        self._warn_of_one_replica(found.info.config)
        self.generation = self._unused_generation() if generation is None else generation

    # Vectors

    def put(self, rows: Sequence[int], vectors: Vectors, *, snippets: Sequence[MemorySnippet] = ()) -> None:
        """Write vectors; they are in the server's log when this returns. See `VectorEngine.put`."""
        from qdrant_client import models

        ids, lists = list(map(self._id, rows)), vectors.tolist()
        payloads = [_readable(snippet) for snippet in snippets] if self.tells_snippets else None

        for part in _parts(len(ids), self._limits.batch):
            batch = models.Batch(
                ids=ids[part], vectors={VECTOR: lists[part]}, payloads=payloads[part] if payloads else None
            )
            self._connection.ask("write to", partial(self._upsert, batch=batch))

    def delete(self, rows: Sequence[int]) -> None:
        """Delete vectors; the server frees their bytes when it likes."""
        self._delete_points([self._id(row) for row in rows])

    def cosines(self, rows: Sequence[int], vector: Sequence[float]) -> NDArray[np.float64]:
        """The cosine of each of these rows with a unit vector; one request for 10,000 of them."""
        ids = [self._id(row) for row in rows]
        scores: dict[int, float] = {}
        if self._limits.scores:
            for part in _parts(len(ids), self._limits.page):
                scores |= self._connection.ask("search", partial(self._scores, ids=ids[part], vector=vector))
        else:
            asked = np.array(vector, dtype=np.float32)
            scores = {self._id(row): float(found @ asked) for row, found in self.vectors(rows).items()}
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
        vectors: dict[int, Vectors] = {}
        for part in _parts(len(ids), min(self._limits.page, 4 * self._limits.batch)):
            vectors |= self._connection.ask("read", partial(self._retrieve, ids=ids[part]))
        return vectors

    def __len__(self) -> int:
        """How many points the collection has, those of other generations included: then something has to be done."""
        return count(self._connection, self._limits)

    def rows(self) -> list[int]:
        """Every row that is there."""
        return [point & _ROW_MASK for point in self._own_points() if point >> _ROW_BITS == self._store]

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
        there, nodes = len(self), self._nodes()

        def ask(client: QdrantClient) -> dict[str, str]:
            info = client.get_collection(self._name)
            params = info.config.params
            return {
                "version": client.info().version,
                "state": info.status.value,
                "points": str(there),
                "shards": str(params.shard_number),
                "replicas": str(params.replication_factor),
                "nodes": str(nodes),
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

    def _warn_of_one_replica(self, config: models.CollectionConfig) -> None:
        if config.params.replication_factor == 1 and (nodes := self._nodes()) > 1:
            _log.warning(
                "%s has one replica on a cluster of %d nodes: with a lost node its vectors are lost, until"
                " `stitch verify --repair` puts them again; see `qdrant.replication_factor`",
                self._connection.what,
                nodes,
            )

    def _nodes(self) -> int:
        """How many nodes the server's cluster has; 1 if it is none, or does not tell this key."""
        try:
            status: Any = self._connection.ask("open", lambda client: client.cluster_status())
        except StoreUnavailableError:
            raise
        except StoreError:
            return 1
        return len(getattr(status, "peers", None) or {}) or 1

    # Requests

    def _upsert(self, client: QdrantClient, *, batch: models.Batch) -> None:
        client.upsert(self._name, batch, **self._connection.options.writing)

    def _scores(self, client: QdrantClient, *, ids: list[int], vector: Sequence[float]) -> dict[int, float]:
        from qdrant_client import models

        among: list[Any] = list(ids)
        found = client.query_points(
            self._name,
            query=list(vector),
            using=VECTOR,
            query_filter=models.Filter(must=[models.HasIdCondition(has_id=among)]),
            limit=len(among),
            with_payload=False,
            search_params=models.SearchParams(
                exact=self._limits.exact or None, quantization=models.QuantizationSearchParams(ignore=True)
            ),
            **self._connection.options.reading,
        ).points
        return {int(point.id): point.score for point in found}

    def _retrieve(self, client: QdrantClient, *, ids: list[int]) -> dict[int, Vectors]:
        reading = self._connection.options.reading
        points = client.retrieve(self._name, ids, with_payload=False, with_vectors=[VECTOR], **reading)
        return {
            int(point.id) & _ROW_MASK: np.array(point.vector[VECTOR], dtype=np.float32)
            for point in points
            if isinstance(point.vector, dict) and VECTOR in point.vector
        }

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
            for point in points(self._connection, page=self._limits.page)
            if isinstance(point, int) and point >> shift == self._tag
        ]

    def _delete_points(self, ids: Sequence[int]) -> None:
        from qdrant_client import models

        for part in _parts(len(ids), self._limits.page):
            points = models.PointIdsList(points=list(ids[part]))
            self._connection.ask("delete from", partial(self._delete, points=points))

    def _delete(self, client: QdrantClient, *, points: models.PointIdsList) -> None:
        client.delete(self._name, points, **self._connection.options.writing)


def _parts(count: int, size: int) -> Iterator[slice]:
    """The slices into which so many are cut. Each is a request of its own: one that has to wait repeats no other."""
    return (slice(start, start + size) for start in range(0, count, size))


def _readable(snippet: MemorySnippet) -> dict[str, Any]:
    payload = to_payload(snippet, embedder_name="")
    return {name: payload[name] for name in _READABLE if name in payload}
