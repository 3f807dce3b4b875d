"""A memory whose parts disagree or are damaged is told so by name and mended."""

import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from doubles.embedding import EmbeddingServer
from stitch import Memory, Step, open_memory
from stitch.errors import EmbedderError, JournalError, StitchError, StoreLockedError, StoreMismatchError
from stitch.ingest.snippets import SnippetProjection
from stitch.lifecycle.folder import NEXT_FOLDER, next_store
from stitch.lifecycle.repair import Repaired, repair, verify
from stitch.lifecycle.selection import Selector
from stitch.maintenance import reindex_memory
from stitch.testing.servers import Reply

Make = Callable[..., Any]

SENTENCES = [
    "Let's plan day 1. One idea for breakfast is the Olympus Summit Dining Hall.",
    "How much is the first restaurant I raised for day 1's breakfast?",
    "It is priced at around $76.22.",
]
TRIP = [Step(role="user", content=text) for text in SENTENCES]


def said(world: Any) -> list[tuple[str, str, str]]:
    return [(*each,) for each in verify(world.ingestor, tenant="a").disagreements]


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


def test_repairing_one_tenant_touches_no_other(world: Any, steps: Make) -> None:
    world.add(*steps(2))
    world.add(*steps(2), tenant="b")
    lost = [name for name, record in world.store.records.items() if record.snippet.tenant == "b"]
    for name in lost:
        del world.store.records[name]
    assert repair(world.ingestor, tenant="a").disagreements == ()
    assert world.store.count("b") == 0
    assert len(verify(world.ingestor, tenant="b").disagreements) == 2


# Building the store anew


@pytest.fixture
def memory(tmp_path: Path) -> Path:
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


@pytest.mark.parametrize("interrupted_after", ["the old was moved", "the new was moved"])
def test_an_interrupted_move_is_finished_when_the_memory_is_opened(memory: Path, interrupted_after: str) -> None:
    before = hits(memory)
    with next_store(memory, embedder_name="any") as made:
        (made / "old").mkdir()
        (made / "old" / "old.txt").write_text("old")
        if interrupted_after == "the old was moved":
            (memory / "store").rename(made / "store")
    assert hits(memory) == before
    assert not made.exists()
    assert not (memory / "store" / "old.txt").exists()


# While it serves


def test_a_memory_builds_its_store_anew_and_serves_meanwhile(memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_memory(memory) as opened:
        before = opened.search("What did breakfast cost?", k=9).hits
        put, remove, calls = SnippetProjection.put_missing, SnippetProjection.remove_unknown, list[str]()

        def put_while_others_work(self: SnippetProjection, *arguments: Any, **options: Any) -> int:
            written = put(self, *arguments, **options)
            if not calls:
                opened.add(Step(id="late", role="user", content="One more step comes in"), trajectory="late")
                opened.lifecycle.retire(Selector(trajectory="t", step="1"))
                assert len(opened.search("anything", k=9).hits) == 3
            calls.append("put")
            return written

        def remove_while_others_search(self: SnippetProjection, tenant: str) -> int:
            with ThreadPoolExecutor(1) as another:
                found = another.submit(opened.search, "One more step comes in", k=9).result(timeout=120)
                assert found.hits[0].snippet.step == "late", "searches go on while writers wait"
            return remove(self, tenant)

        monkeypatch.setattr(SnippetProjection, "put_missing", put_while_others_work)
        monkeypatch.setattr(SnippetProjection, "remove_unknown", remove_while_others_search)
        assert opened.lifecycle.reindex() == 6
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


@pytest.mark.parametrize("damage", ["UPDATE steps SET payload = '{}'", "UPDATE labels SET labels = 'x'"])
def test_a_damaged_step_is_not_exported_as_if_it_were_whole_and_other_trajectories_are(
    memory: Path, damage: str
) -> None:
    with open_memory(memory) as opened:
        opened.add({"role": "user", "content": "The boat leaves at nine."}, trajectory="sound")
    damage_journal(memory, f"{damage} WHERE seq = 1")
    with open_memory(memory) as opened:
        with pytest.raises(JournalError, match="step '0' of trajectory 't' cannot be exported"):
            list(opened.lifecycle.export())
        assert any("The boat" in line for line in opened.lifecycle.export(trajectory="sound"))


def test_a_damaged_time_of_a_correction_is_told_as_damage(memory: Path) -> None:
    with open_memory(memory) as opened:
        opened.lifecycle.correct("0", trajectory="t", text="Something else.")
    damage_journal(memory, "UPDATE history SET at = 'soon'")
    with open_memory(memory) as opened, pytest.raises(JournalError, match="before its correction is damaged"):
        opened.lifecycle.history("0", trajectory="t")


def test_an_emptied_journal_never_wipes_the_store(memory: Path) -> None:
    for table in ("steps", "labels", "states", "trajectories", "changes", "checkpoints"):
        damage_journal(memory, f"DELETE FROM {table}")
    for use in (open_memory, reindex_memory):
        with pytest.raises(JournalError, match="it holds nothing, and the store does") as refused:
            use(memory)
        assert refused.value.hint is not None
        assert refused.value.hint.startswith("copy the whole folder again")


@pytest.mark.parametrize("left", [b"", None])
def test_a_folder_copied_without_its_journal_is_refused_as_damaged_and_whole_again_with_it(
    memory: Path, left: bytes | None
) -> None:
    journal = memory / "journal.sqlite"
    kept = journal.read_bytes()
    journal.unlink() if left is None else journal.write_bytes(left)
    for _ in range(2):
        with pytest.raises(JournalError, match="damaged or missing"):
            open_memory(memory)
    for path in memory.glob("journal.sqlite*"):
        path.unlink()
    journal.write_bytes(kept)
    with open_memory(memory) as opened:
        assert opened.lifecycle.verify() == (3, 3, ())


def test_a_memory_of_which_all_is_erased_opens_empty(memory: Path) -> None:
    with open_memory(memory) as opened:
        opened.lifecycle.erase(Selector(trajectory="t"))
    with open_memory(memory) as opened:
        assert opened.lifecycle.verify() == (0, 0, ())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with open_memory(tmp_path / "m") as memory:
        for number in range(12):
            said = f"Ann painted the lake on day {number % 3} for ${number}."
            memory.add(Step(role="user", content=said), trajectory="t")
        memory.themes()
        memory.trees.create("plan", {"type": "Plan", "name": "Porto"})
    return tmp_path / "m"


def _change(folder: Path, statement: str) -> None:
    with closing(sqlite3.connect(folder / "journal.sqlite")) as db:
        assert db.execute(statement).rowcount > 0
        db.commit()


def _said(memory: Memory) -> list[str]:
    return [entry.step.content for entry in memory.steps("t")]


_FLIPPED = "UPDATE {0} SET {1} = CAST(replace(CAST({1} AS TEXT), '{2}', '{3}') AS BLOB) WHERE {4}"
_THEMES = _FLIPPED.format("records", "payload", '"next":', '"nexu":', "kind = 'themes'")


def test_damaged_events_of_themes_are_named_and_themes_made_anew_by_repair(folder: Path) -> None:
    with open_memory(folder) as memory:
        before = memory.themes()
    _change(folder, _THEMES)
    with open_memory(folder) as memory:
        assert [each.what for each in memory.lifecycle.verify().disagreements] == [
            "record 1 of the themes is damaged in the journal"
        ]
        repaired = memory.lifecycle.verify(repair=True)
        assert isinstance(repaired, Repaired)
        assert ("themes were damaged" in repaired.choices[0], repaired.disagreements) == (True, ())
        assert {theme.name for theme in memory.themes()} == {theme.name for theme in before}
        assert memory.lifecycle.verify().disagreements == ()


@pytest.mark.parametrize(
    "statement",
    [
        _FLIPPED.format("records", "payload", "Porto", "Parto", "kind = 'artifact'"),
        "UPDATE records SET key = replace(key, 'plan', 'plam') WHERE kind = 'artifact'",
        "UPDATE records SET key = '[x' WHERE kind = 'artifact'",
        "UPDATE records SET payload = x'ff00' WHERE kind = 'artifact'",
    ],
)
def test_a_damaged_tree_is_named_and_never_read_as_another(folder: Path, statement: str) -> None:
    _change(folder, statement)
    with open_memory(folder) as memory:
        assert memory.lifecycle.verify().disagreements
        with pytest.raises(StitchError):
            memory.trees.open("plan").export()
        assert len(_said(memory)) == 12


@pytest.mark.parametrize(
    "statement",
    [
        _FLIPPED.format("checkpoints", "inventory", "scopes", "scopet", "true"),
        "UPDATE checkpoints SET inventory = x'7b22'",
        "UPDATE checkpoints SET session = x'00' || substr(session, 2)",
    ],
)
def test_a_damaged_memory_of_the_labeling_is_named_and_learned_anew(folder: Path, statement: str) -> None:
    with open_memory(folder) as memory:
        before = memory.inventory().model_dump()
    _change(folder, statement)
    with open_memory(folder) as memory:
        named = [each.what for each in memory.lifecycle.verify().disagreements]
        assert named == ["journal: what the labeling of trajectory number 1 remembers is not as it was written"]
        assert memory.inventory().model_dump() == before
        memory.add(Step(role="user", content="And day 4?"), trajectory="t")
    with open_memory(folder) as memory:
        assert memory.lifecycle.verify().disagreements == ()
