"""A disk of the database that is full, a clock that jumps, a worker that dies: what was accepted stays, and goes on."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from cluster.conftest import working

from doubles.qdrant import LoopbackQdrant
from stitch import Memory, Step
from stitch.core import StepState
from stitch.errors import JournalError

FULL = """
CREATE OR REPLACE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$;
CREATE TRIGGER full_disk BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION full_disk();
"""
CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
static int read_clock(clockid_t id, struct timespec *at) {
    return ((int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime"))(id, at);
}
int clock_gettime(clockid_t id, struct timespec *at) {
    static time_t began;
    struct timespec passed;
    int done = read_clock(id, at);
    if (id == CLOCK_REALTIME && getenv("JUMP_S")) {
        read_clock(CLOCK_MONOTONIC, &passed);
        if (!began) began = passed.tv_sec;
        if (passed.tv_sec > began + 3) at->tv_sec += atoi(getenv("JUMP_S"));
    }
    return done;
}
time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}
"""
"""Stands before the library of the system, whose clock jumps three seconds after the process began."""
SMALL = "64m"

StartWorker = Callable[..., "subprocess.Popen[bytes]"]


def say(content: str, name: str | None = None) -> Step:
    return Step(id=name, role="user", content=content)


def wait_until(is_so: Callable[[], bool], *, within_s: float) -> float:
    """Wait for something; return how long that took."""
    began = time.monotonic()
    while not is_so():
        assert time.monotonic() < began + within_s
        time.sleep(0.05)
    return time.monotonic() - began


@pytest.mark.parametrize("table", ["steps", "procrastinate_jobs"])
def test_a_full_disk_is_told_in_a_line_and_nothing_is_half_done(
    open_shared: Callable[..., Memory], server: LoopbackQdrant, journal_url: str, table: str
) -> None:
    with open_shared() as memory, psycopg.connect(journal_url, autocommit=True) as other:
        memory.add(say("Day 1: Kyoto.", "1"), trajectory="t")
        other.execute(FULL.format(table=table))
        with pytest.raises(JournalError, match="the disk of the server is full") as refused:
            memory.add_many([say("Day 2: Osaka.", "2"), say("Day 3: Nara.", "3")], trajectory="u")
        assert "free some space" in refused.value.hint
        assert (memory.trajectories(), memory.status().accepted) == (["t"], 1)
        other.execute(f"DROP TRIGGER full_disk ON {table}")
        memory.add(say("Day 2: Osaka.", "2"), trajectory="u")
        with working(server.url, journal_url):
            memory.flush()
            other.execute(FULL.format(table="labels"))
            memory.add(say("Day 3: Nara.", "3"), trajectory="u")
            memory.flush()
            assert memory.get("u", "3").state is StepState.ACCEPTED  # type: ignore[union-attr]
            other.execute("DROP TRIGGER full_disk ON labels")
            memory.flush()
            assert memory.status().stored == 3
            assert memory.lifecycle.verify().disagreements == ()


@pytest.fixture
def small_disk(postgres: str) -> Iterator[Path]:
    """A disk of a few megabytes on which the database has a tablespace `small`."""
    disk = Path(tempfile.mkdtemp(prefix="stitch-disk-"))
    if (
        shutil.which("mount") is None
        or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={SMALL}", "tmpfs", str(disk)], capture_output=True, check=False
        ).returncode
    ):
        pytest.skip("a small disk needs the right to mount one")
    try:
        with psycopg.connect(postgres, autocommit=True) as server:
            (owner,) = server.execute("SELECT setting FROM pg_settings WHERE name = 'data_directory'").fetchone() or ()
            (disk / "space").mkdir()
            shutil.chown(disk / "space", Path(owner).owner(), Path(owner).group())
            disk.chmod(0o755)
            server.execute(f"CREATE TABLESPACE small LOCATION '{disk / 'space'}'")
            yield disk
            schemas = server.execute("SELECT DISTINCT schemaname FROM pg_tables WHERE tablespace = 'small'").fetchall()
            for (schema,) in schemas:
                server.execute(f"DROP SCHEMA {schema} CASCADE")
            server.execute("DROP TABLESPACE small")
    finally:
        subprocess.run(["umount", str(disk)], check=False)
        disk.rmdir()


@pytest.mark.slow
def test_what_was_accepted_before_the_disk_was_full_is_labeled_when_there_is_room_again(
    open_shared: Callable[..., Memory], server: LoopbackQdrant, journal_url: str, small_disk: Path
) -> None:
    journal = f"{journal_url}%20-cdefault_tablespace%3Dsmall"
    accepted, rng = 0, random.Random(0)
    with open_shared(journal=journal) as memory, working(server.url, journal):
        memory.add(say("Day 1: Kyoto."), trajectory="t")
        memory.flush()
        filler = small_disk / "filler"
        filler.write_bytes(bytes(shutil.disk_usage(small_disk).free - 2_000_000))
        try:
            for number in range(1_000):
                drawn = [" ".join(map(str, rng.sample(range(10**9), 400))) for _ in range(20)]
                memory.add_many([say(f"Room {number}: {numbers}") for numbers in drawn], trajectory="u")
                accepted += 20
        except JournalError as error:
            assert "the disk of the server is full" in error.message  # noqa: PT017
        filler.unlink()
        assert 0 < accepted < 20_000
        memory.add(say("And breakfast."), trajectory="u")
        wait_until(lambda: memory.status().stored == accepted + 2, within_s=120)
        assert memory.lifecycle.verify().disagreements == ()


@pytest.fixture(scope="module")
def jumping_clock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not sys.platform.startswith("linux") or shutil.which("cc") is None:
        pytest.skip("moves the clock with a library made here")
    folder = tmp_path_factory.mktemp("clock")
    (folder / "clock.c").write_text(CLOCK)
    library = folder / "clock.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, folder / "clock.c", "-ldl"], check=True, timeout=120)
    return library


@pytest.mark.slow
@pytest.mark.parametrize("jump_s", [7_200, -7_200])
def test_a_worker_whose_clock_jumps_does_what_waited_for_the_store_as_soon(
    open_shared: Callable[..., Memory],
    start_worker: StartWorker,
    server: LoopbackQdrant,
    jumping_clock: Path,
    monkeypatch: pytest.MonkeyPatch,
    jump_s: int,
) -> None:
    with open_shared() as memory, monkeypatch.context() as there:
        there.setenv("LD_PRELOAD", str(jumping_clock))
        there.setenv("JUMP_S", str(jump_s))
        start_worker()
        there.undo()
        time.sleep(4)  # it has jumped
        server.away = True
        memory.add_many([say("Day 1: Kyoto."), say("Day 2: Osaka.")], trajectory="t")
        labeled = [StepState.LABELED] * 2
        wait_until(lambda: [entry.state for entry in memory.steps("t")] == labeled, within_s=120)
        server.away = False
        wait_until(lambda: memory.status().stored == 2, within_s=120)
        assert memory.status().queue["workers"] == "1"
        memory.add(say("Day 3: Nara."), trajectory="t")
        memory.flush()
        assert [entry.position for entry in memory.steps("t")] == [0, 1, 2]
        assert memory.lifecycle.verify().disagreements == ()


@pytest.mark.slow  # six seconds are waited for a worker that is not heard of
def test_what_a_killed_worker_was_at_is_stored_within_ten_seconds(
    open_shared: Callable[..., Memory], start_worker: StartWorker
) -> None:
    workers = [start_worker(), start_worker()]
    with open_shared() as memory:
        for number in range(8):
            steps = [say(f"Day {day}: the inn costs {day}0 dollars a night.") for day in range(200)]
            memory.add_many(steps, trajectory=f"t{number}")
        wait_until(lambda: memory.status().stored > 0, within_s=120)
        workers[0].kill()
        assert wait_until(lambda: memory.status().stored == 8 * 200, within_s=120) < 10
        assert memory.lifecycle.verify().disagreements == ()
