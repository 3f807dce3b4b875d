"""Path queries as values; `str` of each is its one canonical form, which is read as the same value again.

Two spellings of one meaning are one value: `max(P, Q)` is `P or Q`, `1 - P` is `not(P)`, `agg_max(/POI)` is
`some(/POI)`, `[last()]` is `[-1]`.
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
ANY = "*"
ANYTHING = "node()"
"""Any node and the document above the root: the meaning of `//` before an axis that is spelled."""
_PLAIN_NAME = re.compile(r"[^\W\d]\w*(?:-\w+)*")
_SAID_OTHERWISE = frozenset(("not", "true", "false", "and", "or", "in", "node", "own"))
_LOOSE = ("or", "and", "*")


@dataclass(frozen=True)
class Between:
    """Positions from one to another among the nodes of one type that a parent has, from 1, both included.

    Negative ones count from the end, -1 is the last; None is the end.
    """

    first: int | None
    last: int | None

    def __str__(self) -> str:
        first, last = ("" if place is None else str(place) for place in (self.first, self.last))
        return f"[{first}]" if first and first == last else f"[{first}:{last}]"


@dataclass(frozen=True)
class Shift:
    """The sibling of any type so many places after a node, before it where negative; it keeps the node's score."""

    by: int

    def __str__(self) -> str:
        return f"[@{self.by:+d}]"


@dataclass(frozen=True)
class Only:
    """A bracket with a condition."""

    condition: Condition

    def __str__(self) -> str:
        return f"[{self.condition}]"


Bracket: TypeAlias = "Between | Shift | Only"


@dataclass(frozen=True)
class Step:
    """An axis, a type or `*`, and brackets, which are evaluated from left to right."""

    axis: Axis
    type: str
    brackets: tuple[Bracket, ...] = ()

    def __str__(self) -> str:
        """With the slashes before it."""
        if self.type == ANYTHING:
            return "/"
        test = self.type if self.type == ANY else _name(self.type)
        if self.axis in ("//", "child"):
            named = test
        elif self.axis in ("parent", "self") and self.type == ANY:
            named = ".." if self.axis == "parent" else "."
        else:
            named = f"{self.axis}::{test}"
        return f"{'//' if self.axis == '//' else '/'}{named}" + "".join(map(str, self.brackets))


@dataclass(frozen=True)
class Picked:
    """A query in parentheses: positions count all that it found, the best first."""

    query: Query
    brackets: tuple[Bracket, ...] = ()


@dataclass(frozen=True)
class Path:
    """Steps from somewhere: the document (whose only child is the root), the node at hand, or a picked query."""

    start: Literal["document", "here"] | Picked
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        return self.written("/")

    def written(self, lead: str) -> str:
        """The path; `lead` is what stands before a first child step that starts at the node at hand."""
        steps = "".join(map(str, self.steps))
        if isinstance(self.start, Picked):
            return f"({self.start.query})" + "".join(map(str, self.start.brackets)) + steps
        if self.start == "document":
            return "/" if self.steps == (Step("self", ANY),) else steps
        first = self.steps[0]
        if first.axis == "child":
            return lead + steps[1:]
        if first.axis == "//" or first.type == ANYTHING:
            return steps if lead else f".{steps}"
        return steps[1:]


@dataclass(frozen=True)
class Sets:
    """Nodes of any of several paths (`|`), or of the first that are (`intersect`) or not (`except`) in the other."""

    how: Literal["|", "except", "intersect"]
    parts: tuple[NodeSet, ...]

    def __str__(self) -> str:
        first, *others = self.parts
        hows = ("|",) if self.how == "|" else ("|", "except", "intersect")
        return f" {self.how} ".join([_grouped(first, "|"), *(_grouped(other, *hows) for other in others)])


NodeSet: TypeAlias = "Path | Sets"


@dataclass(frozen=True)
class Field:
    """A field of the node at hand, or of all nodes of a path from there."""

    name: str
    path: Path | None = None

    def __str__(self) -> str:
        return ("" if self.path is None else f"{self.path.written('')}/") + f"@{_name(self.name)}"


@dataclass(frozen=True)
class Constant:
    """A number, a text or a truth, as the query says it."""

    value: float | str | bool

    def __eq__(self, other: object) -> bool:  # 1 == True, but they are not said alike
        return isinstance(other, Constant) and type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))

    def __str__(self) -> str:
        if isinstance(self.value, str):
            return _text(self.value)
        if isinstance(self.value, bool):
            return "true" if self.value else "false"
        return str(int(self.value)) if self.value == int(self.value) else format(self.value, "f").rstrip("0")


@dataclass(frozen=True)
class End:
    """An end of a range: of "7:30 - 8:30", `start` is 7:30."""

    which: Literal["start", "end"]
    of: Operand

    def __str__(self) -> str:
        return f"{self.which}({self.of})"


@dataclass(frozen=True)
class Over:
    """A number over the nodes of a path: how many, a total of the values of their field, or a score of evidence.

    Of the scores of evidence `some` is the best, `every` the worst, `avg` their mean, `gmean` their geometric mean.
    """

    how: Literal["count", "sum", "avg", "min", "max", "some", "every", "gmean"]
    path: Path
    field: str | None = None

    def __str__(self) -> str:
        path = f"root(){self.path}" if self.path.start == "document" else str(self.path)
        return f"{self.how}({path}{'' if self.field is None else f'/@{_name(self.field)}'})"

    @property
    def is_evidence(self) -> bool:
        """Whether it is a score."""
        return self.field is None and self.how != "count"


Operand: TypeAlias = "Field | Constant | End | Over"


@dataclass(frozen=True)
class Alike:
    """A semantic condition: on the node with what it contains, on its own words, or on one of its fields."""

    target: Literal["node", "own"] | Field
    words: str

    def __str__(self) -> str:
        target = str(self.target)
        return f"{target if '`' in target else target.removeprefix('@')} ~= {_text(self.words)}"


@dataclass(frozen=True)
class Compare:
    """A typed comparison: `in` a range, a prefix of a date or among several; `contains` a text as it is written.

    Of several values on a side, one pair is enough.
    """

    left: Operand
    how: Order | Literal["in", "contains"]
    right: tuple[Operand, ...]

    def __str__(self) -> str:
        right = ", ".join(map(str, self.right))
        if self.how == "contains":
            return f"contains({self.left}, {right})"
        return f"{self.left} {self.how} {right if len(self.right) == 1 else f'({right})'}"


@dataclass(frozen=True)
class Has:
    """A condition that a field is there."""

    operand: Field | End

    def __str__(self) -> str:
        return str(self.operand)


@dataclass(frozen=True)
class Not:
    """One minus a score."""

    condition: Condition

    def __str__(self) -> str:
        return f"not({self.condition})"


@dataclass(frozen=True)
class Joined:
    """Scores put together: `and` is the lowest, `or` the highest, `avg` and `gmean` are means, `*` the product."""

    how: Literal["and", "or", "avg", "gmean", "*"]
    parts: tuple[Condition, ...]

    def __str__(self) -> str:
        if self.how in ("avg", "gmean"):
            return f"{self.how}({', '.join(map(str, self.parts))})"
        return f" {self.how} ".join(f"({part})" if self._binds_tighter(part) else str(part) for part in self.parts)

    def _binds_tighter(self, part: Condition) -> bool:
        return isinstance(part, Joined) and part.how in _LOOSE and _LOOSE.index(part.how) <= _LOOSE.index(self.how)


Condition: TypeAlias = "Alike | Compare | Has | Over | Not | Joined"


@dataclass(frozen=True)
class Pipe:
    """The first so many (`limit`), those that say different things (`diverse`), or the first by a value (`top`)."""

    how: Literal["top", "diverse", "limit"]
    count: int
    by: Operand | None = None
    ascending: bool = False

    def __str__(self) -> str:
        by = "" if self.by is None else f" by {self.by}"
        return f"{self.how} {self.count}{by}{' asc' if self.ascending else ''}"


@dataclass(frozen=True)
class Query:
    """A set of nodes, and what is done with it from left to right."""

    nodes: NodeSet
    pipes: tuple[Pipe, ...] = ()

    def __str__(self) -> str:
        return " | ".join(map(str, (self.nodes, *self.pipes)))


def _name(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) and name not in _SAID_OTHERWISE else f"`{name}`"


def _text(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _grouped(nodes: NodeSet, *hows: str) -> str:
    return f"({nodes})" if isinstance(nodes, Sets) and nodes.how in hows else str(nodes)


def values_in(value: object) -> Iterator[object]:
    """A value of a query with all values in it."""
    yield value
    parts = value if isinstance(value, tuple) else ()
    if is_dataclass(value):
        parts = tuple(getattr(value, field.name) for field in fields(value))
    for part in parts:
        yield from values_in(part)


def fields_in(query: object) -> Iterator[str]:
    """All fields that a query names, those inside of conditions included."""
    for value in values_in(query):
        if isinstance(value, Field):
            yield value.name
        elif isinstance(value, Over) and value.field is not None:
            yield value.field


def types_in(query: object) -> Iterator[str]:
    """All types that a query names, those inside of conditions included."""
    return (value.type for value in values_in(query) if isinstance(value, Step))
