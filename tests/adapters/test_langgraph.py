"""The store of LangGraph in a memory: its documented semantics, and what a memory adds to them."""

from typing import Any

import pytest

pytest.importorskip("langgraph.store.base")

from langgraph.store.base import GetOp, InvalidNamespaceError, ListNamespacesOp, PutOp, SearchOp

from stitch import Memory
from stitch.adapters.langgraph import MemoryStore

ANN, BOB = ("users", "ann"), ("users", "bob")


class Clock:
    """Seconds that pass when they are told to."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def store(memory: Memory) -> MemoryStore:
    return MemoryStore(memory)


def keys(items: Any) -> list[str]:
    return [item.key for item in items]


def test_what_is_put_over_a_key_revises_it_and_its_history_is_kept(memory: Memory) -> None:
    clock = Clock()
    store = MemoryStore(memory, clock=clock)
    for city in ("Porto", "Faro", "Faro", "Lagos"):
        store.put(ANN, "home", {"content": f"Ann lives in {city}."})
        clock.now += 60
    item = store.get(ANN, "home")
    assert item is not None
    assert item.value == {"content": "Ann lives in Lagos."}
    assert (item.updated_at - item.created_at).total_seconds() == 180
    assert [each["content"] for each in store.versions(ANN, "home")] == ["Ann lives in Porto.", "Ann lives in Faro."]
    assert store.versions(ANN, "nothing") == []
    assert keys(store.search(ANN, query="Where does Ann live?")) == ["home"]
    [hit] = memory.search("Ann lives").hits
    assert hit.snippet.text == "Ann lives in Lagos."


def test_what_is_deleted_is_erased_and_may_be_put_again(store: MemoryStore, memory: Memory) -> None:
    store.put(ANN, "code", {"content": "The code of the door is 4711."})
    store.delete(ANN, "code")
    assert store.get(ANN, "code") is None
    assert memory.status().accepted == 0
    assert store.list_namespaces() == []
    store.put(ANN, "code", {"content": "There is no code."})
    assert store.versions(ANN, "code") == []
    assert store.get(ANN, "code").value == {"content": "There is no code."}  # type: ignore[union-attr]


def test_a_batch_reads_what_was_before_and_its_last_put_of_a_key_wins(store: MemoryStore) -> None:
    store.put(ANN, "a", {"n": 1})
    results: list[Any] = store.batch(
        [
            PutOp(ANN, "a", {"n": 2}),
            GetOp(ANN, "a"),
            PutOp(ANN, "a", {"n": 3}),
            PutOp(BOB, "b", {"n": 4}),
            SearchOp(("users",)),
            ListNamespacesOp(),
            PutOp(BOB, "b", None),
        ]
    )
    assert [results[0], results[2], results[3], results[6]] == [None] * 4
    assert results[1].value == {"n": 1}
    assert keys(results[4]) == ["a"]
    assert results[5] == [ANN]
    assert store.get(ANN, "a").value == {"n": 3}  # type: ignore[union-attr]
    assert store.get(BOB, "b") is None
    with pytest.raises(ValueError, match="unknown operation"):
        store.batch([("what",)])  # type: ignore[list-item]


def test_a_search_is_by_prefix_of_segments_filter_and_page(store: MemoryStore) -> None:
    for number in range(5):
        store.put(ANN, f"k{number}", {"n": number, "kind": "even" if number % 2 == 0 else "odd", "at": {"x": [1]}})
    store.put(("users", "annabel"), "k", {"n": 9})
    assert keys(store.search(ANN)) == ["k0", "k1", "k2", "k3", "k4"]
    assert keys(store.search(("users",), limit=2, offset=4)) == ["k4", "k"]
    assert len(store.search((), limit=100)) == 6
    for wanted, found in (
        ({"kind": "odd"}, ["k1", "k3"]),
        ({"n": {"$gt": 1, "$lte": 3}}, ["k2", "k3"]),
        ({"n": {"$gte": 3}, "kind": {"$ne": "odd"}}, ["k4"]),
        ({"n": {"$eq": 1}}, ["k1"]),
        ({"kind": {"$lt": 1}}, []),
        ({"at": {"x": [1]}, "n": 0}, ["k0"]),
        ({"at": {"x": [1, 2]}}, []),
        ({"n": {"x": 1}}, []),
        ({"kind": {"$gt": "even"}}, ["k1", "k3"]),
        ({"$or": [{"n": 0}, {"$and": [{"kind": "odd"}, {"n": {"$gte": 3}}]}]}, ["k0", "k3"]),
        ({"kind": "even", "$not": {"n": 4}}, ["k0", "k2"]),
        ({"n": {"$not": {"$lt": 4}}}, ["k4"]),
    ):
        assert keys(store.search(ANN, filter=wanted)) == found, wanted
    with pytest.raises(ValueError, match="unsupported operator '\\$like'"):
        store.search(ANN, filter={"n": {"$like": 1}})
    with pytest.raises(ValueError, match="unsupported operator '\\$nor'"):
        store.search(ANN, filter={"$nor": [{"n": 1}]})


@pytest.mark.parametrize("space", [(), ("a.b",), ("",), ("langgraph", "x"), (1,)])
def test_a_wrong_namespace_is_refused_in_a_batch_too(store: MemoryStore, space: Any) -> None:
    with pytest.raises(InvalidNamespaceError):
        store.put(space, "k", {"n": 1})
    if space not in ((), ("langgraph", "x")):
        with pytest.raises(InvalidNamespaceError):
            store.batch([GetOp(space, "k")])


def test_what_has_expired_is_gone_and_what_is_read_lives_longer(memory: Memory) -> None:
    clock = Clock()
    store = MemoryStore(memory, ttl={"default_ttl": 10, "refresh_on_read": True}, clock=clock)
    store.put(ANN, "short", {"n": 1})
    store.put(ANN, "long", {"n": 2}, ttl=60)
    store.put(ANN, "always", {"n": 3}, ttl=None)
    clock.now += 8 * 60
    assert store.get(ANN, "short") is not None
    clock.now += 8 * 60
    assert store.get(ANN, "short", refresh_ttl=False) is not None, "it was read 8 minutes ago"
    clock.now += 8 * 60
    assert store.get(ANN, "short") is None
    assert keys(store.search(ANN)) == ["long", "always"]
    assert store.sweep() == 1
    assert [entry.id for entry in memory.steps("store/users.ann")] == ["long", "always"]
    clock.now += 120 * 60
    assert store.sweep() == 1
    assert keys(store.search(ANN)) == ["always"]
    assert keys(MemoryStore(memory, ttl={"omit_expired": False}).search(ANN)) == ["always"]
