"""Nobody holds a connection for nothing, and a client may leave."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from stitch import open_memory
from stitch.server.serve.connections import PatientProtocol
from stitch.testing.model import LoopbackProvider

ASKED = b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
CHUNKED = b'Transfer-Encoding: chunked\r\n\r\nd\r\n{"query":"x"}\r\n0\r\n\r\n'


LIMITS = ("headers_s", "stall_s", "half_closed_s")
LONG_S = 120.0


@pytest.fixture(autouse=True)
def limited(monkeypatch):
    for name in LIMITS:
        monkeypatch.setattr(PatientProtocol, name, LONG_S)
    return lambda name, seconds: monkeypatch.setattr(PatientProtocol, name, seconds)


def connect(client):
    return socket.create_connection((client.host, client.port), timeout=120)


def test_a_connection_on_which_nothing_is_asked_ends(limited, serving):
    client = serving()
    limited("headers_s", 0.1)
    with connect(client) as raw, suppress(ConnectionResetError):
        assert raw.recv(100) == b""
    limited("headers_s", LONG_S)
    assert client.get("/healthz").status == 200


@pytest.mark.parametrize("sent", [b"GET /healthz\r\n", b"GET / HTTP/1.1\r\nHost: local"])
def test_headers_that_do_not_end_are_408(limited, serving, sent):
    client = serving()
    limited("headers_s", 0.1)
    with client.held():  # what is sent is there when the connection is taken, from when on the rest is waited for
        raw = connect(client)
        raw.sendall(sent)
    with raw:
        head, _, body = raw.makefile("rb").read().partition(b"\r\n\r\n")
    assert b" 408 " in head
    assert json.loads(body)["error"] == "TooSlow"


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


def test_an_answer_that_is_not_read_ends_the_connection(limited, serving):
    client = serving()
    client.lines([{"role": "user", "content": "x" * 20_000} for _ in range(400)])
    limited("stall_s", 0.2)
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    raw.settimeout(20)
    with raw:
        raw.connect((client.host, client.port))
        raw.sendall(b"GET /v1/export HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for _ in range(20_000):
            if b'operation="export"' in client.get("/metrics").body:  # counted when it has ended
                break
        else:
            pytest.fail("the connection did not end")


def test_one_connection_too_many_is_503(monkeypatch, serving):
    client = serving()
    monkeypatch.setattr(PatientProtocol, "most", 2)
    first, second = connect(client), connect(client)
    with first, second:
        for each in (first, second):
            each.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b" 200 " in each.recv(4_000)
        with connect(client) as third:
            head, _, body = third.makefile("rb").read().partition(b"\r\n\r\n")
    assert b" 503 " in head
    assert json.loads(body)["error"] == "TooManyConnections"


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
    serving: Any, held: Held, settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PatientProtocol, "half_closed_s", 0.05)
    client = serving(settings=settings)
    client.add("A hotel in Kyoto.")
    assert client.post("/v1/search", {"query": "hotel"}).status == 200
    held.patient = True
    left = client.send("POST", "/v1/search", '{"query": "train"}', Content_Type="application/json")
    assert held.asked.acquire(timeout=120)
    left.sock.shutdown(socket.SHUT_RDWR)
    left.close()
    while client.served.work.searching:  # it is given up
        client.get("/healthz")
    held.may_answer.set()
    client.end()
    with open_memory(tmp_path / "m") as memory:
        assert [recall.query for recall in memory.recalls()] == ["hotel"]
