"""A fork of the process that has a memory open is refused, touches no file, and takes nothing from its parent."""

import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from stitch import Memory, Step, StitchError, open_memory
from stitch.errors import ForkedProcessError
from stitch.lifecycle.selection import Selector

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork processes"),
    pytest.mark.filterwarnings("ignore:This process:DeprecationWarning"),
]

STEPS = [Step(id=str(n), role="user", content=f"Let's plan day {n}.") for n in range(20)]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "m", recall_log=5) as opened:
        opened.add_many(STEPS, trajectory="t")
        yield opened


def in_fork(uses: Sequence[Callable[[], Any]]) -> list[str]:
    """What comes of each in one forked process: the name of an error, or of the type of what it gives."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        with os.fdopen(reading) as said:
            text = said.read()
        _, status = os.waitpid(child, 0)
        assert status == 0
        return text.splitlines()
    told = []
    try:
        for use in uses:
            try:
                told.append(type(use()).__name__)
            except StitchError as error:
                told.append(type(error).__name__)
    except BaseException as error:  # noqa: BLE001 - nothing of the tests goes on in the fork
        told.append(f"{type(error).__name__}: {error}")
    finally:
        os.write(writing, "\n".join(told).encode())
        os._exit(0)


def files_in(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path.relative_to(folder)): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


USES = {
    "add": lambda m: m.add(Step(role="user", content="From the fork"), trajectory="t"),
    "search": lambda m: m.search("day 1"),
    "steps": lambda m: list(m.steps("t")),
    "status": lambda m: m.status(),
    "recalls": lambda m: m.recalls(),
    "flush": lambda m: m.flush(),
    "erase": lambda m: m.lifecycle.erase(Selector(trajectory="t")),
    "retire": lambda m: m.lifecycle.retire(Selector(trajectory="t")),
    "verify": lambda m: m.lifecycle.verify(),
    "backup": lambda m: m.lifecycle.backup(m.folder.parent / "b"),
    "trees": lambda m: m.trees.names(),
    "journal": lambda m: m._parts.ingestor.journal.tenants(),
    "journal close": lambda m: m._parts.ingestor.journal.close(),
    "store": lambda m: m._parts.ingestor.store.count("default"),
    "store close": lambda m: m._parts.ingestor.store.close(),
}


def test_use_in_a_fork_is_refused_and_touches_no_file(memory: Memory) -> None:
    before = files_in(memory.folder)
    assert in_fork([partial(use, memory) for use in USES.values()]) == ["ForkedProcessError"] * len(USES)
    assert files_in(memory.folder) == before
    assert not (memory.folder.parent / "b").exists()


PROGRAM = """
import gc, os, sys
from stitch import Step, open_memory

def files(top):
    return {path: (os.stat(path).st_size, os.stat(path).st_mtime_ns) for folder, _, names in os.walk(top)
            for path in (os.path.join(folder, name) for name in names)}

for number, leave in enumerate(sys.argv[1:]):
    with open_memory(f"m{number}") as memory:
        steps = [Step(id=str(n), role="user", content=f"Let's plan day {n}.") for n in range(20)]
        memory.add_many(steps, trajectory="t")
        before = files(f"m{number}")
        assert before[f"m{number}/journal.sqlite-wal"][0] > 0
        child = os.fork()
        if not child:
            exec(leave)
        _, status = os.waitpid(child, 0)
        assert files(f"m{number}") == before, f"a fork that does {leave!r} has changed files"
        memory.add(Step(id="after", role="user", content="And day 99."), trajectory="t")
        print(leave, status)
"""

LEAVINGS = ("memory.close(); sys.exit(0)", "vars(memory).clear(); gc.collect(); os._exit(0)")
"""What a fork does when it ends, as code."""


def test_a_fork_that_closes_or_ends_takes_nothing_from_its_parent(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", PROGRAM, *LEAVINGS],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.splitlines(), done.stderr) == ([f"{leaving} 0" for leaving in LEAVINGS], "")
    for number in range(len(LEAVINGS)):
        with open_memory(tmp_path / f"m{number}") as memory:
            assert [entry.id for entry in memory.steps("t")] == [*(step.id for step in STEPS), "after"]
            assert memory.lifecycle.verify() == (21, 21, ())


@pytest.mark.parametrize(
    ("forked", "told"),
    [
        pytest.param("while it is open", "ForkedProcessError, then ForkedProcessError", marks=pytest.mark.slow),
        pytest.param("before", "then 21", marks=pytest.mark.slow),
    ],
)
def test_a_worker_opens_the_memory_itself_if_it_was_forked_before_its_parent_did(
    tmp_path: Path, forked: str, told: str
) -> None:
    folder = tmp_path / "m"
    first = open_memory(folder)
    first.add_many(STEPS, trajectory="t")
    first.close()
    memory = open_memory(folder) if forked == "while it is open" else None
    reading, writing = os.pipe()
    worker = os.fork()
    if not worker:
        os.close(writing)
        os.read(reading, 1)  # waits until the parent has closed
        said = "?"
        try:
            said = uses(memory, folder)
        except Exception:  # noqa: BLE001 - nothing of the tests goes on in the fork
            said = traceback.format_exc()
        finally:
            (tmp_path / "said").write_text(said)
            os._exit(0)
    os.close(reading)
    if memory is not None:
        memory.close()
    os.write(writing, b"x")
    os.close(writing)
    os.waitpid(worker, 0)
    assert (tmp_path / "said").read_text() == told
    with open_memory(folder) as opened:
        assert opened.lifecycle.verify().disagreements == ()


def uses(inherited: Memory | None, folder: Path) -> str:
    said = ""
    if inherited is not None:
        try:
            inherited.search("day 1")
        except ForkedProcessError as error:
            said = f"{type(error).__name__}, "
    try:
        with open_memory(folder) as own:
            own.add(Step(role="user", content="From a worker"), trajectory="t")
            return f"{said}then {own.status().stored}"
    except ForkedProcessError as error:
        return f"{said}then {type(error).__name__}"
