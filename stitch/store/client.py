"""A store whose points are in a collection of a Qdrant server or cluster, through Qdrant's own client."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID

import numpy as np

from stitch.core.process import in_each_fork, never_free
from stitch.core.snippets import MemorySnippet
from stitch.errors import StoreError, StoreUnavailableError, some_of
from stitch.store.collection import SHARED, CollectionInfo, Kind, limits_of, opened
from stitch.store.connection import Server
from stitch.store.points import (
    Fields,
    Id,
    Point,
    Points,
    Scores,
    Search,
    Where,
    filter_of,
    name_of,
    named_vectors,
)
from stitch.store.qdrant import QdrantStore

if TYPE_CHECKING:
    from qdrant_client import models

ShardKey: TypeAlias = str | int

_TEXTS = ("text", "resolved", "summary", "context", "asks", "entities", "references", "metadata")
"""What says something that was said."""

_log = logging.getLogger(__name__)


class ClientPoints(Points):
    """The points of a collection; see `Points`. What was written is in the server's log when a call returns."""

    durable = True

    def __init__(self, server: Server, found: CollectionInfo) -> None:
        self._server, self._name = server, server.collection
        self._limits = limits_of(found.config, what=server.what)
        consistency, ordering = server.options.read_consistency, server.options.write_ordering
        self._reading: dict[str, Any] = {} if consistency is None else {"consistency": consistency}
        self._writing: dict[str, Any] = {"wait": True} | ({} if ordering is None else {"ordering": ordering})
        self._large = found.large_tenants
        if said := sorted(set(server.options.large_tenants).symmetric_difference(self._large)):
            _log.warning(
                "%s was made with shards of their own for %s, and the settings differ in %s: `stitch reindex` makes it"
                " anew by the settings",
                server.what,
                some_of(self._large) or "no tenant",
                some_of(said),
            )
        if found.config.params.replication_factor == 1 and (nodes := self._nodes()) > 1:
            _log.warning(
                "%s has one replica on a cluster of %d nodes: with a lost node its points are lost, until"
                " `stitch verify --repair` puts them again; see `qdrant.replication_factor`",
                server.what,
                nodes,
            )

    def upsert(self, points: Sequence[Point]) -> None:
        """Write points; see `Points.upsert`."""
        from qdrant_client import models

        by_shard: dict[ShardKey | None, list[Point]] = {}
        for each in points:
            by_shard.setdefault(self._shard_of(each.payload["tenant"]), []).append(each)
        for shard, own in by_shard.items():
            for part in _parts(own, self._limits.batch):
                made = [
                    models.PointStruct(
                        id=name_of(each.id), vector=named_vectors(each, models.SparseVector), payload=dict(each.payload)
                    )
                    for each in part
                ]
                self._ask("write to", "upsert", made, shard_key_selector=shard, **self._writing)

    def search(self, searches: Sequence[Search]) -> list[Scores]:
        """The results of searches; see `Points.search`."""
        requests = [(number, request) for number, each in enumerate(searches) for request in self._requests(each)]
        found: list[list[tuple[Id, float]]] = [[] for _ in searches]
        if requests:
            answers = self._ask("search", "query_batch_points", [each for _, each in requests], **self._reading)
            for (number, _), answer in zip(requests, answers, strict=True):
                found[number] += [(UUID(str(point.id)).int, point.score) for point in answer.points]
        scores = []
        for each, own in zip(searches, found, strict=True):
            best = sorted(own, key=lambda pair: -pair[1])[: each.limit]
            # As the server computed them: what stands in JSON has fewer digits than single precision.
            values = np.array([score for _, score in best], dtype=np.float32).tolist()
            scores.append(Scores([number for number, _ in best], values))
        return scores

    def _requests(self, search: Search) -> Iterator[models.QueryRequest]:
        """The requests of a search: more than one where the server allows fewer ids or results in one."""
        from qdrant_client import models

        page, ids = self._limits.page, search.where.ids
        wheres = [search.where]
        if ids is not None:
            wheres = [search.where._replace(ids=part) for part in _parts(list(ids), page)]
        vector: Any = search.vector
        exact = None
        if isinstance(vector, dict):
            vector = models.SparseVector(indices=list(vector), values=list(vector.values()))
        else:
            exact = models.SearchParams(exact=self._limits.exact or None)
        for where in wheres:
            most = search.limit if where.ids is None else min(search.limit, len(where.ids))
            for start in range(0, most, page):
                yield models.QueryRequest(
                    query=vector, using=search.using, filter=_filter(where), limit=min(page, most - start),
                    offset=start or None, params=exact, with_payload=False, with_vector=False,
                    shard_key=self._shard_of(where.tenant),
                )  # fmt: skip

    def _found(self, ids: Sequence[Id], fields: Fields, vectors: Fields) -> list[Any]:
        options = {"with_payload": fields, "with_vectors": vectors, **self._reading}
        parts = _parts(list(map(name_of, ids)), self._limits.page)
        return [point for part in parts for point in self._ask("read", "retrieve", part, **options)]

    def _page(self, where: Where, offset: Any, fields: Fields, vectors: Fields) -> tuple[Sequence[Any], Any]:
        page: tuple[Sequence[Any], Any] = self._ask(
            "read", "scroll", _filter(where), limit=self._limits.page, offset=offset, with_payload=fields,
            with_vectors=vectors, shard_key_selector=self._shard_of(where.tenant), **self._reading,
        )  # fmt: skip
        return page

    @staticmethod
    def _number(point: Any) -> Id:
        return UUID(str(point.id)).int

    def delete(self, ids: Sequence[Id]) -> None:
        """Delete points; the server frees their bytes when it likes."""
        from qdrant_client import models

        shards = [SHARED, *self._large] if self._large else None
        for part in _parts(list(map(name_of, ids)), self._limits.page):
            doomed = models.PointIdsList(points=list(part))
            self._ask("delete from", "delete", doomed, shard_key_selector=shards, **self._writing)

    def count(self, where: Where) -> int:
        """Count the points that pass."""
        shard = self._shard_of(where.tenant)
        return int(self._ask("read", "count", _filter(where), exact=True, shard_key_selector=shard).count)

    def close(self) -> None:
        """Let go of the connection; closing twice is harmless."""
        self._server.close()

    def leave_to_parent(self) -> None:
        """In a fork: the connection is the parent's."""
        never_free(self._server)

    def about(self) -> dict[str, str]:
        """Version and state of the server and the collection."""
        there, nodes = self.count(Where()), self._nodes()
        info = self._ask("read", "get_collection")
        told = {
            "version": self._server.ask("read", lambda client: client.info()).version,
            "state": info.status.value,
            "points": str(there),
            "shards": str(info.config.params.shard_number),
            "replicas": str(info.config.params.replication_factor),
            "nodes": str(nodes),
        }
        return told | ({"large tenants": some_of(self._large)} if self._large else {})

    def _ask(self, doing: str, method: str, *arguments: Any, **options: Any) -> Any:
        """Call a method of the client on this collection."""
        return self._server.ask(doing, lambda client: getattr(client, method)(self._name, *arguments, **options))

    def _shard_of(self, tenant: object) -> ShardKey | None:
        """The key of the shards where a tenant's points are; None if there are no such keys, or for all tenants."""
        if tenant is None or not self._large:
            return None
        return str(tenant) if tenant in self._large else SHARED

    def _nodes(self) -> int:
        """Number of nodes in the server's cluster; 1 if it is none, or does not tell this key."""
        try:
            status: Any = self._server.ask("open", lambda client: client.cluster_status())
        except StoreUnavailableError:
            raise
        except StoreError:
            return 1
        return len(getattr(status, "peers", None) or {}) or 1


def _parts(every: Sequence[Any], size: int) -> Iterator[Any]:
    """Parts of so many. Each is a request of its own: one that has to wait repeats no other."""
    return (every[start : start + size] for start in range(0, len(every), size))


def _filter(where: Where) -> Any:
    from qdrant_client import models

    def has_id(ids: Iterable[Id]) -> Any:
        return models.HasIdCondition(has_id=list(map(name_of, ids)))

    return filter_of(where, models, numbers=models.Range, moments=models.DatetimeRange, has_id=has_id)


class ServerStore(QdrantStore):
    """Snippets in a collection of a server, which is one journal's; nothing of it is kept on this machine.

    Args:
        server: The collection; made when it is not there.
        journal: The id of the journal.
        embedder_name: Who makes its vectors.
        dimension: Their length.
        from_journal: Gives the snippet of a step by tenant, trajectory and id, where a server is told no text
            (`Server.minimal`).

    Raises:
        StoreUnavailableError: The server does not answer.
        StoreMismatchError: The collection is another journal's, or was made for other vectors.
        StoreError: The server refuses the key or the request.
    """

    _most_cached = 0  # other processes may write there, too

    def __init__(
        self,
        server: Server,
        *,
        journal: str,
        embedder_name: str,
        dimension: int,
        from_journal: Callable[[str, str, str], MemorySnippet | None] = lambda *_: None,
    ) -> None:
        self.path, self._server, self._from_journal = None, server, from_journal
        self._begin(server.what, location=server.url, dimension=dimension)
        try:
            self._use(ClientPoints(server, opened(server, Kind(journal, embedder_name, dimension))))
        except BaseException:
            server.close()
            raise
        in_each_fork(self._leave_to_parent)

    def about(self) -> dict[str, str]:
        """Version and state of the server and the collection; that it is away, if it is."""
        payload = "minimal" if self._server.minimal else "full"
        named = {"url": self._server.url, "collection": self._server.collection, "payload": payload}
        try:
            assert isinstance(self._opened, ClientPoints)
            return {**named, **self._opened.about()}
        except StoreUnavailableError as error:
            return {**named, "state": error.message}

    @property
    def not_searched(self) -> Sequence[str]:
        """The disks of the server, and what may stand there."""
        may_have = "numbers, names and labels" if self._server.minimal else "texts and labels"
        return (f"the disks of the server, until it writes its log and pages anew: they may have {may_have}",)

    def _let_go(self) -> None:
        self._closed = True
        self._opened.close()

    def _kept(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        if not self._server.minimal:
            return dict(payload)
        return {name: value for name, value in payload.items() if name not in _TEXTS}

    def _made(self, payload: Mapping[str, Any], *, validate: bool = False) -> MemorySnippet | None:
        if "text" in payload:
            return super()._made(payload, validate=validate)
        return self._from_journal(payload["tenant"], payload["trajectory"], payload["step"])
