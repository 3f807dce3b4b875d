"""What clients do to connections: they leave, and they send what can be read in two ways."""

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stitch import open_memory
from stitch.server.app_state import Limits
from stitch.testing.model import LoopbackProvider

ASKED = b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
CHUNKED = b'Transfer-Encoding: chunked\r\n\r\nd\r\n{"query":"x"}\r\n0\r\n\r\n'


def connect(client):
    return socket.create_connection((client.host, client.port), timeout=120)


@pytest.mark.parametrize(
    "sent",
    [
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        ASKED + b"Content-Length: 4\r\n" + CHUNKED,
        ASKED.replace(b"HTTP/1.1", b"HTTP/1.0") + CHUNKED,
    ],
)
def test_what_a_proxy_could_read_otherwise_is_refused_once_and_the_connection_ends(serving, sent):
    client = serving()
    with connect(client) as raw:
        raw.sendall(sent)
        answer = raw.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"\r\n\r\n") == 1, "one answer"


def test_who_is_refused_while_it_still_sends_gets_the_answer(serving):
    client = serving(limits=Limits(body_bytes=1_000))
    answer = client.post("/v1/search", {"query": "x" * 3_000_000})
    assert (answer.status, answer.json["error"]) == (413, "TooLarge")


def test_a_body_without_a_length_is_bounded_too(serving):
    client = serving(limits=Limits(body_bytes=1_000))
    piece = json.dumps({"query": "x" * 2_000}).encode()
    with connect(client) as raw:
        raw.sendall(ASKED + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(piece), piece))
        assert b" 413 " in raw.recv(4_000)


def test_of_the_answer_to_a_head_only_headers_come(serving):
    answer = serving().ask("HEAD", "/healthz")
    assert (answer.status, answer.body) == (200, b"")


class Held:
    """A model that is asked, and answers when it may."""

    def __init__(self) -> None:
        self.asked = threading.Semaphore(0)
        self.may_answer = threading.Event()
        self.patient = False

    def __call__(self, system: str, user: str) -> dict[str, Any]:
        if self.patient:
            self.asked.release()
            assert self.may_answer.wait(120)
        return {"scopes": [], "event_types": [], "entity_types": [], "reasons": []}


@pytest.fixture
def held() -> Held:
    return Held()


@pytest.fixture
def settings(held: Held) -> Iterator[dict[str, Any]]:
    with LoopbackProvider(held) as provider:
        yield {"filter": "model", "model": "openai/m", "base_url": provider.base_url, "recall_log": 9}


def test_a_search_over_http_that_has_begun_ends_with_its_client(
    serving: Any, held: Held, settings: dict[str, Any], tmp_path: Path
) -> None:
    client = serving(settings=settings)
    client.add("A hotel in Kyoto.")
    assert client.post("/v1/search", {"query": "hotel"}).status == 200
    held.patient = True
    left = client.send("POST", "/v1/search", '{"query": "train"}', Content_Type="application/json")
    assert held.asked.acquire(timeout=120)
    left.sock.shutdown(socket.SHUT_RDWR)
    left.close()
    while client.served.threads.searching:  # it is given up
        client.get("/healthz")
    held.may_answer.set()
    client.end()
    with open_memory(tmp_path / "m") as memory:
        assert [recall.query for recall in memory.recalls()] == ["hotel"]
