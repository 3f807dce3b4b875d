"""A number that a tenant reads is the same whether others are there or not: places, ids of windows, scores, counts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stitch import Step, open_memory, open_tenants
from stitch.embed.static import StaticEmbedder
from stitch.label.local import LocalLabeler
from stitch.label.model.offline import OfflineLabeler
from stitch.lifecycle.selection import Selector
from stitch.lm.batch import write_request
from stitch.memory import Memory

STEPS = [Step(id=str(n), role="user", content=f"Let's plan day {n}: the hotel near the harbor.") for n in range(4)]
SAID = ("For day {n}, the hotel costs {n}1 dollars.", "Book the train of day {n}.", "The museum is open, seat {n}.")


def read_of(memory: Memory) -> dict[str, Any]:
    """What a memory tells, without times."""
    lifecycle = memory.lifecycle
    found = memory.search("What does the hotel of day 3 cost?", trajectory="t")
    elsewhere = lifecycle.handover(OfflineLabeler("hand", fallback=LocalLabeler()))
    return {
        "entries": [entry and entry._replace(recorded=0.0) for entry in [*memory.steps("t"), memory.get("t", "s2")]],
        "receipts": list(memory.receipts()),
        "windows": [write_request(window) for window in elsewhere.windows()],
        "hits": [(hit.snippet.step, hit.score, hit.similarity, hit.parts) for hit in found.hits],
        "counts": (lifecycle.count(Selector(trajectory="t")), memory.status().snippets, memory.inventory()),
        "proof": lifecycle.erase(Selector(trajectory="t", step="s3")).proof,
    }


def read_beside(others: tuple[str, ...], *, folder: Path) -> dict[str, Any]:
    """What ann reads while others add and erase."""
    with open_tenants(folder) as tenants:
        own = tenants.memory("ann")
        for n in range(4):
            for other in map(tenants.memory, others):
                other.add_many(
                    [Step(role="user", content=SAID[n % 3].format(n=n)) for _ in range(n + 1)], trajectory="t"
                )
                other.lifecycle.erase(Selector(trajectory="t", step=f"{n}"))
            own.add(Step(id=f"s{n}", role="user", content=SAID[n % 3].format(n=n)), trajectory="t")
        own.lifecycle.correct("s1", trajectory="t", labels={"scope": "train"})
        return read_of(own)


def test_no_number_that_a_tenant_reads_tells_of_others(tmp_path: Path) -> None:
    alone = read_beside((), folder=tmp_path / "alone")
    assert len(alone["windows"]) == 1
    assert read_beside(("bob", "eve"), folder=tmp_path / "crowded") == alone


def test_the_number_of_a_step_is_its_place_in_the_trajectory(tmp_path: Path) -> None:
    with open_memory(tmp_path / "memory") as memory:
        for name in ("a", "b"):
            memory.add_many([Step(id=f"s{n}", role="user", content=f"seat {n}") for n in range(3)], trajectory=name)
        assert [entry.seq for entry in memory.steps("b")] == [0, 1, 2]
        one = memory.get("b", "s1")
        assert one is not None
        assert one.seq == 1
        assert memory.get("b", "none") is None


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Makes no vector of a step before it is called; those of questions are made."""
    let, embed = threading.Event(), StaticEmbedder.embed

    def later(self: StaticEmbedder, texts: Any) -> Any:
        if threading.current_thread().name.startswith("stitch-worker"):
            assert let.wait(5)
        return embed(self, texts)

    monkeypatch.setattr(StaticEmbedder, "embed", later)
    yield let.set
    let.set()


def test_tenants_wait_each_for_their_own_vectors(tmp_path: Path, held: Callable[[], None]) -> None:
    with open_tenants(tmp_path / "m", vectors="after") as tenants:
        tenants.memory("ann").add_many(STEPS, trajectory="t")
        tenants.memory("bob").add_many(STEPS[:1], trajectory="t")
        assert [tenants.memory(name).status().without_vectors for name in ("ann", "bob")] == [4, 1]
        assert tenants.memory("ann").lifecycle.erase(Selector(trajectory="t")).steps == 4
        held()
        tenants.memory("bob").flush()
        assert [tenants.memory(name).status().stored for name in ("ann", "bob")] == [0, 1]
