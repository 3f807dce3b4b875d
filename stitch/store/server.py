"""A Qdrant server or cluster: the same snippets and the same ranking, for several writers at once."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from stitch.core.protocols import DensityQuery, SnippetRecord, StoreHit
from stitch.core.snippets import SCHEMA_VERSION, MemorySnippet
from stitch.errors import StoreError, StoreMismatchError
from stitch.store.checks import check_records
from stitch.store.connection import Connection
from stitch.store.payload import LABEL_FIELDS, from_payload, intent_labels, origin_and_trust, to_payload
from stitch.store.server_rank import (
    DENSE,
    LABELS,
    TERMS,
    WORDS,
    Place,
    ServerRanking,
    equals,
    keys,
    one_hot,
    order,
    scope,
    sparse,
    weighed,
)
from stitch.store.similarity import Similarity

if TYPE_CHECKING:
    from qdrant_client import QdrantClient, models

_BATCH = 256
"""How many points go over the wire at a time."""


class ServerStore:
    """Snippets in a collection of a Qdrant server, next to those of other processes.

    Nothing is kept in process, so nothing can be stale. Every snippet has a sparse vector of its labels: its dot
    product with the labels of a filter is an upper bound of the density (the bound itself, but for two aliases of one
    label and for labels whose hashes collide). Snippets are fetched by that bound, densities are counted from their
    payload, and more are fetched until none that was not fetched can belong to the result.

    Args:
        url: Where the server is, or the URLs of several of a cluster, with commas between them.
        api_key: Its key, if it asks for one.
        collection: The collection; made when it is not there.
        embedder_name: The embedder whose vectors are stored; compared with what is there.
        dimension: The length of its vectors.
        timeout_s: How long one request may take.
        prefer_grpc: Whether gRPC (port 6334) is spoken instead of REST.
        client: A client to use instead of making one; it is not closed.

    Raises:
        StoreUnavailableError: The server does not answer.
        StoreMismatchError: The collection was written with another embedder or schema.
        StoreError: The server refuses the key or the request.
    """

    def __init__(
        self,
        url: str,
        *,
        embedder_name: str,
        dimension: int,
        api_key: str | None = None,
        collection: str = "stitch",
        timeout_s: float = 30.0,
        prefer_grpc: bool = False,
        client: QdrantClient | None = None,
    ) -> None:
        self._collection = collection
        self._embedder_name = embedder_name
        self._dimension = dimension
        self._connection = Connection(
            url, collection=collection, api_key=api_key, timeout_s=timeout_s, prefer_grpc=prefer_grpc, client=client
        )
        try:
            self._connection.ask_first("open", self._prepare)
        except BaseException:
            self._connection.close()
            raise

    # Reading and writing

    def put(self, records: Sequence[SnippetRecord]) -> None:
        """Write snippets; see `SnippetStore.put`. They are in the server's write-ahead log when this returns."""
        from qdrant_client import models

        unique = list({record.snippet.id: record for record in records}.values())
        vectors = check_records(unique, dimension=self._dimension).tolist()
        points = []
        for record, vector in zip(unique, vectors, strict=True):
            named: dict[str, Any] = {DENSE: vector}
            if record.words:
                named[WORDS] = sparse(record.words)
            if labels := intent_labels(record.snippet.intent):
                named[LABELS] = sparse(one_hot(dict.fromkeys(labels, 1.0)))
            payload = to_payload(record.snippet, embedder_name=self._embedder_name)
            if record.words:
                payload[TERMS] = list(record.words)
            points.append(models.PointStruct(id=record.snippet.id, vector=named, payload=payload))

        def write(client: QdrantClient) -> None:
            for start in range(0, len(points), _BATCH):
                client.upsert(self._collection, points[start : start + _BATCH], wait=True)

        self._connection.ask("write to", write)

    def rank(self, query: DensityQuery) -> list[StoreHit]:
        """Rank the snippets of a tenant exactly; see `SnippetStore.rank`."""
        similarity = Similarity.of(query, dimension=self._dimension)
        if query.k < 1:
            return []

        def ask(client: QdrantClient) -> tuple[list[Place], dict[str, MemorySnippet]]:
            by_tenant = weighed(similarity, client, self._collection, tenant=query.tenant)
            ranked = ServerRanking(client, self._collection, query, similarity=by_tenant).best()
            found = self._read(client, query.tenant, [place.id for place in ranked])
            return ranked, {snippet.id: snippet for snippet in found}

        ranked, snippets = self._connection.ask("search", ask)
        # A snippet that another process deleted in between is left out.
        return [StoreHit(snippets[at.id], at.density, at.similarity) for at in ranked if at.id in snippets]

    def get(self, tenant: str, ids: Sequence[str]) -> list[MemorySnippet]:
        """Return a tenant's snippets by id; see `SnippetStore.get`."""
        return self._connection.ask("read", lambda client: self._read(client, tenant, ids))

    def scroll(self, tenant: str, trajectory: str | None = None) -> Iterator[MemorySnippet]:
        """Iterate over a tenant's snippets; what is deleted meanwhile is left out."""
        found = self._connection.ask(
            "read", lambda client: list(keys(client, self._collection, scope(tenant, trajectory)))
        )
        ids = [snippet for snippet, _ in sorted(found, key=lambda key: order(key[1]))]
        for start in range(0, len(ids), _BATCH):
            yield from self.get(tenant, ids[start : start + _BATCH])

    def delete(self, tenant: str, ids: Sequence[str]) -> int:
        """Delete a tenant's snippets; see `SnippetStore.delete`."""
        from qdrant_client import models

        known = _possible(ids)

        def ask(client: QdrantClient) -> int:
            if not known:
                return 0
            condition = scope(tenant, among=known)
            there = client.count(self._collection, count_filter=condition, exact=True).count
            client.delete(self._collection, models.FilterSelector(filter=condition), wait=True)
            return there

        return self._connection.ask("delete from", ask)

    def count(self, tenant: str | None = None) -> int:
        """The number of snippets of a tenant, or of all."""
        condition = None if tenant is None else scope(tenant)
        return self._connection.ask(
            "read", lambda client: client.count(self._collection, count_filter=condition, exact=True).count
        )

    def flush(self) -> None:
        """Do nothing: what `put` wrote is in the server's log already."""
        self._connection.ask("flush", lambda _: None)

    def close(self) -> None:
        """Let go of the connection; closing twice is harmless."""
        self._connection.close()

    # Opening

    def _prepare(self, client: QdrantClient) -> None:
        if not client.collection_exists(self._collection):
            self._create(client)
        found = client.get_collection(self._collection)
        self._check_vectors(found.config.params)
        for name, schema in _indexes().items():
            if name not in found.payload_schema:
                client.create_payload_index(self._collection, name, schema, wait=True)
        self._check_payload(client, "schema_version", SCHEMA_VERSION)
        self._check_payload(client, "embedder", self._embedder_name)
        self._note_trust(client)

    def _create(self, client: QdrantClient) -> None:
        from qdrant_client import models

        dense = models.VectorParams(size=self._dimension, distance=models.Distance.COSINE)
        try:
            self._connection.ask(
                "make",
                lambda client: client.create_collection(
                    self._collection,
                    vectors_config={DENSE: dense},
                    sparse_vectors_config={name: models.SparseVectorParams() for name in (WORDS, LABELS)},
                ),
            )
        except StoreError:
            if not client.collection_exists(self._collection):
                raise
            # Another process was quicker.

    def _check_vectors(self, params: models.CollectionParams) -> None:
        """Refuse a collection whose vectors are not those of snippets, or not of this embedder's size."""
        vectors, sparse = params.vectors, params.sparse_vectors or {}
        if not isinstance(vectors, Mapping) or DENSE not in vectors or not {WORDS, LABELS} <= sparse.keys():
            raise StoreMismatchError(
                f"{self._what} holds something else than snippets", hint="name another collection: stitch config"
            )
        if sparse[WORDS].modifier is not None:
            raise StoreMismatchError(
                f"{self._what} was written by an earlier version, which weighed words by what all tenants hold",
                hint=self._reindex,
            )
        if vectors[DENSE].size != self._dimension:
            raise StoreMismatchError(
                f"{self._what} was made for vectors of dimension {vectors[DENSE].size}, not {self._dimension}",
                hint=self._reindex,
            )

    def _check_payload(self, client: QdrantClient, field: str, own: str | int) -> None:
        """Refuse a collection in which a point has another value in a field."""
        from qdrant_client import models

        foreign = models.Filter(must_not=[equals(field, own)])
        points, _ = client.scroll(self._collection, foreign, limit=1, with_payload=[field])
        for point in points:
            there = (point.payload or {}).get(field)
            raise StoreMismatchError(
                f"{self._what} was written with {field.replace('_', ' ')} {there!r}, not {own!r}", hint=self._reindex
            )

    def _note_trust(self, client: QdrantClient) -> None:
        """Give snippets that were written before there was trust the one they read as, so that it can be asked for."""
        from qdrant_client import models

        without = models.Filter(must=[models.IsEmptyCondition(is_empty=models.PayloadField(key="trust"))])
        offset = None
        while True:
            points, offset = client.scroll(self._collection, without, limit=_BATCH, offset=offset)
            by_value: dict[tuple[str, str], list[Any]] = {}
            for point in points:
                origin, trust = origin_and_trust(point.payload or {})
                by_value.setdefault((origin.value, trust.value), []).append(point.id)
            for (origin_name, trust_name), ids in by_value.items():
                noted = {"origin": origin_name, "trust": trust_name}
                client.set_payload(self._collection, noted, points=ids, wait=True)
            if offset is None:
                return

    # What the rest stands on

    @property
    def _what(self) -> str:
        return self._connection.what

    @property
    def _reindex(self) -> str:
        return f"stitch reindex --memory {self._connection.location}"

    def _read(self, client: QdrantClient, tenant: str, ids: Sequence[str]) -> list[MemorySnippet]:
        if not (known := _possible(ids)):
            return []
        points = client.retrieve(self._collection, known, with_payload=True)
        payloads = {str(point.id): point.payload or {} for point in points}
        return [
            from_payload(payload)
            for snippet in ids
            if (payload := payloads.get(snippet)) is not None and payload.get("tenant") == tenant
        ]


def _indexes() -> dict[str, Any]:
    from qdrant_client import models

    keyword, integer = models.PayloadSchemaType.KEYWORD, models.PayloadSchemaType.INTEGER
    return {
        "tenant": models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True),
        "trajectory": keyword,
        "position": integer,
        **dict.fromkeys(LABEL_FIELDS.values(), keyword),
        "trust": keyword,
        "recorded": models.PayloadSchemaType.FLOAT,
        "embedder": keyword,
        "schema_version": integer,
        TERMS: integer,
    }


def _possible(ids: Sequence[str]) -> list[str]:
    """Those of the ids that can be one; the server refuses a whole request for one that cannot."""

    def is_id(text: str) -> bool:
        try:
            return str(uuid.UUID(text)) == text
        except ValueError:
            return False

    return list(filter(is_id, ids))
