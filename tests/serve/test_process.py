"""The command as a process: how it begins, says that it is ready, and ends."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from stitch import open_memory

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
