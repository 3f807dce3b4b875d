"""The store on a server: the contract, over REST against a stand-in, and what a collection of one journal promises."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
import qdrant_edge as edge

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
from doubles.qdrant import LoopbackQdrant
from stitch.core import ContextualIntent, DensityQuery, SnippetRecord, snippet_id
from stitch.errors import StoreError, StoreUnavailableError
from stitch.store import ServerStore
from stitch.store.collection import Kind, make_room
from stitch.store.connection import QdrantOptions, Server


@pytest.fixture
def qdrant() -> Iterator[LoopbackQdrant]:
    with LoopbackQdrant(shards=3) as serving:
        yield serving


def open_store(qdrant: LoopbackQdrant, **options: Any) -> ServerStore:
    about = {"journal": "mine", "embedder_name": EMBEDDER, "dimension": DIMENSION}
    server = Server(
        url=qdrant.url, **{key: options.pop(key) for key in ("collection", "minimal", "options") if key in options}
    )
    return ServerStore(server, **{**about, **options})


class TestServerStore(SnippetStoreContract):
    worlds = 1
    questions = 30
    many_snippets = 600

    @pytest.fixture
    def make_store(self, qdrant: LoopbackQdrant) -> MakeStore:
        numbers = count()
        return lambda: open_store(qdrant, collection=str(next(numbers)))


def steps(store: ServerStore, tenant: str = "t") -> list[str]:
    return [snippet.step for snippet in store.scroll(tenant)]


def nearest(store: ServerStore, record: SnippetRecord) -> list[str]:
    return [hit.snippet.step for hit in store.rank(DensityQuery(tenant="t", vector=record.vector))]


RECORDS = [make_record(str(n), position=n, vector=[1.0, float(n), *[0.0] * 6]) for n in range(5)]


# Whose a collection is


# What goes to the server


def test_a_point_has_the_payload_of_its_snippet(qdrant: LoopbackQdrant) -> None:
    first = make_record("1", text="hello", intent=ContextualIntent(scope="day 1"))
    with closing(open_store(qdrant)) as store:
        store.put([first])
        assert "texts and labels" in store.not_searched[0]
    found = qdrant.collections["stitch"].find(first.snippet.id)
    assert found is not None
    told = {"tenant": "t", "trajectory": "trip", "step": "1", "role": "user", "text": "hello", "scope": "day 1"}
    assert told.items() <= found["payload"].items()
    assert set(found["vector"]) == {"dense", "labels"}
    assert {"tenant", "trajectory", "scope", "recorded"} <= qdrant.collections["stitch"].indexes.keys()


def test_a_server_that_is_told_the_least_hears_no_text_and_the_journal_gives_it(qdrant: LoopbackQdrant) -> None:
    record = make_record("1", text="Pterodactyl", words={7: 1.0}, intent=ContextualIntent(scope="day 1"))
    told = record.snippet.model_copy(update={"summary": "Archaeopteryx", "asks": ("Which Quetzalcoatlus?",)})
    record = record._replace(snippet=told)
    said = {("t", "trip", "1"): told}
    with closing(open_store(qdrant, minimal=True, from_journal=lambda *place: said.get(place))) as store:
        store.put([record])
        query = DensityQuery(tenant="t", vector=record.vector, words={7: 1.0})
        assert [hit.snippet for hit in store.rank(query)] == [told]
        assert store.check("t") == []
        assert "names and labels" in store.not_searched[0]
        said.clear()
        assert list(store.scroll("t")) == [], "other processes write there, too: nothing that was read is kept"
    heard = json.dumps([[request.path, request.body] for request in qdrant.requests])
    assert not [word for word in ("Quetzal", "Archaeo", "Ptero") if word in heard]


def test_a_search_makes_three_requests_or_five(qdrant: LoopbackQdrant) -> None:
    rng = random.Random(5)
    with closing(open_store(qdrant)) as store:
        store.put(random_records(rng, 400))
        store.rank(random_query(rng)[0])  # words are counted once
        counts = []
        for _ in range(20):
            query, _ = random_query(rng)
            before = len(qdrant.requests)
            store.rank(replace(query, labels={}))
            counts.append(len(qdrant.requests) - before)
    assert sorted(counts)[10] <= 3
    assert max(counts) <= 5


@pytest.mark.parametrize(
    "strict",
    [
        {"max_query_limit": 7},
        {"condition_max_size": 5},
        {"upsert_max_batchsize": 3},
        {"read_rate_limit": 40, "write_rate_limit": 30},
    ],
)
def test_what_strict_mode_allows_is_not_exceeded(qdrant: LoopbackQdrant, strict: dict[str, Any]) -> None:
    qdrant.strict = strict
    records = random_records(random.Random(3), 30, tenants=("t",))
    query, vocabulary = random_query(random.Random(4), tenants=("t",))
    query = replace(query, k=10, trajectory=None, as_of=None, min_trust=None)
    with closing(open_store(qdrant)) as store:
        store.put(records)
        assert_ranked(store.rank(query), expected_ranking(records, query, vocabulary), k=10)
        assert len(steps(store)) == 30


@pytest.mark.parametrize("name", ["max_query_limit", "upsert_max_batchsize"])
def test_a_limit_that_allows_nothing_is_refused_by_its_name(qdrant: LoopbackQdrant, name: str) -> None:
    qdrant.strict = {name: 0}
    with pytest.raises(StoreError, match=f"strict mode has {name} 0"):
        open_store(qdrant)


def test_exact_searches_that_are_forbidden_are_told_when_it_is_opened(qdrant: LoopbackQdrant) -> None:
    qdrant.strict = {"search_allow_exact": False}
    with pytest.raises(StoreError, match="cannot be searched exactly"):
        open_store(qdrant)


def test_a_server_that_asks_to_come_back_later_is_waited_for(qdrant: LoopbackQdrant) -> None:
    with closing(open_store(qdrant)) as store:
        qdrant.busy = 1
        store.put(RECORDS)
        assert steps(store) == list("01234")


# What is interrupted, and what is lost


def test_a_put_that_the_server_does_not_answer_may_be_made_again(qdrant: LoopbackQdrant) -> None:
    with closing(open_store(qdrant)) as store:
        store.put(RECORDS[:3])
        qdrant.away = True
        with pytest.raises(StoreUnavailableError, match="cannot write to"):
            store.put(RECORDS[3:])
        with pytest.raises(StoreUnavailableError):
            store.delete("t", [RECORDS[1].snippet.id])
        assert store.about()["state"]
        qdrant.away = False
        assert steps(store) == ["0", "1", "2"]
        store.put(RECORDS[3:])
        assert nearest(store, RECORDS[4])[0] == "4"


ALL = edge.ScrollRequest(limit=1_000, with_payload=True)
LARGE = QdrantOptions(shard_number=2, large_tenants=("t",))


@pytest.fixture
def cluster() -> Iterator[LoopbackQdrant]:
    with LoopbackQdrant(shards=3) as serving:
        serving.nodes = 3
        yield serving


MINE = Kind("mine", EMBEDDER, DIMENSION)


@pytest.mark.parametrize(
    ("kind", "options", "is_dropped"),
    [
        (MINE, QdrantOptions(), False),
        (MINE, QdrantOptions(shard_number=3, on_disk=False), False),
        (MINE, QdrantOptions(replication_factor=2), True),
        (MINE, QdrantOptions(on_disk=True), True),
        (MINE, QdrantOptions(large_tenants=("u",)), True),
        (MINE._replace(embedder="another"), QdrantOptions(), True),
        (MINE._replace(dimension=3), QdrantOptions(), True),
    ],
)
def test_a_collection_makes_room_where_it_is_made_for_something_else_or_otherwise(
    qdrant: LoopbackQdrant, kind: Kind, options: QdrantOptions, is_dropped: bool
) -> None:
    open_store(qdrant).close()
    with closing(Server(url=qdrant.url, options=options)) as server:
        make_room(server, kind, adopt=False)
    assert set(qdrant.collections) == (set() if is_dropped else {"stitch"})


@pytest.mark.slow  # but for the shards that are asked, by the same way as without
class TestStoreWithLargeTenants(TestServerStore):
    """The tenant `t` of the contract's worlds has shards of its own, and `u` has none."""

    @pytest.fixture
    def make_store(self, cluster: LoopbackQdrant) -> MakeStore:
        numbers = count()
        return lambda: open_store(cluster, collection=str(next(numbers)), options=LARGE)


def test_points_of_a_large_tenant_are_in_shards_of_its_own_and_only_these_are_searched_for_it(
    cluster: LoopbackQdrant,
) -> None:
    with closing(open_store(cluster, options=LARGE)) as store:
        store.put([make_record(str(number), tenant=tenant) for number in range(8) for tenant in ("t", "u", "0")])
        held = cluster.collections["stitch"].by_key
        tenants = {
            key: Counter(point.payload["tenant"] for shard in shards for point in shard.scroll(ALL)[0])
            for key, shards in held.items()
        }
        assert tenants == {0: {"u": 8, "0": 8}, "t": {"t": 8}}
        assert [len(shards) for shards in held.values()] == [2, 2]
        assert store.about()["large tenants"] == "'t'"
        cluster.requests.clear()
        assert len(store.rank(DensityQuery(tenant="t", labels={}, vector=make_record("0").vector, k=10))) == 8
        searches = [each.body["searches"] for each in cluster.requests if "query/batch" in each.path]
        assert {each["shard_key"] for searched in searches for each in searched} == {"t"}


def test_a_collection_that_was_made_for_other_large_tenants_goes_on_as_it_is_and_says_so(
    cluster: LoopbackQdrant, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(open_store(cluster, options=LARGE)) as store:
        store.put([make_record("1", tenant="t"), make_record("1", tenant="u")])
    with closing(open_store(cluster, options=QdrantOptions(large_tenants=("u",)))) as store:
        assert "made with shards of their own for 't'" in caplog.text
        store.put([make_record("1", tenant="u"), make_record("2", tenant="u")])
        assert (store.count("u"), store.count("t"), store.delete("u", [snippet_id("u", "trip", "1")])) == (2, 1, 1)


def test_a_server_that_is_no_cluster_says_that_it_cannot_give_a_tenant_shards_and_nothing_is_left(
    qdrant: LoopbackQdrant,
) -> None:
    with pytest.raises(StoreError, match="Distributed mode disabled"):
        open_store(qdrant, options=LARGE)
    assert qdrant.collections == {}
