"""A client that leaves: what it asked ends at the next boundary if it only reads, else it is finished."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stitch import Memory, Step, open_memory
from stitch.api.operations import OPERATIONS, ask, made
from stitch.core.cancellation import cancelable, check_canceled
from stitch.errors import CanceledError
from stitch.remote import address
from stitch.remote.protocol import Hello
from stitch.remote.wire import Connection, Kind
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


def test_a_search_of_another_process_that_has_begun_ends_with_it(
    held: Held, settings: dict[str, Any], tmp_path: Path
) -> None:
    with open_memory(tmp_path / "m", **settings) as memory:
        memory.add(Step(role="user", content="A hotel in Kyoto."), trajectory="t")
        assert len(memory.search("hotel").hits) == 1
        end = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        end.connect(str(tmp_path / "m" / address.SOCKET_FILE))
        connection = Connection(end)
        connection.send(Kind.HELLO, Hello(tenant="default").model_dump_json().encode())
        assert connection.receive(wait_s=20) is not None
        held.patient = True
        connection.send(Kind.REQUEST, b'search\n{"query": "train"}')
        assert held.asked.acquire(timeout=120)
        connection.close()
        held.may_answer.set()
    with open_memory(tmp_path / "m") as memory:
        assert [recall.query for recall in memory.recalls()] == ["hotel"]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "m") as opened:
        opened.add_many([Step(role="user", content=f"Day {n}: a hotel.") for n in range(3)], trajectory="t")
        yield opened


READS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("search", {"query": "hotel"}),
    ("search", {"query": "hotel", "diverse": True}),
    ("search", {"query": "hotel", "retriever": "hybrid"}),
    ("search", {"query": "hotel", "retriever": "themes"}),
    ("search", {"query": "hotel", "as_of": 9e9}),
    ("why", {"query": "hotel", "step": "1", "trajectory": "t"}),
    ("why_not", {"query": "hotel", "step": "1", "trajectory": "t"}),
    ("select", {"query": "//Step"}),
    ("forget", {"everything": True, "dry_run": True}),
    ("verify", {}),
)


@pytest.mark.parametrize(("operation", "fields"), READS)
def test_what_only_reads_is_given_up_at_every_boundary_and_changes_nothing(
    operation: str, fields: dict[str, Any], memory: Memory
) -> None:
    request = made(OPERATIONS[operation].request, **fields)
    assert OPERATIONS[operation].only_reads(request)
    asked = 0

    def counted() -> bool:
        nonlocal asked
        asked += 1
        return False

    with cancelable(counted):
        ask(memory, operation, request)
    assert asked
    for boundary in range(asked):
        passed = iter([False] * boundary)
        with cancelable(lambda passed=passed: next(passed, True)), pytest.raises(CanceledError):  # type: ignore[misc]
            ask(memory, operation, request)
    whole = ask(memory, operation, request)
    assert whole is not None
    assert memory.status().stored == 3
    assert memory.lifecycle.verify().disagreements == ()


@pytest.mark.parametrize(
    ("operation", "fields"),
    [
        ("forget", {"trajectory": "t"}),
        ("expire", {"rules": []}),
        ("verify", {"repair": True}),
        ("add", {"trajectory": "t", "steps": []}),
        ("correct", {"step": "1", "text": "x"}),
        ("relabel", {}),
        ("reindex", {}),
        ("backup", {"to": "x"}),
        ("tree_delete", {"tree": "x"}),
    ],
)
def test_what_changes_something_is_finished_whoever_leaves(operation: str, fields: dict[str, Any]) -> None:
    asked = OPERATIONS[operation]
    assert not asked.only_reads(made(asked.request, **fields))


def test_work_that_is_always_finished_has_no_boundaries() -> None:
    with cancelable(lambda: True):
        with cancelable(None):
            check_canceled()
        with pytest.raises(CanceledError):
            check_canceled()
