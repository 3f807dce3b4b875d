"""Values that are compared: columns of fields, what a query says, ends of ranges, totals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from stitch.retrieve.path.trace import Trace
from stitch.trees.core.nodes import Several, Tree
from stitch.trees.core.values import Value, read_value

Values = Sequence[Value]
ID = "id"


def column(tree: Tree, field: str) -> Mapping[int, str]:
    """The values of a field of a tree; `@id` is the id, unless a field has this name."""
    found = tree.column(field)
    if field == ID and not found:
        return {place: node.id for place, node in enumerate(tree.nodes)}
    return found


def mean(numbers: Sequence[float]) -> float:
    """Their mean."""
    return sum(numbers) / len(numbers)


_TOTALS: Mapping[str, Callable[[Sequence[float]], float]] = {"min": min, "max": max, "sum": sum, "avg": mean}


def total(how: str, values: Values, *, trace: Trace) -> Values:
    """A number over values of one kind; values of other kinds are left out and told."""
    kinds = Counter(value.kind for value in values if value.kind not in ("words", "boolean"))
    if left_out := len(values) - max(kinds.values(), default=0):
        trace.note(f"{how}(..): no number to add up", nodes=left_out)
    if not kinds:
        if not values:
            trace.note(f"{how}(..) finds no value: its path begins at the node, and root()//.. asks the whole tree")
        return [number_value(0)] if how == "sum" else []
    kind = kinds.most_common(1)[0][0]
    taken = [value for value in values if value.kind == kind]
    unit = taken[0].unit if len({value.unit for value in taken}) == 1 else ""
    together = _TOTALS[how]
    low, high = together([value.low for value in taken]), together([value.high for value in taken])
    return [Value(kind, low, high, unit, "")]


def read_all(said: str) -> Values:
    """The values of a field; of several values, each."""
    return [read_value(each) for each in said.values] if isinstance(said, Several) else [read_value(said)]


def ends(which: str, values: Values) -> Values:
    """The starts or the ends of ranges."""
    return [value.start if which == "start" else value.end for value in values if value.kind != "words"]


def number_value(number: float) -> Value:
    """A number as a value."""
    return Value("number", float(number), float(number), "", "")


def said_value(said: float | str | bool) -> Value:
    """A literal of the query as a value. A number in quotes that is compared by `=` is compared as it is written."""
    if isinstance(said, bool):
        return Value("boolean", float(said), float(said), "", str(said).lower())
    return read_value(said) if isinstance(said, str) else number_value(said)
