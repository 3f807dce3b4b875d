"""What is corrected keeps its history, what is retired is not found, and of what is erased no byte is left."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from doubles.files import files_with
from stitch import Memory, Step, open_memory
from stitch.errors import InputError
from stitch.lifecycle.selection import Selector
from stitch.lm import Charge, Ledger, read_ledger

SECRET = "Let's plan day 1. My own doctor Quetzalina Archaeopteryx lives at the Halcyon Observatory, room 941752883."
TRIP = [
    Step(id="a", role="user", content=SECRET),
    Step(id="b", role="user", content="How much is it per night?"),
    Step(id="c", role="assistant", content="It is priced at around $76.22 for two."),
    Step(id="d", role="user", content="Now let's turn to day 2. One idea for breakfast is the Hyperion Horizon."),
    Step(id="e", role="user", content="What is its price?"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with open_memory(tmp_path / "m", tenant="bob") as other:
        other.add_many(TRIP, trajectory="trip")
    with open_memory(tmp_path / "m") as memory:
        memory.add_many(TRIP, trajectory="trip")
        memory.inventory()
    return tmp_path / "m"


@pytest.fixture
def memory(folder: Path) -> Iterator[Memory]:
    with open_memory(folder) as opened:
        yield opened


# Erasing


def test_a_proof_tells_nothing_of_what_other_tenants_say(folder: Path) -> None:
    said = "The card has the number 4929 1234 5678 9012"
    with open_memory(folder, tenant="bob") as other:
        other.add(Step(id="card", role="user", content=said), trajectory="trip")
    proofs = []
    for guess in (said, said.replace("9012", "9013")):
        with open_memory(folder) as memory:
            memory.add(Step(id="guess", role="user", content=guess), trajectory="guesses", again=True)
            proofs.append(memory.lifecycle.erase(Selector(trajectory="guesses", step="guess")).proof)
    right, wrong = proofs
    assert right == wrong
    assert right.said_elsewhere == 0


def test_the_proof_finds_what_is_left(folder: Path) -> None:
    (folder / "notes.txt").write_text("copied by hand: " + SECRET)
    with open_memory(folder, tenant="bob") as other:
        other.lifecycle.erase(Selector(trajectory="trip", step="a"))
    with open_memory(folder) as memory:
        proof = memory.lifecycle.erase(Selector(trajectory="trip", step="a")).proof
    assert [line.split(":")[0] for line in proof.found] == ["notes.txt"]


def test_the_ledger_keeps_what_a_forgotten_trajectory_cost_and_not_its_name(memory: Memory, folder: Path) -> None:
    memory.add_many(TRIP, trajectory="kept-trajectory")
    memory.add_many([Step(role="user", content="Where is my doctor?")], trajectory="gone-trajectory")
    ledger = Ledger(folder / "ledger.jsonl")
    gone = "gone-trajectory"
    for tenant, trajectory in (("default", gone), ("bob", gone), ("default", "kept-trajectory")):
        ledger.charge(Charge(model="m", stage="window", tenant=tenant, trajectory=trajectory, position=3, steps=4,
                             prompt_tokens=100, reply_tokens=7, cost_usd=0.5))  # fmt: skip
    before = list(read_ledger(folder / "ledger.jsonl"))
    assert memory.lifecycle.erase(Selector(trajectory=gone)).proof.found == ("ledger.jsonl: 1 traces",), "bob's"
    mine, bobs, kept = read_ledger(folder / "ledger.jsonl")
    assert mine == before[0].model_copy(update={"trajectory": "", "position": None})
    assert [bobs, kept] == before[1:]
    memory.lifecycle.erase(Selector(trajectory="kept-trajectory", step="a"))
    assert list(read_ledger(folder / "ledger.jsonl"))[2] == before[2]


def test_an_interrupted_erasure_is_purged_when_the_memory_is_opened(folder: Path) -> None:
    with open_memory(folder) as memory:
        memory.lifecycle.erase(Selector(trajectory="trip", step="e"))
    with closing(sqlite3.connect(folder / "journal.sqlite")) as db, db:
        db.execute("CREATE TABLE freed (text TEXT)")
        db.execute("INSERT INTO freed VALUES ('leftover canary')")
        db.execute("PRAGMA secure_delete = OFF")
        db.execute("DROP TABLE freed")
        db.execute("INSERT INTO purges VALUES (NULL)")
    assert files_with(folder, b"leftover canary")
    open_memory(folder).close()
    assert files_with(folder, b"leftover canary") == []


# Selecting


def test_each_selector_means_what_it_says_and_all_of_it(memory: Memory) -> None:
    entries = list(memory.steps("trip"))
    intents = {entry.id: entry.labels.intent for entry in entries if entry.labels}
    scope, event = intents["a"].scope, intents["b"].event_types[0]
    canonical = memory.inventory().vocabulary()
    assert canonical is not None
    assert memory.lifecycle.count(Selector(trajectory="trip")) == memory.lifecycle.count(Selector(everything=True)) == 5
    assert memory.lifecycle.count(Selector(trajectory="trip", step="a")) == 1
    assert memory.lifecycle.count(Selector(scope=scope)) >= 1
    in_scope = sum(intent.scope == scope for intent in intents.values())
    assert memory.lifecycle.count(Selector(scope=scope)) >= in_scope
    assert memory.lifecycle.count(Selector(event_type=event)) >= sum(event in i.event_types for i in intents.values())
    assert (
        memory.lifecycle.count(Selector(scope="no such scope"))
        == memory.lifecycle.count(Selector(event_type="none"))
        == 0
    )
    assert memory.lifecycle.count(Selector(accepted_before=0.0)) == 0
    assert memory.lifecycle.count(Selector(accepted_before=1e12)) == 5
    assert memory.lifecycle.count(Selector(trajectory="trip", step="a", scope="no such scope")) == 0
    with pytest.raises(InputError, match="no steps are selected"):
        memory.lifecycle.count(Selector())
    with pytest.raises(InputError, match="without its trajectory"):
        memory.lifecycle.count(Selector(step="a"))
