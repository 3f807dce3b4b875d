"""Which test runs which line: found by one run of all tests with coverage."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import coverage
import pytest


class Seen(NamedTuple):
    """What a run of tests without a mutant showed."""

    seconds: dict[str, float]
    """By test: its processor time. A test that failed is not in it."""
    lines: dict[str, dict[int, list[str]]]
    """By file and line: the tests that run it."""
    modules: list[str]
    """What was loaded in the end."""

    def kept(self, files: Iterable[str]) -> Seen:
        """What was seen of the tests in these files."""
        wanted = set(files)
        lines = {
            file: {int(line): [test for test in tests if file_of(test) in wanted] for line, tests in by_line.items()}
            for file, by_line in self.lines.items()
        }
        return Seen({t: value for t, value in self.seconds.items() if file_of(t) in wanted}, lines, self.modules)

    def and_also(self, other: Seen) -> Seen:
        """What both saw, of different tests."""
        lines: dict[str, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
        for seen in (self, other):
            for file, by_line in seen.lines.items():
                for line, tests in by_line.items():
                    lines[file][line] += tests
        return Seen(self.seconds | other.seconds, lines, sorted({*self.modules, *other.modules}))


class Recorder:
    """A pytest plugin that notes which test runs which line; from when it is made.

    What a fixture runs that several tests share is run by all tests of its file.
    """

    def __init__(self, folder: Path, *, include: Sequence[str]) -> None:
        self._folder, self._test = folder, ""
        self._coverage = coverage.Coverage(data_file=None, config_file=False, include=include)
        self._coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Any:
        """Tell the file's fixtures from those of one test."""
        if not self._test or fixturedef.scope == "function":
            return (yield)
        self._coverage.switch_context(file_of(self._test))
        try:
            return (yield)
        finally:
            self._coverage.switch_context(self._test)

    def loading(self) -> dict[str, set[int]]:
        """By file: the lines that were run until now, before any test. Ends the noting."""
        self._coverage.stop()
        data = self._coverage.get_data()
        return {self._name(file): set(data.lines(file) or ()) for file in data.measured_files()}

    def record(self, items: Sequence[pytest.Item]) -> Seen:
        """Run the tests."""
        from stitch.core.text_cache import clear_text_caches  # not before the copy is what is imported

        seconds = {}
        for item, following in pairs(items):
            self._test = item.nodeid
            clear_text_caches()  # or what a test asks that another has asked runs no line
            self._coverage.switch_context(item.nodeid)
            before = time.process_time()
            if passes(item, following):
                seconds[item.nodeid] = round(time.process_time() - before, 5)
            else:
                print(f"left out, for it fails without a mutant: {item.nodeid}", file=sys.stderr, flush=True)
        self._coverage.stop()
        data = self._coverage.get_data()
        tests = defaultdict(list)
        for nodeid in seconds:
            tests[nodeid].append(nodeid)
            tests[file_of(nodeid)].append(nodeid)
        lines = {
            self._name(file): {
                line: sorted({test for context in contexts for test in tests.get(context, ())})
                for line, contexts in data.contexts_by_lineno(file).items()
            }
            for file in data.measured_files()
        }
        return Seen(seconds, lines, [name for name in sys.modules if not name.startswith(("tests", "__"))])

    def _name(self, file: str) -> str:
        return str(Path(file).relative_to(self._folder))


class Kept:
    """A folder that keeps what was found, for as long as the code is the same.

    Args:
        path: The folder.
        folder: The code and its tests.
    """

    def __init__(self, path: Path, *, folder: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        code = _digest(folder.glob("stitch/**/*.py"))[:16]
        self._shared = _digest(folder.glob("tests/**/conftest.py"))
        self._seen, self._outcomes = path / f"seen-{code}.json", path / f"outcomes-{code}.jsonl"

    def seen(self, files: Iterable[str]) -> tuple[set[str], Seen]:
        """Which of these files of tests are as they were, and what was seen of them."""
        if not self._seen.exists():
            return set(), Seen({}, {}, [])
        old = json.loads(self._seen.read_text())
        same = {file for file in files if old["files"].get(file) == self._state(file)}
        return same, Seen(*old["seen"]).kept(same)

    def save(self, files: Iterable[str], seen: Seen) -> None:
        """Keep what was seen of these files of tests."""
        self._seen.write_text(json.dumps({"files": {file: self._state(file) for file in files}, "seen": seen}))

    def outcomes(self) -> dict[str, tuple[str, str]]:
        """By mutant: what the tests said last, and which test failed."""
        lines = self._outcomes.read_text().splitlines() if self._outcomes.exists() else []
        return {key: (said, killer) for key, said, killer in map(json.loads, lines)}

    def add(self, key: str, outcome: tuple[str, str]) -> None:
        """Keep what the tests said of a mutant."""
        with self._outcomes.open("a") as file:
            file.write(json.dumps([key, *outcome]) + "\n")

    def _state(self, file: str) -> str:
        return _digest([self._folder / file]) + self._shared


def file_of(test: str) -> str:
    """The file of a test, by the test's name."""
    return test.partition("::")[0]


def pairs(items: Sequence[pytest.Item]) -> Iterable[tuple[pytest.Item, pytest.Item | None]]:
    """Each test with the one that follows, as pytest wants to know it."""
    return zip(items, [*items[1:], None], strict=False)


def passes(item: pytest.Item, following: pytest.Item | None) -> bool:
    """Run one test."""
    failed = item.session.testsfailed
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
    return item.session.testsfailed == failed


def _digest(paths: Iterable[Path]) -> str:
    found = hashlib.sha256()
    for path in sorted(paths):
        found.update(path.read_bytes())
    return found.hexdigest()
