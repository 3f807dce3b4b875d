"""Vectors that follow, as users meet them: settings, hits, status, closing, a process that is killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import stitch
from stitch.core import StepState
from stitch.embed.static import StaticEmbedder
from stitch.lifecycle.selection import Selector
from stitch.maintenance import restore_memory

TRIP = [{"id": str(n), "role": "user", "content": f"Let's plan day {n}: the hotel near the harbor."} for n in range(4)]

LEAVES = """
import os, sys, threading, stitch
from stitch.embed.static import StaticEmbedder
waiting, embed = threading.Event(), StaticEmbedder.embed

def never(self, texts):
    return waiting.wait() if threading.current_thread().name == "stitch-vectors" else embed(self, texts)

StaticEmbedder.embed = never
memory = stitch.open_memory(sys.argv[1], vectors="after", share=False)
steps = [{"id": str(n), "role": "user", "content": f"The harbor on day {n}."} for n in range(4)]
memory.add_many(steps, trajectory="t")
print(memory.status().without_vectors, flush=True)
os._exit(9)
"""


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


def test_by_vectors_alone_a_step_without_one_is_like_nothing(tmp_path: Path, held: Callable[[], None]) -> None:
    with stitch.open_memory(tmp_path / "m", vectors="after", retriever="dense") as memory:
        memory.add_many(TRIP, trajectory="t")
        assert [hit.similarity for hit in memory.search("the hotel near the harbor")] == [0.0] * 4
        held()
        memory.flush()
        assert min(hit.similarity for hit in memory.search("the hotel near the harbor")) > 0.3


def test_closing_waits_for_the_vectors_of_what_was_added(tmp_path: Path) -> None:
    with stitch.open_memory(tmp_path / "m", vectors="after") as memory:
        memory.add_many(TRIP, trajectory="t")
    with stitch.open_memory(tmp_path / "m") as memory:
        assert (memory.status().stored, memory.status().without_vectors) == (4, 0)


def test_a_killed_process_leaves_vectors_to_the_next_one(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("STITCH_")}
    killed = subprocess.run(
        [sys.executable, "-c", LEAVES, str(tmp_path / "m")],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert (killed.returncode, killed.stdout) == (9, "4\n")
    with stitch.open_memory(tmp_path / "m", vectors="after") as memory:
        memory.flush()
        assert (memory.status().stored, memory.status().without_vectors) == (4, 0)
        assert all(hit.embedded and hit.similarity > 0 for hit in memory.search("the harbor", retriever="dense"))
        assert not memory.lifecycle.verify().disagreements


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


def test_a_copy_made_before_vectors_came_makes_them_itself(tmp_path: Path, held: Callable[[], None]) -> None:
    with stitch.open_memory(tmp_path / "m", vectors="after") as memory:
        memory.add_many(TRIP, trajectory="t")
        memory.lifecycle.backup(tmp_path / "copy")
        held()
    restore_memory(tmp_path / "copy", memory=tmp_path / "again")
    with stitch.open_memory(tmp_path / "again") as memory:
        assert (memory.status().stored, json.loads(memory.status().model_dump_json())["without_vectors"]) == (4, 0)
