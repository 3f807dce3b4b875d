"""A stand-in for a Qdrant server or cluster: its REST interface as far as stores use it.

What is said goes over real sockets, through the client's own REST code. Points lie in shards, each of which scores its
own as the real one does, in single precision. It can be told to hang, and to be away.
"""

from __future__ import annotations

import threading
from typing import Any
from urllib.parse import unquote

import numpy as np

from stitch.testing.servers import LoopbackServer, Reply, Request, Silence

_DONE = {"operation_id": 0, "status": "completed"}


class RefusalError(Exception):
    """What the server answers with another status than 200."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


class Collection:
    """Points by id in a few shards."""

    def __init__(self, made: dict[str, Any], *, shards: int) -> None:
        self.made = made
        self.metadata: dict[str, Any] = made.get("metadata") or {}
        self.shards: list[dict[int | str, dict[str, Any]]] = [{} for _ in range(made.get("shard_number") or shards)]

    def shard(self, point: int | str) -> dict[int | str, dict[str, Any]]:
        return self.shards[hash(point) % len(self.shards)]

    def find(self, point: int | str) -> dict[str, Any] | None:
        return self.shard(point).get(point)

    def ids(self) -> list[int | str]:
        ids = [point for shard in self.shards for point in shard]
        return sorted(ids, key=lambda point: (isinstance(point, str), point))


class LoopbackQdrant(LoopbackServer):
    """Answers on 127.0.0.1 as a Qdrant server would, while it is entered.

    Args:
        shards: How many shards a collection has.
    """

    def __init__(self, *, shards: int = 1) -> None:
        super().__init__(self._reply)
        self.hangs = False
        """Whether requests are kept without an answer."""
        self.away = False
        """Whether connections are closed without an answer."""
        self.shards = shards
        self.collections: dict[str, Collection] = {}
        self._lock = threading.Lock()

    def _reply(self, request: Request) -> Reply | Silence:
        if self.hangs:
            return Silence()
        if self.away:
            return Reply({}, cut=0)
        path = request.path.partition("?")[0].strip("/").split("/")
        if path == ["cluster"]:
            return Reply({"result": {"status": "disabled"}, "status": "ok", "time": 0.0})
        if path == [""]:
            return Reply({"title": "qdrant - vector search engine", "version": "1.18.3"})
        try:
            with self._lock:
                result = self._answer(request.method, unquote(path[1]), "/".join(path[2:]), request.body)
        except RefusalError as refused:
            return Reply({"status": {"error": refused.message}, "time": 0.0}, status=refused.status)
        return Reply({"result": result, "status": "ok", "time": 0.0})

    def _answer(self, method: str, name: str, what: str, body: Any) -> Any:
        if what == "exists":
            return {"exists": name in self.collections}
        if not what and method == "PUT":
            if name in self.collections:
                raise RefusalError(409, f"Wrong input: Collection `{name}` already exists!")
            self.collections[name] = Collection(body, shards=self.shards)
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
        answer = {
            "points": _retrieve if method == "POST" else _upsert,
            "points/scroll": _scroll, "points/count": _count, "points/query": _query, "points/delete": _delete,
        }[what]  # fmt: skip
        return answer(collection, body)

    def _info(self, collection: Collection) -> Any:
        made = collection.made
        params = {
            "vectors": made["vectors"], "sparse_vectors": made.get("sparse_vectors"),
            "shard_number": len(collection.shards), "replication_factor": made.get("replication_factor") or 1,
            "write_consistency_factor": made.get("write_consistency_factor") or 1, "on_disk_payload": True,
        }  # fmt: skip
        hnsw = {"m": 16, "ef_construct": 100, "full_scan_threshold": 10_000, **(made.get("hnsw_config") or {})}
        optimizer = {
            "deleted_threshold": 0.2, "vacuum_min_vector_number": 1000, "default_segment_number": 0,
            "flush_interval_sec": 5,
        }  # fmt: skip
        config = {"params": params, "hnsw_config": hnsw, "optimizer_config": optimizer, "metadata": collection.metadata}
        there = sum(map(len, collection.shards))
        return {
            "status": "green", "optimizer_status": "ok", "points_count": there,
            "segments_count": 1, "config": config, "payload_schema": {},
        }  # fmt: skip


def _upsert(collection: Collection, body: Any) -> Any:
    if "batch" in body:
        batch = body["batch"]
        payloads = batch.get("payloads") or [None] * len(batch["ids"])
        names = list(batch["vectors"])
        rows = zip(*batch["vectors"].values(), strict=True)
        points = [
            {"id": point, "vector": dict(zip(names, row, strict=True)), "payload": payload}
            for point, row, payload in zip(batch["ids"], rows, payloads, strict=True)
        ]
    else:
        points = body["points"]
    for point in points:
        kept = {name: np.array(vector, dtype=np.float32) for name, vector in point["vector"].items()}
        collection.shard(point["id"])[point["id"]] = {"vector": kept, "payload": point.get("payload")}
    return _DONE


def _retrieve(collection: Collection, body: Any) -> Any:
    wanted = body.get("with_vector")
    names = wanted if isinstance(wanted, list) else []
    found = []
    for each in body["ids"]:
        if (point := collection.find(each)) is not None:
            vectors = {name: point["vector"][name].tolist() for name in names if name in point["vector"]}
            payload = point["payload"] if body.get("with_payload") else None
            found.append({"id": each, "payload": payload, "vector": vectors if names else None})
    return found


def _scroll(collection: Collection, body: Any) -> Any:
    ids, limit = collection.ids(), body.get("limit") or 10
    start = ids.index(body["offset"]) if body.get("offset") is not None else 0
    points = _retrieve(collection, {**body, "ids": ids[start : start + limit]})
    return {"points": points, "next_page_offset": ids[start + limit] if len(ids) > start + limit else None}


def _count(collection: Collection, body: Any) -> Any:
    return {"count": sum(map(len, collection.shards))}


def _query(collection: Collection, body: Any) -> Any:
    (condition,) = body["filter"]["must"]
    query = body["query"]
    asked = np.array(query["nearest"] if isinstance(query, dict) else query, dtype=np.float32)
    scored = []
    for shard in collection.shards:
        own = [each for each in condition["has_id"] if each in shard and body["using"] in shard[each]["vector"]]
        scores = [float(np.dot(shard[each]["vector"][body["using"]], asked)) for each in own]
        scored += sorted(zip(scores, own, strict=True), key=lambda pair: -pair[0])[: body["limit"]]
    best = sorted(scored, key=lambda pair: -pair[0])[: body["limit"]]
    return {"points": [{"id": each, "version": 0, "score": score} for score, each in best]}


def _delete(collection: Collection, body: Any) -> Any:
    for each in body["points"]:
        collection.shard(each).pop(each, None)
    return _DONE
