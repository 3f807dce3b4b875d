"""What is half a character, or larger than any number that is kept, is refused in one line and not by a traceback."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stitch import Memory, Step, open_memory
from stitch.cli.main import cli
from stitch.errors import SettingsError, StitchError
from stitch.lifecycle.selection import Selector

HALF = "a\ud800b"

REFUSED: dict[str, Callable[[Memory], Any]] = {
    "why of a step": lambda memory: memory.why("tea", trajectory="t", step=HALF),
    "get of a step": lambda memory: memory.get("t", HALF),
    "search of a trajectory": lambda memory: memory.search("tea", trajectory=HALF),
    "erasing a trajectory": lambda memory: memory.lifecycle.erase(Selector(trajectory=HALF)),
    "erasing a step": lambda memory: memory.lifecycle.erase(Selector(trajectory="t", step=HALF)),
    "correcting a step": lambda memory: memory.lifecycle.correct(HALF, trajectory="t", text="x"),
    "the role of a message": lambda memory: memory.add_messages([{"role": HALF, "content": "x"}], trajectory="t"),
    "steps from a place": lambda memory: list(memory.steps("t", start=2**70)),
    "a number of a path query": lambda memory: memory.select(f"//Step[@position > {'9' * 5000}]"),
    "the name of a tree": lambda memory: memory.trees.create(HALF, {"type": "Plan"}),
    "labels of no kind": lambda memory: memory.lifecycle.correct("0", trajectory="t", labels={"scop": "tea"}),
    "labels of a wrong type": lambda memory: memory.lifecycle.correct("0", trajectory="t", labels={"scope": 5}),
    "no themes": lambda memory: memory.themes(limit=0),
    "fewer themes than none": lambda memory: memory.themes(limit=-2),
    "opening a tree": lambda memory: memory.trees.open(HALF),
}


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with open_memory(tmp_path_factory.mktemp("odd") / "m") as opened:
        opened.add(Step(role="user", content="We drink tea on day 1."), trajectory="t")
        yield opened


@pytest.mark.parametrize("name", ["a\0b", HALF, "x" * 5_000])
@pytest.mark.parametrize("setting", ["memory", "journal", "embedder"])
def test_a_name_that_no_file_can_have_is_refused_by_its_setting(tmp_path: Path, setting: str, name: str) -> None:
    given: dict[str, Any] = {"memory": str(tmp_path / "m"), setting: name}
    with pytest.raises(SettingsError, match=f"^setting '{setting}' ") as refused:
        open_memory(**given)
    assert len(refused.value.message) < 200


@pytest.mark.parametrize("what", REFUSED)
def test_what_no_memory_can_hold_is_refused_in_one_line(memory: Memory, what: str) -> None:
    with pytest.raises(StitchError) as refused:
        REFUSED[what](memory)
    assert len(str(refused.value).splitlines()) == 1
    assert [entry.step.content for entry in memory.steps("t")] == ["We drink tea on day 1."]


def test_an_export_is_its_users_alone_and_leaves_a_file_beside_it_as_it_is(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m") as opened:
        opened.add(Step(role="user", content="We drink tea on day 1."), trajectory="t")
    foreign, beside = tmp_path / "foreign", tmp_path / "e.jsonl.partial"
    foreign.write_text("mine")
    beside.symlink_to(foreign)
    before = os.umask(0)
    try:
        command = ["export", "--memory", str(tmp_path / "m"), "--out", str(tmp_path / "e.jsonl")]
        assert CliRunner().invoke(cli, command).exit_code == 0
    finally:
        os.umask(before)
    assert "We drink tea" in (tmp_path / "e.jsonl").read_text()
    assert stat.S_IMODE((tmp_path / "e.jsonl").stat().st_mode) == 0o600
    assert (beside.is_symlink(), foreign.read_text()) == (True, "mine")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["e.jsonl", "e.jsonl.partial", "foreign", "m"]
