"""The blocks of the pages for users run in their order, each page in a folder of its own, and print what is shown.

A command is a line of a block `sh`, or behind `$ ` in a block `console`, where its output stands below it. Code is a
block `python`; a block `text` right behind it is what it prints. A block with `title="FILE"` is that file. In output,
`...` stands for whatever differs from run to run. `STITCH_TEST_GOLDEN=write` writes the outputs of the pages anew.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import runpy
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from stitch import Memory
from stitch.testing.model import LoopbackProvider
from stitch.testing.rules import reply_by_rules

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(
    r"^```(?P<language>\w+)(?: title=\"(?P<file>[\w./-]+)\")?\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)
WRITES = os.environ.get("STITCH_TEST_GOLDEN") == "write"
AWAY = (
    "http://", "https://", "postgresql://", "--follow", "stitch serve", "stitch mcp", "stitch inspect", "stitch worker",
)  # fmt: skip
"""What reaches another machine or does not end by itself; that it is spelled rightly `test_pages.py` tests."""
BY_HAND = ("make", "pip", "git", "cd", "source", "curl", "docker", "claude", "export", "pre-commit")
"""Commands of others, which no test runs."""
VARIES = (
    r"(?<=recorded )\d{4}-\d\d-\d\d \d\d:\d\d",
    r"(?<=recorded )\d+ \w+ \d{4}(?: \d\d:\d\d)?",
    r"(?<='recorded': )'[^']+'",
    r"(?<=until )\d{4}-[\d :-]+(?=,)",
    r"(?<= in )\d+\.\d(?= s:)",
)
"""Times of the run, which an output that is written anew has as `...`."""
SAME = doctest.OutputChecker()

Stitch = Callable[..., tuple[Any, str, str]]


class Block(NamedTuple):
    """A block of a page: what it is written in, the file that it is, its text, and where that stands in the page."""

    language: str
    file: str | None
    text: str
    begin: int
    end: int


class Output(NamedTuple):
    """What a page says that something prints, what that printed, and where the page says it."""

    of: str
    said: str
    printed: str
    begin: int

    @property
    def lasting(self) -> str:
        """What was printed, without what differs from run to run."""
        return re.sub("|".join(VARIES), "...", self.printed)

    @property
    def agrees(self) -> bool:
        return SAME.check_output(self.said, self.printed, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)


def blocks(page: Path) -> list[Block]:
    return [
        Block(found["language"], found["file"], found["text"], found.start("text"), found.end("text"))
        for found in BLOCK.finditer(page.read_text(encoding="utf-8"))
    ]


def calls(text: str) -> Iterator[str]:
    """The commands of a block, those of several lines joined, without what is said behind them."""
    begun = ""
    for line in text.replace("\\\n", " ").splitlines():
        begun = f"{begun}\n{line.partition('  #')[0]}".strip()
        if begun.replace("\\'", "").count("'") % 2 == 0:
            yield from filter(None, [begun])
            begun = ""


@pytest.fixture(scope="module")
def model() -> Iterator[LoopbackProvider]:
    with LoopbackProvider(reply_by_rules) as provider:
        yield provider


@pytest.fixture
def runs(in_empty_folder: Path, monkeypatch: pytest.MonkeyPatch, model: LoopbackProvider, stitch: Stitch) -> Run:
    monkeypatch.setenv("OPENAI_BASE_URL", model.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    return Run(stitch, monkeypatch)


class Run:
    """Runs the blocks of one page."""

    def __init__(self, stitch: Stitch, monkeypatch: pytest.MonkeyPatch) -> None:
        self._stitch = stitch
        self._monkeypatch = monkeypatch

    def command(self, line: str) -> tuple[Any, str, str]:
        """Run one command; of a pipe, `echo` and `cat` are what it reads."""
        before, _, call = line.rpartition(" | stitch ") if line.startswith(("echo ", "cat ")) else ("", "", line)
        words = shlex.split(f"stitch {call}" if before else call)
        file = words[-1] if words[-2:-1] == [">"] else None
        words = words[:-2] if file is not None else words
        if before:
            text = shlex.split(before)[1]
            given = text.encode() if before.startswith("echo ") else Path(text).read_bytes()
            self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(given))))
        with self._monkeypatch.context() as environment:
            while "=" in words[0]:
                environment.setenv(*words.pop(0).split("=", 1))
            if words[0] == "python":
                environment.setattr(sys, "argv", words[1:])
                return 0, self.code(words[1]), ""
            assert words[0] == "stitch", f"nobody knows how to run {line!r}"
            if "--model" in words or "--config" in words:
                environment.setenv("STITCH_BASE_URL", os.environ["OPENAI_BASE_URL"])
            status, out, err = self._stitch(*words[1:])
        if file is not None:
            Path(file).write_text(out, encoding="utf-8")
            out = ""
        return status, out, err

    def code(self, file: str) -> str:
        """Run a file, close the memories that it left open, and return what it printed."""
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            names = runpy.run_path(file, run_name="__main__")
        for each in names.values():
            if isinstance(each, Memory):
                each.close()
        return out.getvalue()


def ran(page: Path, runs: Run) -> Iterator[Output]:
    """Run the blocks of a page; gives what is shown of outputs beside what was printed."""
    printed: str | None = None
    for block in blocks(page):
        if block.file is not None:
            Path(block.file).write_text(block.text, encoding="utf-8")
        elif block.language == "text":
            if printed is not None:
                yield Output("the code above", block.text, printed, block.begin)
        elif block.language == "python":
            if not any(each in block.text for each in AWAY):
                Path("block.py").write_text(block.text, encoding="utf-8")
                printed = runs.code("block.py")
                continue
            compile(block.text, str(page), "exec")
        elif block.language == "sh":
            for call in calls(block.text):
                if not call.startswith(BY_HAND) and not any(each in call for each in AWAY):
                    status, _, err = runs.command(call)
                    assert (call, status) == (call, 0), err
        elif block.language == "console":
            yield from shown(block, runs)
        printed = None


def shown(block: Block, runs: Run) -> Iterator[Output]:
    """The commands of a block with their outputs; of one that fails, what it says on standard error."""
    for found in re.finditer(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE):
        [call] = calls(found[1])
        status, out, err = runs.command(call)
        yield Output(call, found[2], out if status == 0 else err, block.begin + found.start(2))


# A set is made and measured on the page of benchmarks, in four seconds.
@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.slow] * (page.name == "benchmarks.md")) for page in PAGES],
    ids=lambda page: page.name,
)
def test_the_blocks_of_a_page_run_and_print_what_is_shown(page: Path, runs: Run) -> None:
    outputs = list(ran(page, runs))
    wrong = [output for output in outputs if not output.agrees]
    if WRITES and wrong:
        text = page.read_text(encoding="utf-8")
        for output in reversed(wrong):
            text = text[: output.begin] + output.lasting + text[output.begin + len(output.said) :]
        page.write_text(text, encoding="utf-8")
    assert [(output.of, output.printed) for output in wrong] == []
