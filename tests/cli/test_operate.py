"""What an operator calls: receipts, retry, verify, reindex; each says what is so and what to do next."""

from __future__ import annotations

import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from stitch import Step, open_memory
from stitch.cli import main
from stitch.config import Settings
from stitch.store import EdgeStore

STEPS = [
    Step(role="user", content="Let's plan day 1. One idea for breakfast is the Olympus Summit Dining Hall."),
    Step(role="user", content="How much is the first restaurant I raised for day 1's breakfast?"),
    Step(role="assistant", content="It is priced at around $76.22."),
]


@pytest.fixture(autouse=True)
def _empty_folder_and_environment(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in [*Settings.model_fields, "config"]:
        monkeypatch.delenv(f"STITCH_{name.upper()}", raising=False)


@pytest.fixture
def run(monkeypatch, capfd):
    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["stitch", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capfd.readouterr()
        return ended.value.code or 0, out, err

    return call


@pytest.fixture
def memory():
    with open_memory("m") as opened:
        opened.add_many(STEPS, trajectory="trip-1")
    return "m"


def set_state(memory, state, reason):
    with closing(sqlite3.connect(Path(memory) / "journal.sqlite")) as db, db:
        db.execute("UPDATE states SET state = ?, reason = ? WHERE seq = 2", (state, reason))


def lose_a_snippet(memory):
    embedder = open_memory(memory)
    name = embedder.status().embedder
    embedder.close()
    store = EdgeStore(memory, embedder_name=name, dimension=256)
    store.delete("default", [next(iter(store.scroll("default"))).id])
    store.close()


def test_receipts_are_listed_and_failures_are_told_with_their_reason(run, memory):
    code, out, err = run("receipts", "--memory", memory)
    assert (code, out.count("stored"), err) == (0, 3, "")
    set_state(memory, "failed", "no answer")
    code, out, err = run("receipts", "--failed", "--memory", memory)
    assert (code, out) == (0, "failed    trip-1  1  no answer\n")
    assert "stitch retry" in err
    assert json.loads(run("receipts", "--failed", "--memory", memory, "--json")[1])["receipts"] == [
        {"tenant": "default", "trajectory": "trip-1", "step": "1", "position": 1, "state": "failed",
         "reason": "no answer"},
    ]  # fmt: skip


def test_retrying_says_how_many_are_stored_now(run, memory):
    set_state(memory, "failed", "no answer")
    assert run("retry", "--memory", memory) == (0, "1 stored, 0 failed\n", "")
    assert json.loads(run("retry", "--memory", memory, "--json")[1]) == {"stored": 0, "failed": 0}


def test_a_memory_that_does_not_agree_ends_with_5_until_it_is_repaired(run, memory):
    assert run("verify", "--memory", memory) == (0, "3 steps, 3 snippets: all agree\n", "")
    lose_a_snippet(memory)
    code, out, err = run("verify", "--memory", memory)
    assert code == 5
    assert "trip-1 0: it is stored, by the journal, and not in the store" in out
    assert "--repair" in err
    found = json.loads(run("verify", "--memory", memory, "--json")[1])
    assert (found["steps"], found["snippets"], len(found["disagreements"])) == (3, 2, 1)
    assert run("verify", "--repair", "--memory", memory) == (0, "3 steps, 3 snippets: all agree\n", "")


def test_reindexing_says_what_the_new_store_holds(run, memory):
    code, out, err = run("reindex", "--memory", memory)
    assert (code, err) == (0, "")
    assert out.startswith("3 snippets with the embedder")
    found = json.loads(run("reindex", "--memory", memory, "--embedder", "static", "--json")[1])
    assert (found["snippets"], found["written"]) == (3, 3)
    assert "STITCH_EMBEDDER=static" in run("reindex", "--memory", memory, "--embedder", "static")[2]
    assert run("reindex", "--memory", "none")[0] == 2


@pytest.mark.parametrize("name", ["receipts", "retry", "verify", "reindex"])
def test_each_command_shows_an_example_of_itself(run, name):
    code, out, _ = run(name, "--help")
    assert code == 0
    assert f"stitch {name}" in out.split("Example:")[1]
