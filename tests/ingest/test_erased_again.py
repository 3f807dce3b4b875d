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
from stitch.journal.sqlite import SqliteJournal
from stitch.lifecycle.selection import Selector
from stitch.maintenance import restore_memory

TRIP = [
    Step(id="a", role="user", content="Let's plan day 1 with Doctor Quetzalina."),
    Step(id="b", role="user", content="How much is the hotel per night?"),
    Step(id="c", role="assistant", content="It is priced at $76.22."),
]


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.delenv("STITCH_MEMORY", raising=False)
    with open_memory(tmp_path / "m") as opened:
        opened.add_many(TRIP, trajectory="trip")
        yield opened


def ids(memory: Memory, trajectory: str = "trip") -> list[str]:
    return [entry.id for entry in memory.steps(trajectory)]


def erased_in(folder: Path) -> int:
    """How many erased steps, and tenants that erased, a closed folder or a backup knows."""
    with closing(sqlite3.connect(folder / "journal.sqlite")) as db:
        query = "SELECT (SELECT count(*) FROM erased) + count(*) FROM erasers WHERE number <> 0"
        (count,) = db.execute(query).fetchone()
    return int(count)


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


def test_an_erased_step_is_added_again_where_that_is_asked_for(memory: Memory, tmp_path: Path) -> None:
    for again in (
        lambda: memory.add(TRIP[0], trajectory="trip", again=True),
        lambda: memory.add_many(TRIP, trajectory="trip", again=True)[0],
        lambda: next(iter(memory.stream(TRIP[:1], trajectory="trip", again=True))),
    ):
        memory.lifecycle.erase(Selector(trajectory="trip", step="a"))
        receipt = again()
        assert isinstance(receipt, Receipt)
        assert (receipt.state, receipt.repeated) == (StepState.STORED, False)
        assert memory.add(TRIP[0], trajectory="trip").repeated, "now it is known"
    memory.close()
    assert erased_in(tmp_path / "m") == 1, "the tenant, and no step"


def test_an_erased_trajectory_stays_erased_and_an_erased_tenant_is_forgotten(memory: Memory) -> None:
    memory.lifecycle.erase(Selector(trajectory="trip"))
    assert [receipt.state for receipt in memory.add_many(TRIP, trajectory="trip")] == [StepState.ERASED] * 3
    assert memory.trajectories() == []
    memory.lifecycle.erase(Selector(everything=True))
    assert [receipt.state for receipt in memory.add_many(TRIP, trajectory="trip")] == [StepState.STORED] * 3


def test_a_backup_of_one_tenant_does_not_know_what_others_erased(memory: Memory, tmp_path: Path) -> None:
    memory.lifecycle.erase(Selector(trajectory="trip"))
    memory.close()
    with open_memory(tmp_path / "m", tenant="ann") as other:
        other.add_many(TRIP, trajectory="trip")
        other.lifecycle.erase(Selector(trajectory="trip", step="a"))
        other.lifecycle.backup(tmp_path / "b")
    assert (erased_in(tmp_path / "m"), erased_in(tmp_path / "b")) == (6, 2)


def test_a_name_that_was_erased_is_given_to_no_other_step(memory: Memory) -> None:
    first = memory.add_many([Step(role="user", content=f"Remark {n}.") for n in range(3)], trajectory="talk")
    memory.lifecycle.erase(Selector(trajectory="talk", step=first[2].step))
    fresh = memory.add(Step(role="user", content="A new remark."), trajectory="talk")
    assert (first[2].step, fresh.step, fresh.state) == ("2", "2-2", StepState.STORED)
    memory.lifecycle.erase(Selector(trajectory="talk"))
    assert memory.add(Step(role="user", content="A new talk."), trajectory="talk").step == "0-2"


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


def test_two_memories_keep_different_digests_of_the_same_step(tmp_path: Path) -> None:
    digests = []
    for name in ("one", "two"):
        with open_memory(tmp_path / name) as memory:
            memory.add_many(TRIP, trajectory="trip")
            memory.lifecycle.erase(Selector(trajectory="trip"))
        with closing(sqlite3.connect(tmp_path / name / "journal.sqlite")) as db:
            digests += [digest for (digest,) in db.execute("SELECT digest FROM erased")]
    assert len(set(digests)) == 6


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


def files_saying(what: bytes, folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file() and what in path.read_bytes()]


def test_steps_taken_in_by_an_import_say_nothing_of_a_step_that_was_erased_here(tmp_path: Path) -> None:
    with open_memory(tmp_path / "there") as there:
        there.add(TRIP[0], trajectory="trip")
        there.add(Step(id="d", role="assistant", content="Which hotel?"), trajectory="trip")  # indexed with the doctor
        there.add_many(TRIP[1:], trajectory="trip")
        lines = list(there.lifecycle.export())
        assert any("Quetzalina" in line for line in lines if '"c"' in line or '"d"' in line or '"b"' in line)
    with open_memory(tmp_path / "here") as here:
        here.add_many(TRIP[:1], trajectory="trip")
        here.lifecycle.erase(Selector(trajectory="trip"))
        result = here.lifecycle.import_lines(lines)
        assert (result.steps, result.erased) == (3, 1)
        assert files_saying(b"uetzalina", tmp_path / "here") == []  # the log of the journal had it
        assert here.lifecycle.verify().disagreements == ()
        assert all("quetzalina" not in line.lower() for line in here.lifecycle.export())
    assert files_saying(b"uetzalina", tmp_path / "here") == []


def test_a_backup_of_a_tenant_knows_what_it_erased_and_not_what_others_did(memory: Memory, tmp_path: Path) -> None:
    with open_memory(tmp_path / "all", tenant="own") as own:
        own.add_many(TRIP, trajectory="trip")
        own.lifecycle.erase(Selector(trajectory="trip", step="a"))
    with open_memory(tmp_path / "all", tenant="other") as other:
        other.add_many(TRIP, trajectory="trip")
        other.lifecycle.erase(Selector(trajectory="trip", step="b"))
    with open_memory(tmp_path / "all", tenant="own") as own:
        own.lifecycle.backup(tmp_path / "backup")
    restore_memory(tmp_path / "backup", memory=tmp_path / "restored")
    with closing(sqlite3.connect(tmp_path / "restored" / "journal.sqlite")) as db:
        assert db.execute("SELECT count(*) FROM erased").fetchone() == (1,)
    with open_memory(tmp_path / "restored", tenant="own") as own:
        assert own.add(TRIP[0], trajectory="trip").state is StepState.ERASED
    with open_memory(tmp_path / "restored", tenant="other") as other:
        assert other.add(TRIP[1], trajectory="trip").state is StepState.STORED


def test_a_journal_of_the_second_version_gets_what_it_needs_to_know_erased_steps(
    memory: Memory, tmp_path: Path
) -> None:
    memory.close()
    path = tmp_path / "m" / "journal.sqlite"
    with closing(sqlite3.connect(path)) as db:
        db.executescript(
            "DROP TABLE erased; DROP TABLE erasers;"
            "CREATE TABLE unflushed (ordinal INTEGER PRIMARY KEY, seq INTEGER NOT NULL);"
            "ALTER TABLE history DROP COLUMN checksum; ALTER TABLE records DROP COLUMN checksum;"
            "ALTER TABLE checkpoints DROP COLUMN checksum; ALTER TABLE trajectories DROP COLUMN learned;"
            "PRAGMA user_version = 2;"
        )
    with closing(SqliteJournal(path)) as journal:
        assert [entry.id for entry in journal.entries("default", "trip")] == ["a", "b", "c"]
        journal.erase([1], tenant="default", trajectory="trip")
        (refused,) = journal.append_many(TRIP[:1], tenant="default", trajectory="trip", recorded=1.0)
    assert getattr(refused, "state", None) is StepState.ERASED


def test_a_backup_from_before_an_erasure_brings_it_back(memory: Memory, tmp_path: Path) -> None:
    memory.lifecycle.backup(tmp_path / "backup")
    memory.lifecycle.erase(Selector(trajectory="trip", step="a"))
    memory.close()
    restore_memory(tmp_path / "backup", memory=tmp_path / "restored")
    with open_memory(tmp_path / "restored") as restored:
        assert ids(restored) == ["a", "b", "c"]


def test_what_retention_erased_stays_erased(memory: Memory) -> None:
    from stitch.core.retention import RetentionRule

    rule = RetentionRule(older_than_days=0, action="erase")
    memory.lifecycle.expire([rule], now=next(iter(memory.steps("trip"))).recorded + 1)
    assert [receipt.state for receipt in memory.add_many(TRIP, trajectory="trip")] == [StepState.ERASED] * 3
