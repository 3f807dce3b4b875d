"""A stand-in for a Qdrant server: its REST interface as far as `ServerStore` uses it, over the client's local mode.

What is said goes over real sockets, through the client's own REST code. It can be told to hang.
"""

from __future__ import annotations

import threading
import warnings
from typing import Any

from pydantic import BaseModel, TypeAdapter
from qdrant_client import QdrantClient, models

from stitch.testing.servers import LoopbackServer, Reply, Request, Silence


class LoopbackQdrant(LoopbackServer):
    """Answers on 127.0.0.1 as a Qdrant server would, while it is entered."""

    def __init__(self) -> None:
        super().__init__(self._reply)
        self.hangs = False
        """Whether requests are kept without an answer."""
        self._qdrant = QdrantClient(":memory:")
        self._lock = threading.Lock()

    def _reply(self, request: Request) -> Reply | Silence:
        if self.hangs:
            return Silence()
        with self._lock, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            path = request.path.partition("?")[0].strip("/").split("/")
            result = self._answer(request.method, path[1], "/".join(path[2:]), request.body)
        return Reply({"result": _plain(result), "status": "ok", "time": 0.0})

    def _answer(self, method: str, name: str, what: str, body: Any) -> Any:
        qdrant = self._qdrant
        if what == "exists":
            return {"exists": qdrant.collection_exists(name)}
        if not what and method == "PUT":
            made = models.CreateCollection.model_validate(body)
            assert made.vectors is not None
            return qdrant.create_collection(
                name, vectors_config=made.vectors, sparse_vectors_config=made.sparse_vectors
            )
        if not what:
            return qdrant.get_collection(name)
        if what == "index":
            return _DONE
        if what == "points" and method == "PUT":
            qdrant.upsert(name, models.PointsList.model_validate(body).points)
            return _DONE
        if what == "points":
            asked = models.PointRequest.model_validate(body)
            return qdrant.retrieve(name, asked.ids, with_payload=bool(asked.with_payload))
        if what == "points/scroll":
            wanted = models.ScrollRequest.model_validate(body)
            points, offset = qdrant.scroll(
                name,
                wanted.filter,
                limit=wanted.limit or 10,
                offset=wanted.offset,
                with_payload=wanted.with_payload or False,
            )
            return {"points": points, "next_page_offset": offset}
        if what == "points/count":
            return qdrant.count(name, models.CountRequest.model_validate(body).filter)
        if what == "points/query":
            query = models.QueryRequest.model_validate(body)
            return qdrant.query_points(
                name, query=query.query, using=query.using, query_filter=query.filter, limit=query.limit or 10,
                with_payload=query.with_payload or False, search_params=query.params,
            )  # fmt: skip
        if what == "points/payload":
            noted = models.SetPayload.model_validate(body)
            qdrant.set_payload(name, noted.payload, points=noted.points or [])
            return _DONE
        if what == "points/delete":
            qdrant.delete(name, TypeAdapter(models.PointsSelector).validate_python(body))
            return _DONE
        raise AssertionError(f"{method} {what} is not played here")


_DONE = {"operation_id": 0, "status": "completed"}


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value
