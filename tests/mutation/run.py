"""Mutation testing: how many small mistakes in a room its own tests find.

    python tests/mutation/run.py --room retrieve --count 40
    python tests/mutation/run.py                      # all rooms, 400 mutants each: hours

A mutant is the code with one small mistake. It is killed if a test fails or does not end. It survives if all tests
pass that run the changed line; which these are is found once, by a run of the room's tests with coverage. The same seed
draws the same mutants from the same code. Figures go to standard output as JSON, with each survivor; progress goes to
standard error.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

from coverage import CoverageData

ROOT = Path(__file__).resolve().parents[2]
INNER = ("signatures", "pipelines", "bench", "configs")
"""Root folders that are installed as subpackages of `stitch`."""
ROOMS = {
    "retrieve": ("tests/retrieve",),
    "ingest": ("tests/ingest",),
    "journal": ("tests/journal", "tests/ingest"),
    "store": ("tests/store",),
    "lifecycle": ("tests/lifecycle", "tests/ingest"),
}
"""The tests of each room; those that are not there are left out."""
SEED = 12
LEAST_S, TIMES_S = 20.0, 5.0
"""A mutant does not end if its tests take longer than both: this long, and this often as long as without it."""

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip


class Mutant(NamedTuple):
    """A file with one small mistake."""

    file: str
    line: int
    kind: str
    before: str
    after: str
    source: str


class Outcome(NamedTuple):
    """What the tests said of a mutant: `killed`, `timeout`, `survived` or `not run`."""

    mutant: Mutant
    said: str


def mutants(room: str) -> list[Mutant]:
    """All mutants of a room, in the order of files and lines."""
    found = []
    for path in sorted((ROOT / "stitch" / room).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for node, kind, changed in _changes(ast.parse(text)):
            before = ast.get_source_segment(text, node)
            if before is None:
                continue
            source = _replaced(text, node, ast.unparse(changed))
            try:
                ast.parse(source)
            except SyntaxError:  # a piece of an f-string, whose quotes another piece has
                continue
            name = str(path.relative_to(ROOT))
            found.append(Mutant(name, _line(node), kind, before, ast.unparse(changed), source))
    return found


def _changes(tree: ast.Module) -> Iterator[tuple[ast.AST, str, ast.AST]]:
    """Each node that can be changed, what kind of mistake it is, and the changed node."""
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if field in ("annotation", "returns", "decorator_list", "type_params", "bases"):
                continue
            for node in value if isinstance(value, list) else [value]:
                if isinstance(node, ast.expr | ast.stmt):
                    yield from ((node, kind, changed) for kind, changed in _mistakes(node))


def _mistakes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    changed: Any = deepcopy(node)
    match node:
        case ast.Compare(ops=[op]) if type(op) in COMPARISONS:
            changed.ops = [COMPARISONS[type(op)]()]
            yield "comparison", changed
        case ast.Constant(value=bool() as value):
            yield "constant", ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield "constant", ast.Constant(value + 1 if isinstance(value, int) or not value else value * 2)
        case ast.BoolOp():
            changed.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield "boolean", changed
        case ast.UnaryOp(op=ast.Not()):
            yield "boolean", changed.operand
        case ast.BinOp() if type(node.op) in ARITHMETIC and not _is_text(node):
            changed.op = ARITHMETIC[type(node.op)]()
            yield "arithmetic", changed
        case ast.AugAssign() | ast.Raise() | ast.Continue() | ast.Break() | ast.Expr(value=ast.Call()):
            yield "removed statement", ast.Pass()
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield "returned None", ast.Return(ast.Constant(None))
        case ast.Call(func=ast.Name(id="min" | "max")):
            return  # the order of what is compared says nothing
        case ast.Call(args=[ast.expr(), ast.expr(), *_]) if not any(isinstance(a, ast.Starred) for a in node.args):
            changed.args[:2] = reversed(changed.args[:2])
            yield "swapped arguments", changed


def _is_text(node: ast.BinOp) -> bool:
    """Whether this is `"..." % x`, or a union of types, and no arithmetic."""
    sides = (node.left, node.right)
    return any(isinstance(side, ast.JoinedStr | ast.Constant) and not _is_number(side) for side in sides)


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _line(node: ast.AST) -> int:
    return int(getattr(node, "lineno"))  # noqa: B009  # nodes that are changed are expressions and statements


def _replaced(text: str, node: Any, new: str) -> str:
    """The text with the place of a node taken by something else; columns of nodes count bytes."""
    lines = text.encode().splitlines(keepends=True)
    start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, lines[: node.end_lineno - 1])) + node.end_col_offset
    whole = new if isinstance(node, ast.stmt) else f"({new})"
    raw = b"".join(lines)
    return (raw[:start] + whole.encode() + raw[end:]).decode()


class Checkout:
    """A copy of the code and its tests, in which one mutant at a time is tried."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        skip = shutil.ignore_patterns("__pycache__", "*.memory")
        shutil.copytree(ROOT / "stitch", folder / "stitch", ignore=skip)
        for name in INNER:
            shutil.copytree(ROOT / name, folder / "stitch" / name, ignore=skip)
            (folder / name).symlink_to(folder / "stitch" / name)
        shutil.copytree(ROOT / "tests", folder / "tests", ignore=skip)
        for name in ("pyproject.toml", "Makefile", "README.md"):
            shutil.copy(ROOT / name, folder)

    def pytest(self, arguments: Sequence[str], *, timeout_s: float | None = None) -> int | None:
        """The exit status of the tests; None if they did not end in time."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("STITCH_")}
        environment |= {"PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"}
        call = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *arguments]
        process = subprocess.Popen(
            call, cwd=self.folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        try:
            return process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()
            return None

    def covering(self, tests: Sequence[str]) -> dict[str, dict[int, list[str]]]:
        """By file and line, which tests run it.

        Raises:
            SystemExit: The tests fail without any mistake.
        """
        data = self.folder / ".coverage"
        settings = self.folder / "coverage.ini"
        settings.write_text(f"[run]\nbranch = false\ndata_file = {data}\n")
        given = [
            "--cov=stitch",
            "--cov-context=test",
            f"--cov-config={settings}",
            "--cov-report=",
            "--cov-fail-under=0",
        ]
        if self.pytest([*tests, *given]) != 0:
            raise SystemExit(f"the tests fail without any mutant: {' '.join(tests)}")
        read = CoverageData(str(data))
        read.read()
        found: dict[str, dict[int, list[str]]] = {}
        for name in read.measured_files():
            if not name.startswith(str(self.folder)):
                continue
            lines = read.contexts_by_lineno(name)
            found[str(Path(name).relative_to(self.folder))] = {
                line: sorted({context.partition("|")[0] for context in contexts} - {""})
                for line, contexts in lines.items()
            }
        return found

    def try_out(self, mutant: Mutant, tests: Sequence[str]) -> str:
        """What the tests say of a mutant."""
        path = self.folder / mutant.file
        good = path.read_text(encoding="utf-8")
        path.write_text(mutant.source, encoding="utf-8")
        try:
            status = self.pytest(tests, timeout_s=LEAST_S + TIMES_S * len(tests))
        finally:
            path.write_text(good, encoding="utf-8")
        return {0: "survived", None: "timeout"}.get(status, "killed")


def measure(room: str, *, count: int, workers: int) -> dict[str, Any]:
    """The figures of a room: what became of some of its mutants, drawn by the seed."""
    drawn = mutants(room)
    random.Random(SEED).shuffle(drawn)
    tests = [name for name in ROOMS[room] if (ROOT / name).exists()]
    with tempfile.TemporaryDirectory(prefix="stitch-mutants-") as folder:
        checkouts: SimpleQueue[Checkout] = SimpleQueue()
        first = Checkout(Path(folder) / "0")
        covering = first.covering(tests)
        checkouts.put(first)
        for number in range(1, workers):
            checkouts.put(Checkout(Path(folder) / str(number)))

        def try_out(mutant: Mutant) -> Outcome:
            by = covering.get(mutant.file, {}).get(mutant.line, [])
            if not by:  # what runs when the module is loaded is run by every test of the room
                by = tests if mutant.line in covering.get(mutant.file, {}) else []
            if not by:
                return Outcome(mutant, "not run")
            checkout = checkouts.get()
            try:
                said = checkout.try_out(mutant, by)
            finally:
                checkouts.put(checkout)
            print(f"{room} {mutant.file}:{mutant.line} {mutant.kind}: {said}", file=sys.stderr, flush=True)
            return Outcome(mutant, said)

        with ThreadPoolExecutor(workers) as pool:
            outcomes = list(pool.map(try_out, drawn[:count]))
    said = Counter(outcome.said for outcome in outcomes)
    killed = said["killed"] + said["timeout"]
    left = [outcome for outcome in outcomes if outcome.said in ("survived", "not run")]
    return {
        "room": room,
        "possible": len(drawn),
        "tried": len(outcomes),
        "killed": killed,
        "share": round(killed / max(1, len(outcomes)), 3),
        "said": dict(sorted(said.items())),
        "survivors": [
            {
                **{name: getattr(mutant, name) for name in ("file", "line", "kind", "before", "after")},
                "said": what,
            }
            for mutant, what in left
        ],
    }  # fmt: skip


def main() -> None:
    """Measure the rooms that are named, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--room", action="append", choices=list(ROOMS), help="only this room; may be repeated")
    parser.add_argument("--count", type=int, default=400, help="how many mutants of a room")
    parser.add_argument("--workers", type=int, default=2, help="how many are tried side by side")
    given = parser.parse_args()
    figures = [measure(room, count=given.count, workers=given.workers) for room in given.room or ROOMS]
    json.dump({"seed": SEED, "rooms": figures}, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
