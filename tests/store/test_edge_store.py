"""The store in process: the contract, and what only a folder with one owner can promise."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import settings
from qdrant_edge import EdgeShard, FieldCondition, Filter, MatchValue, ScrollRequest

from contracts.store import MakeStore, SnippetStoreContract
from contracts.worlds import (
    DIMENSION,
    EMBEDDER,
    assert_ranked,
    expected_ranking,
    make_record,
    random_query,
    random_records,
)
from doubles.files import files_with
from stitch.core import ContextualIntent, DensityQuery, MemorySnippet, SnippetRecord, Trust
from stitch.errors import StoreError, StoreLockedError, StoreMismatchError
from stitch.store import QdrantStore
from stitch.store.folder import LAYOUT

if TYPE_CHECKING:
    from stitch.core.protocols import Vectors


@pytest.fixture
def make_store(tmp_path: Path) -> MakeStore:
    numbers = iter(range(1000))
    return lambda: open_store(tmp_path / str(next(numbers)))


class TestQdrantStore(SnippetStoreContract):
    questions = 4 * settings().max_examples
    many_snippets = 6500


def open_store(path: Path, **options: object) -> QdrantStore:
    about = {"embedder_name": EMBEDDER, "dimension": DIMENSION, **options}
    return QdrantStore(path, **about)  # type: ignore[arg-type]  # options of any type


def run_python(code: str, *arguments: object, **options: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)  # type: ignore[call-overload,no-any-return]


@pytest.mark.parametrize("worlds", [100, pytest.param(3_000, marks=pytest.mark.slow)])
def test_every_world_is_ranked_by_definition_whatever_others_hold(tmp_path: Path, worlds: int) -> None:
    rng = random.Random(17)
    with closing(open_store(tmp_path)) as store:
        made = {
            f"{n}": random_records(rng, rng.choice([1, 5, 20, 80]), tenants=(f"{n}", f"other {n}"))
            for n in range(worlds)
        }
        store.put([record for records in made.values() for record in records])
        for name, records in made.items():
            for _ in range(3):
                query, vocabulary = random_query(rng, tenants=(name,))
                assert_ranked(store.rank(query), expected_ranking(records, query, vocabulary), k=query.k)


def test_a_reopened_store_ranks_as_before(tmp_path: Path) -> None:
    rng = random.Random(5)
    records = random_records(rng, 120)
    with closing(open_store(tmp_path)) as store:
        store.put(records)
        gone = [record.snippet.id for record in records[:10]]
        for tenant in ("t", "u"):
            store.delete(tenant, gone)
    for _ in range(2):
        with closing(open_store(tmp_path)) as store:
            assert store.count() == 110
            for _ in range(50):
                query, vocabulary = random_query(rng)
                assert_ranked(store.rank(query), expected_ranking(records[10:], query, vocabulary), k=query.k)
            store.put(records[10:20])
            assert store.count() == 110


def test_a_store_gets_indexes_as_it_grows_and_ranks_by_definition_all_along(tmp_path: Path) -> None:
    rng = random.Random(11)
    records = random_records(rng, 600)

    def schema() -> list[str]:
        with closing(EdgeShard.load(str(tmp_path / "store" / "shard"))) as shard:
            return sorted(shard.info().payload_schema)

    for known, indexed in ((50, False), (600, True)):
        with closing(open_store(tmp_path)) as store:
            store.put(records[:known])
            for _ in range(20):
                query, vocabulary = random_query(rng)
                assert_ranked(store.rank(query), expected_ranking(records[:known], query, vocabulary), k=query.k)
        assert schema() == (["position", "recorded", "tenant", "trajectory", "trust"] if indexed else [])
        size = sum(path.stat().st_blocks * 512 for path in tmp_path.rglob("*") if path.is_file())
        assert indexed or size < 2**20


WRITER = """
    import sys
    from stitch.store import QdrantStore
    from contracts.worlds import DIMENSION, EMBEDDER, make_record
    store = QdrantStore(sys.argv[1], embedder_name=EMBEDDER, dimension=DIMENSION)
    number = 0
    while True:
        store.put([make_record(str(number + i), position=number + i, words={i: 1.0}) for i in range(7)])
        if number % 3 == 0:
            store.delete("t", [make_record(str(number)).snippet.id])
        number += 7
        if number % 35 == 0:
            store.flush()
            print(number, flush=True)
"""


@pytest.mark.slow
def test_everything_flushed_before_a_kill_is_there_afterwards(tmp_path: Path) -> None:
    with run_python(WRITER, tmp_path) as writer:
        assert writer.stdout is not None
        for _ in range(8):
            flushed = int(writer.stdout.readline())
        writer.send_signal(signal.SIGKILL)
        flushed = max([flushed, *map(int, writer.stdout.read().split("\n")[:-1])])
    deleted = {str(number) for number in range(0, flushed, 21)}
    with closing(open_store(tmp_path)) as store:
        steps = [snippet.step for snippet in store.scroll("t") if snippet.position < flushed]
        assert steps == [str(number) for number in range(flushed) if str(number) not in deleted]
        store.put([make_record("after", position=10**6)])
        assert [hit.snippet.step for hit in store.rank(DensityQuery(tenant="t", k=1))] == steps[:1]


@pytest.mark.slow
def test_a_second_process_is_told_who_owns_the_store(tmp_path: Path) -> None:
    with run_python(WRITER, tmp_path) as owner:
        assert owner.stdout is not None
        owner.stdout.readline()
        with pytest.raises(StoreLockedError, match=f"in use by process {owner.pid} on ") as caught:
            open_store(tmp_path)
        assert str(tmp_path) in caught.value.message
        assert caught.value.hint
        owner.kill()
    open_store(tmp_path).close()


def test_the_note_of_a_dead_owner_locks_nobody_out(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "owner.json").write_text(json.dumps({"pid": os.getpid(), "host": "h", "started": "s"}))
    with closing(open_store(tmp_path)):
        note = json.loads((tmp_path / "store" / "owner.json").read_text())
        assert note["started"] != "s", "whoever opens it is the owner now"


@pytest.mark.parametrize(
    ("option", "says"),
    [({"embedder_name": "other"}, "embedder 'contract-8', not 'other'"), ({"dimension": 4}, "dimension 8, not 4")],
)
def test_a_store_of_another_embedder_is_refused_with_the_command_that_mends_it(
    tmp_path: Path, option: dict[str, object], says: str
) -> None:
    open_store(tmp_path).close()
    with pytest.raises(StoreMismatchError, match=says) as caught:
        open_store(tmp_path, **option)
    assert caught.value.hint == f"stitch reindex --memory {tmp_path}"
    open_store(tmp_path).close()


def test_a_store_of_another_schema_is_refused(tmp_path: Path) -> None:
    open_store(tmp_path).close()
    about = tmp_path / "store" / "store.json"
    about.write_text(json.dumps({**json.loads(about.read_text()), "schema_version": 99}))
    with pytest.raises(StoreMismatchError, match="schema version 99, not 1"):
        open_store(tmp_path)


def test_a_torn_shard_is_an_error_of_our_own(tmp_path: Path) -> None:
    open_store(tmp_path).close()
    for state in tmp_path.glob("store/shard/segments/*/segment.json"):
        state.unlink()
    with pytest.raises(StoreError, match="cannot open the memory") as caught:
        open_store(tmp_path)
    assert caught.value.hint == f"stitch reindex --memory {tmp_path}"


def test_a_store_of_an_earlier_layout_is_made_anew_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "store"
    (folder / "shard" / "segments").mkdir(parents=True)
    for name in ("snippets.bin", "index.bin"):
        (folder / name).write_bytes(b"earlier")
    about = {"schema_version": 1, "embedder": EMBEDDER, "dimension": DIMENSION, "layout": LAYOUT - 1}
    (folder / "store.json").write_text(json.dumps(about))
    with closing(open_store(tmp_path)) as store:
        store.put([make_record("1")])
    assert "is of an earlier layout: its store is made anew from the journal" in caplog.text
    assert sorted(path.name for path in folder.iterdir()) == ["owner.json", "shard", "store.json"]
    with closing(open_store(tmp_path)) as store:
        assert store.count() == 1


def test_a_point_is_read_and_filtered_by_the_engine_alone(tmp_path: Path) -> None:
    intent = ContextualIntent(scope="hotel", event_types=("ask",), entity_types=("price", "place"))
    record = make_record("7", position=3, text="What does it cost?", intent=intent, trust=Trust.HIGH, recorded=1.5e9)
    with closing(open_store(tmp_path)) as store:
        store.put([record, make_record("8")])
    shard = EdgeShard.load(str(tmp_path / "store" / "shard"))
    at = Filter(must=[FieldCondition("scope", match=MatchValue("hotel"))])
    (point,), _ = shard.scroll(ScrollRequest(filter=at, with_payload=True, with_vector=True))
    shard.close()
    assert str(point.id) == record.snippet.id
    assert isinstance(point.vector, dict)
    assert sorted(point.vector) == ["dense", "labels"]
    assert point.payload == {
        "tenant": "t", "trajectory": "trip", "step": "7", "position": 3, "role": "user", "text": "What does it cost?",
        "scope": "hotel", "event_types": ["ask"], "entity_types": ["price", "place"], "origin": "agent", "trust": 2,
        "setup": 0, "schema_version": 1, "recorded": "2017-07-14T02:40:00Z",
    }  # fmt: skip


def test_no_file_is_named_after_a_tenant(tmp_path: Path) -> None:
    with closing(open_store(tmp_path)) as store:
        store.put([make_record("stepname", tenant="tenantname", trajectory="tripname", intent=ContextualIntent())])
        names = " ".join(path.name for path in tmp_path.rglob("*"))
    assert not any(name in names for name in ("stepname", "tenantname", "tripname"))


def test_a_full_disk_is_refused_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(open_store(tmp_path)) as store:
        usage = shutil.disk_usage(tmp_path)
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=5 * 2**20))
        with pytest.raises(StoreError, match="full: 5 MB are free") as caught:
            store.put([make_record("1")])
        assert caught.value.hint
        monkeypatch.undo()
        store.put([make_record("1")])
        assert store.count() == 1


def test_a_purge_leaves_no_byte_of_what_was_deleted_or_replaced(tmp_path: Path) -> None:
    store = QdrantStore(tmp_path, embedder_name="test", dimension=4)
    vector = np.array([1, 0, 0, 0], dtype=np.float32)

    def record(step: str, text: str, vector: Vectors = vector) -> SnippetRecord:
        snippet = MemorySnippet(
            tenant="a", trajectory="t", step=step, position=0, role="user", text=text, resolved=text, recorded=1.0
        )
        return SnippetRecord(snippet, vector, {7: 1.0})

    turned = np.array([0.5, -0.5, 0.5, -0.5], dtype=np.float32)
    canary, old = record("canary", "the canary sings Quetzalcoatlus", turned), record("kept", "formerly Archaeopteryx")
    store.put([canary, old, *(record(str(number), f"some words {number}") for number in range(30))])
    store.flush()
    assert files_with(tmp_path, b"Quetzalcoatlus"), "it could be found if it were there"
    store.put([record("kept", "nowadays a hen")])
    store.delete("a", [canary.snippet.id])
    store.purge()
    assert files_with(tmp_path, b"Quetzalcoatlus") == files_with(tmp_path, b"Archaeopteryx") == []
    assert files_with(tmp_path, canary.snippet.id.encode()) == []
    assert files_with(tmp_path, turned.astype(np.float16).tobytes()) == []
    query = DensityQuery(tenant="a", vector=vector, words={7: 1.0}, k=50)
    before = store.rank(query)
    assert (store.count("a"), len(before)) == (31, 31)
    store.put([record("later", "one more")])
    store.purge()
    store.close()
    reopened = QdrantStore(tmp_path, embedder_name="test", dimension=4)
    assert reopened.count("a") == 32
    assert {hit.snippet.step for hit in reopened.rank(query)} == {*(hit.snippet.step for hit in before), "later"}
    reopened.delete("a", [snippet.id for snippet in reopened.scroll("a")])
    reopened.purge()
    assert files_with(tmp_path, b"nowadays") == []
    assert reopened.count() == 0
    reopened.put([record("again", "after everything")])
    reopened.close()
    with pytest.raises(StoreError, match="closed"):
        reopened.purge()
    with closing(QdrantStore(tmp_path, embedder_name="test", dimension=4)) as store:
        assert [snippet.text for snippet in store.scroll("a")] == ["after everything"]
