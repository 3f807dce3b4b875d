"""Vectors that follow, as users meet them: settings, hits, status, closing, a process that is killed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import stitch
from stitch.core import StepState
from stitch.embed.static import StaticEmbedder
from stitch.lifecycle.selection import Selector

TRIP = [{"id": str(n), "role": "user", "content": f"Let's plan day {n}: the hotel near the harbor."} for n in range(4)]


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Makes no vector of a step before it is called; those of questions are made."""
    let, embed = threading.Event(), StaticEmbedder.embed

    def later(self: StaticEmbedder, texts: Any) -> Any:
        if threading.current_thread().name == "stitch-vectors":
            assert let.wait(5)
        return embed(self, texts)

    monkeypatch.setattr(StaticEmbedder, "embed", later)
    yield let.set
    let.set()


def test_a_step_whose_vector_follows_is_found_and_its_hit_says_so(tmp_path: Path, held: Callable[[], None]) -> None:
    with stitch.open_memory(tmp_path / "m", vectors="after") as memory:
        receipts = memory.add_many(TRIP, trajectory="t")
        assert {receipt.state for receipt in receipts} == {StepState.LABELED}
        found = memory.search("Which hotel is near the harbor on day 2?")
        assert found[0].snippet.step == "2"
        assert [hit.embedded for hit in found] == [False] * 4
        assert [(each.what, dict(each.figures)) for each in found.trace if each.what == "vectors follow"] == [
            ("vectors follow", {"hits without a vector": 4.0})
        ]
        assert (memory.status().without_vectors, memory.status().waiting) == (4, 4)
        why = memory.why("the harbor", step="2", trajectory="t")
        assert "Step 2 has no vector yet: words and labels alone speak for it." in why.sentences
        held()
        memory.flush()
        found = memory.search("Which hotel is near the harbor on day 2?")
        assert all(hit.embedded for hit in found)
        assert not [each for each in found.trace if each.what == "vectors follow"]
        assert (memory.status().without_vectors, memory.status().stored) == (0, 4)


def test_tenants_wait_each_for_their_own_vectors(tmp_path: Path, held: Callable[[], None]) -> None:
    with stitch.open_tenants(tmp_path / "m", vectors="after") as tenants:
        tenants.memory("ann").add_many(TRIP, trajectory="t")
        tenants.memory("bob").add_many(TRIP[:1], trajectory="t")
        assert [tenants.memory(name).status().without_vectors for name in ("ann", "bob")] == [4, 1]
        assert tenants.memory("ann").lifecycle.erase(Selector(trajectory="t")).steps == 4
        held()
        tenants.memory("bob").flush()
        assert [tenants.memory(name).status().stored for name in ("ann", "bob")] == [0, 1]


def test_what_is_exported_before_its_vector_came_is_whole_where_it_is_imported(
    tmp_path: Path, held: Callable[[], None]
) -> None:
    with stitch.open_memory(tmp_path / "m", vectors="after") as memory:
        memory.add_many(TRIP, trajectory="t")
        lines = list(memory.lifecycle.export())
        held()
    with stitch.open_memory(tmp_path / "other") as memory:
        memory.lifecycle.import_lines(lines)
        assert (memory.status().stored, memory.status().without_vectors) == (4, 0)
