"""The remote embedder, against a server on this machine that speaks the OpenAI embeddings protocol."""

import numpy as np
import pytest

from contracts.embedder import EmbedderContract
from doubles.embedding import EmbeddingServer
from stitch.embed import HashingEmbedder, RemoteEmbedder
from stitch.errors import EmbedderError
from stitch.testing.servers import Reply

AT_ONCE = {"retry-after-ms": "1"}
BUSY = Reply({"error": {"message": "slow down"}}, status=429, headers=AT_ONCE)
BROKEN = Reply({"error": {"message": "oops"}}, status=500, headers=AT_ONCE)
TEXTS = ["a room", "a price", "breakfast"]


def remote(server, **settings):
    return RemoteEmbedder("small", dimension=256, base_url=server.url, **settings)


def reply_of(*vectors, indexes=None):
    places = indexes or range(len(vectors))
    return Reply({"data": [{"index": at, "embedding": vector} for at, vector in zip(places, vectors, strict=True)]})


@pytest.fixture
def server():
    with EmbeddingServer() as running:
        yield running


class TestRemoteEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self, server):
        embedder = remote(server, batch_size=2)
        yield embedder
        embedder.close()


def failing(*replies, **settings):
    """The error of an embedder whose server gives these replies, and how many requests it took."""
    with EmbeddingServer(first=replies) as server:
        embedder = remote(server, **settings)
        with pytest.raises(EmbedderError) as raised:
            embedder.embed(TEXTS)
        embedder.close()
        return raised.value, len(server.requests)


def test_a_request_carries_model_texts_and_key(server):
    remote(server, api_key="secret").embed(TEXTS)
    [request] = server.requests
    assert request.path == "/embeddings"
    assert request.headers["authorization"] == "Bearer secret"
    assert request.body == {"model": "small", "input": TEXTS, "encoding_format": "float"}


def test_a_key_or_organization_in_the_environment_is_not_sent(server, monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "of somebody else")
    remote(server).embed(TEXTS)
    assert server.requests[0].headers["authorization"] == "Bearer none"
    assert "of somebody else" not in server.requests[0].headers.values()


@pytest.mark.parametrize("first", [BUSY, BROKEN])
def test_a_passing_failure_is_retried(first):
    with EmbeddingServer(first=[first]) as server:
        vectors = remote(server, retries=1).embed(TEXTS)
        assert len(server.requests) == 2
    assert np.allclose(vectors, HashingEmbedder(256).embed(TEXTS), atol=1e-6)


@pytest.mark.parametrize(
    ("status", "message", "hint"),
    [
        (400, "refused the request", "too long"),
        (401, "refused the key", "api_key"),
        (403, "refused the key", "api_key"),
        (404, "does not know the model", "base_url"),
    ],
)
def test_a_refusal_is_not_retried_and_says_what_to_do(status, message, hint):
    error, requests = failing(Reply({"error": {"message": "no\nno"}}, status=status))
    assert requests == 1
    assert message in error.message
    assert "'small'" in error.message
    assert "\n" not in error.message
    assert hint in error.hint


ONES = [1.0] * 256


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (reply_of(ONES, ONES), "the indexes [0, 1] for 3 texts"),
        (reply_of(ONES[1:], ONES[1:], ONES[1:]), "shape"),
        (reply_of(ONES, ONES, ONES[1:]), "unequal length"),
        (reply_of(ONES, ONES, ["a"] * 256), "no numbers"),
        (reply_of(ONES, ONES, [10**400, *ONES[1:]]), "cannot be used"),
        (reply_of(ONES, ONES, [float("nan")] * 256), "not finite"),
        (reply_of(ONES, ONES, [0.0] * 256), "zero"),
        (reply_of(ONES, ONES, ONES, indexes=[0, 1, 1]), "the indexes [0, 1, 1] for"),
        (reply_of(ONES, ONES, ONES, indexes=[0, 1, "x"]), "no list of vectors"),
        (Reply({"data": []}), "cannot be used"),
        (Reply({"data": [1, 2, 3]}), "cannot be used"),
        (Reply(b"<html>login</html>", headers={"content-type": "text/html"}), "cannot be used"),
    ],
)
def test_a_reply_that_cannot_be_used_is_refused(reply, message):
    error, requests = failing(reply, retries=0)
    assert message in error.message
    assert error.hint
    assert requests == 1
