"""Whatever an interrupted reindex leaves, the memory opens, and the next reindexes finish."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stitch import Step, open_memory
from stitch.lifecycle.repair import finish_move, remove_next
from stitch.maintenance import backup_memory, reindex_memory

STEPS = [Step(id=str(n), role="user", content=f"Let's plan day {n}.") for n in range(5)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("STITCH_MEMORY", raising=False)
    with open_memory(tmp_path / "m") as memory:
        memory.add_many(STEPS, trajectory="t")
    return tmp_path / "m"


def built(folder: Path) -> Path:
    """A next store that is built and not yet put in place."""
    made = folder / "reindex"
    made.mkdir()
    shutil.copytree(folder / "store", made / "store")
    with open_memory(folder) as memory:
        (made / "embedder").write_text(memory.status().embedder)
    return made


def complete(folder: Path) -> None:
    (built(folder) / "complete").touch()


def between_the_renames(folder: Path) -> None:
    complete(folder)
    (folder / "store").rename(folder / "reindex" / "old")


def after_the_renames(folder: Path) -> None:
    between_the_renames(folder)
    (folder / "reindex" / "store").rename(folder / "store")


def with_the_word_removed(folder: Path) -> None:
    after_the_renames(folder)
    (folder / "reindex" / "complete").unlink()


def with_the_note_removed(folder: Path) -> None:
    with_the_word_removed(folder)
    (folder / "reindex" / "embedder").unlink()


def half_of_the_old_removed(folder: Path) -> None:
    with_the_word_removed(folder)
    shutil.rmtree(folder / "reindex" / "old" / "shard")


def half_of_the_old_removed_and_complete_again(folder: Path) -> None:
    half_of_the_old_removed(folder)
    shutil.copytree(folder / "store", folder / "reindex" / "store")
    (folder / "reindex" / "complete").touch()


def half_of_the_next_removed(folder: Path) -> None:
    made = built(folder)
    (made / "embedder").unlink()
    shutil.rmtree(made / "store" / "shard")


def a_store_begun_between_the_renames(folder: Path) -> None:
    between_the_renames(folder)
    (folder / "store").mkdir()
    (folder / "store" / "owner.json").touch()


def an_empty_folder(folder: Path) -> None:
    (folder / "reindex").mkdir()


STATES: list[Callable[[Path], object]] = [
    built, complete, between_the_renames, after_the_renames, with_the_word_removed, with_the_note_removed,
    half_of_the_old_removed, half_of_the_old_removed_and_complete_again, half_of_the_next_removed,
    a_store_begun_between_the_renames, an_empty_folder,
]  # fmt: skip


def moved_twice(folder: Path) -> None:
    finish_move(folder)
    finish_move(folder)


DOINGS: dict[str, Callable[[Path], object]] = {
    "open": lambda folder: open_memory(folder).close(),
    "reindex": reindex_memory,
    "move": moved_twice,
    "erase": remove_next,
}


def cases() -> Iterator[Any]:
    """Each state before each doing; by default each state once, before each doing in turn."""
    for number, state in enumerate(STATES):
        for at, doing in enumerate(DOINGS):
            often = at == number % len(DOINGS) or (state, doing) == (half_of_the_old_removed, "reindex")  # once failed
            yield pytest.param(state, doing, id=f"{state.__name__}-{doing}", marks=[] if often else pytest.mark.slow)


@pytest.mark.parametrize(("state", "first"), list(cases()))
def test_every_left_over_opens_and_the_next_reindexes_finish(
    folder: Path, tmp_path: Path, state: Callable[[Path], object], first: str
) -> None:
    state(folder)
    if first == "erase" and (folder / "reindex" / "complete").exists():
        finish_move(folder)  # nobody erases before the memory was opened
    DOINGS[first](folder)
    for number in range(2):
        assert reindex_memory(folder).snippets == len(STEPS)
        assert not (folder / "reindex").exists()
        backup_memory(folder, to=tmp_path / str(number))
    with open_memory(folder) as memory:
        assert memory.lifecycle.reindex() == len(STEPS)
        assert memory.lifecycle.verify() == (len(STEPS), len(STEPS), ())
        assert memory.search("day 3").hits
