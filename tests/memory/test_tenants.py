"""Many tenants in one place never see each other's text, labels, names, costs or copies, whatever they do at once."""

import json
import os
import random
import re
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from qdrant_edge import EdgeShard, ScrollRequest

from stitch import Memory, Step, StitchError, Tenants, open_memory, open_tenants
from stitch.core import StepState, ToolCall
from stitch.errors import ScopeError
from stitch.journal.database import SQLITE, Session
from stitch.journal.erased import ErasedSteps
from stitch.lifecycle.selection import Selector
from stitch.lm import read_ledger
from stitch.observe import TraceObserver
from stitch.testing.model import LoopbackProvider, label_by_rules

TENANTS = int(os.environ.get("STITCH_TEST_TENANTS", "16"))
ROUNDS = int(os.environ.get("STITCH_TEST_TENANT_ROUNDS", "2"))
THREADS = 4
CANARY = re.compile(r"canary\d{4}")
DOINGS = ("add", "add", "search", "search", "correct", "retire", "erase", "look", "wrong", "copy", "call")
DONE: list[str] = []
"""What was done; the long form prints it."""
HAS_SECRET = Step(id="secret", role="user", content="My password: hunter2hunter2 is for the hotel.")


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STITCH_MEMORY", raising=False)


@pytest.fixture
def tenants(tmp_path: Path) -> Iterator[Tenants]:
    with open_tenants(tmp_path / "m") as opened:
        yield opened


def name_of(number: int) -> str:
    return f"canary{number:04d}"


def steps_of(tenant: str, start: int, stop: int) -> list[Step]:
    """The same ids in every tenant, and in every text, name and value the tenant's own word."""
    word = tenant.capitalize()
    said = (
        f"Let's plan day {{n}} with {word}. One idea for breakfast is the {word} Dining Hall.",
        f"How much is the first {tenant} restaurant I raised for day {{n}}'s breakfast?",
        f"It is priced at around ${{n}}.22, says {word}.",
        f"Now book the {word} hotel, please.",
    )
    return [
        Step(id=str(n), role="user" if n % 4 != 2 else "assistant", content=said[n % 4].format(n=n // 4 + 1),
             metadata={tenant: tenant})
        for n in range(start, stop)
    ]  # fmt: skip


def calls_of(tenant: str, count: int) -> list[Step]:
    """Calls of two tools whose names mean the same, so that their labels are merged after 50 steps."""
    return [
        Step(role="assistant", content=f"{tenant} looks", tool_calls=(
            ToolCall(name=f"price_of_{tenant}" + "s" * (n % 2), arguments={f"{tenant}_place": tenant}),))
        for n in range(count)
    ]  # fmt: skip


class SeesOthersError(AssertionError):
    """Something of another tenant came to light."""


def check(tenant: str, *shown: Any) -> None:
    found = {word for each in shown for word in CANARY.findall(str(each).lower())}
    if found - {tenant}:
        raise SeesOthersError(f"{tenant} sees {sorted(found - {tenant})}")


def live(memory: Memory, chance: random.Random, said: set[int], lock: threading.Lock) -> None:
    """Do one thing in a tenant's memory, and look at all that comes back."""
    tenant = memory.tenant
    doing = chance.choice(DOINGS)
    DONE.append(doing)
    if doing == "add":
        with lock:
            start = max(said, default=-1) + 1
            said.update(range(start, start + 3))
        check(tenant, memory.add_many(steps_of(tenant, start, start + 3), trajectory="trip"))
        return
    try:
        if doing == "search":
            other, past = name_of(chance.randrange(TENANTS)), time.time() - chance.random()
            for query in ("What did breakfast on day 1 cost?", f"Where is the {other} Dining Hall?"):
                for as_of in (None, past):
                    result = memory.search(query, k=9, as_of=as_of)
                    check(tenant, result.hits, result.intent_filter, result.context())
        elif doing == "correct":
            memory.lifecycle.correct(
                "1", trajectory="trip", labels={"scope": f"{tenant} scope", "event_types": (tenant,)}
            )
            check(tenant, memory.lifecycle.history("1", trajectory="trip"))
        elif doing == "retire":
            memory.lifecycle.retire(Selector(trajectory="trip", step="2"), reason=f"{tenant} said so")
        elif doing == "erase" and chance.random() < 0.1:
            check(tenant, memory.lifecycle.erase(Selector(trajectory="trip", step="3")))
        elif doing == "look":
            check(tenant, memory.inventory(), memory.status(), list(memory.receipts()), list(memory.steps("trip")))
            check(tenant, memory.trajectories(), memory.why_not("0", query="the hotel", trajectory="trip"))
            check(tenant, memory.why("What did it cost?", step="0", trajectory="trip"))
            check(tenant, memory.why("What did it cost?", step="0", trajectory="trip", as_of=time.time()))
            assert all(recall.tenant == tenant for recall in memory.recalls())
            check(tenant, [recall.hits for recall in memory.recalls()])
        elif doing == "call":
            check(tenant, memory.add_many(calls_of(tenant, 2), trajectory="calls"), memory.inventory("calls"))
        elif doing == "copy":
            check(tenant, *memory.lifecycle.export())
        elif doing == "wrong":
            check(tenant, memory.lifecycle.count(Selector(scope=name_of(chance.randrange(TENANTS)))))
            if not any(entry.id == "0" for entry in memory.steps("trip")):
                memory.lifecycle.correct(
                    "x", trajectory="trip", text="there is none yet"
                )  # or this would be the first one
            memory.add(Step(id="0", role="user", content=f"Not what {tenant} said first"), trajectory="trip")
    except StitchError as error:
        check(tenant, error.message, error.hint)


def test_tenants_that_do_everything_at_once_never_see_each_other(tmp_path: Path) -> None:
    errors: list[BaseException] = []
    said: dict[str, set[int]] = {name_of(number): set() for number in range(TENANTS)}
    locks = {tenant: threading.Lock() for tenant in said}

    with (
        TraceObserver(tmp_path / "trace.jsonl") as trace,
        open_tenants(tmp_path / "m", observers=[trace], recall_log=20) as tenants,
    ):
        merging = list(said)[:: TENANTS // 10 or 1]
        for tenant in merging:
            tenants.memory(tenant).add_many(calls_of(tenant, 49), trajectory="calls")

        def work(seed: int) -> None:
            chance = random.Random(seed)
            order = list(said) * ROUNDS
            chance.shuffle(order)
            try:
                for tenant in order[:: THREADS // 2]:
                    live(tenants.memory(tenant), chance, said[tenant], locks[tenant])
            except BaseException as error:
                errors.append(error)
                raise

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not errors
        for tenant, numbers in said.items():
            memory = tenants.memory(tenant)
            entries = list(memory.steps("trip"))
            check(tenant, entries, memory.inventory(), *memory.lifecycle.export())
            there = {int(entry.id) for entry in entries}
            assert numbers - {3} <= there <= numbers
            assert memory.lifecycle.verify().disagreements == ()
        assert sum(map(len, said.values())) > TENANTS, "something was going on"
        for tenant in merging:
            memory = tenants.memory(tenant)
            memory.add_many(calls_of(tenant, 2), trajectory="calls")
            assert memory.inventory("calls").merges
            check(tenant, memory.inventory().merges, memory.search(f"price of {tenant}", k=60).context())
            memory.lifecycle.backup(tmp_path / tenant)
            check(
                tenant, *(path.read_bytes() for path in (tmp_path / tenant).iterdir() if path.name != "recalls.jsonl")
            )
    print(f"{TENANTS} tenants, {THREADS} threads: {dict(Counter(DONE))}, and nobody saw anything of another")
    for line in (tmp_path / "trace.jsonl").read_text().splitlines():
        event = json.loads(line)
        if "query" not in event:  # which may name anybody
            check(event["tenant"], line)


def rows_of_others(folder: Path, tenant: str) -> dict[str, list[Any]]:
    """Every row of every table of the journal that belongs to another tenant, with all its columns."""
    of_others = "trajectory IN (SELECT number FROM trajectories WHERE tenant <> ?)"
    rows = {
        name: f"SELECT * FROM {name} WHERE tenant NOT IN (?, '')" for name in ("trajectories", "changes", "records")
    }
    for table in ("steps", "checkpoints", "cuts", "replies"):
        rows[table] = f"SELECT * FROM {table} WHERE {of_others}"
    for table in ("labels", "states", "history", "redactions"):
        rows[table] = f"SELECT * FROM {table} WHERE seq IN (SELECT seq FROM steps WHERE {of_others})"
    with closing(sqlite3.connect(folder / "journal.sqlite")) as db:
        known = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        known -= {"purges", "projections", "next_seq", "sqlite_sequence"}
        session = Session(db, SQLITE)
        own = ErasedSteps(session, tenant).number  # the tables do not say whose rows they hold
        erased = {"erased": f"owner <> {own}", "erasers": f"number NOT IN (0, {own})"}
        assert known == {*rows, *erased}, "a new table has to be compared, too"
        found = {table: db.execute(query, (tenant,)).fetchall() for table, query in rows.items()}
        found |= {table: db.execute(f"SELECT * FROM {table} WHERE {them}").fetchall() for table, them in erased.items()}
        return {table: sorted(each, key=repr) for table, each in found.items()}


def lines_of_others(folder: Path, tenant: str) -> dict[str, list[bytes]]:
    """The lines of others in the recall log, the trace and the ledger, byte for byte."""
    return {
        path.name: [line.strip() for line in path.read_bytes().splitlines() if json.loads(line).get("tenant") != tenant]
        for path in folder.glob("*.jsonl")
    }


def shown_to_others(folder: Path, tenant: str) -> list[Any]:
    """What the others are shown: their export, their label spaces, and what a question of theirs brings back."""
    shown: list[Any] = []
    with open_tenants(folder) as tenants:
        for name in tenants.names():
            if name != tenant:
                memory = tenants.memory(name)
                shown += [
                    *memory.lifecycle.export(),
                    memory.inventory().model_dump_json(),
                    memory.search("the hotel").context(),
                ]
    return shown


def points_of_others(folder: Path, tenant: str) -> dict[str, Any]:
    """Payload and vectors of each point as the shard holds them, read with the engine alone."""
    shard = EdgeShard.load(str(folder / "store" / "shard"))
    points, _ = shard.scroll(ScrollRequest(limit=10_000, with_payload=True, with_vector=["dense"]))
    shard.close()
    return {
        str(each.id): (each.payload, each.vector)
        for each in points
        if each.payload and each.payload["tenant"] != tenant
    }


@pytest.mark.parametrize("deletion", ["retire", "erase", "erase all"])
def test_deleting_in_one_tenant_leaves_all_others_byte_for_byte(tmp_path: Path, deletion: str) -> None:
    folder = tmp_path / "m"
    folder.mkdir()
    with (
        TraceObserver(folder / "trace.jsonl") as trace,
        open_tenants(folder, observers=[trace], recall_log=10) as tenants,
    ):
        for number in range(8):
            memory = tenants.memory(name_of(number))
            memory.add_many([*steps_of(name_of(number), 0, 8), HAS_SECRET], trajectory="trip")
            memory.search("How much is breakfast?")
        tenants.memory(name_of(2)).lifecycle.correct("1", trajectory="trip", labels={"scope": "mine"})
        tenants.memory(name_of(4)).lifecycle.retire(Selector(trajectory="trip", step="2"))
    mine = name_of(3)

    def all_of_others() -> tuple[Any, ...]:
        shown = shown_to_others(folder, mine)
        return shown, rows_of_others(folder, mine), points_of_others(folder, mine), lines_of_others(folder, mine)

    shown_to_others(folder, mine)  # labelings that a correction made forget are learnt again, and saved
    before = all_of_others()
    assert len(before[1]["steps"]) == len(before[2]) + 1 == 7 * 9
    assert all(
        before[1][table] for table in before[1] if table not in ("records", "cuts", "replies", "erased", "erasers")
    )
    assert {"recalls.jsonl", "trace.jsonl"} <= set(before[3])
    with open_memory(folder, tenant=mine) as memory:
        if deletion == "retire":
            assert memory.lifecycle.retire(Selector(trajectory="trip")) == 9
        else:
            chosen = Selector(everything=True) if deletion == "erase all" else Selector(trajectory="trip", step="0")
            assert memory.lifecycle.erase(chosen).proof.found == ()
    for now, then in zip(all_of_others(), before, strict=True):
        assert now == then


def test_a_memory_is_of_its_tenant_whatever_the_name(tenants: Tenants) -> None:
    ann = tenants.memory("ann")
    assert tenants.memory("ann") is ann
    with pytest.raises(ScopeError, match="outer blanks"):
        tenants.memory(" ann\n")
    with pytest.raises(ScopeError, match="empty"):
        tenants.memory(" ")
    ann.add(Step(role="user", content="Hello there"), trajectory="t")
    ann.close()
    assert tenants.names() == ["ann"]
    assert tenants.memory("ann").search("hello").hits, "closing one closes nothing for others"
    assert tenants.memory("%").search("hello").hits == ()
    assert tenants.memory("bob").trajectories() == []


def test_what_waits_of_others_is_not_shown_to_the_labeler_of_one(worlds_of: Any) -> None:
    world = worlds_of(only="a")
    for tenant in ("a", "b"):
        world.journal.append_many([Step(role="u", content="It waits")], tenant=tenant, trajectory=tenant, recorded=1.0)
    assert world.ingestor.recover() > 0
    assert [trajectory for trajectory, _ in world.labeler.calls] == ["a"]
    world.ingestor.flush()
    assert [receipt.state for receipt in world.ingestor.receipts("b")] == [StepState.ACCEPTED]
    everybody = worlds_of(journal=world.journal, store=world.store)
    assert everybody.ingestor.recover() == 1


@pytest.fixture
def worlds_of() -> Iterator[Any]:
    from doubles.labeling import ScriptedLabeler
    from doubles.storing import ListStore
    from stitch.ingest import Ingestor
    from stitch.journal import Journal
    from stitch.testing.hashing import HashingEmbedder

    class World:
        def __init__(self, *, journal: Any = None, store: Any = None, only: str | None = None) -> None:
            self.journal = journal or Journal(":memory:")
            self.store = store or ListStore()
            self.labeler = ScriptedLabeler()
            self.ingestor = Ingestor(
                journal=self.journal, store=self.store, embedder=HashingEmbedder(8), labeler=self.labeler, only=only
            )

    made: list[World] = []

    def make(**options: Any) -> World:
        made.append(World(**options))
        return made[-1]

    yield make
    made[0].journal.close()


def test_each_tenant_has_a_ledger_of_its_own(tmp_path: Path) -> None:
    with LoopbackProvider(label_by_rules) as provider:
        settings: dict[str, Any] = {
            "labels": "model", "filter": "model", "model": "any", "base_url": provider.base_url, "offline": True,
        }  # fmt: skip
        with open_tenants(tmp_path / "m", **settings) as tenants:
            for tenant in (name_of(1), name_of(2)):
                memory = tenants.memory(tenant)
                memory.add_many(steps_of(tenant, 0, 4), trajectory=tenant)
                memory.finish(tenant)
            first, second = (tenants.memory(name_of(number)).ledger.total() for number in (1, 2))
            tenants.memory(name_of(1)).search("What did breakfast cost?")
            assert tenants.memory(name_of(1)).ledger.total().calls > first.calls > 0
            assert tenants.memory(name_of(2)).ledger.total() == second
    charges = list(read_ledger(tmp_path / "m" / "ledger.jsonl"))
    assert {charge.tenant for charge in charges} == {name_of(1), name_of(2)}
    assert all(charge.trajectory in ("", charge.tenant) for charge in charges)


def test_a_tenant_cannot_build_the_store_anew_for_all_and_who_holds_all_can(tenants: Tenants) -> None:
    for number in (1, 2):
        tenants.memory(name_of(number)).add_many(steps_of(name_of(number), 0, 4), trajectory="trip")
    with pytest.raises(ScopeError, match="for all"):
        tenants.memory(name_of(1)).lifecycle.reindex()
    assert tenants.reindex() == 8
    for number in (1, 2):
        assert tenants.memory(name_of(number)).lifecycle.verify() == (4, 4, ())


def test_to_hand_out_the_memories_of_many_tenants_reads_nothing(tmp_path: Path) -> None:
    """A thousand of them are opened in a hundredth of a second: what is known of a tenant is read when it is asked."""
    tenants = open_tenants(tmp_path / "m")
    tenants._parts.ingestor.journal.close()  # what is read now is an error
    with pytest.raises(StitchError):
        tenants.names()
    memories = [tenants.memory(name_of(number)) for number in range(1000)]
    assert len({memory.tenant for memory in memories}) == 1000
    with pytest.raises(StitchError):
        tenants.close()
