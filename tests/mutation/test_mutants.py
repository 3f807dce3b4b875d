"""Mutants are the same each time, differ from the code in one place, and are code."""

from __future__ import annotations

import ast
import importlib.util
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
KINDS = {
    "arithmetic", "boolean", "comparison", "constant", "removed statement", "returned None", "swapped arguments",
}  # fmt: skip


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("stitch_mutants", Path(__file__).with_name("mistakes.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize("room", ["retrieve", "ingest", "store", "lifecycle"])
def test_there_are_enough_mutants_in_a_room(script: ModuleType, room: str) -> None:
    assert len(script.mutants(ROOT, room=room)) >= 400


@pytest.fixture(scope="module")
def one_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout with one room of one file."""
    root = tmp_path_factory.mktemp("checkout")
    (root / "stitch" / "room").mkdir(parents=True)
    shutil.copy(ROOT / "stitch" / "lifecycle" / "backup.py", root / "stitch" / "room")
    return root


def test_mutants_are_of_every_kind_and_the_same_each_time(script: ModuleType, one_file: Path) -> None:
    found = script.mutants(one_file, room="room")
    assert {mutant.kind for mutant in found} == KINDS
    assert found == script.mutants(one_file, room="room")


def test_a_mutant_is_code_that_differs_in_the_line_that_is_named(script: ModuleType, one_file: Path) -> None:
    for mutant in script.mutants(one_file, room="room")[::5]:
        good = (one_file / mutant.file).read_text(encoding="utf-8")
        assert ast.dump(ast.parse(mutant.source)) != ast.dump(ast.parse(good))
        lines = mutant.line - 1
        assert mutant.source.splitlines()[:lines] == good.splitlines()[:lines]
        assert mutant.source.splitlines()[lines] != good.splitlines()[lines]


@pytest.mark.parametrize(
    ("code", "after"),
    [
        ("a < b", "a <= b"),
        ("a and b", "a or b"),
        ("not a", "a"),
        ("a + b", "a - b"),
        ("3", "4"),
        ("True", "False"),
        ("f(a, b)", "f(b, a)"),
    ],
)
def test_each_mistake_is_what_its_name_says(script: ModuleType, code: str, after: str) -> None:
    made = [ast.unparse(changed) for _, changed in script._mistakes(ast.parse(code, mode="eval").body)]
    assert made == [after]


def test_types_logs_windows_and_assertions_of_length_are_no_behavior(script: ModuleType, tmp_path: Path) -> None:
    folder = tmp_path / "stitch" / "room"
    folder.mkdir(parents=True)
    (folder / "code.py").write_text(
        "if TYPE_CHECKING:\n    limit = 1\n"
        "if sys.platform == 'win32':\n    limit = 2\nelse:\n    limit = 3\n"
        "@dataclass(frozen=True)\nclass A:\n    x: Literal[4] = 5\n"
        "    y: float = _chosen(0.5, set='one')\n    z = ConfigDict(frozen=True)\n"
        "def f(a, b):\n    _log.info('%d', 6 + a)\n    b = g(a, a)\n    return zip(a, b, strict=True)\n"
    )
    made = [(mutant.before, mutant.after) for mutant in script.mutants(tmp_path, room="room")]
    assert made == [
        ("3", "4"),
        ("5", "6"),
        ("_log.info('%d', 6 + a)", "pass"),
        ("return zip(a, b, strict=True)", "return None"),
        ("zip(a, b, strict=True)", "zip(b, a, strict=True)"),
    ]


def test_a_mutant_knows_its_statement_and_the_outermost_function(script: ModuleType, tmp_path: Path) -> None:
    folder = tmp_path / "stitch" / "room"
    folder.mkdir(parents=True)
    (folder / "code.py").write_text("LIMIT = 1\n\n@once\ndef f(a=2):\n    def g():\n        return (\n            3)\n")
    places = {mutant.before: mutant.place for mutant in script.mutants(tmp_path, room="room")}
    assert (places["1"].function, places["2"].function, places["1"].lines) == (None, None, (1,))
    assert (places["3"].function, places["3"].span, places["3"].lines) == (("f", 3), (5, 7), (6, 7))
