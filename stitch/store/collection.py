"""A collection on a Qdrant server: whose it is, what it is made like, and what it allows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from stitch.errors import StoreError, StoreMismatchError
from stitch.store.connection import QdrantOptions, Server
from stitch.store.payload import INDEXES
from stitch.store.points import DENSE, LABELS, WORDS

if TYPE_CHECKING:
    from qdrant_client import QdrantClient, models

LAYOUT = 2
"""What points of a collection are like."""

_OWN = "stitch"
"""Under which key of a collection's metadata stands whose it is."""
SHARED = 0
"""The key of the shards that tenants share which have none of their own: no tenant has a number for a name."""
_BATCH, _PAGE = 256, 10_000
_NUMBERS = {"shard_number", "replication_factor", "write_consistency_factor"}
"""The options that a server is told as they are when a collection is made."""


class Kind(NamedTuple):
    """The purpose of a collection, as it says of itself; None where it does not."""

    journal: str | None
    """The id of the journal whose it is."""
    embedder: str | None
    dimension: int | None
    """The length of its vectors."""
    layout: int | None = LAYOUT


class CollectionInfo(NamedTuple):
    """Description of an existing collection."""

    config: models.CollectionConfig
    kind: Kind
    large_tenants: tuple[str, ...]
    """Tenants that have shards of their own."""

    def is_as(self, options: QdrantOptions) -> bool:
        """Whether it is made like options want it."""
        params, wanted = self.config.params, options.model_dump(include=_NUMBERS, exclude_none=True)
        dense = params.vectors[DENSE] if isinstance(params.vectors, Mapping) and DENSE in params.vectors else None
        return (
            set(options.large_tenants) == set(self.large_tenants)
            and all(getattr(params, name) == value for name, value in wanted.items())
            and (options.on_disk is None or options.on_disk == bool(dense and dense.on_disk))
        )


class Limits(NamedTuple):
    """Limits of one request."""

    batch: int
    """Number of vectors written at a time."""
    page: int
    """Number of scores or ids asked for, or points deleted, at a time."""
    exact: bool
    """Whether it has to be told to be exact, for there is a graph that it would use."""


def look(server: Server) -> CollectionInfo | None:
    """Describe the collection of a server; None if there is none."""

    def ask(client: QdrantClient) -> CollectionInfo | None:
        if not client.collection_exists(server.collection):
            return None
        config = client.get_collection(server.collection).config
        said = (config.metadata or {}).get(_OWN)
        own: Mapping[str, Any] = said if isinstance(said, Mapping) else {}
        dense = config.params.vectors if isinstance(config.params.vectors, Mapping) else {}
        dimension = dense[DENSE].size if DENSE in dense else None
        kind = Kind(own.get("journal"), own.get("embedder"), dimension, own.get("layout"))
        return CollectionInfo(config, kind, tuple(own.get("large_tenants", ())))

    return server.ask_first("open", ask)


def opened(server: Server, kind: Kind) -> CollectionInfo:
    """The collection of a server, made for this if it is not there.

    Raises:
        StoreMismatchError: It was made for something else; nothing of it was touched.
    """
    found = look(server) or make(server, kind)
    check(found.kind, server, wanted=kind)
    return found


def make(server: Server, kind: Kind) -> CollectionInfo:
    """Make a collection for this, unless somebody makes one at this moment; return what there is then."""
    from qdrant_client import models

    def create(client: QdrantClient) -> None:
        options = server.options
        own: dict[str, Any] = {"sharding_method": "custom"} if options.large_tenants else {}
        dense = models.VectorParams(size=kind.dimension, distance=models.Distance.DOT, on_disk=options.on_disk)
        client.create_collection(
            server.collection,
            vectors_config={DENSE: dense},
            sparse_vectors_config={WORDS: models.SparseVectorParams(), LABELS: models.SparseVectorParams()},
            hnsw_config=models.HnswConfigDiff(m=0),  # no graph, for the ranking is exact
            metadata={
                _OWN: {
                    "journal": kind.journal,
                    "embedder": kind.embedder,
                    "layout": LAYOUT,
                    "large_tenants": options.large_tenants,
                }
            },
            **options.model_dump(include=_NUMBERS, exclude_none=True),
            **own,
        )
        if options.large_tenants:
            try:
                keys: tuple[int | str, ...] = (SHARED, *options.large_tenants)
                for key in keys:
                    client.create_shard_key(server.collection, key)
            except BaseException:  # without them it is of no use
                client.delete_collection(server.collection)
                raise
        for field, of_field in INDEXES.items():
            keyword = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
            schema: Any = keyword if of_field == "tenant" else models.PayloadSchemaType(of_field)
            client.create_payload_index(server.collection, field, schema)

    try:
        server.ask("make", create)
    except StoreError:
        if (found := look(server)) is None:
            raise
        return found  # another process was quicker
    found = look(server)
    if found is None or found.kind.journal != kind.journal:
        hint = "install a newer qdrant"
        raise StoreError(f"{server.what} cannot say whose it is: the server is older than version 1.16", hint=hint)
    return found


def drop(server: Server) -> None:
    """Delete a collection with all that it holds."""
    server.ask("delete", lambda client: client.delete_collection(server.collection))


def count(server: Server) -> int:
    """Count the points of a collection."""
    return server.ask("read", lambda client: client.count(server.collection, exact=True).count)


def check(found: Kind, server: Server, *, wanted: Kind) -> None:
    """Refuse a collection that is not this journal's, or not of this embedder's vectors.

    Raises:
        StoreMismatchError: It is.
    """
    reindex = f"stitch reindex --memory {server.url}"
    adopt = f"name another with STITCH_COLLECTION, or see what would be replaced: {reindex} --adopt --dry-run"
    if found.journal is None:
        reason, hint = "holds something else than a memory of stitch", adopt
    elif found.journal != wanted.journal:
        reason, hint = f"belongs to the journal {found.journal}, and this one is {wanted.journal}", adopt
    elif found.layout != LAYOUT:
        reason, hint = "was written by another version of stitch", f"{reindex} makes it anew from the journal"
    elif found.embedder not in (None, wanted.embedder):
        reason, hint = f"was written with embedder {found.embedder!r}, not {wanted.embedder!r}", reindex
    elif found.dimension != wanted.dimension:
        reason, hint = f"was made for vectors of dimension {found.dimension}, not {wanted.dimension}", reindex
    else:
        return
    raise StoreMismatchError(f"{server.what} {reason}", hint=hint)


class Adoption(NamedTuple):
    """Contents of a collection that a journal would take over, and that go when it does."""

    journal: str | None
    """The id of the journal whose it is; None if it does not say."""
    points: int


def adopted(server: Server, *, journal: str) -> Adoption | None:
    """Contents that go when a journal takes a collection over; None if there are none, or they are its own."""
    found = look(server)
    if found is None or found.kind.journal == journal:
        return None
    return Adoption(found.kind.journal, count(server))


def make_room(server: Server, kind: Kind, *, adopt: bool) -> None:
    """Drop a collection that is made for something else, or otherwise than its options want it.

    With `adopt` it is dropped though others may have put something there.

    Raises:
        StoreMismatchError: It is, or may be, of use to others; nothing was dropped.
    """
    found = look(server)
    if found is None or (found.kind == kind and found.is_as(server.options)):
        return
    reason, whose = "", found.kind.journal
    if whose is None and (points := count(server)):
        reason = f"it holds {points} points, and does not say whose they are"
    elif whose not in (None, kind.journal):
        reason = f"it belongs to the journal {whose}, and this one is {kind.journal}"
    if reason and not adopt:
        raise StoreMismatchError(
            f"{server.what} is not built anew: {reason}",
            hint="name another with STITCH_COLLECTION, or see with --adopt --dry-run what would be dropped",
        )
    drop(server)


def limits_of(config: models.CollectionConfig, *, what: str) -> Limits:
    """The limits of a collection, with those of its strict mode.

    Raises:
        StoreError: Nothing can be written or read with them.
    """
    strict, graph = config.strict_mode_config, config.hnsw_config.m != 0
    if strict is None or not strict.enabled:
        return Limits(_BATCH, _PAGE, graph)
    every = ("upsert_max_batchsize", "write_rate_limit", "read_rate_limit", "max_query_limit", "condition_max_size")
    allowed = {name: value for name in every if (value := getattr(strict, name)) is not None}
    for name, value in allowed.items():
        if value == 0 and name != "condition_max_size":
            hint = f"raise {name} of the collection"
            raise StoreError(f"{what} allows nothing: its strict mode has {name} 0", hint=hint)
    if strict.search_allow_exact is False:
        raise StoreError(
            f"{what} cannot be searched exactly: its strict mode has search_allow_exact false",
            hint="allow exact searches of the collection",
        )
    batch = (allowed.get(name, _BATCH) for name in every[:3])
    page = (allowed.get(name, _PAGE) for name in every[1:])
    return Limits(min(_BATCH, *batch), max(1, min(_PAGE, *page)), graph)
