"""Vectors that follow, as users meet them: settings, hits, status, closing, a process that is killed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import stitch
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


def test_tenants_wait_each_for_their_own_vectors(tmp_path: Path, held: Callable[[], None]) -> None:
    with stitch.open_tenants(tmp_path / "m", vectors="after") as tenants:
        tenants.memory("ann").add_many(TRIP, trajectory="t")
        tenants.memory("bob").add_many(TRIP[:1], trajectory="t")
        assert [tenants.memory(name).status().without_vectors for name in ("ann", "bob")] == [4, 1]
        assert tenants.memory("ann").lifecycle.erase(Selector(trajectory="t")).steps == 4
        held()
        tenants.memory("bob").flush()
        assert [tenants.memory(name).status().stored for name in ("ann", "bob")] == [0, 1]
