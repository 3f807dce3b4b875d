"""How far long work is, as a person at a terminal sees it."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextvars import copy_context
from pathlib import Path
from threading import Thread

import pytest

from stitch import Step, open_memory
from stitch.console.progress import progress_drawn
from stitch.core.progress import Progress, counted, watched

Run = Callable[..., tuple[int, str, str]]
Drawn = Callable[..., str]

OWNER = """
import sys
from stitch import open_memory
with open_memory(sys.argv[1]):
    print("ready", flush=True)
    sys.stdin.readline()
"""


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


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("verify", "steps compared"),
        ("verify --repair", "steps mended"),
        ("reindex", "300 of 300"),
        ("relabel", "300 of 300"),
        ("retry", "trying again"),
        ("export --out all.jsonl", "300 of 300"),
        ("backup --to copy", "pages copied"),
    ],
)
def test_long_work_tells_how_far_it_is_on_a_terminal_alone(command: str, told: str, drawn: Drawn, memory: None) -> None:
    assert told in drawn(*command.split(), "--memory", "m")


@pytest.mark.parametrize("command", ["verify", "reindex", "relabel", "retry", "export", "backup --to copy"])
def test_quiet_commands_and_those_of_scripts_draw_nothing(command: str, run: Run, drawn: Drawn, memory: None) -> None:
    assert run(*command.split(), "--memory", "m")[2] == ""
    assert drawn("-q", *command.replace("copy", "other").split(), "--memory", "m") == ""


def test_an_import_tells_how_much_of_the_file_is_read(drawn: Drawn, memory: None) -> None:
    drawn("export", "--memory", "m", "--out", "all.jsonl")
    size = Path("all.jsonl").stat().st_size
    assert f"{size} of {size}" in drawn("import", "all.jsonl", "--memory", "other")


def test_work_in_the_process_that_has_the_memory_open_is_told_here(drawn: Drawn, memory: None) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, "m"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "ready\n"
        assert "of 300" in drawn("verify", "--memory", "m")
        owner.communicate("\n")


def test_work_is_told_where_it_was_begun_though_it_goes_on_in_a_thread() -> None:
    told: list[tuple[str, int, int | None]] = []
    with watched(lambda *how_far: told.append(how_far)):
        progress = Progress("reading", of=2)
        thread = Thread(target=progress.advance)
        thread.start()
        thread.join()
        assert list(counted("ab", "letters")) == ["a", "b"]
    assert told == [
        ("reading", 0, 2), ("reading", 1, 2), ("letters", 0, None), ("letters", 1, None), ("letters", 2, None),
    ]  # fmt: skip
    assert copy_context().run(lambda: list(counted("ab", "nobody looks", of=lambda: 1 // 0))) == ["a", "b"]


def test_what_is_left_is_told_once_the_pace_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, hours = Terminal(), iter(range(0, 1_000_000, 3600))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr("time.monotonic", lambda: float(next(hours)))
    with progress_drawn("beginning"):
        progress = Progress("steps", of=600)
        for _ in range(5):
            progress.advance(100)
        monkeypatch.undo()
    assert " left" in terminal.getvalue()
