"""The values of operands: fields, fields of other nodes, ends of ranges, counts and totals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from stitch.retrieve.path.forest import DOCUMENT, Forest, Row
from stitch.retrieve.path.syntax import End, Field, Operand, Over, Path, Said, Step
from stitch.retrieve.path.trace import Trace
from stitch.trees.core.nodes import Several, Tree
from stitch.trees.core.values import Value, read_value

Values = Sequence[Value]
ID = "id"


class Operands(ABC):
    """Reads operands on the nodes of one forest."""

    def __init__(self, forest: Forest, *, trace: Trace) -> None:
        self.forest, self.trace = forest, trace
        self._from_root: dict[tuple[Path, str], list[Value]] = {}

    @abstractmethod
    def walk(self, steps: Sequence[Step], rows: list[Row]) -> list[Row]:
        """The nodes to which steps lead: of each row one."""

    @abstractmethod
    def share(self, evidence: Over, places: list[int]) -> Row:
        """Evidence as a number, from each place."""

    def from_each(self, path: Path, places: Sequence[int]) -> list[Row]:
        """The nodes of a path from each place; a path from the document is followed once."""
        if path.start == "document":
            [row] = self.walk(path.steps, [{DOCUMENT: 1.0}])
            return [row] * len(places)
        return self.walk(path.steps, [{place: 1.0} for place in places])

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
        if operand.is_evidence:
            scores = self.share(operand, list(places))
            return [[_number(scores[place])] for place in places]
        if operand.field is None:
            return [[_number(len(row))] for row in self.from_each(operand.path, places)]
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
        for tree, offset, positions in self.forest.by_tree(place for place in places if place != DOCUMENT):
            column = self.column(tree, field)
            for position in positions:
                said = column.get(position)
                found[position + offset] = () if said is None else read_all(said)
        return [found.get(place, ()) for place in places]

    def _field_of(self, path: Path, field: str, places: Sequence[int], *, each: bool = False) -> list[Values]:
        if path.start == "document":
            if (path, field) not in self._from_root:
                [row] = self.from_each(path, [DOCUMENT])
                self._from_root[path, field] = self._of_row(field, row, each=each)
            return [self._from_root[path, field]] * len(places)
        return [self._of_row(field, row, each=each) for row in self.from_each(path, places)]

    def _of_row(self, field: str, row: Row, *, each: bool) -> list[Value]:
        """The values of all nodes of a row; equal ones once, unless each counts."""
        values = [value for said in self._field(field, list(row)) for value in said]
        return values if each else list(dict.fromkeys(values))

    def _total(self, how: str, values: Values) -> Values:
        """A number over values of one kind; values of other kinds are left out and told."""
        kinds = Counter(value.kind for value in values if value.kind not in ("words", "boolean"))
        if left_out := len(values) - max(kinds.values(), default=0):
            self.trace.note(f"{how}(..): no number to add up", nodes=left_out)
        if not kinds:
            if not values:
                self.trace.note(
                    f"{how}(..) finds no value: its path begins at the node, and root()//.. asks the whole tree"
                )
            return [_number(0)] if how == "sum" else []
        kind = kinds.most_common(1)[0][0]
        taken = [value for value in values if value.kind == kind]
        unit = taken[0].unit if len({value.unit for value in taken}) == 1 else ""
        together = _TOTALS[how]
        low, high = together([value.low for value in taken]), together([value.high for value in taken])
        return [Value(kind, low, high, unit, "")]


def mean(numbers: Sequence[float]) -> float:
    """Their mean."""
    return sum(numbers) / len(numbers)


_TOTALS: Mapping[str, Callable[[Sequence[float]], float]] = {"min": min, "max": max, "sum": sum, "avg": mean}


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
    return read_value(said) if isinstance(said, str) else _number(said)
