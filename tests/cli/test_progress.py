"""How far long work is, as a person at a terminal sees it."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from stitch import Step, open_memory

Run = Callable[..., tuple[int, str, str]]
Drawn = Callable[..., str]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def drawn(run: Run, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Runs a command at a terminal; gives what is drawn there."""

    def call(*arguments: str, status: int = 0) -> str:
        terminal = Terminal()
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "100")
        monkeypatch.setattr(sys, "stderr", terminal)
        assert run(*arguments)[0] == status
        return terminal.getvalue()

    return call


@pytest.fixture(scope="module")
def long_memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("long") / "m"
    with open_memory(folder) as opened:
        opened.add_many([Step(role="user", content=f"Day {n}: a hotel.") for n in range(300)], trajectory="trip")
    return folder


@pytest.fixture
def memory(long_memory: Path) -> None:
    """A copy of its own, in the current folder."""
    shutil.copytree(long_memory, "m")


def test_ingest_tells_the_time_left_where_lines_can_be_counted(drawn: Drawn) -> None:
    step = '{"role": "user", "content": "Hello", "trajectory": "t"}\n'
    Path("a.jsonl").write_text(step * 3)
    Path("b.jsonl").write_text(step * 2 + "broken\n")
    assert "6 of 6" in drawn("ingest", "a.jsonl", "b.jsonl", "--memory", "m", status=3)
    Path("c.json").write_text(f"[{step}]")
    said = drawn("ingest", "c.json", "--memory", "m")
    assert "1 steps" in said
    assert " of " not in said


@pytest.mark.parametrize("command", ["verify", "reindex", "relabel", "retry", "export", "backup --to copy"])
def test_quiet_commands_and_those_of_scripts_draw_nothing(command: str, run: Run, drawn: Drawn, memory: None) -> None:
    assert run(*command.split(), "--memory", "m")[2] == ""
    assert drawn("-q", *command.replace("copy", "other").split(), "--memory", "m") == ""


def test_an_import_tells_how_much_of_the_file_is_read(drawn: Drawn, memory: None) -> None:
    drawn("export", "--memory", "m", "--out", "all.jsonl")
    size = Path("all.jsonl").stat().st_size
    assert f"{size} of {size}" in drawn("import", "all.jsonl", "--memory", "other")
