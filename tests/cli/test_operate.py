"""What an operator calls: receipts, retry, verify, reindex, forget; each says what is so and what to do next."""

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from stitch import Step, open_memory
from stitch.store import QdrantStore

STEPS = [
    Step(role="user", content="Let's plan day 1. One idea for breakfast is the Olympus Summit Dining Hall."),
    Step(role="user", content="How much is the first restaurant I raised for day 1's breakfast?"),
    Step(role="assistant", content="It is priced at around $76.22."),
]


@pytest.fixture
def memory():
    with open_memory("m") as opened:
        opened.add_many(STEPS, trajectory="trip-1")
    return "m"


def lose_a_snippet(memory):
    embedder = open_memory(memory)
    name = embedder.status().embedder
    embedder.close()
    store = QdrantStore(memory, embedder_name=name, dimension=256)
    store.delete("default", [next(iter(store.scroll("default"))).id])
    store.close()


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


def test_forgetting_what_is_not_there_says_so_and_proves_nothing(run, memory):
    for verb, done in (("erase", "0 steps of 0 trajectories are erased"), ("retire", "0 steps are retired")):
        code, out, err = run("forget", verb, "--scope", "no such scope", "--memory", memory)
        assert (code, out.strip()) == (0, done)
        assert "no step is what was named" in err
        code, out, err = run("forget", verb, "--scope", "no such scope", "--dry-run", "--memory", memory)
        assert (code, out.startswith("0 steps would be")) == (0, True)
        assert "no step is what was named" in err


def test_steps_of_before_the_clock_jumped_ahead_are_not_taken_for_old(run, memory, monkeypatch):
    later = time.time() + 3 * 366 * 86_400
    monkeypatch.setattr(time, "time", lambda: later)
    code, _, err = run("forget", "erase", "--older-than", "90d", "--memory", memory)
    assert (code, "clock may have jumped ahead" in err, "--trust-clock" in err) == (2, True, True)
    code, out, _ = run("forget", "erase", "--older-than", "90d", "--trust-clock", "--memory", memory)
    assert (code, out.splitlines()[0]) == (0, "3 steps of 1 trajectory are erased")


def set_state(memory, state, reason):
    with closing(sqlite3.connect(Path(memory) / "journal.sqlite")) as db, db:
        db.execute("UPDATE states SET state = ?, reason = ? WHERE seq = 2", (state, reason))


def test_receipts_are_listed_and_failures_are_told_with_their_reason(run, memory):
    code, out, err = run("receipts", "--memory", memory)
    assert (code, out.count("stored"), err) == (0, 3, "")
    set_state(memory, "failed", "no answer")
    code, out, err = run("receipts", "--failed", "--memory", memory)
    assert (code, out) == (0, "failed    trip-1  1  no answer\n")
    assert "stitch retry" in err
    assert json.loads(run("receipts", "--failed", "--memory", memory, "--json")[1])["receipts"] == [
        {"tenant": "default", "trajectory": "trip-1", "step": "1", "position": 1, "state": "failed",
         "reason": "no answer", "redacted": []},
    ]  # fmt: skip


def test_retrying_says_how_many_are_stored_now(run, memory):
    set_state(memory, "failed", "no answer")
    assert run("retry", "--memory", memory) == (0, "1 stored, 0 failed\n", "")
    assert json.loads(run("retry", "--memory", memory, "--json")[1]) == {"stored": 0, "failed": 0}
