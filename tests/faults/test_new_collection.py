"""A collection of a server that does not hold a memory wholly is refused, and finished by the next reindexing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doubles.qdrant import LoopbackQdrant
from stitch import Step, open_memory
from stitch.errors import StoreMismatchError
from stitch.ingest.snippets import SnippetProjection
from stitch.lifecycle.folder import journal_id
from stitch.lifecycle.selection import Selector
from stitch.maintenance import adoption, backup_memory, reindex_memory, restore_memory


@pytest.fixture
def server() -> Iterator[LoopbackQdrant]:
    with LoopbackQdrant() as serving:
        yield serving


@pytest.fixture
def settings(server: Any, tmp_path: Path) -> dict[str, Any]:
    settings: dict[str, Any] = {"journal": str(tmp_path / "j")}
    for tenant in ("ann", "bob"):
        with open_memory(server.url, collection="old", tenant=tenant, **settings) as memory:
            memory.add_many([Step(role="user", content=f"Word{n} costs {n} dollars") for n in range(3)], trajectory="t")
    return settings


def test_what_is_erased_is_in_no_file_of_a_collection_that_was_filled_before(
    server: LoopbackQdrant, settings: dict[str, Any]
) -> None:
    reindex_memory(server.url, collection="new", **settings)
    with open_memory(server.url, collection="new", tenant="ann", **settings) as memory:
        proof = memory.lifecycle.erase(Selector(trajectory="t", step="0")).proof
    assert proof.found == ()
    assert any("the disks of the server" in place and "texts and labels" in place for place in proof.not_searched)


def test_a_collection_is_filled_again_where_it_is_while_it_serves(
    server: LoopbackQdrant, settings: dict[str, Any]
) -> None:
    with open_memory(server.url, collection="old", tenant="ann", **settings) as memory:
        memory.lifecycle.retire(Selector(trajectory="t", step="2"))
        assert memory.lifecycle.reindex() == 5
        assert memory.lifecycle.verify() == (3, 2, ())
    assert set(server.collections) == {"old"}


def test_a_collection_that_is_made_anew_is_filled_by_the_next_opening_after_an_interruption(
    server: LoopbackQdrant, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    anew: dict[str, Any] = {"collection": "old", "qdrant": {"replication_factor": 2}, **settings}
    with monkeypatch.context() as broken:
        broken.setattr(SnippetProjection, "put", lambda *_: [][0])
        with pytest.raises(IndexError):
            reindex_memory(server.url, **anew)
    with open_memory(server.url, tenant="ann", **anew) as memory:
        assert memory.lifecycle.verify() == (3, 3, ())


# A collection that is not this journal's


def test_another_machine_is_refused_and_loses_and_deletes_nothing(
    server: LoopbackQdrant, settings: dict[str, Any], tmp_path: Path
) -> None:
    before = str(server.collections["old"].shards)
    other: dict[str, Any] = {"journal": str(tmp_path / "other"), "collection": "old"}
    own = journal_id(Path(settings["journal"]))
    with pytest.raises(StoreMismatchError, match=f"belongs to the journal {own}, and this one is [0-9a-f-]{{36}}"):
        open_memory(server.url, tenant="ann", **other)
    assert not (tmp_path / "other").exists()
    with open_memory(server.url, collection="mine", tenant="ann", journal=other["journal"]) as memory:
        memory.add(Step(role="user", content="Nobody else knows this", id="0"), trajectory="t")
    with pytest.raises(StoreMismatchError, match="is not built anew: it belongs to the journal") as refused:
        reindex_memory(server.url, **other)
    assert "--adopt --dry-run" in refused.value.hint
    assert str(server.collections["old"].shards) == before


def test_a_collection_is_adopted_after_a_dry_run_and_then_refused_to_whom_it_was(
    server: LoopbackQdrant, settings: dict[str, Any], tmp_path: Path
) -> None:
    other: dict[str, Any] = {"journal": str(tmp_path / "other"), "collection": "old"}
    with open_memory(server.url, collection="mine", tenant="ann", journal=other["journal"]) as memory:
        memory.add(Step(role="user", content="Nobody else knows this", id="0"), trajectory="t")
    assert adoption(server.url, **other) == (journal_id(Path(settings["journal"])), 6)
    assert adoption(server.url, collection="old", **settings) is None
    assert reindex_memory(server.url, adopt=True, **other) == (1, 1, "minilm-static-256-v2")
    with open_memory(server.url, tenant="ann", **other) as memory:
        assert [hit.snippet.text for hit in memory.search("Who knows?").hits] == ["Nobody else knows this"]
    with pytest.raises(StoreMismatchError, match="belongs to the journal"):
        open_memory(server.url, collection="old", tenant="ann", **settings)


def test_a_memory_restored_elsewhere_is_another_journal_and_takes_the_collection_over_when_it_is_told_to(
    server: LoopbackQdrant, settings: dict[str, Any], tmp_path: Path
) -> None:
    backup_memory(server.url, collection="old", to=tmp_path / "backup", **settings)
    there: dict[str, Any] = {"journal": str(tmp_path / "restored"), "collection": "old"}
    with pytest.raises(StoreMismatchError, match="belongs to the journal"):
        restore_memory(tmp_path / "backup", memory=server.url, **there)
    assert reindex_memory(server.url, adopt=True, **there).snippets == 6
    with open_memory(server.url, tenant="ann", **there) as memory:
        assert memory.lifecycle.verify() == (3, 3, ())


def test_a_restore_to_a_server_that_breaks_off_is_no_memory_and_is_repeated(
    server: LoopbackQdrant, settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup_memory(server.url, collection="old", to=tmp_path / "backup", **settings)
    there: dict[str, Any] = {"journal": str(tmp_path / "restored"), "collection": "new"}
    with monkeypatch.context() as broken:
        broken.setattr(SnippetProjection, "put", lambda *_: [][0])
        with pytest.raises(IndexError):
            restore_memory(tmp_path / "backup", memory=server.url, **there)
    assert not (tmp_path / "restored").exists()
    assert restore_memory(tmp_path / "backup", memory=server.url, **there)[1:] == (2, 6, 6, 0)
    with open_memory(server.url, tenant="ann", **there) as memory:
        assert memory.lifecycle.verify() == (3, 3, ())
    assert not list(tmp_path.glob("*.restoring"))
