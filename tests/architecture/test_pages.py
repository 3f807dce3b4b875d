"""What the pages say works: commands are those of the command line, code runs, and every file named is there."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import click
import pytest

from stitch.cli.main import cli

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("stitch", "signatures", "pipelines", "bench", "configs")
PAGES = sorted(
    {path for path in ROOT.glob("*.md") if path.name != "CHANGELOG.md"}
    | {path for room in (*ROOMS, "tests") for path in (ROOT / room).rglob("*.md")}
)
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"`((?:[\w.-]+/)*[\w-]+\.(?:md|py|yaml|toml|csv))`")
ELSEWHERE = ("--model", "--base-url", "http://", "https://", "sentence-transformers/", "STITCH_MODEL=")
"""What a test cannot run, for it leaves this machine; that it is spelled rightly is tested all the same."""
SERVES = "stitch serve "
"""Does not end by itself; `tests/server/test_readme.py` runs what the first page says of it."""
MOST_LINES = 90
"""A screen and a half, of sixty lines each."""
OF_USERS = ("signatures.py", "stitch.yaml", "trip.jsonl")
"""Files that pages speak of and that are a user's own."""
TRIP = [
    "Let's plan day 1. Which hotel do you propose?",
    "The Zephyr Mill. It costs $41.80 a night.",
    "Fine. Now day 2: which hotel is there?",
]


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path, *languages: str) -> list[str]:
    return [text for language, text in BLOCK.findall(page.read_text(encoding="utf-8")) if language in languages]


def commands(page: Path) -> list[str]:
    """The lines of a page's blocks that call `stitch`, without what stands behind them."""
    lines = [line.partition("  #")[0].strip() for text in blocks(page, "", "bash", "sh") for line in text.splitlines()]
    return [line for line in lines if re.match(r"(?:\S+=\S+ )?stitch ", line)]


def parse(arguments: list[str], *, of: click.Command = cli, parent: click.Context | None = None) -> None:
    """Read a call as the command does, and run nothing of it."""
    context = of.make_context(of.name or "stitch", list(arguments), parent=parent)
    if isinstance(of, click.Group):
        name, found, rest = of.resolve_command(context, [*context._protected_args, *context.args])
        assert found is not None, name
        parse(rest, of=found, parent=context)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_commands_on_a_page_are_commands_with_such_options(page: Path) -> None:
    for line in commands(page):
        words = [word for word in shlex.split(line.partition(" > ")[0].partition(" | ")[0]) if "=" not in word[:20]]
        try:
            parse(words[1:])
        except click.UsageError as error:
            if "No such file" in error.format_message():  # a file that the commands before it make
                continue
            pytest.fail(f"{line!r}: {error.format_message()}")


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_modules_and_targets_that_a_page_runs_are_there(page: Path) -> None:
    text = "\n".join(blocks(page, "", "bash", "sh"))
    targets = re.findall(r"^(\S+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert [name for name in re.findall(r"^make (\S+)", text, re.MULTILINE) if name not in targets] == []
    assert [name for name in re.findall(r"python -m (stitch[\w.]*)", text) if find_spec(name) is None] == []


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_files_that_a_page_names_are_there(page: Path) -> None:
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    places = (ROOT, page.parent, *(ROOT / room for room in ROOMS))
    missing = [
        name
        for name in FILE.findall(text)
        if name not in OF_USERS
        and "NAME" not in name
        and not any((place / name).exists() for place in places)
        and not list(page.parent.rglob(name))
    ]
    assert missing == []


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name == "README.md" and page.parts[len(ROOT.parts)] in ROOMS], ids=named
)
def test_the_page_of_a_room_fits_a_screen_and_a_half(page: Path) -> None:
    assert len(page.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


def test_every_room_has_a_page() -> None:
    rooms = {ROOT / room for room in ROOMS[1:]} | {path.parent for path in (ROOT / "stitch").glob("*/__init__.py")}
    assert sorted(str(room.relative_to(ROOT)) for room in rooms if not (room / "README.md").exists()) == []


def test_the_commands_of_the_first_page_run_in_their_order(in_empty_folder, stitch) -> None:
    lines = [json.dumps({"id": str(place), "role": "user", "content": text}) for place, text in enumerate(TRIP)]
    (in_empty_folder / "trip.jsonl").write_text("\n".join(lines))
    run = [line for line in commands(ROOT / "README.md") if not any(word in line for word in (*ELSEWHERE, SERVES))]
    assert len(run) >= 15
    for line in run:
        status, _, err = stitch(*shlex.split(line)[1:])
        assert (line, status) == (line, 0), err


def test_the_code_of_the_first_page_runs(in_empty_folder) -> None:
    first, *others = blocks(ROOT / "README.md", "python")
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(first, {})
    assert "$76.22" in out.getvalue()
    codes = []
    for text in others:
        imports, _, calls = text.partition("\n\n")
        here = [line for line in calls.splitlines() if not any(word in line for word in ELSEWHERE)]
        assert here
        codes.append("\n".join((imports, *here)))
    run = "import os, sys\nfor code in sys.argv[1:]:\n    os.mkdir('x'), os.chdir('x'), exec(code, {})"
    done = subprocess.run([sys.executable, "-c", run, *codes], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
