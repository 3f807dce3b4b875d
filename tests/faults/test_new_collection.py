"""A collection of a server that does not hold a memory wholly is refused, and finished by the next reindexing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stitch import Step, open_memory
from stitch.errors import StoreError, StoreUnavailableError
from stitch.lifecycle.selection import Selector
from stitch.maintenance import reindex_memory
from stitch.store import ServerStore
from stitch.testing.qdrant import LoopbackQdrant


@pytest.fixture
def server() -> Iterator[LoopbackQdrant]:
    with LoopbackQdrant() as serving:
        yield serving


@pytest.fixture
def settings(server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Of a memory of two tenants in the collection `old`."""
    monkeypatch.delenv("STITCH_MEMORY", raising=False)
    settings: dict[str, Any] = {"journal": str(tmp_path / "j")}
    for tenant in ("ann", "bob"):
        with open_memory(server.url, collection="old", tenant=tenant, **settings) as memory:
            memory.add_many([Step(role="user", content=f"Word{n} costs {n} dollars") for n in range(3)], trajectory="t")
    return settings


def interrupt_after(monkeypatch: pytest.MonkeyPatch, puts: int) -> None:
    """Let the server go away at a put."""
    put, done = ServerStore.put, []

    def then_gone(self: ServerStore, records: Any) -> None:
        done.append(1)
        if len(done) > puts:
            raise StoreUnavailableError("the server has gone")
        put(self, records)

    monkeypatch.setattr(ServerStore, "put", then_gone)


@pytest.mark.parametrize("puts", [0, 1])
def test_an_interrupted_reindexing_onto_a_new_collection_is_refused_until_it_is_finished(
    server: LoopbackQdrant, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch, puts: int
) -> None:
    with monkeypatch.context() as patched:
        interrupt_after(patched, puts)
        with pytest.raises(StoreUnavailableError):
            reindex_memory(server.url, collection="new/one", **settings)
    for tenant in ("ann", "bob"):
        with pytest.raises(StoreError, match=r"'new/one' .* holds nothing of this memory") as refused:
            open_memory(server.url, collection="new/one", tenant=tenant, **settings)
        assert "stitch reindex" in refused.value.hint
    with open_memory(server.url, collection="old", tenant="ann", **settings) as old:
        assert len(old.search("What costs 2 dollars?").hits) == 3
        old.add(Step(role="user", content="Word3 costs 3 dollars"), trajectory="t")
    done = reindex_memory(server.url, collection="new/one", **settings)
    assert (done.snippets, done.written) == (7, 7 - 3 * puts)
    with open_memory(server.url, collection="new/one", tenant="ann", **settings) as new:
        assert new.lifecycle.verify() == (4, 4, ())
    assert len(server.collections["new/one"].ids()) == 7


def test_what_is_erased_is_in_no_file_of_a_collection_that_was_filled_before(
    server: LoopbackQdrant, settings: dict[str, Any], tmp_path: Path
) -> None:
    reindex_memory(server.url, collection="new", **settings)
    with open_memory(server.url, collection="new", tenant="ann", **settings) as memory:
        proof = memory.lifecycle.erase(Selector(trajectory="t", step="0")).proof
    assert proof.found == ()
    assert any("the disks of the server" in place and "no word" in place for place in proof.not_searched)
    assert [path.name for path in (tmp_path / "j" / "collections").iterdir()] == ["new"]


def test_a_collection_that_holds_nothing_of_a_memory_is_refused(server: Any, settings: dict[str, Any]) -> None:
    with pytest.raises(StoreError, match=r"'other' .* holds nothing of this memory") as refused:
        open_memory(server.url, collection="other", tenant="ann", **settings)
    assert "stitch reindex" in refused.value.hint
    assert reindex_memory(server.url, collection="other", **settings).written == 6
    with open_memory(server.url, collection="other", tenant="bob", **settings) as memory:
        assert memory.status().snippets == 3


def test_a_collection_that_serves_goes_on_to_serve_when_reindexing_it_is_interrupted(
    server: Any, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_memory(server.url, collection="old", tenant="ann", **settings) as memory:
        first = next(memory._ingestor.store.scroll("ann"))
        memory._ingestor.store.delete("ann", [first.id])
    with monkeypatch.context() as patched:
        interrupt_after(patched, 0)
        with pytest.raises(StoreUnavailableError):
            reindex_memory(server.url, collection="old", **settings)
    with open_memory(server.url, collection="old", tenant="ann", **settings) as memory:
        assert len(memory.search("What costs 2 dollars?").hits) == 2
    assert reindex_memory(server.url, collection="old", **settings).written == 6


def test_as_of_a_moment_a_server_too_ranks_what_was_retired_since_where_it_stood(
    server: Any, settings: dict[str, Any]
) -> None:
    asked = "What costs 2 dollars?"
    with open_memory(server.url, collection="old", tenant="ann", **settings) as memory:
        moment, before = time.time(), memory.search(asked).hits
        memory.lifecycle.retire(Selector(trajectory="t", step=before[0].snippet.step))
        assert len(memory.search(asked).hits) == 2
        then = memory.search(asked, as_of=moment).hits
        assert [hit.snippet.step for hit in then] == [hit.snippet.step for hit in before]
        assert [hit.density for hit in then] == [hit.density for hit in before]
