"""The values of operands: fields, fields of other nodes, ends of ranges, counts and totals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Protocol

from stitch.retrieve.path.axes import Row
from stitch.retrieve.path.forest import DOCUMENT, Forest
from stitch.retrieve.path.syntax import End, Evidence, Field, Operand, Path, Said
from stitch.retrieve.path.trace import Trace
from stitch.trees.core.nodes import Several, Tree
from stitch.trees.core.values import Value, read_value

Values = Sequence[Value]
ID = "id"


class Follows(Protocol):
    """Whoever follows the paths inside of operands."""

    def from_each(self, path: Path, places: Sequence[int]) -> list[Row]:
        """The nodes of a path from each place."""

    def share(self, evidence: Evidence, places: list[int]) -> Row:
        """Evidence as a number, from each place."""


class Operands:
    """Reads operands on the nodes of one forest.

    Args:
        forest: What is asked.
        judge: Follows the paths inside of operands.
        trace: Told of values that cannot be added up.
    """

    def __init__(self, forest: Forest, judge: Follows, trace: Trace) -> None:
        self._forest, self._judge, self._trace = forest, judge, trace
        self._from_root: dict[tuple[Path, str], list[Value]] = {}

    def values(self, operand: Operand, places: Sequence[int]) -> list[Values]:
        """The values of an operand at each place; none where a field is not there."""
        if isinstance(operand, Field):
            if operand.path is None:
                return self._field(operand.name, places)
            return self._field_of(operand.path, operand.name, places)
        if isinstance(operand, Said):
            return [[said_value(operand.value)]] * len(places)
        if isinstance(operand, End):
            return [_ends(operand.which, values) for values in self.values(operand.of, places)]
        if isinstance(operand, Evidence):
            scores = self._judge.share(operand, list(places))
            return [[_number(scores[place])] for place in places]
        if operand.field is None:
            return [[_number(len(row))] for row in self._judge.from_each(operand.path, places)]
        found = self._field_of(operand.path, operand.field, places, each=True)
        return [self._total(operand.how, values) for values in found]

    def column(self, tree: Tree, field: str) -> Mapping[int, str]:
        """The values of a field of a tree; `@id` is the id, unless a field has this name."""
        column = tree.column(field)
        if field == ID and not column:
            return {place: node.id for place, node in enumerate(tree.nodes)}
        return column

    def _field(self, field: str, places: Sequence[int]) -> list[Values]:
        found: dict[int, Values] = {}
        for tree, offset, positions in self._forest.by_tree(place for place in places if place != DOCUMENT):
            column = self.column(tree, field)
            for position in positions:
                said = column.get(position)
                found[position + offset] = () if said is None else read_all(said)
        return [found.get(place, ()) for place in places]

    def _field_of(self, path: Path, field: str, places: Sequence[int], *, each: bool = False) -> list[Values]:
        if path.start == "document":
            if (path, field) not in self._from_root:
                [row] = self._judge.from_each(path, [DOCUMENT])
                self._from_root[path, field] = self._of_row(field, row, each=each)
            return [self._from_root[path, field]] * len(places)
        return [self._of_row(field, row, each=each) for row in self._judge.from_each(path, places)]

    def _of_row(self, field: str, row: Row, *, each: bool) -> list[Value]:
        """The values of all nodes of a row; equal ones once, unless each counts."""
        values = [value for said in self._field(field, list(row)) for value in said]
        return values if each else list(dict.fromkeys(values))

    def _total(self, how: str, values: Values) -> Values:
        """A number over values of one kind; values of other kinds are left out and told."""
        kinds = Counter(value.kind for value in values if value.kind not in ("words", "boolean"))
        if left_out := len(values) - max(kinds.values(), default=0):
            self._trace.note(f"{how}(..): no number to add up", nodes=left_out)
        if not kinds:
            return self._total_of_nothing(how, values)
        kind = kinds.most_common(1)[0][0]
        taken = [value for value in values if value.kind == kind]
        unit = taken[0].unit if len({value.unit for value in taken}) == 1 else ""
        lows, highs = [value.low for value in taken], [value.high for value in taken]
        if how in ("min", "max"):
            best = min if how == "min" else max
            low, high = best(lows), best(highs)
        else:
            share = 1 if how == "sum" else len(taken)
            low, high = sum(lows) / share, sum(highs) / share
        return [Value(kind, low, high, unit, "")]

    def _total_of_nothing(self, how: str, values: Values) -> Values:
        if not values:
            self._trace.note(
                f"{how}(..) finds no value: its path begins at the node, and root()//.. asks the whole tree"
            )
        return [_number(0)] if how == "sum" else []


def read_all(said: str) -> Values:
    """The values of a field; of several values, each."""
    return [read_value(each) for each in said.values] if isinstance(said, Several) else [read_value(said)]


def _ends(which: str, values: Values) -> Values:
    return [value.start if which == "start" else value.end for value in values if value.kind != "words"]


def _number(number: float) -> Value:
    return Value("number", float(number), float(number), "", "")


def said_value(said: float | str | bool) -> Value:
    """A literal of the query as a value. A number in quotes that is compared by `=` is compared as it is written."""
    if isinstance(said, bool):
        return Value("boolean", float(said), float(said), "", str(said).lower())
    if isinstance(said, str):
        return read_value(said)
    return Value("number", float(said), float(said), "", "")
