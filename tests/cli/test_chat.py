"""`stitch chat`: a conversation about a tree, line by line."""

from __future__ import annotations

import io
import json
import os
import select
import signal
import subprocess
import sys
import threading
from contextlib import ExitStack

import pytest

from stitch import open_memory
from stitch.testing.model import LoopbackProvider
from stitch.testing.servers import Silence

DAYS = [{"type": "Day", "id": "d1", "n": 1}, {"type": "Day", "id": "d2", "n": 2}]
PATIENCE_S = 120
TRIP = {"type": "Plan", "id": "p", "children": DAYS}


@pytest.fixture
def trip():
    with open_memory("m") as memory:
        memory.trees.create("trip", TRIP)


def script(replies):
    """A model that says one reply after the other."""
    left = iter(replies)
    return lambda system, user: next(left)


def routed(kind, query):
    return {"tasks": [{"kind": kind, "request": "do it", "query": query}], "question": ""}


DELETE = {"operations": [json.dumps({"op": "delete", "id": "d2"})], "message": "one day is enough"}


@pytest.fixture
def chat(run, trip, monkeypatch):
    def call(lines, replies, *options):
        monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(lines) + "\n"))
        with LoopbackProvider(script(replies)) as server:
            where = ("--model", "scripted", "--base-url", server.url, "--config", "s.yaml")
            with open("s.yaml", "w") as file:
                file.write("model_retries: 0\n")
            return run("chat", "--tree", "trip", "--memory", "m", *where, *options)

    return call


def test_what_is_asked_is_answered_with_its_query(chat):
    code, out, _ = chat(["which days?", "", "quit"], [routed("read", "//Day"), {"answer": "Two of them."}])
    assert code == 0
    shown = "  /Plan/Day[1]  (d1)  1.00  1\n  /Plan/Day[2]  (d2)  1.00  2\n"
    assert out.startswith(f"query   //Day\n{shown}Two of them.\n(2 calls, ")


def test_a_change_is_shown_committed_and_undone(chat, run):
    replies = [routed("delete", "//Day[2]"), DELETE]
    code, out, _ = chat(["drop day 2", "undo", "undo"], replies, "--yes")
    assert code == 0
    assert "query   //Day[2]\n  - Day d2 /Plan/Day[2] (d2)\n" in out
    assert "committed v2; `undo` takes it back\n" in out
    assert "Revert to v1; the tree is at v3\n" in out
    assert len(json.loads(run("tree", "log", "trip", "--memory", "m", "--json")[1])["commits"]) == 3


def test_where_nobody_can_be_asked_nothing_is_committed(chat, run):
    code, out, err = chat(["drop day 2"], [routed("delete", "//Day[2]"), DELETE])
    assert (code, "committed" in out, "not committed; nobody can be asked here" in err) == (0, False, True)
    assert len(json.loads(run("tree", "log", "trip", "--memory", "m", "--json")[1])["commits"]) == 1


def test_a_model_that_fails_ends_the_turn_and_not_the_conversation(chat):
    code, out, err = chat(["x", "which days?"], ["no json", routed("read", "//Day"), {"answer": "Two."}])
    assert (code, "Two." in out) == (6, True)
    assert err.startswith("stitch: ")
    assert "next: say it again" in err


def test_what_was_committed_before_a_failure_is_told_and_can_be_undone(chat):
    both = {"tasks": [*routed("delete", "//Day[2]")["tasks"], *routed("read", "//Day")["tasks"]], "question": ""}
    code, out, err = chat(["drop day 2, and what is left?", "undo"], [both, DELETE, ""], "--yes")
    assert (code, "committed v2 before that; `undo` takes it back\nRevert to v1; the tree is at v3\n" in out) == (
        6,
        True,
    )
    assert err.startswith("stitch: the reply of")


def test_undo_takes_back_one_request_after_the_other_and_nothing_of_others(chat, run):
    again = routed("add", "/Plan")
    add = {
        "operations": [{"op": "add", "parent": "p", "node": {"type": "Day", "fields": {"n": "9"}}}],
        "message": "more",
    }

    def replies():
        yield routed("delete", "//Day[2]")
        yield DELETE
        yield again
        with open_memory("m") as memory:  # somebody else, while the model thinks
            memory.trees.open("trip").edit([{"op": "set", "id": "d1", "field": "n", "value": "7"}], message="theirs")
        yield add

    code, out, err = chat(["drop day 2", "one more", "undo", "undo"], replies(), "--yes")
    assert code == 4
    assert "'trip' was changed meanwhile: v3" in err
    assert "v3 came after what this conversation did" in err
    assert len(json.loads(run("tree", "log", "trip", "--memory", "m", "--json")[1])["commits"]) == 3
    code, out, _ = chat(
        ["drop day 1", "one more", "undo", "undo", "undo"],
        [routed("delete", "//Day[1]"), {"operations": [{"op": "delete", "id": "d1"}]}, again, add],
        "--yes",
    )
    assert ("Revert to v4; the tree is at v6\nRevert to v3; the tree is at v7\n" in out, code) == (True, 0)


def test_without_a_model_it_says_what_it_needs(run, trip):
    code, _, err = run("chat", "--tree", "trip", "--memory", "m")
    assert (code, "needs a language model" in err, "--model" in err) == (2, True, True)
    assert "Example:" in run("chat", "--help")[1]


def test_at_a_terminal_ctrl_c_ends_a_turn_and_not_the_conversation(trip):
    pty = pytest.importorskip("pty")
    asked = threading.Event()

    def thinking():
        asked.set()
        yield Silence()

    replies = [routed("delete", "//Day[2]"), DELETE] * 2
    with LoopbackProvider(script(replies), faults=thinking()) as server:
        ours, theirs = pty.openpty()
        where = ("--model", "scripted", "--base-url", server.url, "--memory", "m")
        command = [sys.executable, "-m", "stitch", "chat", "--tree", "trip", *where]
        with (
            subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, preexec_fn=_owns_terminal) as chat,
            ExitStack() as ended,
        ):
            ended.callback(chat.kill)
            os.close(theirs)
            said = _Terminal(ours)
            said.until("> ")
            said.type("thinking\n")
            assert asked.wait(PATIENCE_S)
            said.type("\x03")
            said.until("stopped")
            said.until("> ")
            said.type("drop day 2\n")
            said.until("commit this? [Y/n]: ")
            said.type("n\n")
            said.until("not committed")
            said.until("> ")
            said.type("drop day 2\n")
            said.until("commit this? [Y/n]: ")
            said.type("\x03")
            said.until("stopped")
            said.until("> ")
            said.type("quit\n")
            assert chat.wait(PATIENCE_S) == 0
        os.close(ours)
    with open_memory("m") as memory:
        assert memory.trees.open("trip").version == "v1"


def _owns_terminal():
    """Let the standard input of a new process be its terminal, which sends it Ctrl-C.

    Who runs the tests in the background may have made them ignore that; a program at a terminal does not.
    """
    import fcntl
    import termios

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class _Terminal:
    """What a program says to a terminal, and what a person types there."""

    def __init__(self, file):
        self._file, self._said = file, ""

    def until(self, text):
        """Read up to a text; what stands behind it is read next."""
        while text not in self._said:
            ready, _, _ = select.select([self._file], [], [], PATIENCE_S)
            assert ready, f"{text!r} was not said, but {self._said!r}"
            self._said += os.read(self._file, 4096).decode()
        self._said = self._said.partition(text)[2]

    def type(self, text):
        os.write(self._file, text.encode())
