"""A collection of a server that does not hold a memory wholly is refused, and finished by the next reindexing."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stitch import Step, open_memory
from stitch.assemble import open_tenants
from stitch.cli.main import cli
from stitch.core import snippet_id
from stitch.embed import HashingEmbedder
from stitch.errors import InputError, StoreError, StoreMismatchError, StoreUnavailableError
from stitch.lifecycle.folder import journal_id
from stitch.lifecycle.selection import Selector
from stitch.maintenance import adoption, backup_memory, reindex_memory, restore_memory
from stitch.store import ServerStore
from stitch.testing.qdrant import Collection, LoopbackQdrant


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


# A collection that is not this journal's


def run(*arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(cli, arguments)
    return done.exit_code, done.stdout, done.stderr


def test_another_machine_is_refused_and_loses_and_deletes_nothing(
    server: LoopbackQdrant, settings: dict[str, Any], tmp_path: Path
) -> None:
    before = str(server.collections["old"].shards)
    other: dict[str, Any] = {"journal": str(tmp_path / "other"), "collection": "old"}
    own = journal_id(Path(settings["journal"]))
    with pytest.raises(StoreMismatchError, match=f"belongs to the journal {own}, and this one is [0-9a-f-]{{36}}$"):
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


def test_who_has_no_journal_yet_is_told_what_adopting_would_drop_and_may_begin_with_an_empty_one(
    server: LoopbackQdrant, settings: dict[str, Any], tmp_path: Path
) -> None:
    other: dict[str, Any] = {"journal": str(tmp_path / "other"), "collection": "old"}
    assert adoption(server.url, **other) == (journal_id(Path(settings["journal"])), 6)
    assert not (tmp_path / "other").exists()
    with pytest.raises(InputError, match="no memory at"):
        reindex_memory(server.url, **other)
    assert not (tmp_path / "other").exists()
    assert reindex_memory(server.url, adopt=True, **other).snippets == 0
    with open_memory(server.url, tenant="ann", **other) as memory:
        memory.add(Step(role="user", content="The first one here", id="0"), trajectory="t")
        assert [hit.snippet.text for hit in memory.search("Which is here?").hits] == ["The first one here"]


def test_a_collection_of_an_earlier_version_is_made_anew_unless_others_have_put_something_there(
    server: LoopbackQdrant, settings: dict[str, Any]
) -> None:
    made = {"vectors": {"text": {"size": 256, "distance": "Cosine"}}, "sparse_vectors": {"words": {}, "labels": {}}}
    earlier = Collection(made, shards=1)
    for tenant in ("ann", "bob"):
        for step in range(3):
            earlier.shards[0][snippet_id(tenant, "t", str(step))] = {"vector": {}, "payload": {}}
    server.collections["old"] = copy.deepcopy(earlier)
    with pytest.raises(StoreMismatchError, match="an earlier version, which kept all texts") as refused:
        open_memory(server.url, collection="old", tenant="ann", **settings)
    assert f"stitch reindex --memory {server.url}" in refused.value.hint
    assert reindex_memory(server.url, collection="old", **settings).snippets == 6
    with open_memory(server.url, collection="old", tenant="ann", **settings) as memory:
        assert memory.lifecycle.verify() == (3, 3, ())
    earlier.shards[0][snippet_id("eve", "t", "0")] = {"vector": {}, "payload": {}}
    server.collections["old"] = earlier
    with pytest.raises(StoreMismatchError, match="it holds 1 points that this journal does not know"):
        reindex_memory(server.url, collection="old", **settings)


def test_the_command_says_what_would_be_dropped_and_drops_it(
    server: LoopbackQdrant, settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STITCH_COLLECTION", "old")
    monkeypatch.setenv("STITCH_JOURNAL", str(tmp_path / "other"))
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("STITCH_COLLECTION", "mine")
        open_memory(server.url).close()
    named = ("reindex", "--memory", server.url)
    assert run(*named)[0] != 0
    assert run(*named, "--dry-run")[0] == 2
    own = journal_id(Path(settings["journal"]))
    said = f"6 points of the journal {own} would be dropped, and this journal's put\n"
    assert run(*named, "--adopt", "--dry-run")[:2] == (0, said)
    assert json.loads(run(*named, "--adopt", "--dry-run", "--json")[1])["points"] == 6
    assert run(*named, "--adopt")[0] == 0
    assert server.collections["old"].ids() == []
    assert run(*named, "--adopt", "--dry-run")[1].startswith("nothing would be dropped")


def test_another_embedder_of_another_dimension_makes_the_own_collection_anew(
    server: LoopbackQdrant, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stitch.parts.embedder_for", lambda _: HashingEmbedder(64))
    with pytest.raises(StoreMismatchError, match="embedder") as refused:
        open_memory(server.url, collection="old", tenant="ann", **settings)
    assert "stitch reindex" in refused.value.hint
    assert reindex_memory(server.url, collection="old", **settings).written == 6
    with open_memory(server.url, collection="old", tenant="ann", **settings) as memory:
        assert memory.lifecycle.verify() == (3, 3, ())


def test_a_memory_on_a_server_is_built_anew_while_it_serves(server: LoopbackQdrant, settings: dict[str, Any]) -> None:
    with closing(open_tenants(server.url, collection="old", **settings)) as tenants:
        memory = tenants.memory("ann")
        before = [hit.snippet.step for hit in memory.search("What costs 2 dollars?").hits]
        assert tenants.reindex() == 6
        assert [hit.snippet.step for hit in memory.search("What costs 2 dollars?").hits] == before
        assert memory.lifecycle.verify() == (3, 3, ())
    assert len(server.collections["old"].ids()) == 6


def test_what_a_collection_lost_is_put_again_by_a_repair(server: LoopbackQdrant, settings: dict[str, Any]) -> None:
    server.collections["old"].shards = [{}]
    with open_memory(server.url, collection="old", tenant="ann", **settings) as memory:
        with pytest.raises(StoreError, match="lacks the vectors of 6 snippets") as caught:
            memory.search("What costs 2 dollars?")
        assert "stitch verify --repair" in caught.value.hint
        assert len(memory.lifecycle.verify().disagreements) == 3
        assert memory.lifecycle.verify(repair=True).disagreements == ()
    with open_memory(server.url, collection="old", tenant="bob", **settings) as memory:
        assert memory.lifecycle.verify(repair=True).disagreements == ()
        assert len(memory.search("What costs 2 dollars?").hits) == 3


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


def test_the_status_tells_where_what_lies_and_what_the_server_says(
    server: LoopbackQdrant, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_memory(server.url, collection="old", tenant="ann", **settings) as memory:
        status = memory.status()
        assert (status.journal, status.snippets) == (settings["journal"], 3)
        assert status.server == {
            "url": server.url, "collection": "old", "version": "1.18.3", "state": "green", "points": "6", "shards": "1",
            "replicas": "1", "nodes": "1", "payload": "none",
        }  # fmt: skip
        server.away = True
        assert memory.status().server["state"].startswith("cannot read the collection 'old'")
        server.away = False


def test_a_question_to_an_empty_collection_says_that_it_is_empty(server: LoopbackQdrant, tmp_path: Path) -> None:
    folder = str(tmp_path / "empty")
    open_memory(server.url, journal=folder).close()
    (tmp_path / "settings.yaml").write_text(json.dumps({"memory": server.url, "journal": folder}))
    status, _, err = run("query", "What costs 2 dollars?", "--config", str(tmp_path / "settings.yaml"))
    assert (status, err) == (0, "stitch: this memory is empty; `stitch ingest FILE` fills it\n")
