"""What every `SnippetStore` must do: subclass `SnippetStoreContract`, give it a `make_store` fixture, run pytest.

More than 400 lines because what a store promises is one list.
"""

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from contracts.worlds import DIMENSION, assert_ranked, expected_ranking, make_record, random_query, random_records
from stitch.core import (
    ContextualIntent,
    DensityQuery,
    Label,
    LabelKind,
    MemorySnippet,
    Moment,
    Origin,
    ReferenceRewrite,
    SnippetRecord,
    SnippetStore,
    Trust,
    snippet_id,
)
from stitch.errors import StoreError

MakeStore = Callable[[], SnippetStore]


class SnippetStoreContract:
    """The tests every store passes.

    A subclass gives a fixture `make_store`: a function that returns an empty store for vectors of dimension
    `DIMENSION` of the embedder `EMBEDDER`.
    """

    worlds = 4
    """How many random stores are asked."""
    questions = 300
    """How many random questions each is asked."""
    snippets = 150
    """How many snippets each of them holds."""
    many_snippets = 1200
    """How many snippets a store holds in which not all can be scored one by one."""

    def test_the_ranking_is_the_one_by_definition(self, make_store: MakeStore) -> None:
        for seed in range(self.worlds):
            rng = random.Random(seed)
            records = random_records(rng, self.snippets)
            with _closing(make_store()) as store:
                store.put(records)
                for _ in range(self.questions):
                    query, vocabulary = random_query(rng)
                    assert_ranked(store.rank(query), expected_ranking(records, query, vocabulary), k=query.k)

    def test_the_ranking_is_the_one_by_definition_among_many_snippets(self, make_store: MakeStore) -> None:
        rng = random.Random(7)
        tenants = (*["t"] * 19, "u")
        records = random_records(rng, self.many_snippets, tenants=tenants)
        with _closing(make_store()) as store:
            store.put(records)
            for _ in range(self.questions // 30):
                query, vocabulary = random_query(rng, tenants=tenants)
                assert_ranked(store.rank(query), expected_ranking(records, query, vocabulary), k=query.k)

    def test_the_ranking_is_exact_after_replacing_and_deleting(self, make_store: MakeStore) -> None:
        rng = random.Random(99)
        with _closing(make_store()) as store:
            current: dict[str, SnippetRecord] = {}
            for _ in range(6):
                batch = random_records(rng, 40)
                store.put(batch)
                # The same step may come again with another tenant: then it is another snippet.
                current |= {record.snippet.id: record for record in batch}
                doomed = rng.sample(sorted(current), 5)
                for tenant in ("t", "u"):
                    store.delete(tenant, doomed)
                for snippet in doomed:
                    del current[snippet]
                for _ in range(self.questions // 20):
                    query, vocabulary = random_query(rng)
                    expected = expected_ranking(list(current.values()), query, vocabulary)
                    assert_ranked(store.rank(query), expected, k=query.k)

    def test_equal_snippets_keep_the_order_in_which_they_happened(self, make_store: MakeStore) -> None:
        places = [(trajectory, position) for trajectory in ("a", "b") for position in range(150)]
        random.Random(3).shuffle(places)
        intent = ContextualIntent(scope="day 1")
        records = [
            make_record(f"{at}", trajectory=trip, position=at, intent=intent, words={1: 1.0}) for trip, at in places
        ]
        with _closing(make_store()) as store:
            store.put(records)
            for asked in (
                {},
                {"vector": records[0].vector},
                {"words": {1: 1.0}},
                {"words": {2: 1.0}},
                {"vector": records[0].vector, "words": {1: 1.0}},
                {"vector": np.zeros(DIMENSION, dtype=np.float32), "words": {2: 1.0}},
            ):
                for labels in ({}, _labels((LabelKind.SCOPE, "day 1"))):
                    hits = store.rank(DensityQuery(tenant="t", k=170, labels=labels, **asked))
                    places_found = [(hit.snippet.trajectory, hit.snippet.position) for hit in hits]
                    assert places_found == sorted(places)[:170]

    def test_two_aliases_of_one_label_count_once(self, make_store: MakeStore) -> None:
        both = make_record("both", intent=ContextualIntent(entity_types=("price", "cost")))
        with _closing(make_store()) as store:
            store.put([both])
            labels = {Label(LabelKind.ENTITY_TYPE, "price"): frozenset({"price", "cost", "fare"})}
            assert [hit.density for hit in store.rank(DensityQuery(tenant="t", labels=labels))] == [1.0]

    def test_labels_whose_hashes_collide_are_two_labels(self, make_store: MakeStore) -> None:
        # CRC-32 of these two is equal, with and without the name of the kind before them.
        asked, other = "plumless", "buckeroo"
        with _closing(make_store()) as store:
            store.put(
                [
                    make_record("other", position=0, intent=ContextualIntent(scope=other, event_types=("x",))),
                    make_record("asked", position=1, intent=ContextualIntent(scope=asked)),
                ]
            )
            hits = store.rank(DensityQuery(tenant="t", labels=_labels((LabelKind.SCOPE, asked)), k=1))
        assert [(hit.snippet.step, hit.density) for hit in hits] == [("asked", 1.0)]

    def test_aliases_that_promise_more_than_they_hold_do_not_hide_the_best(self, make_store: MakeStore) -> None:
        labels = _labels((LabelKind.SCOPE, "day 1"), (LabelKind.EVENT_TYPE, "ask"))
        labels |= {Label(LabelKind.ENTITY_TYPE, "price"): frozenset({"price", "cost", "fare", "fee"})}
        loud = ContextualIntent(entity_types=("price", "cost", "fare", "fee"))
        best = make_record("best", position=999, intent=ContextualIntent(scope="day 1", event_types=("ask",)))
        with _closing(make_store()) as store:
            store.put([make_record(str(number), position=number, intent=loud) for number in range(600)])
            store.put([best])
            hits = store.rank(DensityQuery(tenant="t", labels=labels, k=2))
        assert [(hit.snippet.step, hit.density) for hit in hits] == [("best", 2.0), ("0", 1.0)]

    @pytest.mark.parametrize("labeled", [True, False])
    def test_what_is_not_trusted_enough_takes_no_place_among_the_first(
        self, make_store: MakeStore, labeled: bool
    ) -> None:
        intent = ContextualIntent(scope="day 1")
        loud = [make_record(f"low {n}", position=n, intent=intent, words={1: 9.0}) for n in range(300)]
        quiet = [make_record(f"high {n}", position=500 + n, trust=Trust.HIGH) for n in range(3)]
        between = [make_record("medium", position=400, trust=Trust.MEDIUM)]
        labels = _labels((LabelKind.SCOPE, "day 1")) if labeled else {}
        with _closing(make_store()) as store:
            store.put([*loud, *quiet, *between])

            def found(trust: Trust | None, k: int = 4) -> list[str]:
                query = DensityQuery(tenant="t", labels=labels, words={1: 1.0}, min_trust=trust, k=k)
                return [hit.snippet.step for hit in store.rank(query)]

            assert found(Trust.HIGH) == ["high 0", "high 1", "high 2"]
            assert found(Trust.MEDIUM) == ["medium", "high 0", "high 1", "high 2"]
            assert found(Trust.LOW) == found(None) == ["low 0", "low 1", "low 2", "low 3"]

    def test_at_a_moment_only_what_was_there_is_ranked(self, make_store: MakeStore) -> None:
        records = [
            make_record(f"{trip}{at}", trajectory=trip, position=at, recorded=100.0 + at)
            for trip in ("a", "b")
            for at in range(5)
        ]
        with _closing(make_store()) as store:
            store.put(records)

            def found(moment: Moment) -> list[str]:
                return [hit.snippet.step for hit in store.rank(DensityQuery(tenant="t", as_of=moment))]

            assert found(Moment(99.0)) == []
            assert found(Moment(101.0)) == ["a0", "a1", "b0", "b1"]
            assert found(Moment(101.0, "a", 0)) == ["a0", "b0", "b1"]

    def test_nothing_is_found_where_nothing_is(self, make_store: MakeStore) -> None:
        with _closing(make_store()) as store:
            assert store.rank(DensityQuery(tenant="t", labels=_labels((LabelKind.SCOPE, "x")))) == []
            assert store.get("t", [snippet_id("t", "trip", "1")]) == []
            assert list(store.scroll("t")) == []
            assert store.delete("t", [snippet_id("t", "trip", "1")]) == 0
            assert (store.count("t"), store.count()) == (0, 0)
            store.put([])
            store.put([make_record("1")])
            assert store.rank(DensityQuery(tenant="t", trajectory="other")) == []
            assert store.rank(DensityQuery(tenant="t", k=0)) == []

    def test_what_stands_beside_snippets_is_what_the_query_sees_there(self, make_store: MakeStore) -> None:
        rng = random.Random(5)
        records = random_records(rng, self.snippets)
        with _closing(make_store()) as store:
            store.put(records)
            for _ in range(self.questions // 10):
                query, reach = random_query(rng)[0], rng.randrange(4)
                given = [record.snippet for record in rng.sample(records, 3)]
                beside = [
                    one
                    for one in store.scroll(query.tenant)
                    if query.sees(one)
                    and one not in given
                    and any(
                        one.trajectory == own.trajectory and abs(one.position - own.position) <= reach for own in given
                    )
                ]
                assert store.near(query, given, reach=reach) == beside
            every = [record.snippet for record in records]
            assert store.near(DensityQuery(tenant="nobody"), every, reach=2) == []
            assert store.near(DensityQuery(tenant="t"), [], reach=2) == []

    def test_words_are_counted_among_a_tenants_own_snippets(self, make_store: MakeStore) -> None:
        rng = random.Random(7)
        records = random_records(rng, self.snippets)
        mine = {each.snippet.id: each.words for each in records if each.snippet.tenant == "t"}
        gone = rng.sample(sorted(mine), 5)
        left = {name: words for name, words in mine.items() if name not in gone}
        words = [*sorted(set().union(*mine.values())), 4_000_000_000]
        ids = [*rng.sample(sorted(mine), 10), "nothing"]
        with _closing(make_store()) as store:
            store.put(records)
            store.delete("t", gone)
            counts = store.word_counts("t", words, ids=ids)
            assert store.word_counts("nobody", words, ids=ids) == (0, dict.fromkeys(words, 0), {})
        having = Counter(word for own in left.values() for word in own)
        assert counts.snippets == sum(map(bool, left.values()))
        assert counts.carrying == {word: having[word] for word in words}
        assert counts.carried == {name: frozenset(left[name]) for name in left.keys() & set(ids)}

    def test_tenants_do_not_see_each_other(self, make_store: MakeStore) -> None:
        mine, theirs = make_record("1", tenant="mine"), make_record("1", tenant="theirs")
        with _closing(make_store()) as store:
            store.put([mine, theirs])
            ids = [mine.snippet.id, theirs.snippet.id]
            assert [hit.snippet for hit in store.rank(DensityQuery(tenant="mine", vector=mine.vector))] == [
                mine.snippet
            ]
            assert store.get("mine", ids) == [mine.snippet]
            assert list(store.scroll("mine")) == [mine.snippet]
            assert (store.count("mine"), store.count("nobody"), store.count()) == (1, 0, 2)
            assert store.delete("mine", ids) == 1
            assert (store.count("mine"), store.count("theirs")) == (0, 1)
            assert store.get("theirs", ids) == [theirs.snippet]

    def test_what_other_tenants_hold_changes_no_number(self, make_store: MakeStore) -> None:
        rng = random.Random(11)
        mine = random_records(rng, self.snippets, tenants=("t",))
        asked = [random_query(rng, tenants=("t",))[0] for _ in range(self.questions // 3)]

        def numbers(store: SnippetStore) -> list[list[tuple[str, float, float]]]:
            return [[(hit.snippet.id, hit.density, hit.similarity) for hit in store.rank(query)] for query in asked]

        with _closing(make_store()) as alone, _closing(make_store()) as shared:
            alone.put(mine)
            for turn, tenant in enumerate(("a", "u", "z")):
                theirs = random_records(rng, self.snippets, tenants=(tenant,))
                shared.put(theirs[::2])
                shared.put(mine[turn::3])
                shared.put(theirs)
                shared.delete(tenant, [record.snippet.id for record in theirs[::3]])
            assert numbers(shared) == numbers(alone)

    def test_putting_again_replaces(self, make_store: MakeStore) -> None:
        waiting = make_record("1")
        labeled = make_record("1", text="resolved", intent=ContextualIntent(scope="day 1"), words={3: 1.0})
        labels = _labels((LabelKind.SCOPE, "day 1"))
        with _closing(make_store()) as store:
            store.put([waiting])
            store.put([labeled])
            store.put([waiting, labeled])
            assert store.count("t") == 1
            assert store.get("t", [waiting.snippet.id]) == [labeled.snippet]
            assert [hit.density for hit in store.rank(DensityQuery(tenant="t", labels=labels))] == [1.0]
            store.put([waiting])
            hits = store.rank(DensityQuery(tenant="t", labels=labels, words={3: 1.0}))
            assert [(hit.density, hit.similarity) for hit in hits] == [(0.0, 0.0)]

    def test_scroll_goes_by_trajectory_and_position(self, make_store: MakeStore) -> None:
        records = [
            make_record(f"{trip}{at}", trajectory=trip, position=at) for at in (10, 9, 2, 0) for trip in ("b", "a")
        ]
        with _closing(make_store()) as store:
            store.put(records)
            assert [s.step for s in store.scroll("t")] == ["a0", "a2", "a9", "a10", "b0", "b2", "b9", "b10"]
            assert [s.step for s in store.scroll("t", "b")] == ["b0", "b2", "b9", "b10"]

    def test_deleted_snippets_are_gone(self, make_store: MakeStore) -> None:
        records = [make_record(str(number), position=number) for number in range(4)]
        doomed = [records[0].snippet.id, records[2].snippet.id]
        with _closing(make_store()) as store:
            store.put(records)
            assert store.delete("t", [*doomed, doomed[0]]) == 2
            assert store.delete("t", doomed) == 0
            assert [snippet.step for snippet in store.scroll("t")] == ["1", "3"]
            assert [hit.snippet.step for hit in store.rank(DensityQuery(tenant="t"))] == ["1", "3"]

    def test_every_field_of_a_snippet_comes_back(self, make_store: MakeStore) -> None:
        full = MemorySnippet(
            tenant="t", trajectory="trip", step="1", position=3, role="assistant",
            text="It is priced at $76.22 \u2028 né ☃ \U0001f600", resolved="The Olympus Summit is priced at $76.22",
            summary="price", context="how much is it", asks=("What does a night there come to?", "tariff"),
            intent=ContextualIntent(
                scope="day 1", event_types=("answer", "inform"), entity_types=("price",), targets=("Olympus Summit",)
            ),
            references=(ReferenceRewrite(start=0, end=2, replacement="The Olympus Summit", antecedent="0"),),
            session="s", happened=1_700_000_000.123456, recorded=1_700_000_001.987654, labeled_by="local",
            tools=("search", "book"), origin=Origin.TOOL, trust=Trust.MEDIUM,
            metadata={"n": 2**80, "deep": [{"x": None, "y": [True, 1.5, "\ud800"]}], "": {}},
        )  # fmt: skip
        said = full.model_copy(update={"step": "2", "happened": "on Monday", "metadata": {}, "tools": ()})
        records = [SnippetRecord(snippet, np.ones(DIMENSION, dtype=np.float32), {}) for snippet in (full, said)]
        with _closing(make_store()) as store:
            store.put(records)
            assert store.get("t", [full.id, said.id]) == [full, said]
            ranked = [hit.snippet for hit in store.rank(DensityQuery(tenant="t"))]
        assert ranked == [full, said]
        assert [snippet.id for snippet in ranked] == [snippet_id("t", "trip", "1"), snippet_id("t", "trip", "2")]

    def test_names_are_data(self, make_store: MakeStore) -> None:
        with _closing(make_store()) as store:
            for name in ("../../etc", "a/b\\c", "'; DROP TABLE", "\x00\x1b[31m", "*", "null", "ü\u2028☃", "x" * 512):
                odd = make_record(name, tenant=name, trajectory=name, text=name, intent=ContextualIntent(scope=name))
                store.put([odd, make_record(name, tenant="other")])
                assert store.get(name, [odd.snippet.id]) == [odd.snippet]
                assert list(store.scroll(name, name)) == [odd.snippet]
                labels = _labels((LabelKind.SCOPE, odd.snippet.intent.scope)) if odd.snippet.intent.scope else {}
                hits = store.rank(DensityQuery(tenant=name, trajectory=name, labels=labels))
                assert [(hit.snippet, hit.density) for hit in hits] == [(odd.snippet, float(len(labels)))]
                assert store.delete(name, [odd.snippet.id]) == 1

    def test_a_vector_that_is_none_is_refused_before_anything_is_written(self, make_store: MakeStore) -> None:
        with _closing(make_store()) as store:
            for bad in (math.nan, math.inf, -math.inf):
                with pytest.raises(StoreError, match=r"step 'bad' .* not a finite number"):
                    store.put([make_record("good"), make_record("bad", vector=[bad, *[0] * 7])])
                with pytest.raises(StoreError, match="not a finite number"):
                    store.rank(DensityQuery(tenant="t", vector=np.full(DIMENSION, bad, dtype=np.float32)))
            with pytest.raises(StoreError, match="step 'bad'"):
                store.put([make_record("good"), make_record("bad", vector=[1.0])])
            assert store.count() == 0
            with pytest.raises(StoreError, match="dimension"):
                store.rank(DensityQuery(tenant="t", vector=np.ones(3, dtype=np.float32)))

    def test_lexical_weights_that_cannot_be_are_refused(self, make_store: MakeStore) -> None:
        with _closing(make_store()) as store:
            for words in ({-1: 1.0}, {2**32: 1.0}, {1: math.nan}, {1: -1.0}):
                with pytest.raises(StoreError, match="lexical weights"):
                    store.put([make_record("1", words=words)])
                with pytest.raises(StoreError, match="lexical weights"):
                    store.rank(DensityQuery(tenant="t", words=words))
            assert store.count() == 0

    def test_a_snippet_that_json_cannot_hold_is_refused_before_anything_is_written(self, make_store: MakeStore) -> None:
        good, bad = make_record("good"), make_record("bad")
        with _closing(make_store()) as store:
            for update in ({"happened": math.nan}, {"text": "\ud800"}, {"position": 2**63}):
                broken = bad._replace(snippet=bad.snippet.model_copy(update=update))
                with pytest.raises(StoreError, match=f"step 'bad' .*{next(iter(update))}"):
                    store.put([good, broken])
            assert store.count() == 0

    def test_closing_twice_is_harmless_and_a_closed_store_says_so(self, make_store: MakeStore) -> None:
        store = make_store()
        store.put([make_record("1")])
        store.flush()
        store.close()
        store.close()
        for use in (
            store.count,
            store.flush,
            lambda: store.put([make_record("2")]),
            lambda: store.rank(DensityQuery(tenant="t")),
            lambda: store.get("t", []),
            lambda: store.delete("t", []),
            lambda: list(store.scroll("t")),
        ):
            with pytest.raises(StoreError, match="closed"):
                use()


def _labels(*labels: tuple[LabelKind, str]) -> dict[Label, frozenset[str]]:
    return {Label(kind, value): frozenset({value}) for kind, value in labels}


@contextmanager
def _closing(store: SnippetStore) -> Iterator[SnippetStore]:
    try:
        yield store
    finally:
        store.close()
