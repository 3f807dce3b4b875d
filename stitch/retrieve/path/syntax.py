"""What a path query is: values, and the one canonical form in which they are written.

`parse_query(written(query)) == query` for every query, and two spellings of one meaning are one value: `max(P, Q)` is
`P or Q`, `1 - P` is `not(P)`, `agg_max(/POI)` is `some(/POI)`, `[last()]` is `[-1]`.
More than 400 lines because each kind of value is read beside how it is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Literal, TypeAlias

from stitch.trees.core.values import Order

Axis = Literal[
    "child", "//", "descendant", "descendant-or-self", "self", "parent", "ancestor", "ancestor-or-self",
    "following-sibling", "preceding-sibling",
]  # fmt: skip
"""`//` gives, as in XPath, the children of the node and of all below it: positions count within one parent."""
Aggregation = Literal["some", "every", "avg", "gmean"]
"""Of the scores of evidence: the best, the worst, their mean, their geometric mean."""
Numeric = Literal["sum", "avg", "min", "max"]
ANY = "*"
ANYTHING = "node()"
"""Any node and the document above the root: what `//` stands for before an axis that is spelled."""


@dataclass(frozen=True)
class At:
    """A position among the nodes of one type that a parent has, from 1; from the end, -1 the last."""

    place: int


@dataclass(frozen=True)
class Between:
    """Positions from one to another, both included; None is the end."""

    first: int | None
    last: int | None


@dataclass(frozen=True)
class Shift:
    """The sibling of any type so many places after a node, before it where negative; it keeps the node's score."""

    by: int


@dataclass(frozen=True)
class Only:
    """A bracket with a condition."""

    condition: Condition


Bracket: TypeAlias = "At | Between | Shift | Only"


@dataclass(frozen=True)
class Step:
    """An axis, a type or `*`, and brackets, which are evaluated from left to right."""

    axis: Axis
    type: str
    brackets: tuple[Bracket, ...] = ()


@dataclass(frozen=True)
class Picked:
    """What stands in parentheses: positions count all that it found, the best first."""

    query: Query
    brackets: tuple[Bracket, ...] = ()


@dataclass(frozen=True)
class Path:
    """Steps from somewhere: the document (whose only child is the root), the node at hand, or what was picked."""

    start: Literal["document", "here"] | Picked
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Union:
    """Nodes of any of several paths."""

    parts: tuple[NodeSet, ...]


@dataclass(frozen=True)
class Compared:
    """Nodes of the left path that are also (`intersect`) or are not (`except`) in the right one, by id."""

    left: NodeSet
    how: Literal["except", "intersect"]
    right: NodeSet


NodeSet: TypeAlias = "Path | Union | Compared"


@dataclass(frozen=True)
class Field:
    """A field of the node at hand."""

    name: str


@dataclass(frozen=True)
class FieldOf:
    """A field of all nodes of a path."""

    path: Path
    field: str


@dataclass(frozen=True)
class Said:
    """A number, a text or a truth, as the query says it."""

    value: float | str | bool

    def __eq__(self, other: object) -> bool:  # 1 == True, but they are not said alike
        return isinstance(other, Said) and type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(frozen=True)
class End:
    """An end of a range: of "7:30 - 8:30", `start` is 7:30."""

    which: Literal["start", "end"]
    of: Operand


@dataclass(frozen=True)
class Count:
    """How many nodes a path has."""

    path: Path


@dataclass(frozen=True)
class Total:
    """A number over the values of a field of all nodes of a path."""

    how: Numeric
    values: FieldOf


@dataclass(frozen=True)
class Evidence:
    """A score over the nodes of a path: see `evidence` in the room's README."""

    how: Aggregation
    path: Path


Operand: TypeAlias = "Field | FieldOf | Said | End | Count | Total | Evidence"


@dataclass(frozen=True)
class Alike:
    """A semantic condition: on the node with what it contains, on its own words, or on one of its fields."""

    target: Literal["node", "own"] | Field
    words: str


@dataclass(frozen=True)
class Compare:
    """A typed comparison; of several values on a side, one pair is enough."""

    left: Operand
    order: Order
    right: Operand


@dataclass(frozen=True)
class In:
    """Whether a value lies in a range, in a prefix of a date, or among several."""

    left: Operand
    right: tuple[Operand, ...]


@dataclass(frozen=True)
class Contains:
    """Whether a text stands in a value as it is written."""

    left: Operand
    text: str


@dataclass(frozen=True)
class Has:
    """Whether a field is there."""

    operand: Field | FieldOf | End


@dataclass(frozen=True)
class Not:
    """One minus a score."""

    condition: Condition


@dataclass(frozen=True)
class Joined:
    """Scores put together: `and` is the lowest, `or` the highest, `avg` and `gmean` are means, `*` the product."""

    how: Literal["and", "or", "avg", "gmean", "*"]
    parts: tuple[Condition, ...]


Condition: TypeAlias = "Alike | Compare | In | Contains | Has | Evidence | Not | Joined"


@dataclass(frozen=True)
class Top:
    """The first so many by a value, ties at the last place included."""

    count: int
    by: Operand
    ascending: bool


@dataclass(frozen=True)
class Diverse:
    """So many that say different things, the best first."""

    count: int


@dataclass(frozen=True)
class Limit:
    """The first so many."""

    count: int


Pipe: TypeAlias = "Top | Diverse | Limit"


@dataclass(frozen=True)
class Query:
    """A set of nodes, and what is done with it from left to right."""

    nodes: NodeSet
    pipes: tuple[Pipe, ...] = ()


_PLAIN_NAME = re.compile(r"[^\W\d]\w*(?:-\w+)*")
_SAID_OTHERWISE = frozenset(("not", "true", "false", "and", "or", "in", "node", "own"))


def written(query: Query) -> str:
    """The canonical form of a query."""
    return _set(query.nodes) + "".join(f" | {_pipe(pipe)}" for pipe in query.pipes)


def written_condition(condition: Condition) -> str:
    """The canonical form of a condition, without brackets."""
    return _condition(condition, inside="")


def written_step(step: Step) -> str:
    """The canonical form of a step, with the slashes before it."""
    if step.type == ANYTHING:
        return "/"
    return ("" if step.axis == "//" else "/") + _step(step)


def _name(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) and name not in _SAID_OTHERWISE else f"`{name}`"


def _text(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _set(nodes: NodeSet) -> str:
    if isinstance(nodes, Union):
        return " | ".join(_operand_set(part, of_union=True) for part in nodes.parts)
    if isinstance(nodes, Compared):
        return f"{_operand_set(nodes.left)} {nodes.how} {_operand_set(nodes.right, right=True)}"
    return _path(nodes)


def _operand_set(nodes: NodeSet, *, of_union: bool = False, right: bool = False) -> str:
    grouped = isinstance(nodes, Union) or (isinstance(nodes, Compared) and right and not of_union)
    return f"({_set(nodes)})" if grouped else _set(nodes)


def _path(path: Path, *, lead: str = "/") -> str:
    """A path; `lead` is what stands before a first child step that starts at the node at hand or in the document."""
    if isinstance(path.start, Picked):
        begun = f"({written(path.start.query)})" + "".join(map(_bracket, path.start.brackets))
        return begun + "".join(map(written_step, path.steps))
    if path == _ROOT:
        return "/"
    steps = "".join(map(written_step, path.steps))
    first = path.steps[0].axis
    if path.start == "document":
        return steps
    if first == "child":
        return lead + steps[1:]
    if first == "//" or path.steps[0].type == ANYTHING:
        return steps if lead == "/" else f".{steps}"
    return steps[1:]


def _step(step: Step) -> str:
    test = step.type if step.type == ANY else _name(step.type)
    if step.axis == "//":
        named = f"//{test}"
    elif step.axis == "child":
        named = test
    elif step.axis in ("parent", "self") and step.type == ANY:
        named = ".." if step.axis == "parent" else "."
    else:
        named = f"{step.axis}::{test}"
    return named + "".join(map(_bracket, step.brackets))


def _bracket(bracket: Bracket) -> str:
    if isinstance(bracket, At):
        return f"[{bracket.place}]"
    if isinstance(bracket, Between):
        return f"[{'' if bracket.first is None else bracket.first}:{'' if bracket.last is None else bracket.last}]"
    return f"[@{bracket.by:+d}]" if isinstance(bracket, Shift) else f"[{_condition(bracket.condition, inside='')}]"


def _evidence(path: Path) -> str:
    return f"root(){_path(path)}" if path.start == "document" else _path(path)


def _operand(operand: Operand) -> str:
    if isinstance(operand, Field):
        return f"@{_name(operand.name)}"
    if isinstance(operand, FieldOf):
        return f"{_path(operand.path, lead='')}/@{_name(operand.field)}"
    if isinstance(operand, Said):
        return _said(operand.value)
    if isinstance(operand, End):
        return f"{operand.which}({_operand(operand.of)})"
    if isinstance(operand, Total):
        return f"{operand.how}({_evidence(operand.values.path)}/@{_name(operand.values.field)})"
    return f"{'count' if isinstance(operand, Count) else operand.how}({_evidence(operand.path)})"


def _said(value: float | str | bool) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(int(value)) if value == int(value) else format(value, "f").rstrip("0")


_ROOT = Path("document", (Step("self", ANY),))
_LOOSE = ("or", "and", "*")


def _condition(condition: Condition, *, inside: str) -> str:
    """A condition; `inside` is the operator around it, for which it may need parentheses."""
    if isinstance(condition, Joined):
        return _joined(condition, inside)
    if isinstance(condition, Alike):
        return f"{_target(condition.target)} ~= {_text(condition.words)}"
    if isinstance(condition, Compare):
        return f"{_operand(condition.left)} {condition.order} {_operand(condition.right)}"
    if isinstance(condition, In):
        several = ", ".join(map(_operand, condition.right))
        return f"{_operand(condition.left)} in {several if len(condition.right) == 1 else f'({several})'}"
    if isinstance(condition, Contains):
        return f"contains({_operand(condition.left)}, {_text(condition.text)})"
    if isinstance(condition, Not):
        return f"not({_condition(condition.condition, inside='')})"
    return _operand(condition.operand if isinstance(condition, Has) else condition)


def _target(target: Literal["node", "own"] | Field) -> str:
    if not isinstance(target, Field):
        return target
    named = _name(target.name)
    return f"@{named}" if named.startswith("`") else named


def _joined(condition: Joined, inside: str) -> str:
    if condition.how in ("avg", "gmean"):
        return f"{condition.how}({', '.join(_condition(part, inside='') for part in condition.parts)})"
    said = f" {condition.how} ".join(_condition(part, inside=condition.how) for part in condition.parts)
    return f"({said})" if inside and _LOOSE.index(condition.how) <= _LOOSE.index(inside) else said


def _pipe(pipe: Pipe) -> str:
    if isinstance(pipe, Top):
        return f"top {pipe.count} by {_operand(pipe.by)}{' asc' if pipe.ascending else ''}"
    return f"{'diverse' if isinstance(pipe, Diverse) else 'limit'} {pipe.count}"


def fields_in(value: object) -> Iterator[str]:
    """All fields that a query names, those inside of conditions included."""
    if isinstance(value, Field):
        yield value.name
    elif isinstance(value, FieldOf):
        yield value.field
    for part in value if isinstance(value, tuple) else ():
        yield from fields_in(part)
    for inner in fields(value) if is_dataclass(value) else ():
        yield from fields_in(getattr(value, inner.name))


def types_in(value: object) -> Iterator[str]:
    """All types that a query names, those inside of conditions included."""
    if isinstance(value, Step):
        yield value.type
    if isinstance(value, tuple):
        for part in value:
            yield from types_in(part)
    elif is_dataclass(value):
        for field in fields(value):
            yield from types_in(getattr(value, field.name))
