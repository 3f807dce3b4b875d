"""The store on a server: the contract, against the client's local mode and, if there is one, a live server."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator

import pytest
from qdrant_client import QdrantClient

from stitch.store import ServerStore
from stitch.testing.contracts.store import DIMENSION, EMBEDDER, MakeStore, SnippetStoreContract

LIVE = os.environ.get("STITCH_QDRANT_URL")

pytestmark = [  # what local mode says of requests that are meant for a server
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant"),
    pytest.mark.filterwarnings("ignore:Local mode performs exact"),
]


def open_store(client: QdrantClient, collection: str = "stitch", **options: object) -> ServerStore:
    about = {"embedder_name": EMBEDDER, "dimension": DIMENSION, "collection": collection, **options}
    return ServerStore("http://qdrant.example", client=client, **about)  # type: ignore[arg-type]  # options of any type


class TestServerStoreInLocalMode(SnippetStoreContract):
    worlds = 3
    questions = 60

    @pytest.fixture
    def make_store(self) -> MakeStore:
        return lambda: open_store(QdrantClient(":memory:"))


@pytest.mark.server
@pytest.mark.skipif(LIVE is None, reason="STITCH_QDRANT_URL names no server")
class TestServerStoreOnAServer(SnippetStoreContract):
    worlds = 2

    @pytest.fixture
    def make_store(self) -> Iterator[MakeStore]:
        assert LIVE is not None
        key = os.environ.get("STITCH_QDRANT_KEY")
        client = QdrantClient(url=LIVE, api_key=key)
        made: list[str] = []

        def make() -> ServerStore:
            made.append(f"stitch-contract-{uuid.uuid4()}")
            return ServerStore(LIVE, api_key=key, collection=made[-1], embedder_name=EMBEDDER, dimension=DIMENSION)

        yield make
        for collection in made:
            client.delete_collection(collection)
        client.close()
