"""The command as a process, and its retention and backups by a clock that the test sets."""

import asyncio
import contextlib
import json
import logging
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from stitch import Step, open_memory, open_tenants
from stitch.config import ServeOptions
from stitch.core.retention import RetentionRule
from stitch.server import running
from stitch.server.access import FolderAccess
from stitch.server.app import create_app
from stitch.server.scheduled_jobs import ScheduledJobs

HEEDING = (
    "import os, signal, sys\n"
    "for each in (signal.SIGINT, signal.SIGTERM): signal.signal(each, signal.SIG_DFL)\n"
    "os.execv(sys.argv[1], sys.argv[1:])"
)


@pytest.fixture
def begin():
    begun = []

    def call(*arguments):
        stitch = Path(sys.executable).parent / "stitch"
        command = [sys.executable, "-c", HEEDING, str(stitch), "serve", "--port", "0", "--json", *map(str, arguments)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        begun.append(process)
        assert process.stdout is not None
        line = process.stdout.readline()
        return process, json.loads(line) if line else None

    yield call
    for process in begun:
        with process:
            process.kill()


def test_a_ready_server_says_on_one_line_where_it_is_and_a_signal_ends_it_in_order(begin, tmp_path, client_of):
    process, ready = begin("--memory", tmp_path / "m")
    assert set(ready) == {"url", "mcp", "pid"}
    assert (ready["mcp"], ready["pid"]) == (f"{ready['url']}/mcp", process.pid)
    client = client_of(ready["url"])
    client.add("Book the Harbor Inn for day 1, please.")
    with client.events() as stream:
        assert next(stream)[1] == "ready"
        process.send_signal(signal.SIGTERM)
        assert next(stream)[1] == "closing"
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out, err) == (0, b"", b"")
    with open_memory(tmp_path / "m") as memory:
        assert memory.status().stored == 1


@pytest.mark.parametrize("turns", range(6))
def test_a_connection_that_comes_as_a_server_ends_is_not_left_open(tmp_path, turns):
    listening = running.listen("127.0.0.1", 0)
    place = listening.getsockname()

    class Ending(running.Server):
        async def main_loop(self):
            client.connect(place)
            for _ in range(turns):  # of the loop, in some of which the connection is taken and not yet made
                await asyncio.sleep(0)

    with open_tenants(tmp_path / "m") as tenants, socket.socket() as client:
        Ending(create_app(tenants, access=FolderAccess(token="", tenant="default")), ready=lambda: None).serve_on(
            listening
        )
        client.settimeout(5)
        with contextlib.suppress(ConnectionResetError):
            assert client.recv(1) == b""


HOUR = 3600.0


class Clock:
    now = 1_800_000_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def tenants(tmp_path):
    with open_tenants(tmp_path / "m") as opened:
        for name in ("ann", "bea"):
            opened.memory(name).add(Step(role="user", content="hello"), trajectory="t")
        yield opened


def names(folder):
    return sorted(each.name for each in folder.iterdir())


def test_a_backup_is_made_when_the_newest_is_old_enough_and_only_so_many_are_kept(tenants, tmp_path):
    clock, to = Clock(), tmp_path / "backups"
    jobs = ScheduledJobs(tenants, ServeOptions(backup_every_h=2, backup_to=str(to), keep=2), clock=clock)
    assert jobs.do_due() == 2 * HOUR
    [first] = names(to)
    clock.now += HOUR
    assert jobs.do_due() == HOUR
    assert names(to) == [first]
    (to / "something else").mkdir()
    (to / "stitch-20000101T000000Z").mkdir()  # no backup: nothing says that it is whole
    for _ in range(2):
        clock.now += 2 * HOUR
        jobs.do_due()
    kept = names(to)
    assert len(kept) == 4
    assert first not in kept
    assert {"something else", "stitch-20000101T000000Z"} < set(kept)


def test_retention_is_applied_to_all_tenants_at_the_start_and_after_each_interval(tmp_path, caplog):
    caplog.set_level(logging.INFO, "stitch.server.scheduled_jobs")
    rules = (RetentionRule(older_than_days=1e-9, action="erase"),)
    clock = Clock()
    with open_tenants(tmp_path / "m", retention=rules) as tenants:
        for name in ("ann", "bea"):
            tenants.memory(name).add(Step(role="user", content="hello"), trajectory="t")
        jobs = ScheduledJobs(tenants, ServeOptions(retention_every_h=1), clock=clock)
        assert jobs.do_due() == HOUR
        assert [tenants.memory(name).status().accepted for name in ("ann", "bea")] == [0, 0]
        tenants.memory("ann").add(Step(role="user", content="hello again"), trajectory="t2")
        clock.now += HOUR / 2
        assert jobs.do_due() == HOUR / 2
        assert tenants.memory("ann").status().accepted == 1
        clock.now += HOUR / 2
        jobs.do_due()
        assert tenants.memory("ann").status().accepted == 0
    assert "retention concerned 1 steps" in caplog.text
