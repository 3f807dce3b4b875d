"""No module imports itself round a circle, at any depth: imports inside functions and for types count."""

import ast
from collections.abc import Callable, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("stitch", "signatures", "pipelines", "bench", "configs")


def modules() -> dict[str, Path]:
    """Every module by its installed name."""
    found = {}
    for folder in FOLDERS:
        for file in (ROOT / folder).rglob("*.py"):
            parts = file.relative_to(ROOT).with_suffix("").parts
            parts = parts if folder == "stitch" else ("stitch", *parts)
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


class Imports(ast.NodeVisitor):
    """Collects what a module imports: (module, name) pairs."""

    def __init__(self) -> None:
        self.found: list[tuple[str, str]] = []

    def generic_visit(self, node: ast.AST) -> None:
        """Nothing is imported inside an expression, which most nodes are part of."""
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.expr):
                self.visit(child)

    def visit_Import(self, node: ast.Import) -> None:
        self.found += [(alias.name, "") for alias in node.names]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        assert node.level == 0, "imports are absolute"
        self.found += [(node.module or "", alias.name) for alias in node.names]


def imports_of(name: str, tree: ast.Module, known: Mapping[str, object]) -> set[str]:
    visitor = Imports()
    visitor.visit(tree)
    wanted = {f"{module}.{member}" if f"{module}.{member}" in known else module for module, member in visitor.found}
    return wanted & known.keys() - {name}


def circle_in(graph: Mapping[str, set[str]]) -> list[str] | None:
    """Modules that import each other in a circle, one of them; None if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as found:
        return list(found.args[1])
    return None


@pytest.fixture(scope="module")
def graph(parsed: Callable[[Path], ast.Module]) -> dict[str, set[str]]:
    known = modules()
    return {name: imports_of(name, parsed(file), known) for name, file in known.items()}


def test_no_modules_import_each_other_in_a_circle(graph):
    assert circle_in(graph) is None


def test_no_rooms_import_each_other_in_a_circle(graph):
    def room(name: str) -> str:
        parts = name.split(".")
        return ".".join(parts[: 3 if parts[1:2] == ["trees"] else 2])  # `trees` is two rooms, on two floors

    rooms: dict[str, set[str]] = {room(name): set() for name in graph}
    for name, wanted in graph.items():
        rooms[room(name)] |= {room(other) for other in wanted} - {room(name)}
    assert circle_in(rooms) is None
