"""The command as a process: how it begins, says that it is ready, and ends."""

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from stitch import open_memory
from stitch.cli import main
from stitch.serve.keys import KeyFile, make_key

HEEDING = (
    "import os, signal, sys\n"
    "for each in (signal.SIGINT, signal.SIGTERM): signal.signal(each, signal.SIG_DFL)\n"
    "os.execv(sys.argv[1], sys.argv[1:])"
)


@pytest.fixture
def begin():
    """Begins `stitch serve` as a process of its own; gives it with what it says when it is ready."""
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


def test_what_a_client_of_tools_asks_for_in_vain_is_not_shown_in_the_log(begin, tmp_path, client_of):
    process, ready = begin("--memory", tmp_path / "m")
    client = client_of(ready["url"])
    accept = {"Accept": "application/json, text/event-stream"}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    opened = client.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}, **accept)
    session = {**accept, "Mcp-Session-Id": opened.headers["mcp-session-id"]}
    for method in ("prompts/get", "resources/read", "tools/call"):
        named = {"name": "swordfish", "uri": "stitch://swordfish"}
        client.post("/mcp", {"jsonrpc": "2.0", "id": 2, "method": method, "params": named}, **session)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0
    assert b"swordfish" not in err


def test_ctrl_c_ends_a_server_of_several_tenants_with_status_0(begin, tmp_path, client_of):
    made = make_key("ann", actions=["read", "write"], now=0)
    KeyFile(tmp_path / "keys.json").add(made.key)
    process, ready = begin("--memory", tmp_path / "m", "--keys", tmp_path / "keys.json", "--host", "0.0.0.0")
    client = client_of(ready["url"].replace("0.0.0.0", "127.0.0.1"), key=made.text)
    client.add("hello")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    assert process.returncode == 0
    with open_memory(tmp_path / "m", tenant="ann") as memory:
        assert memory.status().stored == 1


@pytest.fixture
def refused(tmp_path, monkeypatch, capfd):
    """Runs `stitch serve` where it cannot begin; gives status and standard error."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["stitch", "serve", "--memory", str(tmp_path / "m"), *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code, capfd.readouterr().err

    return call


def test_what_keeps_a_server_from_beginning_is_said_in_one_line(refused, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        status, err = refused("--port", taken.getsockname()[1])
    assert (status, "cannot be had: address already in use" in err, "--port" in err) == (2, True, True)
    status, err = refused("--host", "0.0.0.0")
    assert (status, "without keys" in err, "stitch keys add" in err) == (2, True, True)
    assert not (tmp_path / "m").exists()
