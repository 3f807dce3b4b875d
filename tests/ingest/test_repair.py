"""A memory whose parts disagree is told so by name and mended; a store built anew takes the old one's place whole."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from stitch import Step, open_memory
from stitch.core import LabelInventory, StepState, snippet_id
from stitch.embed import StaticEmbedder
from stitch.embed.hashing import HashingEmbedder
from stitch.errors import (
    EmbedderError,
    InputError,
    JournalError,
    SettingsError,
    StoreError,
    StoreLockedError,
    StoreMismatchError,
)
from stitch.ingest import Ingestor
from stitch.ingest.snippets import SnippetProjection
from stitch.journal import Checkpoint, SqliteJournal
from stitch.lifecycle.rebuild import rebuild
from stitch.lifecycle.repair import NEXT_FOLDER, Repaired, claim_next, next_folder, repair, verify
from stitch.lifecycle.selection import Selector
from stitch.maintenance import reindex_memory
from stitch.store import EdgeStore
from stitch.testing.embedding import EmbeddingServer
from stitch.testing.labeling import ScriptedLabeler
from stitch.testing.servers import Reply

Make = Callable[..., Any]

SENTENCES = [
    "Let's plan day 1. One idea for breakfast is the Olympus Summit Dining Hall.",
    "How much is the first restaurant I raised for day 1's breakfast?",
    "It is priced at around $76.22.",
]
TRIP = [Step(role="user", content=text) for text in SENTENCES]


class Renamed(StaticEmbedder):
    """The table of before, as a memory knows it."""

    @property
    def name(self) -> str:
        return "minilm-static-256-v1"


def said(world: Any) -> list[tuple[str, str, str]]:
    return [(*each,) for each in verify(world.ingestor, tenant="a").disagreements]


def test_a_sound_memory_agrees(world: Any, steps: Make) -> None:
    world.add(*steps(5))
    world.add(*steps(3), trajectory="u")
    world.add(*steps(2), tenant="b")
    assert verify(world.ingestor, tenant="a") == (8, 8, ())
    assert verify(world.ingestor, tenant="nobody") == (0, 0, ())


def test_each_thing_that_does_not_agree_is_named_and_repaired(world: Any, steps: Make) -> None:
    world.add(*steps(6))
    records = world.store.records
    ids = list(records)
    other = {name: record for name, record in records.items() if name == ids[1]}
    ghost = records[ids[2]]._replace(snippet=records[ids[2]].snippet.model_copy(update={"step": "ghost"}))
    del records[ids[0]]
    changed = other[ids[1]].snippet.model_copy(update={"text": "something else", "resolved": "something else"})
    records[ids[1]] = other[ids[1]]._replace(snippet=changed)
    records[ghost.snippet.id] = ghost
    assert said(world) == [
        ("t", "s0", "it is stored, by the journal, and not in the store"),
        ("t", "s1", "the store has it with another text, resolved"),
        ("t", "ghost", "it is in the store, and the journal does not know it"),
    ]
    assert repair(world.ingestor, tenant="a") == (6, 6, (), ())
    assert next(iter(world.store.scroll("a"))).text.startswith("Book the Olympus")


def test_a_wrong_inventory_is_named_and_taken_from_the_journal_again(worlds: Make, steps: Make, tmp_path: Path) -> None:
    first = worlds(tmp_path / "j")
    first.add(*steps(4))
    right = first.inventory("a", "t")
    session = first.labeler.begin("t").save()
    first.ingestor.close()
    with_wrong = SqliteJournal(tmp_path / "j")
    with_wrong.save_checkpoint("a", "t", Checkpoint("scripted", 4, session, LabelInventory(steps=2)))
    with_wrong.close()
    first.store.reopen()
    second = worlds(tmp_path / "j", store=first.store)
    found = said(second)
    assert ("t", "", "its inventory knows 2 labeled steps of 4") in found
    assert ("t", "s0", "its scope 'scope 0' is not in the inventory") in found
    assert repair(second.ingestor, tenant="a").disagreements == ()
    assert second.inventory("a", "t") == right


def test_repairing_one_tenant_touches_no_other(world: Any, steps: Make) -> None:
    world.add(*steps(2))
    world.add(*steps(2), tenant="b")
    lost = [name for name, record in world.store.records.items() if record.snippet.tenant == "b"]
    for name in lost:
        del world.store.records[name]
    assert repair(world.ingestor, tenant="a").disagreements == ()
    assert world.store.count("b") == 0
    assert len(verify(world.ingestor, tenant="b").disagreements) == 2


def test_the_last_digit_of_a_number_is_no_difference(world: Any, steps: Make) -> None:
    world.add(*steps(1))
    ((name, record),) = world.store.records.items()
    for recorded, told in ((1000.0000000000001, []), (1000.5, [("t", "s0", "the store has it with another recorded")])):
        snippet = record.snippet.model_copy(update={"recorded": recorded})
        world.store.records[name] = record._replace(snippet=snippet)
        assert said(world) == told


def test_a_failed_step_need_not_be_in_the_store(world: Any, steps: Make) -> None:
    world.labeler.fail_next(StoreMismatchError("broken on purpose"))
    (receipt,) = world.add(*steps(1))
    assert receipt.state is StepState.FAILED
    assert said(world) == []


def test_damage_of_the_journal_is_told_in_the_words_of_the_engine(tmp_path: Path, steps: Make) -> None:
    journal = SqliteJournal(tmp_path / "j")
    journal.append_many(steps(400), tenant="a", trajectory="t", recorded=1.0)
    assert journal.damage() == []
    journal.close()
    content = bytearray((tmp_path / "j").read_bytes())
    page = content.index(b"Olympus") // 4096 * 4096
    content[page + 3 : page + 5] = b"\xff\xff"
    (tmp_path / "j").write_bytes(content)
    journal = SqliteJournal(tmp_path / "j")
    assert journal.damage()
    journal.close()


# Building the store anew


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("STITCH_MEMORY", raising=False)
    for tenant in ("default", "ann"):
        with open_memory(tmp_path / "m", tenant=tenant) as opened:
            opened.add_many(TRIP, trajectory="t")
    return tmp_path / "m"


def hits(memory: Path, **settings: Any) -> list[str]:
    with open_memory(memory, **settings) as opened:
        return [hit.snippet.text for hit in opened.search("What did breakfast cost?", k=3).hits]


def test_another_embedder_takes_over_and_back_and_the_mismatch_says_how(memory: Path) -> None:
    before = hits(memory)
    with EmbeddingServer(dimension=32) as server:
        other: dict[str, Any] = {
            "embedder": "openai/hash", "embedder_dimension": 32, "embedder_url": server.url, "embedder_key": "k",
        }  # fmt: skip
        with pytest.raises(StoreMismatchError) as refused:
            open_memory(memory, **other)
        assert refused.value.hint == f"stitch reindex --memory {memory}"
        result = reindex_memory(memory, **other)
        assert (result.snippets, result.written) == (6, 6)
        assert "hash" in result.embedder
        assert sorted(hits(memory, **other)) == sorted(before)
        with pytest.raises(StoreMismatchError):
            open_memory(memory)
    assert reindex_memory(memory).written == 6
    assert hits(memory) == before
    assert not (memory / NEXT_FOLDER).exists()


def test_a_memory_of_the_table_before_says_reindex_and_keeps_its_labels(tmp_path: Path) -> None:
    before = Renamed()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("stitch.parts.embedder_for", lambda _: before)
        with open_memory(tmp_path / "m") as opened:
            opened.add_many(TRIP, trajectory="t")
            labels = opened.inventory("t")
    with pytest.raises(
        StoreMismatchError, match="embedder 'minilm-static-256-v1', not 'minilm-static-256-v2'"
    ) as refused:
        open_memory(tmp_path / "m")
    assert refused.value.hint == f"stitch reindex --memory {tmp_path / 'm'}"
    assert reindex_memory(tmp_path / "m").written == len(TRIP)
    with open_memory(tmp_path / "m") as opened:
        assert opened.inventory("t") == labels
        assert opened.search("What did breakfast cost?", k=3).hits


def test_an_interrupted_run_leaves_the_old_store_and_is_taken_up(memory: Path) -> None:
    before = hits(memory)
    broken = Reply({"error": {"message": "out of order"}}, status=400)
    with EmbeddingServer(dimension=32, first=[None, broken]) as server:
        other: dict[str, Any] = {
            "embedder": "openai/hash", "embedder_dimension": 32, "embedder_url": server.url, "embedder_key": "k",
        }  # fmt: skip
        with pytest.raises(EmbedderError):
            reindex_memory(memory, **other)
        assert hits(memory) == before
        assert reindex_memory(memory, **other).written == 3, "the first tenant's were there already"
    assert reindex_memory(memory).written == 6


def test_what_a_run_with_a_third_embedder_left_is_of_no_use(memory: Path) -> None:
    embedder = HashingEmbedder(8)
    made = next_folder(memory, embedder_name=embedder.name)
    EdgeStore(made, embedder_name=embedder.name, dimension=8).close()
    assert reindex_memory(memory).written == 6
    assert len(hits(memory)) == 3


def test_what_was_left_half_built_and_is_not_wanted_any_more_is_removed(memory: Path, tmp_path: Path) -> None:
    embedder_name = reindex_memory(memory).embedder
    with open_memory(tmp_path / "other") as other:
        other.add(Step(role="user", content="of another memory"), trajectory="x")
    (tmp_path / "other" / "store").rename(next_folder(memory, embedder_name=embedder_name) / "store")
    assert reindex_memory(memory).snippets == 6


@pytest.mark.parametrize("interrupted_after", ["nothing", "the old was moved", "the new was moved", "cleaning up"])
def test_an_interrupted_move_is_finished_when_the_memory_is_opened(memory: Path, interrupted_after: str) -> None:
    before = hits(memory)
    made = next_folder(memory, embedder_name="any")
    if interrupted_after == "nothing":
        (memory / "store").rename(made / "store")
        (memory / "store").mkdir()
        (memory / "store" / "old.txt").write_text("old")
    elif interrupted_after == "the old was moved":
        (memory / "store").rename(made / "store")
        (made / "old").mkdir()
    elif interrupted_after == "the new was moved":
        (made / "old").mkdir()
    (made / "complete").write_text("")
    assert hits(memory) == before
    assert not made.exists()
    assert not (memory / "store" / "old.txt").exists()


@pytest.mark.slow
def test_who_opens_while_another_moves_is_told(memory: Path) -> None:
    made = next_folder(memory, embedder_name="any")
    claim = claim_next(memory)
    (made / "complete").write_text("")
    with pytest.raises(StoreLockedError, match="next store"):
        open_memory(memory)
    claim.release()
    open_memory(memory).close()


def test_an_open_memory_is_not_reindexed(memory: Path) -> None:
    with open_memory(memory), pytest.raises(StoreLockedError):
        reindex_memory(memory)
    with pytest.raises(InputError, match="no memory at"):
        reindex_memory(memory / "none")
    with pytest.raises(SettingsError, match="no memory is named"):
        reindex_memory()


def test_a_store_that_does_not_say_what_it_was_made_with_is_built_anew(memory: Path) -> None:
    before = hits(memory)
    (memory / "store" / "store.json").write_text(json.dumps({"schema_version": 99}))
    assert reindex_memory(memory).snippets == 6
    assert hits(memory) == before


def test_steps_without_labels_are_put_too_and_labeled_later(tmp_path: Path, steps: Make) -> None:
    labeler, embedder = ScriptedLabeler(), HashingEmbedder(16)
    store = EdgeStore(tmp_path, embedder_name=embedder.name, dimension=16)
    ingestor = Ingestor(
        journal=SqliteJournal(tmp_path / "journal.sqlite"), store=store, embedder=embedder, labeler=labeler
    )
    labeler.fail_next(StoreMismatchError("broken on purpose"))
    ingestor.add_many(steps(2), tenant="default", trajectory="t")
    ingestor.close()
    assert reindex_memory(tmp_path).snippets == 2
    with open_memory(tmp_path) as memory:
        assert memory.retry() == 2
        assert memory.lifecycle.verify() == (2, 2, ())


# While it serves


def test_a_memory_builds_its_store_anew_and_serves_meanwhile(memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_memory(memory) as opened:
        before = opened.search("What did breakfast cost?", k=9).hits
        reindex = SnippetProjection.rebuild
        passes = iter(("first", "second"))

        def while_others_work(self: SnippetProjection) -> int:
            if next(passes) == "first":
                written = reindex(self)
                opened.add(Step(id="late", role="user", content="One more step comes in"), trajectory="late")
                opened.lifecycle.retire(Selector(trajectory="t", step="1"))
                assert len(opened.search("anything", k=9).hits) == 3
                return written
            with ThreadPoolExecutor(1) as another:
                found = another.submit(opened.search, "One more step comes in", k=9).result(timeout=60)
                assert found.hits[0].snippet.step == "late", "searches go on while writers wait"
            return reindex(self)

        monkeypatch.setattr(SnippetProjection, "rebuild", while_others_work)
        assert opened.lifecycle.reindex() == 7
        assert not (memory / NEXT_FOLDER).exists()
        hits = opened.search("What did breakfast cost?", k=9).hits
        assert {hit.snippet.step for hit in hits} == {hit.snippet.step for hit in before} - {"1"} | {"late"}
        opened.add(Step(id="later", role="user", content="And another"), trajectory="late")
        assert opened.lifecycle.verify().disagreements == ()
        with pytest.raises(StoreLockedError, match="in use by process"):
            open_memory(memory, share=False)
    with open_memory(memory) as opened:
        assert opened.lifecycle.verify() == (5, 4, ())
    with open_memory(memory, tenant="ann") as other:
        assert other.lifecycle.verify() == (3, 3, ())


def test_a_rebuilding_that_breaks_off_leaves_the_old_store_and_is_taken_up(
    memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_memory(memory) as opened:
        with monkeypatch.context() as patch:
            patch.setattr("stitch.ingest.snippets.SnippetProjection.remove_unknown", lambda *_, **__: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                opened.lifecycle.reindex()
        assert opened.lifecycle.verify().disagreements == ()
        assert opened.lifecycle.reindex() == 0, "all was written by the first run"
        assert opened.lifecycle.verify() == (3, 3, ())


def test_a_store_on_a_server_is_not_built_anew_while_it_serves(world: Any, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="while it serves") as caught:
        rebuild(world.ingestor)
    assert caught.value.hint == "stitch reindex"


def damage_journal(folder: Path, statement: str) -> None:
    with closing(sqlite3.connect(folder / "journal.sqlite")) as db, db:
        db.execute(statement)


def test_a_flipped_letter_in_the_journal_does_not_reach_the_store(memory: Path) -> None:
    replaced = "CAST(replace(CAST(payload AS TEXT), 'Olympus', 'Olympos') AS BLOB)"
    damage_journal(memory, f"UPDATE steps SET payload = {replaced} WHERE position = 0")
    with open_memory(memory) as opened:
        (found,) = [each for each in opened.lifecycle.verify().disagreements if "not as it was written" in each.what]
        assert (found.step, found.what) == ("0", "its step in the journal is not as it was written")
        repaired = opened.lifecycle.verify(repair=True)
        assert isinstance(repaired, Repaired)
        assert (repaired.steps, repaired.snippets, repaired.disagreements) == (3, 3, ())
        assert ["the copy in the store is the accepted one" in choice for choice in repaired.choices] == [True]
        assert next(opened.steps("t")).step.content == SENTENCES[0]
        assert opened.lifecycle.verify() == (3, 3, ())


def test_from_a_damaged_journal_no_store_is_built_anew_until_the_better_copy_is_taken(memory: Path) -> None:
    replaced = "CAST(replace(CAST(payload AS TEXT), 'Olympus', 'Olympos') AS BLOB)"
    damage_journal(memory, f"UPDATE steps SET payload = {replaced} WHERE seq = 1")
    damage_journal(memory, "UPDATE labels SET labels = replace(CAST(labels AS TEXT), 'local', 'lokal') WHERE seq = 2")
    named = "step '0' of trajectory 't' of 'default', labels of step '1' of trajectory 't' of 'default'"
    with open_memory(memory) as opened:
        with pytest.raises(JournalError, match=named):
            opened.lifecycle.reindex()
        opened.lifecycle.verify(repair=True)
    with pytest.raises(JournalError, match="damaged journal: labels of step '1' of trajectory") as refused:
        reindex_memory(memory)
    assert "stitch forget erase" in str(refused.value.hint)
    with open_memory(memory) as opened:
        assert opened.status().snippets == 3
        opened.lifecycle.erase(Selector(trajectory="t", step="1"))
        assert opened.lifecycle.reindex() == 5
        assert opened.lifecycle.verify() == (2, 2, ())
    assert SENTENCES[0] in hits(memory)


def test_where_no_copy_is_known_to_be_right_both_stay_as_they_are(memory: Path) -> None:
    with open_memory(memory) as opened:
        opened.lifecycle.correct("0", trajectory="t", text="Let's plan day 3.")
        before = [snippet.model_dump_json() for snippet in opened._ingestor.store.scroll("default")]
    damage_journal(memory, "UPDATE steps SET payload = replace(payload, 'day 3', 'day 4') WHERE position = 0")
    damage_journal(memory, "UPDATE labels SET labels = replace(labels, '[', '(') WHERE seq = 2")
    with open_memory(memory) as opened:
        repaired = opened.lifecycle.verify(repair=True)
        assert isinstance(repaired, Repaired)
        assert [each.what for each in repaired.disagreements if "not as it was written" in each.what] == [
            "its step in the journal is not as it was written",
            "its labels in the journal is not as it was written",
        ]
        assert ["was left as it is" in choice for choice in repaired.choices] == [True, True]
        assert [snippet.model_dump_json() for snippet in opened._ingestor.store.scroll("default")] == before


def test_an_emptied_journal_never_wipes_the_store(memory: Path) -> None:
    for table in ("steps", "labels", "states", "trajectories", "changes", "checkpoints"):
        damage_journal(memory, f"DELETE FROM {table}")
    with open_memory(memory) as opened:
        assert opened.lifecycle.verify(repair=True).snippets == 3
        assert len(opened.lifecycle.verify().disagreements) == 3
        with pytest.raises(StoreError, match="the journal holds nothing"):
            opened.lifecycle.reindex()
        assert opened.status().snippets == 3
    with pytest.raises(StoreError, match="the journal holds nothing, and the store does") as refused:
        reindex_memory(memory)
    assert refused.value.hint == "`stitch restore` makes a memory of a backup"
    with open_memory(memory) as opened:
        assert opened.status().snippets == 3


def test_a_damaged_history_is_named_and_keeps_nothing_else_from_being_repaired(memory: Path) -> None:
    with open_memory(memory) as opened:
        opened.lifecycle.correct("0", trajectory="t", text="Let's plan day 3.")
        assert opened.lifecycle.verify() == (3, 3, ())
    damage_journal(memory, "UPDATE history SET made_by = 'somebody else'")
    with open_memory(memory) as opened:
        (found,) = opened.lifecycle.verify().disagreements
        assert (found.step, found.what) == ("0", "its history in the journal is not as it was written")
        opened._ingestor.store.delete("default", [snippet_id("default", "t", "1")])
        repaired = opened.lifecycle.verify(repair=True)
        assert isinstance(repaired, Repaired)
        assert (repaired.steps, repaired.snippets, repaired.disagreements) == (3, 3, (found,))
        assert ["nothing else has it" in choice for choice in repaired.choices] == [True]
    damage_journal(memory, "UPDATE history SET payload = CAST('no JSON' AS BLOB)")
    with open_memory(memory) as opened, pytest.raises(JournalError, match="before its correction is damaged"):
        opened.lifecycle.history("0", trajectory="t")
