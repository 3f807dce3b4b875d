"""Places of steps are those of their own trajectory, and a tenant waits for its own vectors alone."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stitch import Step, open_memory, open_tenants
from stitch.embed.static import StaticEmbedder
from stitch.lifecycle.selection import Selector

STEPS = [Step(id=str(n), role="user", content=f"Let's plan day {n}: the hotel near the harbor.") for n in range(4)]


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
    let, embed, in_time = threading.Event(), StaticEmbedder.embed, list[bool]()

    def later(self: StaticEmbedder, texts: Any) -> Any:
        if threading.current_thread().name.startswith("stitch-worker"):
            in_time.append(let.wait(60))
        return embed(self, texts)

    monkeypatch.setattr(StaticEmbedder, "embed", later)
    yield let.set
    let.set()
    assert all(in_time), "nobody but who flushes waits for vectors"


def test_tenants_wait_each_for_their_own_vectors(tmp_path: Path, held: Callable[[], None]) -> None:
    with open_tenants(tmp_path / "m", vectors="after") as tenants:
        tenants.memory("ann").add_many(STEPS, trajectory="t")
        tenants.memory("bob").add_many(STEPS[:1], trajectory="t")
        assert [tenants.memory(name).status().without_vectors for name in ("ann", "bob")] == [4, 1]
        assert tenants.memory("ann").lifecycle.erase(Selector(trajectory="t")).steps == 4
        held()
        tenants.memory("bob").flush()
        assert [tenants.memory(name).status().stored for name in ("ann", "bob")] == [0, 1]
