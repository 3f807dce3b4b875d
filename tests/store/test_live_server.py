"""The store against a live Qdrant: one node or a cluster, over REST and gRPC.

`STITCH_TEST_QDRANT_URL` (or `STITCH_QDRANT_URL`) names it, with commas between the nodes of a cluster;
`STITCH_TEST_QDRANT_SHARDS` and `STITCH_TEST_QDRANT_REPLICAS` say what collections are made like.
"""

import os
import random
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from contracts.store import MakeStore, SnippetStoreContract
from contracts.worlds import DIMENSION, EMBEDDER, random_query, random_records
from stitch.store import QdrantStore, ServerStore
from stitch.store.collection import drop
from stitch.store.connection import QdrantOptions, Server

LIVE = os.environ.get("STITCH_TEST_QDRANT_URL") or os.environ.get("STITCH_QDRANT_URL")
JOURNAL = "live tests"

pytestmark = [pytest.mark.server, pytest.mark.skipif(LIVE is None, reason="STITCH_TEST_QDRANT_URL names no server")]

MakeServer = Callable[[], Server]


@pytest.fixture(params=["rest", "grpc"])
def make_server(request: pytest.FixtureRequest) -> Iterator[MakeServer]:
    made: list[Server] = []

    def make() -> Server:
        assert LIVE is not None
        server = Server(
            url=LIVE,
            collection=f"stitch-live-{uuid.uuid4()}",
            api_key=os.environ.get("STITCH_QDRANT_KEY"),
            options=QdrantOptions(
                prefer_grpc=request.param == "grpc",
                shard_number=int(os.environ.get("STITCH_TEST_QDRANT_SHARDS", "1")),
                replication_factor=int(os.environ.get("STITCH_TEST_QDRANT_REPLICAS", "1")),
            ),
        )
        made.append(server)
        return server

    yield make
    for server in made:
        with closing(replace(server)) as there:
            drop(there)


def open_store(server: Server) -> ServerStore:
    return ServerStore(server, journal=JOURNAL, embedder_name=EMBEDDER, dimension=DIMENSION)


class TestServerStoreOnAServer(SnippetStoreContract):
    worlds = 2

    @pytest.fixture
    def make_store(self, make_server: MakeServer) -> MakeStore:
        return lambda: open_store(make_server())


def test_a_server_and_an_embedded_store_answer_alike_to_the_last_digit(make_server: MakeServer, tmp_path: Path) -> None:
    rng = random.Random(3)
    records = random_records(rng, 600)
    about = {"embedder_name": EMBEDDER, "dimension": DIMENSION}
    with (
        closing(open_store(make_server())) as served,
        closing(QdrantStore(tmp_path / "edge", **about)) as embedded,  # type: ignore[arg-type]  # by name
    ):
        for store in (served, embedded):
            store.put(records[:400])
            store.delete("t", [record.snippet.id for record in records[100:200]])
            store.put(records[300:])
        for _ in range(300):
            query, _ = random_query(rng)
            found = [
                [(hit.snippet.id, hit.density, hit.similarity) for hit in store.rank(query)]
                for store in (served, embedded)
            ]
            assert found[0] == found[1]
