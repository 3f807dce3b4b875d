"""Mutation testing: how many small mistakes in a room the tests find. README.md beside this file has the figures.

    nice -n 19 python -m tests.mutation.run --room retrieve --count 40
    nice -n 19 python -m tests.mutation.run                     # all rooms, 400 mutants each

A mutant is the code with one small mistake. It is killed if a test fails or does not end. It survives if all tests pass
that run the changed line; one run of the tests with coverage finds them. The same seed draws the same mutants from the
same code. Figures go to standard output as JSON, with each survivor; progress goes to standard error.

A copy of the code is tried, so the checkout may change meanwhile. One process loads the copy and collects all tests.
Each mutant is a fork of it, in which one function is exchanged. What runs when modules are loaded (constants, classes)
cannot be exchanged like this: there the fork forgets all modules of the copy and loads them again. Linux only.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import json
import math
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import hypothesis
import pytest

from tests.mutation.mistakes import Mutant, mutants
from tests.mutation.recording import Kept, Recorder, Seen, file_of, pairs, passes

ROOT = Path(__file__).resolve().parents[2]
INNER = ("signatures", "pipelines", "bench", "configs")
"""Root folders that are installed as subpackages of `stitch`."""
ROOMS = {
    "retrieve": ("tests/retrieve",),
    "ingest": ("tests/ingest", "tests/trees"),
    "journal": ("tests/ingest", "tests/memory"),
    "store": ("tests/store",),
    "lifecycle": (
        "tests/lifecycle", "tests/ingest", "tests/memory", "tests/api", "tests/trees",
        "tests/store/test_server_store.py", "tests/trees/test_rewriting.py", "tests/label/test_label_elsewhere.py",
        "tests/label/test_model_pipeline.py", "tests/label/test_misread_steps.py",
    ),
    "text": ("tests/text",),
    "label/local": (
        "tests/label/test_golden", "tests/label/test_references", "tests/label/test_resuming.py",
        "tests/ingest/test_forgetting.py",
        "tests/label/test_local_a", "tests/label/test_local_d", "tests/label/test_local_la", "tests/label/test_local_p",
        "tests/label/test_local_r", "tests/label/test_local_s", "tests/label/test_local_t",
    ),
}  # fmt: skip
"""Each room's tests: what their paths begin with."""
SEED = 12
"""Of the examples of properties, and of what is drawn unless another is named."""
MOST_S = 5.0
"""Of the tests that run a line, the fastest that take so long together are tried, at least one."""
LEAST_S, TIMES = 5.0, 3.0
"""A mutant does not end if it takes more processor time than this, and more than so often what its tests take."""
IDLE_S, IDLE_SHARE = 15.0, 0.007
"""Neither does it end if its processes neither used this share of a processor nor waited for one for so long."""
RECORDING_IDLE_S = 300.0
"""The same of all tests without a mutant, of which some wait for processes of other groups."""
MOST_BYTES = 2 << 30
"""Of memory, and of each file: a mutant may ask for more and more."""
KILLED = ("killed", "timeout")
CONTROLS = 2
"""So often the tests of a mutant are run without it: all have to pass."""
OPTIONS = (
    "-qq", "-s", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:pytest_cov", f"--hypothesis-seed={SEED}",
    "-W", "ignore::pytest.PytestAssertRewriteWarning",
)  # fmt: skip


class Outcome(NamedTuple):
    """What the tests said of a mutant: `killed`, `timeout`, `survived` or `not run`; and which test failed."""

    mutant: Mutant
    said: str
    killer: str = ""


class Chosen:
    """A pytest plugin: only these tests, in this order; the first that fails is written into the scratch folder."""

    def __init__(self, tests: Sequence[str]) -> None:
        self._tests = tests

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out the others."""
        found = {item.nodeid: item for item in items}
        items[:] = [found[test] for test in self._tests if test in found]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what failed."""
        if report.failed:
            with (Path(tempfile.gettempdir()) / "failed").open("a") as file:
                file.write(report.nodeid + "\n")


class Trial:
    """A pytest plugin that tries the mutants of some rooms where pytest would run the tests.

    Args:
        folder: The copy of the code, which is the working directory.
        rooms: Which rooms.
        count: How many mutants of each.
        seed: Draws them.
        kept: Keeps what was found, for further runs on the same code.
    """

    def __init__(self, folder: Path, *, rooms: Sequence[str], count: int, seed: int, kept: Kept | None) -> None:
        self._folder, self._rooms, self._count, self._seed, self._kept = folder, rooms, count, seed, kept
        self.recorder = Recorder(folder, include=[f"{folder}/stitch/{room}/*" for room in ROOMS])
        self.outcomes: dict[str, list[Outcome]] = {room: [] for room in rooms}
        self.possible: dict[str, int] = {}
        self._killers: dict[str, list[str]] = defaultdict(list)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Record, load what a fork would have to load again, and try the mutants."""
        if session.testsfailed:
            raise SystemExit("the tests cannot be collected")
        self._items = {item.nodeid: item for item in session.items if not item.get_closest_marker("slow")}
        self._seen = self._look()
        for name in self._seen.modules:
            with contextlib.suppress(Exception):
                importlib.import_module(name)
        self._loading = self.recorder.loading()
        self._functions = [each for each in gc.get_objects() if isinstance(each, FunctionType)]
        session.config.pluginmanager.register(Chosen(()))
        sys.dont_write_bytecode = True
        gc.collect()
        gc.freeze()
        self._measure()
        return True

    def _look(self) -> Seen:
        """Which test runs which line."""
        files = set(map(file_of, self._items))
        known, seen = self._kept.seen(files) if self._kept else (set(), Seen({}, {}, []))
        fresh = [item for test, item in self._items.items() if file_of(test) not in known]
        output = self._folder / "seen.json"
        said, _ = _fork(
            lambda: 0 * output.write_text(json.dumps(self.recorder.record(fresh))),
            limit_s=3600.0,
            idle_s=RECORDING_IDLE_S,
        )
        if said != "survived":
            raise SystemExit(f"the tests did not end without a mutant: {said}")
        seen = Seen(*json.loads(output.read_text())).kept(files - known).and_also(seen)
        if self._kept:
            self._kept.save(files, seen)
        return seen

    def _measure(self) -> None:
        """Try out some mutants of each room, in turn; those that an earlier run killed are not tried again."""
        known = self._kept.outcomes() if self._kept else {}
        drawn = {room: mutants(self._folder, room=room) for room in self._rooms}
        self.possible = {room: len(found) for room, found in drawn.items()}
        for found in drawn.values():
            random.Random(self._seed).shuffle(found)
        for number in range(self._count):
            for room in [room for room in self._rooms if number < len(drawn[room])]:
                mutant = drawn[room][number]
                key = json.dumps(mutant[:5])
                said, killer = known.get(key, ("", ""))
                if said not in KILLED:
                    said, killer = self._try_out(mutant, room)
                    if self._kept:
                        self._kept.add(key, (said, killer))
                self.outcomes[room].append(Outcome(mutant, said, killer))
                where = f"{mutant.file}:{mutant.line} {mutant.before[:60]!r} -> {mutant.after[:60]!r}"
                _say(f"{room} {number + 1} {said}: {where} {killer}")
                if number < CONTROLS:
                    good = mutant._replace(source=(self._folder / mutant.file).read_text(encoding="utf-8"))
                    if self._try_out(good, room)[0] not in ("survived", "not run"):
                        raise SystemExit(f"the tests of this mutant fail without it: {where}")

    def figures(self) -> list[dict[str, Any]]:
        """By room: what became of its mutants, and each that survived."""
        return [
            {
                "room": room,
                "possible": self.possible[room],
                "tried": len(outcomes),
                "said": dict(sorted(Counter(outcome.said for outcome in outcomes).items())),
                "share": round(sum(outcome.said in KILLED for outcome in outcomes) / max(1, len(outcomes)), 3),
                "survivors": [
                    dict(zip(Mutant._fields[:5], outcome.mutant, strict=False))
                    for outcome in sorted(outcomes)
                    if outcome.said not in KILLED
                ],
            }
            for room, outcomes in self.outcomes.items()
        ]

    def _try_out(self, mutant: Mutant, room: str) -> tuple[str, str]:
        tests = self._tests(mutant, room)
        if not tests:
            return "not run", ""
        path = self._folder / mutant.file
        good, times = path.read_text(encoding="utf-8"), path.stat()
        path.write_text(mutant.source, encoding="utf-8")
        limit_s = max(LEAST_S, TIMES * sum(self._seen.seconds[test] for test in tests))
        try:
            said, killer = _fork(lambda: self._run(mutant, tests), limit_s=limit_s)
        finally:
            path.write_text(good, encoding="utf-8")
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        if killer in self._items:
            self._killers[mutant.file] = [killer, *(each for each in self._killers[mutant.file] if each != killer)][:8]
        return said, killer

    def _tests(self, mutant: Mutant, room: str) -> list[str]:
        """The tests that a mutant has to get by, in the order in which they are tried."""
        by_line = self._seen.lines.get(mutant.file, {})
        own = {test for test in self._seen.seconds if test.startswith(ROOMS[room])}
        loaded = self._loading.get(mutant.file, set())
        if mutant.place.function is None or mutant.line in loaded:
            # All that run a function of the file; a file of constants has none.
            found = {test for line, tests in by_line.items() if line not in loaded for test in tests} or own
        else:
            lines = [mutant.line] if by_line.get(mutant.line) else mutant.place.lines
            found = {test for line in lines for test in by_line.get(line, ())}
        found &= own
        killers = self._killers[mutant.file]

        def rank(test: str) -> tuple[bool, int]:  # of those as fast, tests of one file follow each other
            return test not in killers, round(math.log2(self._seen.seconds[test] + 0.01))

        chosen: list[str] = []
        left_s = MOST_S
        for test in sorted((test for test in self._items if test in found), key=rank):
            if not chosen or self._seen.seconds[test] <= left_s:
                chosen.append(test)
                left_s -= self._seen.seconds[test]
        return chosen

    def _run(self, mutant: Mutant, tests: Sequence[str]) -> int:
        """Inside the fork: whether a test fails, as an exit status."""
        if self._exchange(mutant):
            return int(not all(passes(*pair) for pair in pairs([self._items[test] for test in tests])))
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", None) or "").startswith(f"{self._folder}/"):
                del sys.modules[name]
        importlib.invalidate_caches()
        files = dict.fromkeys(map(file_of, tests))
        return int(pytest.main([*OPTIONS, "-x", *files], plugins=[Chosen(tests)]) != pytest.ExitCode.OK)

    def _exchange(self, mutant: Mutant) -> bool:
        """Put the mistake into the one function that has it; false where that is not all there is to do."""
        function, (first, last) = mutant.place.function, mutant.place.span
        if function is None or any(first <= line <= last for line in self._loading.get(mutant.file, ())):
            return False
        path = str(self._folder / mutant.file)
        new = [code for code in _codes(compile(mutant.source, path, "exec")) if _named(code) == function]
        old = [
            each for each in self._functions if each.__code__.co_filename == path and _named(each.__code__) == function
        ]
        if len(new) != 1 or not old or any(each.__code__.co_freevars != new[0].co_freevars for each in old):
            return False
        for each in old:
            each.__code__ = new[0]
        return True


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A module's code, and the code of all functions in it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)


def _named(code: CodeType) -> tuple[str, int]:
    return code.co_name, code.co_firstlineno


def _fork(work: Callable[[], int], *, limit_s: float, idle_s: float = IDLE_S) -> tuple[str, str]:
    """What became of some work in a process of its own, and which test failed in it."""
    scratch = Path(tempfile.mkdtemp(prefix="stitch-mutant-"))
    process = os.fork()
    if process == 0:
        status = 1
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit_s) + 1, int(limit_s) + 5))
            resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
            resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_BYTES, MOST_BYTES))
            nothing = os.open(os.devnull, os.O_RDWR)
            for number in (0, 1):
                os.dup2(nothing, number)
            os.environ["PYTEST_DEBUG_TEMPROOT"] = os.environ["TMPDIR"] = tempfile.tempdir = str(scratch)
            status = work()
        except Exception:  # noqa: BLE001  # said, and told by the status
            traceback.print_exc()
        finally:
            os._exit(status)
    try:
        status = _wait(process, idle_s=idle_s)
        note = scratch / "failed"
        failed = note.read_text().splitlines()[0] if note.exists() else ""
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)
        shutil.rmtree(scratch, ignore_errors=True)
    return {0: "survived", -signal.SIGXCPU: "timeout", -signal.SIGKILL: "timeout"}.get(status, "killed"), failed


def _wait(process: int, *, idle_s: float) -> int:
    """The exit status of a process, or the negative number of the signal that ended it."""
    pause_s, used_s, since = 0.002, 0.0, time.monotonic()
    while True:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(pause_s)
        pause_s = min(0.1, pause_s * 1.1)
        if time.monotonic() - since > idle_s:
            now_s = _wanted_s(process)
            if abs(now_s - used_s) < IDLE_SHARE * idle_s:
                os.killpg(process, signal.SIGKILL)
            used_s, since = now_s, time.monotonic()


def _wanted_s(group: int) -> float:
    """The processor time of all processes of a group, and how long their threads waited for a processor."""
    ticks = waited_ns = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(fields[2]) == group:
                ticks += sum(map(int, fields[11:15]))
                waited_ns += sum(int(path.read_text().split()[1]) for path in folder.glob("task/*/schedstat"))
    return ticks / os.sysconf("SC_CLK_TCK") + waited_ns / 1e9


def _copy(folder: Path) -> None:
    """Copy the code and its tests, the root folders where an installed `stitch` has them too."""
    skip = shutil.ignore_patterns("__pycache__", "*.memory")
    shutil.copytree(ROOT / "stitch", folder / "stitch", ignore=skip)
    for name in INNER:
        shutil.copytree(ROOT / name, folder / "stitch" / name, ignore=skip)
        (folder / name).symlink_to(folder / "stitch" / name)
    shutil.copytree(ROOT / "tests", folder / "tests", ignore=skip)
    for name in ("pyproject.toml", "Makefile", "README.md"):
        shutil.copy(ROOT / name, folder)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    """Measure the rooms that are named, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--room", action="append", choices=list(ROOMS), help="only this room; may be repeated")
    parser.add_argument("--count", type=int, default=400, help="how many mutants of a room")
    parser.add_argument("--seed", type=int, default=SEED, help="draws other mutants")
    parser.add_argument("--kept", type=Path, help="a folder that keeps what is found: the next run goes on from there")
    given = parser.parse_args()
    rooms = given.room or list(ROOMS)
    output = os.dup(1)
    os.dup2(2, 1)
    with tempfile.TemporaryDirectory(prefix="stitch-mutants-") as name:
        folder = Path(name).resolve()
        _copy(folder)
        os.chdir(folder)
        for variable in [variable for variable in os.environ if variable.startswith("STITCH_")]:
            del os.environ[variable]
        os.environ |= {"PYTHONPATH": name, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        sys.path[0] = name
        hypothesis.settings.register_profile("mutants", deadline=None, database=None)
        hypothesis.settings.load_profile("mutants")
        kept = Kept(given.kept.resolve(), folder=folder) if given.kept else None
        trial = Trial(folder, rooms=rooms, count=given.count, seed=given.seed, kept=kept)
        folders = sorted({each for room in rooms for each in ROOMS[room]})
        paths = [str(path) for each in folders for path in sorted(Path().glob(f"{each}*"))]
        pytest.main([*OPTIONS, *paths], plugins=[trial, trial.recorder])
    if not trial.possible:
        raise SystemExit("nothing was measured; what stands above says why")
    with os.fdopen(output, "w") as file:
        json.dump({"seed": given.seed, "rooms": trial.figures()}, file, indent=2)
        file.write("\n")


if __name__ == "__main__":
    main()
