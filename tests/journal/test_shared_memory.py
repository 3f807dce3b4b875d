"""A memory whose journal is in PostgreSQL and whose snippets are on a server: any number of processes at once."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import psycopg
import pytest
import qdrant_edge as edge
from sqlalchemy import event
from sqlalchemy.pool import Pool

from doubles.postgres import MakeUrl
from doubles.qdrant import LoopbackQdrant
from stitch import Memory, Step, open_memory
from stitch.config import load_settings, plain_values
from stitch.core import StepState
from stitch.errors import SettingsError, StoreMismatchError
from stitch.lifecycle.selection import Selector
from stitch.maintenance import backup_memory, export_memory, reindex_memory, restore_memory

PROCESSES, STEPS = 2, 8
ADDING = """
import sys
from stitch import Step, open_memory
server, journal, name, count = sys.argv[1:]
with open_memory(server, journal=journal) as memory:
    for number in range(int(count)):
        steps = [Step(id=f"{name}-{number}", role="user", content=f"{name} books room {number} on day {number % 3}.")]
        (receipt,) = memory.add_many(steps, trajectory=f"t{number % 2}")
        print(receipt.state.value, flush=True)
        if number % 5 == 0:
            memory.search(f"Which rooms did {name} book?")
"""


@pytest.fixture
def journal_url(new_url: MakeUrl) -> str:
    return new_url()


@pytest.fixture
def server() -> Iterator[LoopbackQdrant]:
    with LoopbackQdrant() as started:
        yield started


@pytest.fixture
def open_shared(server: LoopbackQdrant, journal_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return lambda: open_memory(server.url, journal=journal_url)


def say(content: str, name: str) -> Step:
    return Step(id=name, role="user", content=content)


def found(memory: Memory) -> str:
    return "\n".join(hit.snippet.text for hit in memory.search("What does the inn cost a night?").hits)


def test_an_add_waits_for_the_database_seven_times(open_shared, tmp_path: Path) -> None:
    def trace(connection: Any, _: object) -> None:
        connection.pgconn.trace(log.fileno())
        connection.pgconn.set_trace_flags(psycopg.pq.Trace.SUPPRESS_TIMESTAMPS)

    event.listen(Pool, "connect", trace)
    try:
        with (tmp_path / "trace").open("wb") as log, open_shared() as memory:
            for number in range(12):  # statements are prepared by then
                memory.add(f"The inn in town {number} costs {number} euros.", trajectory="t")
            start = (tmp_path / "trace").stat().st_size
            memory.add("The inn in Porto costs 80 euros.", trajectory="t")
            lines = (tmp_path / "trace").read_bytes()[start:].decode().splitlines()
    finally:
        event.remove(Pool, "connect", trace)
    sides = [side for side, _ in groupby(line[0] for line in lines)]
    assert sides.count("B") == 7, "an answer of the server, which nothing went on without"


def test_what_processes_add_to_the_same_trajectories_is_there_once_and_found(
    open_shared, server: LoopbackQdrant, journal_url: str
) -> None:
    def adding(name: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", ADDING, server.url, journal_url, name, str(STEPS)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    started = [adding(f"guest{number}") for number in range(PROCESSES)]
    told = [each.communicate(timeout=240)[0].split() for each in started]
    assert told == [["stored"] * STEPS] * PROCESSES
    with open_shared() as memory:
        assert memory.status().stored == PROCESSES * STEPS
        for name in ("t0", "t1"):
            entries = list(memory.steps(name))
            assert [entry.position for entry in entries] == list(range(PROCESSES * STEPS // 2))
            assert all(entry.labels is not None for entry in entries)
        assert memory.lifecycle.verify().disagreements == ()
        hits = memory.search("Which rooms did guest1 book?", k=10).hits
        assert any("guest1" in hit.snippet.text for hit in hits)


def test_each_sees_at_once_what_the_other_adds_corrects_and_erases(open_shared) -> None:
    with open_shared() as one, open_shared() as two:
        one.add(say("Day 1: let's plan the trip to Kyoto.", "1"), trajectory="t")
        two.add(say("The Harbor Inn costs 90 dollars a night.", "2"), trajectory="t")
        one.add(say("Book it for two nights.", "3"), trajectory="t")
        assert [entry.id for entry in two.steps("t")] == ["1", "2", "3"]
        assert two.inventory().steps == one.inventory().steps == 3
        assert "Harbor" in found(one)
        assert "Harbor" in found(two)
        one.lifecycle.correct("2", trajectory="t", text="The Palm Court costs 70 dollars a night.")
        assert ("Palm" in found(two), "Harbor" in found(two)) == (True, False)
        two.add(say("And a table for dinner.", "4"), trajectory="t")
        proof = two.lifecycle.erase(Selector(trajectory="t", step="2")).proof
        assert (proof.found, any("write-ahead log" in each for each in proof.not_searched)) == ((), True)
        assert "Palm" not in found(one)
        assert [entry.id for entry in one.steps("t")] == ["1", "3", "4"]
        assert one.inventory().steps == 3
        assert one.lifecycle.verify().disagreements == ()


@pytest.mark.slow
def test_what_a_killed_process_left_half_done_is_finished_by_the_next(
    open_shared, server: LoopbackQdrant, journal_url: str
) -> None:
    command = [sys.executable, "-c", ADDING, server.url, journal_url, "guest", "10000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as adding:
        assert adding.stdout is not None
        told = [adding.stdout.readline() for _ in range(15)]
        adding.send_signal(signal.SIGKILL)
        told += [line for line in adding.stdout if line.endswith("\n")]
    with open_shared() as memory:
        memory.add(say("Somebody else goes on.", "after"), trajectory="t0")
        entries = [entry for name in ("t0", "t1") for entry in memory.steps(name)]
        assert len(entries) >= len(told) + 1
        assert {entry.state for entry in entries} == {StepState.STORED}
        assert memory.lifecycle.verify().disagreements == ()


def test_of_a_memory_in_a_folder_the_journal_stays_there(tmp_path: Path, journal_url: str) -> None:
    with pytest.raises(SettingsError, match="of no use beside a store in a folder"):
        open_memory(tmp_path / "m", journal=journal_url)


def test_whoever_has_another_journal_is_refused_the_collection(
    open_shared, server: LoopbackQdrant, new_url: MakeUrl
) -> None:
    with open_shared() as memory:
        memory.add(say("Day 1: a hotel in Kyoto.", "1"), trajectory="t")
    with pytest.raises(Exception, match="belongs to the journal"):
        open_memory(server.url, journal=new_url())


def test_settings_are_shown_without_the_password_of_the_database() -> None:
    settings = load_settings(memory="http://q:6333", journal="postgresql://ann:secret@db/stitch").settings
    assert plain_values(settings)["journal"] == "postgresql://ann:***@db/stitch"


def test_a_folder_is_moved_to_a_server_with_nothing_missing(
    stitch, server: LoopbackQdrant, journal_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for tenant in ("ann", "bob"):
        with open_memory(tmp_path / "m", tenant=tenant) as memory:
            memory.add_many([say("Day 1: let's plan Kyoto.", "1"), say(f"{tenant}'s inn is 90.", "2")], trajectory="t")
            memory.lifecycle.correct("2", trajectory="t", text=f"{tenant}'s inn costs 70 dollars a night.")
            memory.add(say("Forget this.", "3"), trajectory="u")
            memory.lifecycle.erase(Selector(trajectory="u"))
    status, out, err = stitch("move", str(tmp_path / "m"), server.url, "--journal", journal_url)
    assert (status, err) == (0, "")
    assert "4 steps of 2 tenants, 4 snippets: all agree" in out
    there: dict[str, Any] = {"memory": server.url, "journal": journal_url}
    with open_memory(tmp_path / "m", tenant="ann") as old, open_memory(**there, tenant="ann") as new:
        assert [entry.step for entry in new.steps("t")] == [entry.step for entry in old.steps("t")]
        assert new.lifecycle.history("2", trajectory="t") == old.lifecycle.history("2", trajectory="t")
        assert new.add(say("Forget this.", "3"), trajectory="u").state is StepState.ERASED
        assert new.add(say("And a table.", "4"), trajectory="t").position == 2
        assert "70" in found(new)
    again = stitch("move", str(tmp_path / "m"), server.url, "--journal", journal_url)
    assert again[0] == 2
    assert "is not an empty one" in again[2]


def test_a_folder_that_is_moved_to_a_cluster_has_its_large_tenants_in_shards_of_their_own(
    stitch, server: LoopbackQdrant, journal_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for tenant in ("ann", "bob"):
        with open_memory(tmp_path / "m", tenant=tenant) as memory:
            memory.add(say("The Harbor Inn costs 90 dollars a night.", "1"), trajectory="t")
    server.nodes = 3
    monkeypatch.setenv("STITCH_QDRANT", '{"large_tenants": ["ann"], "replication_factor": 2}')
    assert stitch("move", str(tmp_path / "m"), server.url, "--journal", journal_url)[0] == 0
    everything = edge.ScrollRequest(limit=10, with_payload=True)
    assert {
        key: [point.payload["tenant"] for shard in shards for point in shard.scroll(everything)[0]]
        for key, shards in server.collections["stitch"].by_key.items()
    } == {0: ["bob"], "ann": ["ann"]}
    monkeypatch.delenv("STITCH_QDRANT")  # what the collection was made with holds, and not what this process says
    with open_memory(server.url, journal=journal_url, tenant="ann") as memory:
        memory.add(say("The Palm Court costs 80 dollars.", "2"), trajectory="t")
        assert (memory.status().snippets, memory.status().server["large tenants"]) == (2, "'ann'")
        assert memory.lifecycle.verify().disagreements == ()


def test_whole_memories_are_copied_restored_and_made_anew(
    open_shared, server: LoopbackQdrant, journal_url: str, new_url: MakeUrl, tmp_path: Path
) -> None:
    shared: dict[str, Any] = {"memory": server.url, "journal": journal_url}
    with open_shared() as memory:
        memory.add(say("The Harbor Inn costs 90 dollars a night.", "1"), trajectory="t")
        assert backup_memory(**shared, to=tmp_path / "b").steps == 1  # while it is open
        erased = memory.lifecycle.erase(Selector(trajectory="t"))
        assert any("write-ahead log" in place for place in erased.proof.not_searched)
        memory.add(say("The Palm Court costs 80 dollars.", "2"), trajectory="t")
    assert list(export_memory(**shared))
    assert reindex_memory(**shared).snippets == 1
    with pytest.raises(StoreMismatchError, match="written with embedder"):
        open_memory(**shared, embedder="openai/other", embedder_dimension=256)
    other: dict[str, Any] = {"memory": server.url, "journal": new_url(), "collection": "other"}
    made = restore_memory(tmp_path / "b", **other)
    assert (made.steps, made.snippets, made.disagreements) == (1, 1, 0)
    with open_memory(**other) as memory:
        assert "Harbor" in found(memory)
