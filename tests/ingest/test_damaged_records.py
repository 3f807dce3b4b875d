"""Damage of what a journal keeps beside steps is named and never a traceback; what is derived is made anew."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from stitch import Memory, Step, open_memory
from stitch.errors import StitchError
from stitch.lifecycle.repair import Repaired


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
