"""`stitch chat`: a conversation about a tree with a model."""

import io
import json
import sys

import pytest

from stitch import open_memory
from stitch.testing.model import LoopbackProvider

DAYS = [{"type": "Day", "id": "d1", "n": 1}, {"type": "Day", "id": "d2", "n": 2}]
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
