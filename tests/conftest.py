"""How many examples the properties are tried on, that a run tries the same ones as the last, where tests write,
and how conversations are written that several of them read."""

from __future__ import annotations

import gc
import json
import os
import platform
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from stitch import Memory, Step

# What tests start finds `doubles` and `contracts`, as they do.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(Path(__file__).parent), os.environ.get("PYTHONPATH"))))

# No setting of whoever runs the tests stands in the environment.
for _name in [
    name for name in os.environ if name.startswith("STITCH_") and not name.startswith(("STITCH_TEST", "STITCH_QDRANT"))
]:
    del os.environ[_name]

# Clients of models ask the system for its processor, by a process; nothing here depends on it.
vars(platform.uname())["processor"] = ""

settings.register_profile("short", max_examples=10, deadline=None, derandomize=True, database=None)
settings.register_profile("long", max_examples=200, deadline=None, database=None, print_blob=True)
settings.load_profile(os.environ.get("STITCH_TEST_PROFILE", "short"))

SHARED_MEMORY = Path("/dev/shm")
ROOM_BYTES = 4 * 2**30

# Tests make thousands of memories, each of which makes the disk write what it holds: in main memory, if there is room,
# that takes a quarter of the time. No test cuts the power, and those of a full disk have one of their own.
if os.access(SHARED_MEMORY, os.W_OK) and shutil.disk_usage(SHARED_MEMORY).free >= ROOM_BYTES:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(SHARED_MEMORY))


gc.disable()  # until all tests are loaded, of which nothing is garbage


def pytest_collection_finish() -> None:
    """What is loaded by now stays to the end: to look through it again and again took a fifth of all time."""
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000)


def pytest_sessionfinish() -> None:
    """What is left is looked through once: pytest does it five times in the end."""
    gc.collect()
    gc.freeze()


_LINE = re.compile(r"(?:tool (?P<tool>\S+)|(?P<role>\S+)):(?P<text>.*?)(?: ?\|\| (?P<call>\S+) (?P<arguments>.*))?")


def _step(line: str, name: str) -> Step:
    from stitch import Step, ToolCall  # here, as below: who hands tests out to others runs none

    match = _LINE.fullmatch(line)
    assert match is not None, f"a line is `role: what it says`: {line!r}"
    calls = (ToolCall(name=match["call"], arguments=json.loads(match["arguments"])),) if match["call"] else ()
    text = match["text"].strip().replace("⏎", "\n")
    return Step(id=name, role=match["role"] or "tool", content=text, tool_name=match["tool"], tool_calls=calls)


@pytest.fixture
def in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, which is empty."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """A memory that holds nothing yet."""
    from stitch import open_memory

    with open_memory(tmp_path / "m") as opened:
        yield opened


@pytest.fixture
def stitch(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., tuple[Any, str, str]]:
    """Runs the command in this process; gives exit status, standard output and standard error."""
    [command] = [each.load() for each in entry_points(group="console_scripts") if each.name == "stitch"]

    def call(*arguments: object) -> tuple[Any, str, str]:
        monkeypatch.setattr(sys, "argv", ["stitch", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            command()
        return (ended.value.code or 0, *capfd.readouterr())

    return call


@pytest.fixture(scope="session")
def conversation() -> Callable[[Path], list[tuple[str, Step]]]:
    """The lines of a file that people read, each with the step that it says.

    A line is `role: what it says`; `⏎` stands for the end of a line in it, `|| name {...}` at the end for a call with
    its arguments as JSON, and `tool NAME:` begins a result. What begins with a blank is said about the step above.
    """

    def read(path: Path) -> list[tuple[str, Step]]:
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith(" ")]
        return [(line, _step(line, str(number))) for number, line in enumerate(lines)]

    return read
