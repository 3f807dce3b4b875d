"""What the pages say works: commands are those of the command line, code runs, and every file named is there."""

import itertools
import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import click
import pytest

from stitch.cli.main import cli

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("stitch", "signatures", "pipelines", "bench", "configs")
PAGES = sorted(
    {path for path in ROOT.glob("*.md") if path.name != "CHANGELOG.md"}
    | {path for room in (*ROOMS, "docs", "tests") for path in (ROOT / room).rglob("*.md")}
)
BLOCK = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"`((?:[\w.-]+/)*[\w-]+\.(?:md|py|yaml|toml|csv))`")
LINK = re.compile(r"\[[^\]\n]+\]\(([^)\s]+)\)")
MOST_LINES = 90
"""A screen and a half, of sixty lines each."""
MOST_LINES_FOR_USERS = {"README.md": 150, "docs": 105}
"""What the pages for users may have, for outputs of commands stand on them."""
OF_USERS = ("signatures.py", "stitch.yaml", "trip.jsonl")
"""Files that pages speak of and that are a user's own."""


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path, *languages: str) -> list[str]:
    return [text for language, text in BLOCK.findall(page.read_text(encoding="utf-8")) if language in languages]


def commands(page: Path) -> list[str]:
    """The lines of a page's blocks that call `stitch`, without what stands behind them."""
    text = "\n".join(blocks(page, "", "bash", "sh", "console")).replace("\\\n", " ")
    lines = [line.partition("  #")[0].removeprefix("$ ").strip() for line in text.splitlines()]
    return [line for line in lines if re.match(r"(?:\S+=\S+ )?stitch ", line)]


def anchors(page: Path) -> set[str]:
    """The anchors of the headings of a page, as GitHub and MkDocs make them."""
    headings = re.findall(r"^#+ (.+)$", BLOCK.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def parse(arguments: list[str], *, of: click.Command = cli, parent: click.Context | None = None) -> None:
    """Read a call as the command does, and run nothing of it."""
    context = of.make_context(of.name or "stitch", list(arguments), parent=parent)
    left = [*context._protected_args, *context.args]
    if isinstance(of, click.Group) and left:
        name, found, rest = of.resolve_command(context, left)
        assert found is not None, name
        parse(rest, of=found, parent=context)


def test_commands_on_a_page_are_commands_with_such_options() -> None:
    for page, line in ((each, line) for each in PAGES for line in commands(each)):
        words = itertools.dropwhile(lambda word: word != "stitch", shlex.split(line))
        try:
            parse(list(itertools.takewhile(lambda word: word not in (">", "|"), words))[1:])
        except click.UsageError as error:
            if "No such file" in error.format_message():  # a file that the commands before it make
                continue
            pytest.fail(f"{named(page)}: {line!r}: {error.format_message()}")


def test_modules_and_targets_that_a_page_runs_are_there() -> None:
    targets = re.findall(r"^(\S+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for page in PAGES:
        text = "\n".join(blocks(page, "", "bash", "sh"))
        lost = [name for name in re.findall(r"^make (\S+)", text, re.MULTILINE) if name not in targets]
        lost += [name for name in re.findall(r"python -m (stitch[\w.]*)", text) if find_spec(name) is None]
        assert lost == [], named(page)


def test_files_that_a_page_names_are_there() -> None:
    for page in PAGES:
        places = (ROOT, page.parent, *(ROOT / room for room in ROOMS))
        missing = [
            name
            for name in FILE.findall(BLOCK.sub("", page.read_text(encoding="utf-8")))
            if name not in OF_USERS
            and "NAME" not in name
            and not any((place / name).exists() for place in places)
            and not list(page.parent.rglob(name))
        ]
        assert missing == [], named(page)


def test_links_of_a_page_lead_somewhere() -> None:
    lost = []
    for page in PAGES:
        for link in LINK.findall(BLOCK.sub("", page.read_text(encoding="utf-8"))):
            name, _, anchor = link.partition("#")
            target = page.parent / name if name else page
            if "://" not in link and not (target.exists() and (not anchor or anchor in anchors(target))):
                lost.append((named(page), link))
    assert lost == []


def test_pages_for_users_are_short_and_every_one_is_in_the_navigation() -> None:
    lengths = {
        named(page): len(page.read_text(encoding="utf-8").splitlines())
        for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))
    }
    assert {name: n for name, n in lengths.items() if n > MOST_LINES_FOR_USERS[name.partition("/")[0]]} == {}
    listed = re.findall(r"^ *- ([\w-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(f"docs/{name}" for name in listed) == sorted(lengths.keys() - {"README.md"})


def test_every_figure_of_the_first_page_stands_beside_its_command() -> None:
    section = (ROOT / "README.md").read_text(encoding="utf-8").split("## Does it help?")[1].split("\n## ")[0]
    there = (ROOT / "docs/benchmarks.md").read_text(encoding="utf-8")
    figures = re.findall(r"(?<!\d)\.\d{3}\b", section)
    assert len(figures) > 12
    assert [figure for figure in figures if figure not in there] == []


def test_the_page_of_a_room_fits_a_screen_and_a_half() -> None:
    pages = [page for page in PAGES if page.name == "README.md" and page.parts[len(ROOT.parts)] in ROOMS]
    assert [named(page) for page in pages if len(page.read_text(encoding="utf-8").splitlines()) > MOST_LINES] == []


def test_every_room_has_a_page() -> None:
    rooms = {ROOT / room for room in ROOMS[1:]} | {path.parent for path in (ROOT / "stitch").glob("*/__init__.py")}
    assert sorted(str(room.relative_to(ROOT)) for room in rooms if not (room / "README.md").exists()) == []
