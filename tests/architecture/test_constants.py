"""Every number by which answers are weighed is told of, with where it was chosen, so that it can be fitted again."""

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from stitch.retrieve.themes.constants import CHOSEN_ON, ThemeConstants

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("retrieve", "label", "text", "themes", "embed", "trees/requests", "store/similarity.py", "ingest/records.py")
"""Where numbers decide what is found or how it is labeled. Elsewhere they are times, sizes and limits."""
TOLD = ROOT / "bench" / "EXPERIMENTS.md"
_ROW = re.compile(r"^\| `([\w./]+\.py)` \| `(\w+)` \| ([^|]+) \| [^|]+ \|$", re.MULTILINE)
_OF_TIME = re.compile(r"_S\b|_SECONDS|_LATEST|_EARLIEST")


def weights() -> Iterator[tuple[str, str, str]]:
    """Module, name and value of each constant that is, or holds, a number with a point."""
    for room in ROOMS:
        where = ROOT / "stitch" / room
        for file in sorted(where.rglob("*.py")) if where.is_dir() else [where]:
            for node in ast.parse(file.read_text(encoding="utf-8")).body:
                pairs: list[tuple[ast.expr, ast.expr]] = []
                if isinstance(node, ast.AnnAssign) and node.value is not None:
                    pairs = [(node.target, node.value)]
                elif isinstance(node, ast.Assign):
                    [target], value = node.targets, node.value
                    several = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
                    pairs = list(zip(target.elts, value.elts, strict=True)) if several else [(target, value)]  # type: ignore[attr-defined]
                for target, value in pairs:
                    name = ast.unparse(target)
                    if any(map(_weighs, ast.walk(value))) and not _OF_TIME.search(name):
                        shown = ast.unparse(value) if not isinstance(value, ast.Dict) else "fitted"
                        yield file.relative_to(ROOT / "stitch").as_posix(), name, shown


def _weighs(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, float) and node.value not in (0.0, 1.0)


def test_each_constant_outside_the_table_of_the_themes_is_told_with_its_value_and_where_it_was_chosen() -> None:
    told = {(row[1], row[2]): row[3].strip() for row in _ROW.finditer(TOLD.read_text("utf-8"))}
    assert told == {(module, name): value for module, name, value in weights()}


@pytest.mark.parametrize("field", fields(ThemeConstants), ids=lambda field: field.name)
def test_each_constant_of_the_themes_says_on_which_sets_it_was_chosen(field) -> None:
    assert field.metadata[CHOSEN_ON]
