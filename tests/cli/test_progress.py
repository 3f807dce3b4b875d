"""Long work at a terminal: how far it is, and that a signal ends it at once and loses nothing."""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stitch import Step, open_memory
from stitch.core import StepState
from stitch.testing.servers import LoopbackServer, Request, Silence

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
        opened.add_many([Step(role="user", content=f"Day {n}: a hotel.") for n in range(100)], trajectory="trip")
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
    assert "1 step" in said
    assert " of " not in said


@pytest.mark.parametrize("command", ["verify", "reindex", "relabel", "retry", "export", "backup --to copy"])
def test_quiet_commands_and_those_of_scripts_draw_nothing(command: str, run: Run, drawn: Drawn, memory: None) -> None:
    assert run(*command.split(), "--memory", "m")[2] == ""
    assert drawn("-q", *command.replace("copy", "other").split(), "--memory", "m") == ""


def test_an_import_tells_how_much_of_the_file_is_read(drawn: Drawn, memory: None) -> None:
    drawn("export", "--memory", "m", "--out", "all.jsonl")
    size = Path("all.jsonl").stat().st_size
    assert f"{size} of {size}" in drawn("import", "all.jsonl", "--memory", "other")


PATIENCE_S = 60
"""After which a test gives up; a call of the model would last twice as long."""


@pytest.fixture
def asked() -> threading.Event:
    return threading.Event()


@pytest.fixture
def silent(asked: threading.Event) -> Iterator[LoopbackServer]:
    """A provider that takes every request and answers none."""

    def answer(request: Request) -> Silence:
        asked.set()
        return Silence()

    with LoopbackServer(answer) as server:
        yield server


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("sent", "status", "way"),
    [
        pytest.param(signal.SIGTERM, 143, ["--window", "4"], marks=pytest.mark.slow),
        pytest.param(signal.SIGINT, 130, ["--window", "4"], marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, 143, ["--stepwise"], marks=pytest.mark.slow),
        pytest.param(signal.SIGINT, 130, ["--stepwise"], marks=pytest.mark.slow),
    ],
)
def test_a_signal_ends_an_ingest_that_waits_for_a_model(
    sent: signal.Signals,
    status: int,
    way: list[str],
    begin: Callable[..., subprocess.Popen[bytes]],
    silent: LoopbackServer,
    asked: threading.Event,
    tmp_path: Path,
) -> None:
    for name in ("one", "two"):
        lines = (json.dumps({"role": "user", "content": f"Book hotel {n} for {name}."}) for n in range(6))
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    options = ["--memory", str(tmp_path / "m"), "--labels", "model", "--model", "m", "--base-url", f"{silent.url}/v1"]
    files = [tmp_path / f"{name}.jsonl" for name in ("one", "two")]
    process = begin("ingest", *files, *options, *way)
    assert asked.wait(PATIENCE_S)
    process.send_signal(sent)
    assert process.wait(PATIENCE_S) == status
    with open_memory(tmp_path / "m") as memory:
        memory.flush()
        steps = [entry for name in memory.trajectories() for entry in memory.steps(name)]
        assert len(steps) >= 6
        assert {entry.state for entry in steps} == {StepState.STORED}
