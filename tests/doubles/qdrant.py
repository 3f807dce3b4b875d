"""A stand-in for a Qdrant server or cluster: its REST interface as far as stores use it.

What is said goes over real sockets, through the client's own REST code. Points lie in shards of Qdrant's engine, whose
results are merged by score, as a cluster does. It can be told to be strict, to have no room for now, to hang, and to be
away.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import weakref
import zlib
from collections import Counter
from copy import copy
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import qdrant_edge as edge
from qdrant_client.embed import schema_parser

from stitch.testing.servers import LoopbackServer, Reply, Request, Silence

# Each client copies all that is known of its models, which takes longer than what most tests ask of one.
vars(schema_parser)["deepcopy"] = copy

_DONE = {"operation_id": 0, "status": "completed"}


class RefusalError(Exception):
    """What the server answers with another status than 200."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, headers or {}


class Collection:
    """Points in a few shards of the engine.

    Args:
        made: What it was made with.
        shards: How many, if that does not say.
        like: Another one, of which this is a copy.
    """

    def __init__(self, made: dict[str, Any], *, shards: int, like: Collection | None = None) -> None:
        self.made = made
        self.metadata: dict[str, Any] = dict(like.metadata if like else made.get("metadata") or {})
        self.indexes: dict[str, Any] = dict(like.indexes) if like else {}
        # In main memory where tests write there, for it has room.
        where = os.environ.get("PYTEST_DEBUG_TEMPROOT")
        self._folder = Path(tempfile.mkdtemp(prefix="stitch-qdrant-", dir=where))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self.count = made.get("shard_number") or shards
        self.by_key: dict[Any, list[Any]] = {}
        """Shards by their key; None if they have none."""
        for key in like.by_key if like else [] if self.has_keys else [None]:
            self.add(key, like)

    @property
    def has_keys(self) -> bool:
        """Whether points are said to be in shards of a key."""
        return self.made.get("sharding_method") == "custom"

    def add(self, key: Any, like: Collection | None = None) -> None:
        """Make the shards of a key."""
        copied = like.by_key[key] if like else [None] * self.count
        self.by_key[key] = [self._shard(f"{key!r}-{number}", each, like) for number, each in enumerate(copied)]

    @property
    def shards(self) -> list[Any]:
        """All of them."""
        return [shard for own in self.by_key.values() for shard in own]

    def _shard(self, name: str, copied: Any, like: Collection | None) -> Any:
        folder = self._folder / name
        if like is not None:
            copied.flush()
            shutil.copytree(like._folder / name, folder)
            return edge.EdgeShard.load(str(folder))
        dense = {
            name: edge.EdgeVectorParams(size=each["size"], distance=edge.Distance.Dot, memory=edge.Memory.Cold)
            for name, each in self.made["vectors"].items()
        }
        sparse = {name: edge.EdgeSparseVectorParams() for name in self.made.get("sparse_vectors") or {}}
        folder.mkdir()
        config = edge.EdgeConfig(vectors=dense, sparse_vectors=sparse, wal_enabled=False)
        return edge.EdgeShard.create(str(folder), config)

    def copy(self) -> Collection:
        """A snapshot."""
        return Collection(self.made, shards=self.count, like=self)

    def among(self, asked: Any, *, to_write: bool = False) -> list[list[Any]]:
        """The shards of the keys that a request names, by key: of all, if it names none and only reads."""
        if to_write and self.has_keys and asked is None:
            raise RefusalError(400, "Wrong input: Shard key not specified")
        keys = list(self.by_key) if asked is None else asked if isinstance(asked, list) else [asked]
        if unknown := [key for key in keys if key not in self.by_key]:
            raise RefusalError(400, f"Wrong input: Shard key {unknown[0]} not found")
        return [self.by_key[key] for key in keys]

    def ids(self) -> list[str]:
        """All ids, in their order."""
        found = (point for shard in self.shards for point in shard.scroll(edge.ScrollRequest(limit=10**6))[0])
        return sorted(str(point.id) for point in found)

    def find(self, point: int | str) -> dict[str, Any] | None:
        """A point; None if it is not there."""
        found = [found for own in self.by_key.values() for found in of(point, own).retrieve([point], True, True)]
        return {"payload": found[0].payload, "vector": found[0].vector} if found else None


def of(point: int | str, shards: list[Any]) -> Any:
    """The one of the shards of a key where a point is, or would be."""
    return shards[zlib.crc32(str(point).encode()) % len(shards)]


class LoopbackQdrant(LoopbackServer):
    """Answers on 127.0.0.1 as a Qdrant server would, while it is entered.

    Args:
        node_of: Another one, to be a further node of its cluster.
        shards: How many shards a collection has.
    """

    def __init__(self, *, node_of: LoopbackQdrant | None = None, shards: int = 1) -> None:
        super().__init__(self._reply)
        self.hangs = False
        """Whether requests are kept without an answer."""
        self.away = False
        """Whether connections are closed without an answer."""
        self.busy = 0
        """How many requests are still answered with 429."""
        self.strict: dict[str, Any] = {}
        """The limits of strict mode, as a collection's configuration has them."""
        self._spent = Counter[str]()
        self.keeps_metadata = True
        """Whether it is of a version that does."""
        self.nodes = 1
        """How many nodes it says that its cluster has."""
        self.shards = shards
        self.collections: dict[str, Collection] = {} if node_of is None else node_of.collections
        self._lock: threading.Lock = threading.Lock() if node_of is None else node_of._lock

    def _reply(self, request: Request) -> Reply | Silence:
        if self.hangs:
            return Silence()
        if self.away:
            return Reply({}, cut=0)
        if self.busy:
            self.busy -= 1
            return _refusal(429, "Rate limiting exceeded: retry after 1s", {"retry-after": "1"})
        path = request.path.partition("?")[0].strip("/").split("/")
        if path == ["cluster"]:
            return Reply({"result": self._cluster(), "status": "ok", "time": 0.0})
        if path == [""]:
            return Reply({"title": "qdrant - vector search engine", "version": "1.18.3"})
        try:
            with self._lock:
                result = self._answer(request.method, unquote(path[1]), "/".join(path[2:]), request.body)
        except RefusalError as refused:
            return _refusal(refused.status, refused.message, refused.headers)
        return Reply({"result": result, "status": "ok", "time": 0.0})

    def _cluster(self) -> Any:
        if self.nodes == 1:
            return {"status": "disabled"}
        raft: dict[str, Any] = {"term": 1, "commit": 1, "pending_operations": 0, "is_voter": True}
        return {
            "status": "enabled", "peer_id": 1, "peers": {str(n): {"uri": f"http://{n}"} for n in range(self.nodes)},
            "raft_info": raft, "consensus_thread_status": {"consensus_thread_status": "stopped"},
            "message_send_failures": {},
        }  # fmt: skip

    def _answer(self, method: str, name: str, what: str, body: Any) -> Any:
        if what == "exists":
            return {"exists": name in self.collections}
        if not what and method == "PUT":
            if name in self.collections:
                raise RefusalError(409, f"Wrong input: Collection `{name}` already exists!")
            self.collections[name] = Collection(body, shards=self.shards)
            if not self.keeps_metadata:
                self.collections[name].metadata = {}
            return True
        if not what and method == "DELETE":
            return self.collections.pop(name, None) is not None
        if name not in self.collections:
            raise RefusalError(404, f"Not found: Collection `{name}` doesn't exist!")
        collection = self.collections[name]
        if not what and method == "PATCH":
            collection.metadata |= body["metadata"]
            return True
        if not what:
            return self._info(collection)
        if what != "index":
            self._check_limits(what if method == "POST" else "put", body)
        answer = {
            "points": _retrieve if method == "POST" else _upsert, "index": _index, "points/scroll": _scroll,
            "shards": self._add_shards,
            "points/count": _count, "points/query/batch": _query, "points/delete": _delete,
        }[what]  # fmt: skip
        return answer(collection, body)

    def _add_shards(self, collection: Collection, body: Any) -> Any:
        if self.nodes == 1:
            raise RefusalError(400, "Bad request: Distributed mode disabled")
        collection.add(body["shard_key"])
        return True

    def _info(self, collection: Collection) -> Any:
        made = collection.made
        params = {
            "vectors": made["vectors"], "sparse_vectors": made.get("sparse_vectors"),
            "shard_number": collection.count, "replication_factor": made.get("replication_factor") or 1,
            "write_consistency_factor": made.get("write_consistency_factor") or 1, "on_disk_payload": True,
        }  # fmt: skip
        hnsw = {"m": 16, "ef_construct": 100, "full_scan_threshold": 10_000, **(made.get("hnsw_config") or {})}
        optimizer = {
            "deleted_threshold": 0.2, "vacuum_min_vector_number": 1000, "default_segment_number": 0,
            "flush_interval_sec": 5,
        }  # fmt: skip
        config = {"params": params, "hnsw_config": hnsw, "optimizer_config": optimizer, "metadata": collection.metadata}
        if self.strict:
            config["strict_mode_config"] = {"enabled": True, **self.strict}
        return {
            "status": "green", "optimizer_status": "ok", "points_count": len(collection.ids()),
            "segments_count": 1, "config": config, "payload_schema": {},
        }  # fmt: skip

    def _check_limits(self, what: str, body: Any) -> None:
        most = self.strict
        for each in body.get("searches") or [body]:
            limit, among = each.get("limit") or 0, _among(each)
            if len(among) > most.get("condition_max_size", len(among)):
                raise RefusalError(400, f"Forbidden: Condition size limit exceeded {most['condition_max_size']}")
            if limit > most.get("max_query_limit", limit):
                raise RefusalError(400, f'Forbidden: Limit exceeded {limit} > {most["max_query_limit"]} for "limit"')
        most_points = most.get("upsert_max_batchsize")
        if what == "put" and most_points is not None and len(body["points"]) > most_points:
            raise RefusalError(400, f"Forbidden: Upsert limit exceeded {len(body['points'])} > {most_points}")
        self._spend(what, len(body.get("ids") or body.get("points") or [0]))

    def _spend(self, what: str, cost: int) -> None:
        """Take tokens for a request; who is told to come back later finds them all there again."""
        name = "write_rate_limit" if what in ("put", "points/delete") else "read_rate_limit"
        if (most := self.strict.get(name)) is None:
            return
        if cost > most:
            raise RefusalError(429, "Rate limiting exceeded: request larger than rate limiter capacity")
        if self._spent[name] + cost > most:
            self._spent[name] = 0
            raise RefusalError(429, f"Rate limiting exceeded: {name}", {"retry-after": "0"})
        self._spent[name] += cost


def _refusal(status: int, message: str, headers: dict[str, str]) -> Reply:
    return Reply({"status": {"error": message}, "time": 0.0}, status=status, headers=headers)


def _among(body: Any) -> list[Any]:
    conditions = (body.get("filter") or {}).get("must") or []
    return [each for condition in conditions for each in condition.get("has_id") or []]


def _index(collection: Collection, body: Any) -> Any:
    collection.indexes[body["field_name"]] = body["field_schema"]  # noted only: without it answers are the same
    return _DONE


def _upsert(collection: Collection, body: Any) -> Any:
    for shards in collection.among(body.get("shard_key"), to_write=True):
        made: dict[Any, list[Any]] = {}
        for point in body["points"]:
            vectors = {name: _vector(each) for name, each in point["vector"].items()}
            new = edge.Point(point["id"], vectors, point.get("payload") or {})
            made.setdefault(of(point["id"], shards), []).append(new)
        for shard, points in made.items():
            shard.update(edge.UpdateOperation.upsert_points(points))
    return _DONE


def _vector(said: Any) -> Any:
    return edge.SparseVector(**said) if isinstance(said, dict) else said


def _retrieve(collection: Collection, body: Any) -> Any:
    asked, found = (body.get("with_payload") or False, body.get("with_vector") or False), []
    for shards in collection.among(body.get("shard_key")):
        for each in body["ids"]:
            found += of(each, shards).retrieve([each], *asked)
    return list(map(_record, found))


def _record(point: Any) -> Any:
    vectors = {
        name: {"indices": each.indices, "values": each.values} if isinstance(each, edge.SparseVector) else each
        for name, each in (point.vector or {}).items()
    }
    return {"id": str(point.id), "payload": point.payload, "vector": vectors or None}


def _scroll(collection: Collection, body: Any) -> Any:
    limit, found = body.get("limit") or 10, []
    for shard in chain.from_iterable(collection.among(body.get("shard_key"))):
        request = edge.ScrollRequest(
            limit=10**6, filter=_filter(body.get("filter")), with_payload=body.get("with_payload") or False,
            with_vector=body.get("with_vector") or False,
        )  # fmt: skip
        found += shard.scroll(request)[0]
    found.sort(key=lambda point: str(point.id))
    start = next((n for n, point in enumerate(found) if str(point.id) == body.get("offset")), 0)
    left = found[start + limit :]
    points = list(map(_record, found[start : start + limit]))
    return {"points": points, "next_page_offset": str(left[0].id) if left else None}


def _count(collection: Collection, body: Any) -> Any:
    request = edge.CountRequest(exact=True, filter=_filter(body.get("filter")))
    return {"count": sum(shard.count(request) for shard in chain(*collection.among(body.get("shard_key"))))}


def _query(collection: Collection, body: Any) -> Any:
    return [{"points": _found(collection, each)} for each in body["searches"]]


def _found(collection: Collection, body: Any) -> Any:
    said = body["query"]
    asked = _vector(said["nearest"] if isinstance(said, dict) and "nearest" in said else said)
    offset, scored = body.get("offset") or 0, []
    for shard in chain.from_iterable(collection.among(body.get("shard_key"))):
        request = edge.QueryRequest(
            limit=body["limit"] + offset, query=edge.Query.Nearest(asked, using=body["using"]),
            filter=_filter(body.get("filter")), params=edge.SearchParams(exact=True),
        )  # fmt: skip
        scored += [(point.score, str(point.id)) for point in shard.query(request)]
    best = sorted(scored, key=lambda pair: -pair[0])[offset : offset + body["limit"]]
    return [{"id": each, "version": 0, "score": score} for score, each in best]


def _delete(collection: Collection, body: Any) -> Any:
    for shards in collection.among(body.get("shard_key"), to_write=True):
        for each in body["points"]:
            of(each, shards).update(edge.UpdateOperation.delete_points([each]))
    return _DONE


def _filter(said: Any) -> Any:
    if said is None:
        return None
    parts: dict[str, Any] = {
        name: list(map(_condition, each)) for name, each in said.items() if each and name != "min_should"
    }
    if least := said.get("min_should"):
        parts["min_should"] = edge.MinShould(list(map(_condition, least["conditions"])), least["min_count"])
    return edge.Filter(**parts)


def _condition(said: Any) -> Any:
    if "has_id" in said:
        return edge.HasIdCondition(set(said["has_id"]))
    if "key" not in said:
        return _filter(said)
    if match := said.get("match"):
        made = edge.MatchAny(match["any"]) if "any" in match else edge.MatchValue(match["value"])
        return edge.FieldCondition(said["key"], match=made)
    bounds = {name: value for name, value in said["range"].items() if value is not None}
    of_time = any(isinstance(value, str) for value in bounds.values())
    return edge.FieldCondition(said["key"], range=(edge.RangeDateTime if of_time else edge.RangeFloat)(**bounds))
