"""`stitch ingest --follow`, as a process: what is appended is stored, a signal ends it, the same command goes on."""

from __future__ import annotations

import json

import pytest

from stitch import open_memory
from stitch.core import Rejection
from stitch.errors import InputError
from stitch.pipelines.follow import follow_sources, followed_sources
from stitch.pipelines.ingest import ingest
from stitch.sources import FILES_FILE, FOLLOWED_FILE, FileNames, FollowedFile, Positions


class Enough(Exception):  # noqa: N818 - it ends what has no end
    """Nobody waits any more."""


def line(number):
    return json.dumps({"role": "user", "content": f"Book the hotel for day {number}"}) + "\n"


def run(memory, paths, doings=()):
    """Follow until nothing is left to do between two looks; return what was rejected."""
    todo = iter(doings)
    rejected: list[Rejection] = []

    def wait(seconds):
        try:
            next(todo)()
        except StopIteration:
            raise Enough from None

    with pytest.raises(Enough):
        ingest(memory, follow_sources(sources_of(memory.folder, paths), wait=wait), on_rejection=rejected.append)
    return rejected


def sources_of(folder, paths):
    positions, names = Positions(folder / FOLLOWED_FILE), FileNames(folder / FILES_FILE, tenant="default")
    return followed_sources([str(path) for path in paths], positions=positions, names=names)


def contents(memory):
    return [entry.step.content for name in memory.trajectories() for entry in memory.steps(name)]


def test_files_and_folders_are_followed_and_the_next_process_goes_on(tmp_path):
    one, folder = tmp_path / "one.jsonl", tmp_path / "logs"
    folder.mkdir()
    one.write_text(line(0))
    with open_memory(tmp_path / "m") as memory:
        doings = [
            lambda: one.write_text(line(0) + line(1) + line(2)[:5]),
            lambda: (folder / "new.jsonl").write_text(line(3)),
            lambda: one.rename(tmp_path / "one.jsonl.1"),
        ]
        assert run(memory, [one, folder], doings) == []
        assert len(contents(memory)) == 3
    (tmp_path / "one.jsonl.1").write_text(line(0) + line(1) + line(2))
    one.write_text(line(4))
    with open_memory(tmp_path / "m") as memory:
        assert run(memory, [one, folder]) == []
        assert sorted(contents(memory)) == [f"Book the hotel for day {n}" for n in range(5)]
        assert [entry.id for entry in memory.steps("one")] == ["0", "1", "2", "3"]


def test_what_cannot_be_followed_is_said(tmp_path):
    (tmp_path / "broken").write_text("no json")
    with pytest.raises(InputError, match="cannot read"):
        Positions(tmp_path / "broken")
    with pytest.raises(InputError, match="standard input"):
        sources_of(tmp_path, ["-"])
    with pytest.raises(InputError, match="no such folder"):
        sources_of(tmp_path, [tmp_path / "no" / "file"])
    (tmp_path / "file").write_text(line(0))
    positions = Positions(tmp_path / "none" / "positions")
    with pytest.raises(InputError, match="cannot write"):
        list(follow_sources([FollowedFile(tmp_path / "file", positions=positions)]))
    with pytest.raises(InputError, match="cannot write"):
        FileNames(tmp_path / "none" / "files", tenant="a").of(str(tmp_path / "file"))
