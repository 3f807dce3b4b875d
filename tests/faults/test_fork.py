"""A fork of the process that has a memory open is refused, touches no file, and takes nothing from its parent."""

from __future__ import annotations

import gc
import multiprocessing
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from stitch import Memory, Step, StitchError, open_memory, open_tenants
from stitch.core.process import OwnProcess, ProcessLock, in_each_fork
from stitch.errors import ForkedProcessError
from stitch.lifecycle.selection import Selector
from stitch.remote.memory import RemoteMemory

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


def in_fork(doing: Callable[[], Any]) -> str:
    """What comes of it in a forked process: the name of an error, or of the type of what it gives."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        with os.fdopen(reading) as said:
            text = said.read()
        _, status = os.waitpid(child, 0)
        assert status == 0
        return text
    text = "?"
    try:
        text = type(doing()).__name__
    except StitchError as error:
        text = type(error).__name__
    except BaseException as error:  # noqa: BLE001 - nothing of the tests goes on in the fork
        text = f"{type(error).__name__}: {error}"
    finally:
        os.write(writing, text.encode())
        os._exit(0)


def test_a_fork_does_not_go_on_with_a_stream_that_its_parent_began(memory: Memory) -> None:
    stream = memory.stream(STEPS, trajectory="u")
    next(stream)
    assert in_fork(lambda: next(stream)) == "ForkedProcessError"
    assert len(list(stream)) == len(STEPS) - 1


def files_in(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path.relative_to(folder)): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


USES = {
    "add": lambda m: m.add(Step(role="user", content="From the fork"), trajectory="t"),
    "add_many": lambda m: m.add_many(STEPS, trajectory="u"),
    "stream": lambda m: list(m.stream(STEPS, trajectory="u")),
    "search": lambda m: m.search("day 1"),
    "why": lambda m: m.why("day 1", step="1", trajectory="t"),
    "steps": lambda m: list(m.steps("t")),
    "trajectories": lambda m: m.trajectories(),
    "inventory": lambda m: m.inventory(),
    "status": lambda m: m.status(),
    "receipts": lambda m: list(m.receipts()),
    "recalls": lambda m: m.recalls(),
    "retry": lambda m: m.retry(),
    "finish": lambda m: m.finish("t"),
    "flush": lambda m: m.flush(),
    "erase": lambda m: m.lifecycle.erase(Selector(trajectory="t")),
    "correct": lambda m: m.lifecycle.correct("1", trajectory="t", text="No"),
    "retire": lambda m: m.lifecycle.retire(Selector(trajectory="t")),
    "history": lambda m: m.lifecycle.history("1", trajectory="t"),
    "verify": lambda m: m.lifecycle.verify(),
    "reindex": lambda m: m.lifecycle.reindex(),
    "export": lambda m: list(m.lifecycle.export()),
    "import": lambda m: m.lifecycle.import_lines([]),
    "backup": lambda m: m.lifecycle.backup(m.folder.parent / "b"),
    "journal": lambda m: m._parts.ingestor.journal.tenants(),
    "journal close": lambda m: m._parts.ingestor.journal.close(),
    "store": lambda m: m._parts.ingestor.store.count("default"),
    "store put": lambda m: m._parts.ingestor.store.put([]),
    "store close": lambda m: m._parts.ingestor.store.close(),
}


def test_use_in_a_fork_is_refused_and_touches_no_file(memory: Memory) -> None:
    before, said = files_in(memory.folder), {}
    for name, use in USES.items():
        said[name] = in_fork(partial(use, memory))
        assert files_in(memory.folder) == before, name
        assert not (memory.folder.parent / "b").exists(), name
    assert said == dict.fromkeys(USES, "ForkedProcessError")


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

LEAVINGS = (
    "memory.close(); os._exit(0)",
    "memory.close(); sys.exit(0)",
    "sys.exit(0)",
    "raise SystemExit(0) from ValueError()",
    "del memory; gc.collect(); os._exit(0)",
    "vars(memory).clear(); gc.collect(); os._exit(0)",
    "memory.close(); gc.collect(); memory = None; gc.collect(); sys.exit(0)",
)
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


def test_a_fork_pool_that_adds_is_told_so_and_nothing_acknowledged_is_lost(memory: Memory) -> None:
    pool = multiprocessing.get_context("fork").Pool(4, initializer=_share, initargs=(memory,))
    assert set(pool.map(_add, range(40))) == {"ForkedProcessError"}
    pool.close()  # and not `terminate`, as the end of a `with` does: a worker that waits for work may miss its signal
    pool.join()
    memory.add(Step(id="after", role="user", content="And day 99."), trajectory="t")
    assert memory.status().stored == 21
    assert memory.lifecycle.verify() == (21, 21, ())


_shared: list[Memory] = []


def _share(memory: Memory) -> None:
    _shared[:] = [memory]


def _add(number: int) -> str:
    try:
        _shared[0].add(Step(role="user", content=f"Step {number}"), trajectory="t")
    except StitchError as error:
        return type(error).__name__
    return "stored"


@pytest.mark.parametrize(
    ("forked", "told"), [("while it is open", "ForkedProcessError, then ForkedProcessError"), ("before", "then 21")]
)
def test_a_worker_opens_the_memory_itself_if_it_was_forked_before_its_parent_did(
    tmp_path: Path, forked: str, told: str
) -> None:
    """As with gunicorn's preload: what the application opens when it is loaded is open in the arbiter."""
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


def test_the_lock_of_a_folder_ends_with_its_owner_and_not_with_a_fork_of_it(tmp_path: Path) -> None:
    memory = open_memory(tmp_path / "m")
    child = os.fork()
    if not child:
        time.sleep(60)
        os._exit(0)
    try:
        memory.close()
        with open_memory(tmp_path / "m") as again:
            assert not isinstance(again, RemoteMemory)
            assert os.waitpid(child, os.WNOHANG) == (0, 0), "or the fork has let go by its end"
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)


def test_the_tenants_of_a_parent_are_refused_in_a_fork(tmp_path: Path) -> None:
    with open_tenants(tmp_path / "m") as tenants:
        tenants.memory("ann").add(STEPS[0], trajectory="t")
        for use in (lambda: tenants.memory("ann"), lambda: tenants.memory("new"), tenants.names):
            assert in_fork(use) == "ForkedProcessError"
        assert in_fork(lambda: tenants.backup(tmp_path / "b")) == "ForkedProcessError"
        assert in_fork(tenants.close) == "NoneType"
        assert tenants.memory("ann").search("day").hits


def test_a_lock_of_one_process_says_whose_it_is() -> None:
    lock = ProcessLock("the thing")
    with lock, lock:
        assert not lock.is_another

    def take() -> str:
        with lock:
            return "taken"

    def message() -> None:
        try:
            OwnProcess.check(lock)
        except ForkedProcessError as error:
            raise AssertionError(error.message) from None

    assert in_fork(take) == "ForkedProcessError"
    assert f"the thing was opened by process {os.getpid()}; process" in in_fork(message)


def test_what_is_to_be_done_in_forks_is_done_as_long_as_its_object_lives() -> None:
    class Thing:
        done = 0

        def note(self) -> None:
            self.done += 1

    thing, gone = Thing(), Thing()
    in_each_fork(thing.note)
    in_each_fork(gone.note)
    del gone
    gc.collect()
    assert in_fork(lambda: {1: None}[thing.done]) == "NoneType"
    assert thing.done == 0


def test_what_one_cannot_do_in_a_fork_keeps_no_other_from_its_work() -> None:
    class Thing:
        done = 0

        def fail(self) -> None:
            raise ValueError("not here")

        def note(self) -> None:
            self.done += 1

    failing, thing = Thing(), Thing()
    in_each_fork(failing.fail)
    in_each_fork(thing.note)
    assert in_fork(lambda: {1: None}[thing.done]) == "NoneType"
