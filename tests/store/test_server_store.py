"""The store on a server: the contract, against the client's local mode and, if there is one, a live server."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import grpc
import pytest
from httpx import Headers
from hypothesis import settings
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse

from stitch.core import ContextualIntent, DensityQuery, Label, LabelKind
from stitch.errors import StoreError, StoreMismatchError, StoreUnavailableError
from stitch.store import ServerStore
from stitch.testing.contracts.store import MakeStore, SnippetStoreContract
from stitch.testing.contracts.worlds import DIMENSION, EMBEDDER, make_record
from stitch.testing.servers import LoopbackServer, Reply, Silence

LIVE = os.environ.get("STITCH_TEST_QDRANT_URL")

pytestmark = [  # what the client says of local mode and of this machine
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant"),
    pytest.mark.filterwarnings("ignore:Local mode performs exact"),
    pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection"),
]


def open_store(client: QdrantClient, collection: str = "stitch", **options: object) -> ServerStore:
    about: dict[str, Any] = {"embedder_name": EMBEDDER, "dimension": DIMENSION, "collection": collection, **options}
    return ServerStore("http://qdrant.example", client=client, **about)


class TestServerStoreInLocalMode(SnippetStoreContract):
    worlds = 3
    questions = 2 * settings().max_examples

    @pytest.fixture
    def make_store(self) -> MakeStore:
        return lambda: open_store(QdrantClient(":memory:"))


@pytest.mark.server
@pytest.mark.skipif(LIVE is None, reason="STITCH_TEST_QDRANT_URL names no server")
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


def test_two_stores_share_a_collection() -> None:
    client = QdrantClient(":memory:")
    one, other = open_store(client), open_store(client)
    one.put([make_record("1")])
    other.put([make_record("2", position=1)])
    assert [snippet.step for snippet in one.scroll("t")] == ["1", "2"]
    one.close()
    assert other.count() == 2


@pytest.mark.parametrize(
    ("option", "says"),
    [({"embedder_name": "other"}, "embedder 'contract-8', not 'other'"), ({"dimension": 4}, "dimension 8, not 4")],
)
def test_a_collection_of_another_embedder_is_refused_with_the_command_that_mends_it(
    option: dict[str, Any], says: str
) -> None:
    client = QdrantClient(":memory:")
    open_store(client).put([make_record("1")])
    with pytest.raises(StoreMismatchError, match=says) as caught:
        open_store(client, **option)
    assert caught.value.hint == "stitch reindex --memory http://qdrant.example"


def test_a_snippet_of_another_schema_is_refused() -> None:
    client = QdrantClient(":memory:")
    record = make_record("1")
    open_store(client).put([record, make_record("2")])
    client.set_payload("stitch", {"schema_version": 99}, points=[record.snippet.id])
    with pytest.raises(StoreMismatchError, match="schema version 99, not 1"):
        open_store(client)


def test_a_collection_of_something_else_is_refused() -> None:
    client = QdrantClient(":memory:")
    client.create_collection("stitch", models.VectorParams(size=8, distance=models.Distance.COSINE))
    with pytest.raises(StoreMismatchError, match="something else than snippets"):
        open_store(client)


class LateClient(QdrantClient):
    """A client before which another process makes the collection, just when it was not there."""

    made_by_others = True

    def create_collection(self, collection_name: str, **options: Any) -> bool:  # type: ignore[override]  # by name only
        if self.made_by_others:
            super().create_collection(collection_name, **options)
        raise UnexpectedResponse(409, "Conflict", b"exists", Headers())


def test_a_collection_that_another_process_made_first_is_used() -> None:
    store = open_store(LateClient(":memory:"))
    store.put([make_record("1")])
    assert store.count() == 1


def test_a_collection_that_cannot_be_made_is_an_error() -> None:
    client = LateClient(":memory:")
    client.made_by_others = False
    with pytest.raises(StoreError, match=r"cannot make the collection .*409"):
        open_store(client)


class ForgetfulClient(QdrantClient):
    """A client from which another process deletes what was just found."""

    def retrieve(self, *arguments: Any, **options: Any) -> list[models.Record]:
        return super().retrieve(*arguments, **options)[1:]


def test_a_snippet_deleted_while_it_is_ranked_is_left_out() -> None:
    store = open_store(ForgetfulClient(":memory:"))
    store.put([make_record("1"), make_record("2")])
    assert len(store.rank(DensityQuery(tenant="t"))) == 1


def test_a_large_tier_is_decided_by_similarity_without_fetching_all_of_it() -> None:
    labels = {Label(LabelKind.SCOPE, "day 1"): frozenset({"day 1", "first day"})}
    records = [
        make_record(
            str(number),
            position=number,
            intent=ContextualIntent(scope=("day 1", "first day", "day 2")[number % 3]),
            vector=[1.0, number, *[0] * 6],
        )
        for number in range(900)
    ]
    store = open_store(QdrantClient(":memory:"))
    store.put(records)
    hits = store.rank(DensityQuery(tenant="t", labels=labels, vector=records[0].vector, k=5))
    assert [hit.snippet.position for hit in hits] == [0, 1, 3, 4, 6]
    assert {hit.density for hit in hits} == {1.0}


def refused_open(url: str, *, timeout_s: float = 0.1, **options: object) -> StoreError:
    about = {"embedder_name": EMBEDDER, "dimension": DIMENSION, "timeout_s": timeout_s, **options}
    with pytest.raises(StoreError) as caught:
        ServerStore(url, **about)  # type: ignore[arg-type]  # options of any type
    return caught.value


@pytest.mark.parametrize(
    ("status", "kind", "says"),
    [
        (401, StoreError, "refuses the key"),
        (403, StoreError, "refuses the key"),
        (400, StoreError, "400"),
        (500, StoreUnavailableError, "500"),
        (503, StoreUnavailableError, "503"),
        (429, StoreUnavailableError, ": no"),
    ],
)
def test_what_a_server_answers_becomes_an_error_of_our_own(status: int, kind: type[StoreError], says: str) -> None:
    reply = Reply({"status": {"error": "no"}}, status=status, headers={"retry-after": "1"} if status == 429 else {})
    with LoopbackServer(lambda _: reply) as server:
        error = refused_open(server.url, api_key="secret")
    assert type(error) is kind
    assert says in error.message
    assert "\n" not in error.message
    assert "secret" not in error.message + error.hint


def test_a_server_that_says_nothing_is_given_up_in_time() -> None:
    with LoopbackServer(lambda _: Silence()) as server:
        error = refused_open(server.url, timeout_s=1)
    assert isinstance(error, StoreUnavailableError)
    assert server.url in error.hint


def test_a_reply_that_is_not_of_qdrant_is_an_error_of_our_own() -> None:
    with LoopbackServer(lambda _: Reply(b"<html>")) as server:
        assert isinstance(refused_open(server.url), StoreUnavailableError)


@pytest.mark.parametrize("url", ["http://[", "nonsense://x y", "http://host:99999"])
def test_what_is_no_address_is_named(url: str) -> None:
    error = refused_open(url)
    assert "is not the address of a qdrant server" in error.message
    assert "http://localhost:6333" in error.hint


@contextmanager
def grpc_server(code: grpc.StatusCode) -> Iterator[int]:
    """A gRPC server that answers every call with a status; yields its port."""

    class Refusal(grpc.GenericRpcHandler):  # type: ignore[misc]  # gRPC ships no types
        def service(self, handler_call_details: object) -> grpc.RpcMethodHandler:
            return grpc.unary_unary_rpc_method_handler(lambda _, context: context.abort(code, "two\nlines"))

    with ThreadPoolExecutor(1) as pool:
        server = grpc.server(pool, handlers=[Refusal()])
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        yield port
        server.stop(None).wait()


@pytest.mark.parametrize(
    ("code", "kind", "says"),
    [
        (grpc.StatusCode.UNAUTHENTICATED, StoreError, "refuses the key"),
        (grpc.StatusCode.PERMISSION_DENIED, StoreError, "refuses the key"),
        (grpc.StatusCode.INVALID_ARGUMENT, StoreError, "two lines"),
        (grpc.StatusCode.UNAVAILABLE, StoreUnavailableError, "two lines"),
        (grpc.StatusCode.INTERNAL, StoreUnavailableError, "two lines"),
    ],
)
def test_what_a_grpc_server_answers_becomes_an_error_of_our_own(
    code: grpc.StatusCode, kind: type[StoreError], says: str
) -> None:
    with grpc_server(code) as port:
        client = QdrantClient(
            url="http://127.0.0.1", grpc_port=port, prefer_grpc=True, timeout=60, check_compatibility=False
        )
        error = refused_open("http://127.0.0.1", client=client)
        client.close()
    assert type(error) is kind
    assert says in error.message
