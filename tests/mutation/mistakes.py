"""Mutants: a room's code with one small mistake each."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from copy import copy
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
TYPES = ("annotation", "returns", "decorator_list", "type_params", "bases")
"""Types are no behavior; decorators here say how a class is laid out, or how much is remembered."""


class Place(NamedTuple):
    """Where a node stands: the lines of its statement, and the outermost function around it by name and first line."""

    lines: tuple[int, ...] = ()
    function: tuple[str, int] | None = None
    span: tuple[int, int] = (0, 0)
    """The first and the last line of the function's body."""
    in_text: bool = False
    """Within an f-string."""


class Mutant(NamedTuple):
    """A file with one small mistake."""

    file: str
    line: int
    kind: str
    before: str
    after: str
    source: str
    place: Place


def mutants(root: Path, *, room: str) -> list[Mutant]:
    """All mutants of a room of the checkout at `root`, in the order of files."""
    return [
        mutant
        for path in sorted((root / "stitch" / room).rglob("*.py"))
        for mutant in _mutants(path.read_bytes(), file=str(path.relative_to(root)))
    ]


def _mutants(text: bytes, *, file: str) -> Iterator[Mutant]:
    begins = [0, *accumulate(map(len, text.splitlines(keepends=True)))]
    for found, place in _nodes(ast.parse(text), Place()):
        node: Any = found
        start, end = begins[node.lineno - 1] + node.col_offset, begins[node.end_lineno - 1] + node.end_col_offset
        for kind, changed in _mistakes(node):
            after = ast.unparse(changed)
            new = after if isinstance(node, ast.stmt) else f"({after})"
            source = (text[:start] + new.encode() + text[end:]).decode()
            if place.in_text and not _is_code(source):  # its quotes are those of the text
                continue
            yield Mutant(file, node.lineno, kind, text[start:end].decode(), after, source, place)


def _nodes(parent: ast.AST, place: Place) -> Iterator[tuple[ast.AST, Place]]:
    """Each expression and statement in which a mistake could be noticed, and where it stands."""
    for field, value in ast.iter_fields(parent):
        if field in TYPES or field in _never_noticed(parent):
            continue
        inner = place._replace(in_text=place.in_text or isinstance(parent, ast.JoinedStr))
        if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef) and field == "body" and place.function is None:
            first = min(_line(node) for node in [parent, *parent.decorator_list])
            inner = Place((), (parent.name, first), (_line(parent.body[0]), parent.end_lineno or 0))
        for node in value if isinstance(value, list) else [value]:
            if isinstance(node, ast.stmt):
                body = getattr(node, "body", None)
                end = _line(body[0]) - 1 if body else node.end_lineno or 0
                here = inner._replace(lines=tuple(range(node.lineno, max(node.lineno, end) + 1)))
                yield node, here
                yield from _nodes(node, here)
            elif isinstance(node, ast.AST):
                if isinstance(node, ast.expr):
                    yield node, inner
                yield from _nodes(node, inner)


def _never_noticed(parent: ast.AST) -> Sequence[str]:
    """The fields of a node in which a mistake changes nothing that a test on this machine could see."""
    match parent:
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return ("test", "body")
        case ast.If(test=ast.Compare(left=ast.Attribute(attr="platform"), ops=[op])):  # Windows
            return ("test", "body" if isinstance(op, ast.Eq) else "orelse")
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="_log")))):  # what a log says
            return ("value",)
        case ast.keyword(
            arg="strict" | "frozen"
        ):  # of `zip`: an assertion that both are as long; how a class is laid out
            return ("value",)
        case ast.Call(func=ast.Name(id="chosen" | "_chosen")):  # a number that a bench chose: another is no mistake
            return ("args",)
    return ()


def _mistakes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    changed: Any = copy(node)
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
            yield "boolean", node.operand
        case ast.BinOp() if type(node.op) in ARITHMETIC and not _is_text(node):
            changed.op = ARITHMETIC[type(node.op)]()
            yield "arithmetic", changed
        case ast.AugAssign() | ast.Raise() | ast.Continue() | ast.Break() | ast.Expr(value=ast.Call()):
            yield "removed statement", ast.Pass()
        case ast.Return(value=ast.Constant(value=False | None)):
            return  # whoever asks whether it is true sees no difference; `True` in its place is tried
        case ast.Return(value=ast.expr()):
            yield "returned None", ast.Return(ast.Constant(None))
        case ast.Call(func=ast.Name(id="min" | "max" | "suppress") | ast.Attribute(attr="minimum" | "maximum")):
            return  # the order of what is compared or suppressed says nothing
        case ast.Call(args=[ast.expr() as one, ast.expr() as other, *_]):
            if ast.dump(one) == ast.dump(other) or any(isinstance(each, ast.Starred) for each in node.args):
                return
            changed.args = [node.args[1], node.args[0], *node.args[2:]]
            yield "swapped arguments", changed


def _is_text(node: ast.BinOp) -> bool:
    """Whether this is `"..." % x`, or a union of types, and no arithmetic."""
    sides = (node.left, node.right)
    return any(isinstance(side, ast.JoinedStr | ast.Constant) and not _is_number(side) for side in sides)


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _line(node: ast.AST) -> int:
    return int(getattr(node, "lineno"))  # noqa: B009  # nodes that are changed are expressions and statements


def _is_code(source: str) -> bool:
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True
