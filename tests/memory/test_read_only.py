"""A memory that this process may not write is opened for reading, from a copy that goes when it is closed."""

import ctypes
import inspect
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stitch import Memory, Step, open_memory
from stitch.errors import ReadOnlyError
from stitch.lifecycle.lifecycle import Lifecycle

READING = {
    "ask", "close", "flush", "get", "interrupt", "inventory", "receipts", "recalls", "search", "select", "status",
    "steps", "themes", "trajectories", "why", "why_not", "backup", "corrections", "count", "counts", "export",
    "history", "verify",
}  # fmt: skip

READ = """
import json, sys
from stitch import Step, open_memory
from stitch.errors import ReadOnlyError
from stitch.lifecycle.selection import Selector

step, where = Step(role="user", content="new"), {"trajectory": "t"}
one = Selector(trajectory="t", step="s1")
with open_memory(sys.argv[1]) as memory:
    life = memory.lifecycle
    found = [hit.snippet.step for hit in memory.search("the museum in Porto", k=1).hits]
    said = {"found": found, "steps": len(list(memory.steps("t"))), "verify": list(life.verify().disagreements),
            "lines": len(list(life.export())), "folder": str(memory.folder)}
    calls = {
        "add": lambda: memory.add(step, **where), "add_many": lambda: memory.add_many([step], **where),
        "add_messages": lambda: memory.add_messages([{"role": "user", "content": "new"}], **where),
        "add_each": lambda: list(memory.add_each([step], **where)), "retry": memory.retry,
        "make a tree": lambda: memory.trees.create("b", {"type": "Plan"}),
        "stream": lambda: list(memory.stream([step], **where)), "finish": lambda: memory.finish("t"),
        "delete": lambda: memory.delete("s1", **where),
        "correct": lambda: life.correct("s1", text="new", **where), "retire": lambda: life.retire(one),
        "unretire": lambda: life.unretire(one),
        "erase": lambda: life.erase(one), "expire": lambda: life.expire([]), "reindex": life.reindex,
        "import_lines": lambda: life.import_lines([]), "relabel": life.relabel,
        "note_lag": lambda: memory.note_lag("a", "b", {0: 1}),
        "handover": lambda: life.handover(None), "repair": lambda: life.verify(repair=True),
    }
    said["refused"] = {}
    for name, call in calls.items():
        try:
            call()
        except ReadOnlyError as error:
            said["refused"][name] = error.message
    said["not refused"] = sorted(calls.keys() - said["refused"].keys())
print(json.dumps(said))
"""


@pytest.fixture
def unwritable(tmp_path: Path) -> Iterator[Path]:
    """A memory whose files may be read and not written."""
    folder = tmp_path / "m"
    with open_memory(folder) as memory:
        texts = ("the hotel in Lisbon", "the museum in Porto", "the boat to Faro")
        steps = [Step(role="user", content=text, id=f"s{number}") for number, text in enumerate(texts)]
        memory.add_many(steps, trajectory="t")
    there = [folder, *folder.rglob("*")]
    for path in there:
        path.chmod(0o500 if path.is_dir() else 0o400)
    yield folder
    for path in there:
        path.chmod(0o700)


def without_rights_of_root() -> None:
    """Let the permissions of files hold for this process, root too: without CAP_DAC_OVERRIDE."""
    if os.getuid() == 0:
        ctypes.CDLL(None).prctl(24, 1, 0, 0, 0)


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
def test_it_is_read_and_every_change_is_refused_in_one_line(unwritable: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in unwritable.rglob("*")}
    done = subprocess.run(
        [sys.executable, "-c", READ, unwritable], capture_output=True, text=True, timeout=120,
        preexec_fn=without_rights_of_root,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-1500:]
    said = json.loads(done.stdout)
    assert said["found"] == ["s1"]
    assert (said["steps"], said["verify"]) == (3, [])
    assert said["lines"] > 3
    assert said["not refused"] == []
    assert set(said["refused"].values()) == {
        f"the memory {str(unwritable)!r} lies where nothing can be written: it can only be read"
    }
    assert "it is open for reading" in done.stderr
    assert not Path(said["folder"]).exists(), "the copy is gone"
    assert {path: path.stat().st_mtime_ns for path in unwritable.rglob("*")} == before


def test_on_a_full_disk_it_is_read_and_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, usage = tmp_path / "m", shutil.disk_usage
    with open_memory(folder) as memory:
        memory.add("the museum in Porto")

    def full(path: Path) -> object:
        return usage(path)._replace(free=0) if folder in (path, *path.parents) else usage(path)

    monkeypatch.setattr(shutil, "disk_usage", full)
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    with open_memory(folder) as memory:
        assert memory.search("museum").hits
        with pytest.raises(ReadOnlyError):
            memory.add("the boat to Faro")
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_every_method_is_known_to_read_or_to_be_refused() -> None:
    refused = {"add_many", "add_each", "add", "delete", "retry", "stream", "finish", "correct", "add_messages",
               "retire", "unretire", "erase", "expire", "reindex", "import_lines", "relabel", "handover",
               "note_lag"}  # fmt: skip
    there = {name for kind in (Memory, Lifecycle) for name, _ in inspect.getmembers(kind, inspect.isfunction)}
    asynchronous = {name for name in there if name.startswith("a") and name[1:] in there}
    assert {name for name in there if not name.startswith("_")} - asynchronous == READING | refused
