"""A collection of a Qdrant server or cluster, through Qdrant's own client."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np

from stitch.core.process import never_free
from stitch.core.protocols import SparseVector
from stitch.errors import StoreError, StoreUnavailableError
from stitch.store.collection import Found
from stitch.store.connection import Connection
from stitch.store.limits import Limits
from stitch.store.points import DENSE, LABELS, WORDS, Id, Point, Scores, Search, StoredPoint, Where, filter_of, name_of

if TYPE_CHECKING:
    from qdrant_client import QdrantClient, models

_log = logging.getLogger(__name__)


class ClientPoints:
    """The points of a collection; see `Points`. What was written is in the server's log when a call returns.

    Args:
        connection: The way to it.
        found: What is there.
    """

    durable = True

    def __init__(self, connection: Connection, found: Found) -> None:
        self._connection, self._name = connection, connection.collection
        self._limits = Limits.of(found.info.config, what=connection.what)
        self._reading, self._writing = connection.options.reading, connection.options.writing
        self._warn_of_one_replica(found.info.config)

    def upsert(self, points: Sequence[Point]) -> None:
        """Write points; see `Points.upsert`."""
        from qdrant_client import models

        made = [
            models.PointStruct(id=name_of(each.id), vector=_vectors(each), payload=dict(each.payload))
            for each in points
        ]
        for part in _parts(len(made), self._limits.batch):
            self._ask("write to", lambda client, part=part: client.upsert(self._name, made[part], **self._writing))

    def search(self, searches: Sequence[Search]) -> list[Scores]:
        """The results of searches; see `Points.search`."""
        requests, owners = [], []
        for number, each in enumerate(searches):
            for request in self._requests(each):
                requests.append(request)
                owners.append(number)
        found: list[list[tuple[Id, float]]] = [[] for _ in searches]
        if requests:
            answers = self._ask(
                "search", lambda client: client.query_batch_points(self._name, requests, **self._reading)
            )
            for number, answer in zip(owners, answers, strict=True):
                found[number] += [(UUID(str(point.id)).int, point.score) for point in answer.points]
        scores = []
        for each, own in zip(searches, found, strict=True):
            own.sort(key=lambda pair: -pair[1])
            best = own[: each.limit]
            # As the server computed them: what stands in JSON has fewer digits than single precision.
            values = np.array([score for _, score in best], dtype=np.float32).astype(np.float64)
            scores.append(Scores([number for number, _ in best], values))
        return scores

    def _requests(self, search: Search) -> Iterator[models.QueryRequest]:
        """The requests of a search: more than one where the server allows fewer ids or results in one."""
        from qdrant_client import models

        page, ids = self._limits.page, search.where.ids
        wheres = [search.where]
        if ids is not None:
            given = list(ids)
            wheres = [search.where._replace(ids=given[part]) for part in _parts(len(given), page)]
        vector: Any = _sparse(search.vector) if isinstance(search.vector, dict) else list(search.vector)
        exact = None if isinstance(search.vector, dict) else models.SearchParams(exact=self._limits.exact or None)
        for where in wheres:
            most = search.limit if where.ids is None else min(search.limit, len(where.ids))
            for start in range(0, most, page):
                yield models.QueryRequest(
                    query=vector,
                    using=search.using,
                    filter=_filter(where),
                    limit=min(page, most - start),
                    offset=start or None,
                    params=exact,
                    with_payload=False,
                    with_vector=False,
                )

    def retrieve(
        self, ids: Sequence[Id], *, payload: bool = True, words: bool = False, dense: bool = False
    ) -> dict[Id, StoredPoint]:
        """Points by id; see `Points.retrieve`."""
        found: dict[Id, StoredPoint] = {}
        names: list[Any] = list(map(name_of, ids))
        wanted = _wanted(words=words, dense=dense)
        for part in _parts(len(names), self._limits.page):
            read = partial(
                lambda client, part: client.retrieve(
                    self._name, names[part], with_payload=payload, with_vectors=wanted, **self._reading
                ),
                part=part,
            )
            found.update((made.id, made) for made in map(_stored, self._ask("read", read)))
        return found

    def scroll(
        self, where: Where, *, fields: Sequence[str] | bool, words: bool = False, dense: bool = False
    ) -> Iterator[StoredPoint]:
        """All points that pass; see `Points.scroll`."""
        offset, begun, wanted = None, False, _wanted(words=words, dense=dense)
        with_payload: Any = fields if isinstance(fields, bool) else list(fields)
        while offset is not None or not begun:
            points, offset = self._ask(
                "read",
                lambda client, offset=offset: client.scroll(
                    self._name, _filter(where), limit=self._limits.page, offset=offset, with_payload=with_payload,
                    with_vectors=wanted, **self._reading,
                ),
            )  # fmt: skip
            begun = True
            yield from map(_stored, points)

    def delete(self, ids: Sequence[Id]) -> None:
        """Delete points; the server frees their bytes when it likes."""
        from qdrant_client import models

        names: list[Any] = list(map(name_of, ids))
        for part in _parts(len(names), self._limits.page):
            doomed = models.PointIdsList(points=names[part])
            self._ask("delete from", lambda client, doomed=doomed: client.delete(self._name, doomed, **self._writing))

    def count(self, where: Where) -> int:
        """How many points pass."""
        answer = self._ask("read", lambda client: client.count(self._name, _filter(where), exact=True))
        return int(answer.count)

    def flush(self) -> None:
        """Do nothing: what was put is in the server's log already."""

    def purge(self) -> None:
        """Do nothing: the server frees the room of what was deleted when it likes."""

    def close(self) -> None:
        """Let go of the connection; closing twice is harmless."""
        self._connection.close()

    def leave_to_parent(self) -> None:
        """In a fork: the connection is the parent's."""
        never_free(self._connection)

    def about(self) -> dict[str, str]:
        """What the server says of itself and of the collection."""
        there, nodes = self.count(Where()), self._nodes()

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
            }

        return self._connection.ask("read", ask)

    def _ask(self, doing: str, request: Any) -> Any:
        return self._connection.ask(doing, request)

    def _warn_of_one_replica(self, config: models.CollectionConfig) -> None:
        if config.params.replication_factor == 1 and (nodes := self._nodes()) > 1:
            _log.warning(
                "%s has one replica on a cluster of %d nodes: with a lost node its points are lost, until"
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


def _parts(count: int, size: int) -> Iterator[slice]:
    """The slices into which so many are cut. Each is a request of its own: one that has to wait repeats no other."""
    return (slice(start, start + size) for start in range(0, count, size))


def _wanted(*, words: bool, dense: bool) -> list[str] | bool:
    return [name for name, asked in ((WORDS, words), (DENSE, dense)) if asked] or False


def _stored(point: Any) -> StoredPoint:
    vectors = point.vector if isinstance(point.vector, dict) else {}
    sparse = vectors.get(WORDS)
    words = {} if sparse is None else dict(zip(sparse.indices, sparse.values, strict=True))
    return StoredPoint(UUID(str(point.id)).int, point.payload or {}, words, vectors.get(DENSE) or ())


def _vectors(point: Point) -> Any:
    sparse = {name: _sparse(own) for name, own in ((WORDS, point.words), (LABELS, point.labels)) if own}
    return {DENSE: list(point.dense), **sparse}


def _sparse(weights: SparseVector) -> Any:
    from qdrant_client import models

    return models.SparseVector(indices=list(weights.keys()), values=list(map(float, weights.values())))


def _filter(where: Where) -> Any:
    from qdrant_client import models

    return filter_of(
        where,
        models,
        numbers=models.Range,
        moments=models.DatetimeRange,
        has_id=lambda names: models.HasIdCondition(has_id=names),
    )
