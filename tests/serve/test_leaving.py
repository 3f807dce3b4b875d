"""A client that leaves: what it asked ends at the next boundary if it only reads, else it is finished."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stitch import open_memory
from stitch.serve.connections import PatientProtocol
from stitch.testing.model import LoopbackProvider


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
