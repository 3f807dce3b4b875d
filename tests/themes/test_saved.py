"""What is derived is saved as a file, and a process that comes later goes on from there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from contracts.projection import Derive, ProjectionContract, live_and_erase
from doubles.journaling import MemoryJournal
from stitch.core import Step
from stitch.embed.hashing import HashingEmbedder
from stitch.journal import Journal
from stitch.journal.projections import follow
from stitch.themes import TenantThemes, ThemeProjection
from stitch.themes import projection as projecting
from themes.test_projection import SAID, everything


@pytest.fixture(autouse=True)
def _little_is_saved_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projecting, "_SAVED_FROM", 0)


class NeverAsked(HashingEmbedder):
    """An embedder of which nothing should be asked."""

    def embed(self, texts: Any) -> Any:
        assert not list(texts), "what was saved is derived again"
        return super().embed(texts)


class TestSavedThemes(ProjectionContract):
    """Each projection saves what it holds, and the next one goes on from there."""

    @pytest.fixture
    def derive(self, tmp_path: Path) -> Derive:
        made: list[ThemeProjection] = []

        def derived(journal: Journal) -> Any:
            if made and made[-1].loaded:
                made[-1].save()
            projection = ThemeProjection(
                journal=journal, tenant="a", embedder=HashingEmbedder(32), folder=tmp_path / f"{id(journal)}"
            )
            made.append(projection)
            return projection, lambda: everything(projection)

        return derived


@pytest.fixture
def journal() -> MemoryJournal:
    journal = MemoryJournal()
    add(journal, SAID)
    return journal


def add(journal: MemoryJournal, texts: list[str], *, trajectory: str = "t") -> None:
    for number, text in enumerate(texts):
        step = Step(role="user", content=text, id=f"{trajectory}{number}")
        journal.append_many([step], tenant="a", trajectory=trajectory, recorded=100.0 + number)


def opened(journal: Journal, folder: Path, *, embedder: Any = None, tends: bool = True) -> ThemeProjection:
    return ThemeProjection(
        journal=journal, tenant="a", embedder=embedder or HashingEmbedder(32), folder=folder, tends=tends
    )


def links(projection: ThemeProjection) -> Any:
    upkeep = projection.upkeep
    return (
        {theme: upkeep.graph.neighbors(theme) for theme in upkeep.graph},
        {name: upkeep.beside.neighbors(name) for name in upkeep.beside},
        upkeep.measures(),
        upkeep.grouping.next,
        upkeep.cells.near(upkeep.vectors.matrix[0], limit=3),
    )


def test_what_was_saved_is_not_derived_again(journal: MemoryJournal, tmp_path: Path) -> None:
    first = opened(journal, tmp_path)
    first.bring_up()
    first.save()
    again = opened(journal, tmp_path, embedder=NeverAsked(32))
    again.bring_up()
    assert everything(again) == everything(first)
    assert links(again) == links(first)


def test_only_what_came_since_is_derived(journal: MemoryJournal, tmp_path: Path) -> None:
    first = opened(journal, tmp_path)
    first.bring_up()
    first.save()
    add(journal, ["A cat sleeps on the warm roof.", "The cat eats fish at noon."], trajectory="u")
    first.bring_up()  # their events are written down, and what was saved is as it was
    again = opened(journal, tmp_path)
    again.bring_up()
    assert everything(again) == everything(first)
    rebuilt = opened(journal, tmp_path / "empty")
    rebuilt.bring_up()
    assert everything(again) == everything(rebuilt)


@pytest.mark.parametrize("what", ["embedder", "tending", "journal", "bytes"])
def test_what_was_saved_of_something_else_is_derived_anew(journal: MemoryJournal, tmp_path: Path, what: str) -> None:
    first = opened(journal, tmp_path)
    first.bring_up()
    first.save()
    [file] = tmp_path.iterdir()
    embedder, tends, now = HashingEmbedder(32), True, journal
    if what == "embedder":
        embedder = HashingEmbedder(16)
    elif what == "tending":
        tends = False
    elif what == "journal":
        now = MemoryJournal()
        add(now, list(reversed(SAID)) * 2)
    else:
        held = bytearray(file.read_bytes())
        held[-1] ^= 1
        file.write_bytes(held)
    again = opened(now, tmp_path, embedder=embedder, tends=tends)
    again.bring_up()
    rebuilt = opened(now, tmp_path / "empty", embedder=embedder, tends=tends)
    rebuilt.bring_up()
    assert everything(again) == everything(rebuilt)
    assert again.upkeep.vectors.matrix.shape[1] == embedder.dimension


def test_a_step_is_gone_from_the_file_before_it_is_gone_from_the_journal(
    journal: MemoryJournal, tmp_path: Path
) -> None:
    first = opened(journal, tmp_path)
    first.bring_up()
    first.save()
    assert any(b"violin" in path.read_bytes() for path in tmp_path.iterdir())
    again = opened(journal, tmp_path)
    again.erase("a", trajectory="t", steps=["t2"])
    assert list(tmp_path.iterdir()) == []
    again.save()
    assert list(tmp_path.iterdir()) == [], "labels of other steps may still have its words"
    [entry] = journal.entries("a", "t", start=2, stop=3)
    journal.erase([entry.seq], tenant="a", trajectory="t", checkpoint=None)
    again.bring_up()
    again.save()
    [file] = tmp_path.iterdir()
    assert b"violin" not in file.read_bytes()
    assert b"mountain" in file.read_bytes()


def test_what_is_saved_after_an_erasure_is_not_derived_again(journal: MemoryJournal, tmp_path: Path) -> None:
    first = opened(journal, tmp_path)
    for number, text in enumerate(
        ("A cat sleeps on the warm roof.", "The cat eats fish at noon.", "Rain fell in May.")
    ):
        first.bring_up()
        add(journal, [text], trajectory=f"u{number}")  # each time its events are one more record
    first.bring_up()
    first.save()
    again = opened(journal, tmp_path)
    again.erase("a", trajectory="t", steps=["t2"])
    [entry] = journal.entries("a", "t", start=2, stop=3)
    journal.erase([entry.seq], tenant="a", trajectory="t", checkpoint=None)
    again.bring_up()
    again.save()
    after = opened(journal, tmp_path, embedder=NeverAsked(32))
    after.bring_up()
    assert everything(after) == everything(again)


def test_what_is_rebuilt_for_all_tenants_is_not_taken_from_files(journal: MemoryJournal, tmp_path: Path) -> None:
    held = TenantThemes(journal=journal, embedder=HashingEmbedder(32), folder=tmp_path)
    assert held.of("a").themes()
    held.save()
    assert len(list(tmp_path.iterdir())) == 1
    assert held.rebuild() == 1
    assert list(tmp_path.iterdir()) == []


def test_random_histories_go_on_from_what_was_saved_at_any_point(tmp_path: Path) -> None:
    for seed in range(4):
        journal, folder = MemoryJournal(), tmp_path / str(seed)
        for part in range(3):
            projection = opened(journal, folder)
            live_and_erase(journal, projection, seed=10 * seed + part)
            follow(projection, journal)
            projection.save()
        again, rebuilt = opened(journal, folder), opened(journal, tmp_path / "empty")
        again.bring_up()
        rebuilt.bring_up()
        assert everything(again) == everything(rebuilt)
