"""Every source has a position and commits it; a process that dies at any point loses and doubles nothing."""

import gzip
import io
import json
import os
import signal
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from contracts.source import RECORDS, MakeSource, StepSourceContract
from stitch import open_memory
from stitch.core import StepSource
from stitch.pipelines.follow import drain
from stitch.pipelines.ingest import ingest
from stitch.sources import FileSource, FolderSource, FollowedFile, Positions, StandardInput

LOG = b"\n".join(RECORDS) + b"\n"


def files(folder: Path) -> Path:
    """A folder of three files, of which the second is in a folder of its own, beside the same in one file."""
    (folder / "logs" / "b").mkdir(parents=True)
    for name, lines in (("a.jsonl", RECORDS[:2]), ("b/b.jsonl", RECORDS[2:6]), ("c.jsonl", RECORDS[6:])):
        (folder / "logs" / name).write_bytes(b"\n".join(lines) + b"\n")
    (folder / "log.jsonl").write_bytes(LOG)
    (folder / "log.jsonl.gz").write_bytes(gzip.compress(LOG))
    return folder


def of_folder(folder: Path, positions: Positions, kind: Callable[..., Any]) -> FolderSource:
    return FolderSource(folder / "logs", open_file=lambda name: kind(name, positions=positions), positions=positions)


OF_FILES: dict[str, Callable[[Path, Positions], StepSource]] = {
    "a file": lambda folder, positions: FileSource(folder / "log.jsonl", positions=positions),
    "a packed file": lambda folder, positions: FileSource(folder / "log.jsonl.gz", positions=positions),
    "a file that grows": lambda folder, positions: FollowedFile(folder / "log.jsonl", positions=positions),
    "a folder": lambda folder, positions: of_folder(folder, positions, FileSource),
    "a folder of files that grow": lambda folder, positions: of_folder(folder, positions, FollowedFile),
}


@pytest.mark.parametrize("kind", OF_FILES)
class TestFiles(StepSourceContract):
    @pytest.fixture
    def make_source(self, tmp_path: Path, kind: str) -> MakeSource:
        folder = files(tmp_path)
        return lambda: OF_FILES[kind](folder, Positions(tmp_path / "positions.json"))


class TestStandardInput(StepSourceContract):
    goes_back = False

    @pytest.fixture
    def make_source(self, monkeypatch: pytest.MonkeyPatch) -> MakeSource:
        def make() -> StandardInput:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(LOG))))
            return StandardInput()

        return make


def line(number):
    return json.dumps({"role": "user", "content": f"Book the hotel for day {number}"}).encode() + b"\n"


def contents(folder):
    with open_memory(folder) as memory:
        assert memory.lifecycle.verify().disagreements == ()
        return [(name, entry.id, entry.step.content) for name in memory.trajectories() for entry in memory.steps(name)]


def killed_after(stored, work):
    """Do some work in a process of its own that dies when so many steps are stored; return whether it died."""
    pid = os.fork()
    if pid == 0:
        steps = 0

        def count(more):
            nonlocal steps
            steps += more
            if steps >= stored:
                os.kill(os.getpid(), signal.SIGKILL)

        try:
            work(count)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL


def test_a_process_that_is_killed_at_any_point_loses_and_doubles_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("stitch.pipelines.follow.COMMIT_ITEMS", 3)
    log = tmp_path / "logs" / "log.jsonl"
    log.parent.mkdir()
    log.write_bytes(b"".join(map(line, range(20))))

    def source():
        return FollowedFile(log, positions=Positions(tmp_path / "positions.json"))

    def work(count):
        with open_memory(tmp_path / "m") as memory, closing(source()) as reading:
            ingest(memory, drain(reading), on_rejection=lambda each: None, on_progress=count, batch_steps=1)

    assert killed_after(5, work)
    work(lambda more: None)
    whole = [("log", str(number), f"Book the hotel for day {number}") for number in range(20)]
    assert contents(tmp_path / "m") == whole
    with log.open("ab") as file:
        file.write(line(20))
    work(lambda more: None)
    assert contents(tmp_path / "m") == [*whole, ("log", "20", "Book the hotel for day 20")]


def test_positions_of_tenants_are_apart_and_can_be_forgotten(tmp_path):
    one, other = Positions(tmp_path / "p", tenant="a"), Positions(tmp_path / "p", tenant="b")
    one.keep({"x": {"items": 1}})
    assert other.of("x") is None
    assert Positions(tmp_path / "p", tenant="a").of("x") == {"items": 1}
    Positions(tmp_path / "p", tenant="b").forget()
    assert Positions(tmp_path / "p", tenant="a").of("x") == {"items": 1}
    one.forget()
    assert Positions(tmp_path / "p", tenant="a").of("x") is None
