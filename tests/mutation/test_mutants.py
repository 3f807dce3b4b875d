"""Mutants are the same each time, differ from the code in one place, and are code."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

KINDS = {
    "arithmetic", "boolean", "comparison", "constant", "removed statement", "returned None", "swapped arguments",
}  # fmt: skip


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("stitch_mutants", Path(__file__).with_name("run.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_there_are_enough_mutants_of_every_kind_and_the_same_each_time(script: ModuleType) -> None:
    for room in ("retrieve", "ingest", "store", "lifecycle"):
        found = script.mutants(room)
        assert len(found) >= 400
        assert {mutant.kind for mutant in found} == KINDS
        assert found == script.mutants(room)


def test_a_mutant_is_code_that_differs_in_the_line_that_is_named(script: ModuleType) -> None:
    for mutant in script.mutants("journal")[::10]:
        good = (script.ROOT / mutant.file).read_text(encoding="utf-8")
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
