"""The store on a server: the contract, over REST against a stand-in, and what a collection of one journal promises."""

from __future__ import annotations

import copy
import json
import random
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from contracts.store import MakeStore, SnippetStoreContract
from contracts.worlds import DIMENSION, EMBEDDER, make_record, random_query, random_records
from doubles.qdrant import LoopbackQdrant
from stitch.core import ContextualIntent, DensityQuery, SnippetRecord
from stitch.errors import StoreError, StoreMismatchError, StoreUnavailableError
from stitch.store import ServerStore
from stitch.store.connection import Server


@pytest.fixture
def qdrant() -> Iterator[LoopbackQdrant]:
    with LoopbackQdrant(shards=6) as serving:
        yield serving


def open_store(qdrant: LoopbackQdrant, folder: Path, **options: Any) -> ServerStore:
    about = {"journal": "mine", "embedder_name": EMBEDDER, "dimension": DIMENSION}
    server = Server(
        url=qdrant.url, **{key: options.pop(key) for key in ("collection", "readable", "options") if key in options}
    )
    return ServerStore(folder, server=server, **{**about, **options})


class TestServerStore(SnippetStoreContract):
    worlds = 1
    questions = 30
    many_snippets = 600

    @pytest.fixture
    def make_store(self, qdrant: LoopbackQdrant, tmp_path: Path) -> MakeStore:
        numbers = iter(range(100))

        def make() -> ServerStore:
            name = str(next(numbers))
            return open_store(qdrant, tmp_path / name, collection=name)

        return make


def steps(store: ServerStore, tenant: str = "t") -> list[str]:
    return [snippet.step for snippet in store.scroll(tenant)]


def nearest(store: ServerStore, record: SnippetRecord) -> list[str]:
    return [hit.snippet.step for hit in store.rank(DensityQuery(tenant="t", vector=record.vector))]


RECORDS = [make_record(str(n), position=n, vector=[1.0, float(n), *[0.0] * 6]) for n in range(5)]


# Whose a collection is


def test_a_collection_is_refused_to_another_journal_with_both_ids_and_nothing_is_touched(
    qdrant: LoopbackQdrant, tmp_path: Path
) -> None:
    with closing(open_store(qdrant, tmp_path / "mine")) as store:
        store.put(RECORDS)
    before = qdrant.collections["stitch"].ids()
    with pytest.raises(StoreMismatchError, match="belongs to the journal mine, and this one is yours") as caught:
        open_store(qdrant, tmp_path / "yours", journal="yours")
    assert "STITCH_COLLECTION" in caught.value.hint
    assert "--adopt --dry-run" in caught.value.hint
    assert qdrant.collections["stitch"].ids() == before
    with closing(open_store(qdrant, tmp_path / "yours", journal="yours", collection="other")) as other:
        other.put(RECORDS[:1])
    with closing(open_store(qdrant, tmp_path / "mine")) as store:
        assert steps(store) == list("01234")


# What goes to the server


def test_the_server_is_told_vectors_and_numbers_and_no_word(qdrant: LoopbackQdrant, tmp_path: Path) -> None:
    record = make_record("Quetzalcoatlus", trajectory="Archaeopteryx", text="Pterodactyl", words={7: 1.0})
    with closing(open_store(qdrant, tmp_path)) as store:
        store.put([record])
        store.rank(DensityQuery(tenant="t", vector=record.vector, words={7: 1.0}))
        store.delete("t", [record.snippet.id])
        store.purge()
        assert "no word" in store.not_searched[0]
    said = json.dumps([[request.path, request.body] for request in qdrant.requests])
    assert not [word for word in ("Quetzal", "Archaeo", "Ptero", record.snippet.id) if word in said]
    assert qdrant.collections["stitch"].ids() == []


def test_a_readable_collection_has_texts_and_labels_and_says_so_ever_after(
    qdrant: LoopbackQdrant, tmp_path: Path
) -> None:
    first = make_record("1", text="hello", intent=ContextualIntent(scope="day 1"))
    with closing(open_store(qdrant, tmp_path, readable=True)) as store:
        store.put([first])
        store.put([first._replace(snippet=first.snippet.model_copy(update={"intent": ContextualIntent()}))])
        (point,) = qdrant.collections["stitch"].ids()
        found = qdrant.collections["stitch"].find(point)
        assert found is not None
        payload = {"tenant": "t", "trajectory": "trip", "step": "1", "role": "user", "text": "hello"}
        assert found["payload"] == payload
    with closing(open_store(qdrant, tmp_path)) as store:
        store.put([make_record("2")])
        assert "texts and labels" in store.not_searched[0]


def test_a_search_makes_two_requests_at_most_and_other_labels_of_the_same_text_none(
    qdrant: LoopbackQdrant, tmp_path: Path
) -> None:
    rng = random.Random(5)
    records = random_records(rng, 400)
    with closing(open_store(qdrant, tmp_path)) as store:
        store.put(records)
        for _ in range(50):
            query, _ = random_query(rng)
            before = len(qdrant.requests)
            store.rank(query)
            assert len(qdrant.requests) - before <= 2
        before = len(qdrant.requests)
        labeled = [record.snippet.model_copy(update={"intent": ContextualIntent(scope="new")}) for record in records]
        store.put([record._replace(snippet=snippet) for record, snippet in zip(records, labeled, strict=True)])
        assert len(qdrant.requests) == before
        assert {snippet.intent.scope for snippet in store.scroll("t")} == {"new"}


def test_what_is_replaced_and_deleted_is_deleted_on_the_server_by_the_next_flush(
    qdrant: LoopbackQdrant, tmp_path: Path
) -> None:
    with closing(open_store(qdrant, tmp_path)) as store:
        store.put(RECORDS)
        store.put([RECORDS[0]._replace(vector=RECORDS[3].vector)])
        store.delete("t", [RECORDS[1].snippet.id])
        assert len(qdrant.collections["stitch"].ids()) == 6
        store.flush()
        assert len(qdrant.collections["stitch"].ids()) == 4
        assert nearest(store, RECORDS[3])[:2] == ["0", "3"]


# What is interrupted, and what is lost


def test_a_put_that_the_server_does_not_answer_changes_nothing_here_and_may_be_made_again(
    qdrant: LoopbackQdrant, tmp_path: Path
) -> None:
    with closing(open_store(qdrant, tmp_path)) as store:
        store.put(RECORDS[:3])
        qdrant.away = True
        with pytest.raises(StoreUnavailableError, match="cannot write to"):
            store.put([RECORDS[0]._replace(vector=RECORDS[4].vector), RECORDS[3]])
        assert steps(store) == ["0", "1", "2"]
        assert store.delete("t", [RECORDS[1].snippet.id]) == 1
        store.flush()
        with pytest.raises(StoreUnavailableError):
            store.purge()
        qdrant.away = False
        assert nearest(store, RECORDS[0])[0] == "0"
        store.put(RECORDS[3:])
        store.purge()
    assert len(qdrant.collections["stitch"].ids()) == 4
    with closing(open_store(qdrant, tmp_path)) as store:
        assert store.check("t") == []


def test_a_collection_restored_from_an_older_snapshot_is_told_and_mended(
    qdrant: LoopbackQdrant, tmp_path: Path
) -> None:
    with closing(open_store(qdrant, tmp_path)) as store:
        store.put(RECORDS[:3])
        older = copy.deepcopy(qdrant.collections["stitch"])
        store.put(RECORDS[3:])
    qdrant.collections["stitch"] = older
    with closing(open_store(qdrant, tmp_path)) as store:
        with pytest.raises(StoreError, match="lacks the vectors of 2 snippets") as caught:
            nearest(store, RECORDS[0])
        assert "stitch verify --repair" in caught.value.hint
        assert [(damage.step, damage.what) for damage in store.check("t")] == [
            ("3", "its vector is missing"), ("4", "its vector is missing"),
        ]  # fmt: skip
        assert store.mend("t") == 2
        assert nearest(store, RECORDS[0]) == ["0", "1", "2"]
        store.put(RECORDS[3:])
        assert nearest(store, RECORDS[4])[0] == "4"


def test_a_store_built_anew_beside_one_that_serves_takes_its_place_and_its_points_go(
    qdrant: LoopbackQdrant, tmp_path: Path
) -> None:
    with closing(open_store(qdrant, tmp_path)) as store:
        store.put(RECORDS)
        built = store.sibling(tmp_path / "reindex")
        built.put(RECORDS[:2])
        store.put([make_record("5", position=5)])
        assert steps(store) == list("012345")

        def move() -> None:
            (tmp_path / "store").rename(tmp_path / "old")
            (tmp_path / "reindex" / "store").rename(tmp_path / "store")
            shutil.rmtree(tmp_path / "reindex")

        store.replace_by(built, move=move)
        assert steps(store) == ["0", "1"]
        assert len(qdrant.collections["stitch"].ids()) == 2
        store.put(RECORDS[2:])
        assert nearest(store, RECORDS[4])[0] == "4"
