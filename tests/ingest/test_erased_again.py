"""What was erased stays erased: given again by a file, a stream or an export, it is known and not taken in."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from stitch import Memory, Step, open_memory
from stitch.core import Receipt, StepState
from stitch.lifecycle.selection import Selector
from stitch.maintenance import restore_memory

TRIP = [
    Step(id="a", role="user", content="Let's plan day 1 with Doctor Quetzalina."),
    Step(id="b", role="user", content="How much is the hotel per night?"),
    Step(id="c", role="assistant", content="It is priced at $76.22."),
]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "m") as opened:
        opened.add_many(TRIP, trajectory="trip")
        yield opened


def ids(memory: Memory, trajectory: str = "trip") -> list[str]:
    return [entry.id for entry in memory.steps(trajectory)]


def test_an_erased_step_is_refused_by_every_way_of_adding(memory: Memory) -> None:
    memory.lifecycle.erase(Selector(trajectory="trip", step="a"))
    refused = Receipt(
        tenant="default", trajectory="trip", step="a", position=-1, state=StepState.ERASED, reason="was erased"
    )

    async def astream() -> list[object]:
        return [receipt async for receipt in memory.astream(TRIP[:1], trajectory="trip")]

    assert memory.add(TRIP[0], trajectory="trip") == refused
    assert memory.add(TRIP[0], trajectory="trip", wait=False) == refused
    assert memory.add(Step(id="a", role="user", content="Other words."), trajectory="trip") == refused
    assert memory.add_many(TRIP, trajectory="trip")[0] == refused
    assert memory.add_each(TRIP, trajectory="trip")[0] == refused
    assert next(iter(memory.stream(TRIP[:1], trajectory="trip"))) == refused
    assert asyncio.run(memory.aadd(TRIP[0], trajectory="trip")) == refused
    assert asyncio.run(astream()) == [refused]
    assert ids(memory) == ["b", "c"]
    assert memory.lifecycle.verify().disagreements == ()


def test_an_erased_trajectory_stays_erased_and_an_erased_tenant_is_forgotten(memory: Memory) -> None:
    memory.lifecycle.erase(Selector(trajectory="trip"))
    assert [receipt.state for receipt in memory.add_many(TRIP, trajectory="trip")] == [StepState.ERASED] * 3
    assert memory.trajectories() == []
    memory.lifecycle.erase(Selector(everything=True))
    assert [receipt.state for receipt in memory.add_many(TRIP, trajectory="trip")] == [StepState.STORED] * 3


def test_what_is_kept_of_an_erased_step_is_no_name_nor_text(memory: Memory, tmp_path: Path) -> None:
    memory.lifecycle.erase(Selector(trajectory="trip"))
    memory.close()
    with closing(sqlite3.connect(tmp_path / "m" / "journal.sqlite")) as db:
        kept = db.execute("SELECT typeof(digest), length(digest) FROM erased").fetchall()
        keys = db.execute("SELECT number, length(tenant), length(key) FROM erasers").fetchall()
    assert kept == [("blob", 16)] * 3
    assert keys == [(0, 0, 32), (1, 16, 32)]
    data = (tmp_path / "m" / "journal.sqlite").read_bytes()
    assert [name for name in (b"trip", b"default", b"Quetzalina") if name in data] == []


def test_an_import_brings_nothing_back_that_was_erased(memory: Memory) -> None:
    lines = list(memory.lifecycle.export())
    memory.lifecycle.erase(Selector(trajectory="trip", step="a"))
    result = memory.lifecycle.import_lines(lines)
    assert (result.steps, result.known, result.erased, result.rejections) == (0, 2, 1, ())
    assert ids(memory) == ["b", "c"]
    memory.lifecycle.erase(Selector(trajectory="trip"))
    result = memory.lifecycle.import_lines(lines)
    assert (result.steps, result.known, result.erased, result.rejections) == (0, 0, 3, ())
    assert memory.trajectories() == []
    result = memory.lifecycle.import_lines(lines, again=True)
    assert (result.steps, result.known, result.erased, result.rejections) == (3, 0, 0, ())
    assert ids(memory) == ["a", "b", "c"]


def test_a_backup_from_before_an_erasure_brings_it_back(memory: Memory, tmp_path: Path) -> None:
    memory.lifecycle.backup(tmp_path / "backup")
    memory.lifecycle.erase(Selector(trajectory="trip", step="a"))
    memory.close()
    restore_memory(tmp_path / "backup", memory=tmp_path / "restored")
    with open_memory(tmp_path / "restored") as restored:
        assert ids(restored) == ["a", "b", "c"]
