"""Decides conditions: a score in [0, 1] for each of many nodes at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from math import prod
from typing import NamedTuple, Protocol

from stitch.retrieve.path.axes import Row
from stitch.retrieve.path.forest import DOCUMENT, Forest
from stitch.retrieve.path.operands import Operands, read_all, said_value
from stitch.retrieve.path.semantics import Scored
from stitch.retrieve.path.syntax import (
    Alike,
    Compare,
    Condition,
    Contains,
    Evidence,
    Field,
    Has,
    In,
    Joined,
    Not,
    Only,
    Path,
    Pipe,
    Said,
    Step,
    values_in,
)  # fmt: skip
from stitch.retrieve.path.trace import Trace
from stitch.trees.core.values import Order, Value, holds, read_value, straddles, within

Walk = Callable[..., list[Row]]
_Valued = tuple[tuple[int, float], tuple[str, float]]
"""A place with its score, and the kind and number to order it by."""


class Semantics(Protocol):
    """Whoever scores semantic conditions."""

    def scored(self, condition: Alike, places: Sequence[int], *, forest: Forest) -> Scored:
        """The score of the node at each place."""

    def apart(self, places: Sequence[int], *, forest: Forest) -> Callable[[int, int], float]:
        """The likeness of two of some nodes, from 0 to 1, by their numbers among them."""


class Verdicts(NamedTuple):
    """A score of each place, by which nodes are ranked, and the places at which the condition holds."""

    scores: Row
    holding: set[int]

    @classmethod
    def of(cls, scores: Row, *, least: float = 0.5) -> Verdicts:
        """A condition that holds from a score on."""
        return cls(scores, {place for place, score in scores.items() if score >= least and score > 0})


def costs_nothing(condition: Condition) -> bool:
    """Whether structure and types alone decide a condition."""
    return not any(isinstance(value, Alike) for value in values_in(condition))


class Judge:
    """Decides conditions on the nodes of one forest, in one run.

    Args:
        forest: What is asked.
        semantics: Scores semantic conditions.
        threshold: From which score on a semantic condition holds; None leaves it to the scorer.
        trace: Told of values that could not be compared.
    """

    def __init__(self, forest: Forest, *, semantics: Semantics, threshold: float | None, trace: Trace) -> None:
        self._forest, self._semantics, self._threshold, self._trace = forest, semantics, threshold, trace
        self._operands = Operands(forest, self, trace)
        self.walk: Walk = _unset
        """Follows steps; the run that owns this judge sets it."""

    def verdicts(self, condition: Condition, places: list[int]) -> Verdicts:
        """Decide a condition; what types alone decide has 0 or 1."""
        if not places:
            return Verdicts({}, set())
        if isinstance(condition, Alike):
            condition = self._meant(condition)
            self._trace.scored(str(condition), nodes=len(places))
            scored = self._semantics.scored(condition, places, forest=self._forest)
            return Verdicts.of(scored.scores, least=scored.cut if self._threshold is None else self._threshold)
        if isinstance(condition, Not):
            inner = self.verdicts(condition.condition, places)
            return Verdicts({place: 1.0 - score for place, score in inner.scores.items()}, set(places) - inner.holding)
        if isinstance(condition, Joined):
            return self._all_of(condition, places) if condition.how == "and" else self._joined(condition, places)
        if isinstance(condition, Evidence):
            return self.evidence(condition, places)
        if isinstance(condition, Compare | In) and (constants := _constants(condition)) is not None:
            return Verdicts.of(self._by_column(condition, *constants, places))
        return Verdicts.of(self._typed(condition, places))

    def _meant(self, condition: Alike) -> Alike:
        """`content` is `node` where no node has such a field: the paper's code knows it by both words."""
        if condition.target != Field(_CONTENT) or _CONTENT in self._forest.fields():
            return condition
        self._trace.note(f"no node has the field {_CONTENT!r}: it is read as `node`")
        return Alike("node", condition.words)

    def _all_of(self, condition: Joined, places: list[int]) -> Verdicts:
        row, holding = dict.fromkeys(places, 1.0), set(places)
        # what is false by its type costs no scoring
        for part in sorted(condition.parts, key=lambda part: not costs_nothing(part)):
            still = [place for place, score in row.items() if score > 0]
            verdicts = self.verdicts(part, still)
            row |= {place: min(row[place], score) for place, score in verdicts.scores.items()}
            holding &= verdicts.holding
        return Verdicts(row, holding)

    def _joined(self, condition: Joined, places: list[int]) -> Verdicts:
        parts = [self.verdicts(part, places) for part in condition.parts]
        together = _TOGETHER[condition.how]
        scores = {place: together([part.scores[place] for part in parts]) for place in places}
        if condition.how == "or":
            return Verdicts(scores, set().union(*(part.holding for part in parts)))
        return Verdicts.of(scores, least=0.5 if self._threshold is None else self._threshold)

    def evidence(self, evidence: Evidence, places: list[int]) -> Verdicts:
        """A score over the nodes of a path from each place.

        The last condition of the last step is what is aggregated; all before it says over which nodes. `some` holds if
        it holds of one of them, `every` of all, `avg` of half. Of nothing, `every` is 1 and the others are 0.
        """
        steps, asked = _asked(evidence.path.steps)
        rows = self.from_each(Path(evidence.path.start, steps), places)
        holding = {place for row in rows for place in row}
        if asked is not None:
            verdicts = self.verdicts(asked.condition, list(holding))
            rows = [{place: verdicts.scores[place] for place in row} for row in rows]
            holding = verdicts.holding
        empty = sum(not row for row in rows)
        if empty:
            what = f"{evidence.how}(..) of nothing is {1 if evidence.how == 'every' else 0}"
            self._trace.note(what, nodes=empty)
        found = list(zip(places, rows, strict=True))
        return Verdicts(
            {place: _aggregate(evidence.how, row) for place, row in found},
            {place for place, row in found if _holds_of(evidence.how, row, holding)},
        )

    def share(self, evidence: Evidence, places: list[int]) -> Row:
        """Evidence as a number: of `avg`, the share of nodes of which the condition holds; else the score."""
        steps, asked = _asked(evidence.path.steps)
        if evidence.how != "avg" or asked is None:
            return self.evidence(evidence, places).scores
        rows = self.from_each(Path(evidence.path.start, steps), places)
        holding = self.verdicts(asked.condition, list({place for row in rows for place in row})).holding
        return {
            place: len(holding & row.keys()) / len(row) if row else 0.0 for place, row in zip(places, rows, strict=True)
        }

    def from_each(self, path: Path, places: Sequence[int]) -> list[Row]:
        """The nodes of a path from each place; a path from the document is followed once."""
        if path.start == "document":
            [row] = self.walk(path.steps, [{DOCUMENT: 1.0}])
            return [row] * len(places)
        return self.walk(path.steps, [{place: 1.0} for place in places])

    def _typed(self, condition: Compare | In | Contains | Has, places: list[int]) -> Row:
        if isinstance(condition, Has):
            left = self._operands.values(condition.operand, places)
            return {place: float(bool(said)) for place, said in zip(places, left, strict=True)}
        left = self._operands.values(condition.left, places)
        if isinstance(condition, Contains):
            return {
                place: float(any(condition.text in value.text for value in said))
                for place, said in zip(places, left, strict=True)
            }
        sides = [condition.right] if isinstance(condition, Compare) else condition.right
        rights = [self._operands.values(side, places) for side in sides]
        row: Row = {}
        for number, place in enumerate(places):
            asked = [value for right in rights for value in right[number]]
            row[place] = float(any(self._decided(condition, value, asked) for value in left[number]))
        return row

    def _decided(self, condition: Compare | In, value: Value, asked: Iterable[Value]) -> bool:
        if isinstance(condition, In):
            return any(within(value, each) for each in asked)
        return any(holds(value, condition.order, each) for each in asked)

    def _by_column(self, condition: Compare | In, field: str, constants: list[Value], places: list[int]) -> Row:
        """Compare a field with what the query says: once for each text that the field has."""
        verdicts: dict[str | None, float] = {None: 0.0}
        row: Row = {}
        for tree, offset, positions in self._forest.by_tree(places):
            column = self._operands.column(tree, field)
            for position in positions:
                said = column.get(position)
                if said not in verdicts:
                    decided = (self._decided(condition, value, constants) for value in read_all(said or ""))
                    verdicts[said] = float(any(decided))
                row[position + offset] = verdicts[said]
        if isinstance(condition, Compare) and condition.order not in ("=", "!="):
            self._tell_of_values(field, verdicts, condition.order, constants[0])
        elif not any(verdicts.values()):
            self._tell_of_letters(field, verdicts, constants)
        return row

    def _tell_of_letters(self, field: str, verdicts: dict[str | None, float], asked: Sequence[Value]) -> None:
        """Texts are compared letter for letter: say which would be equal if capitals did not count."""
        wanted = {value.text.casefold() for value in asked if value.text}
        near = [said for said in verdicts if said is not None and said.casefold() in wanted]
        if near:
            self._trace.note(f"@{field} says it in other letters: {_some(near)}")

    def _tell_of_values(self, field: str, verdicts: dict[str | None, float], order: Order, asked: Value) -> None:
        odd = [said for said, verdict in verdicts.items() if not verdict and said is not None]
        values = [(said, read_value(said)) for said in odd]
        if partly := [said for said, value in values if straddles(value, order, asked)]:
            self._trace.note(f"@{field}: a part of it only: {_some(partly)}", nodes=1)
        words = [said for said, value in values if value.kind == "words"]
        if asked.kind == "words" and values and not words:
            self._trace.note(f"{asked.text!r} is no {values[0][1].kind}, as @{field} is")
        elif asked.kind != "words" and words:
            self._trace.note(f"@{field} is mixed, no {asked.kind}: {_some(words)}", nodes=1)

    def top(self, pipe: Pipe, found: list[tuple[int, float]]) -> list[tuple[int, float]]:
        """The first so many by a value, in the order of the value, with all that tie with the last of them."""
        places = [place for place, _ in found]
        assert pipe.by is not None
        said = self._operands.values(pipe.by, places)
        valued = [(pair, key) for pair, values in zip(found, said, strict=True) if (key := _key(values)) is not None]
        if left_out := len(found) - len(valued):
            words = sorted({value.text for values in said for value in values if value.kind == "words"})
            self._trace.note(f"no value to order by{': ' + _some(words) if words else ''}", nodes=left_out)
        valued = self._of_one_kind(valued)
        valued.sort(key=lambda pair: (pair[1][1] if pipe.ascending else -pair[1][1], -pair[0][1], pair[0][0]))
        kept = valued[: pipe.count]
        ties = [pair for pair in valued[pipe.count :] if pair[1][1] == kept[-1][1][1]]
        if ties:
            self._trace.note(f"{len(ties)} more tie with the last of {pipe.count} and are kept")
        return [pair for pair, _ in kept + ties]

    def _of_one_kind(self, valued: list[_Valued]) -> list[_Valued]:
        """Those whose values have the most common kind: a time and an amount have no order."""
        kinds = Counter(key[0] for _, key in valued)
        if len(kinds) < 2:
            return valued
        common = kinds.most_common(1)[0][0]
        self._trace.note(f"values of several kinds: ordered are those of kind {common}")
        return [pair for pair in valued if pair[1][0] == common]

    def diverse(self, found: list[tuple[int, float]], *, count: int) -> list[tuple[int, float]]:
        """So many that together cover what was found, each by its score."""
        if len(found) <= count:
            return found
        import numpy as np

        from stitch.retrieve.rank.coverage import choose_covering

        compared = range(min(len(found), _MOST_COMPARED))
        alike = self._semantics.apart([found[number][0] for number in compared], forest=self._forest)
        likeness = np.array([[alike(one, other) for other in compared] for one in compared], np.float32)
        covering = choose_covering([score for _, score in found], likeness, share=_COVERAGE_SHARE)
        return [found[number] for number in covering.order[:count]]


_CONTENT = "content"
_MOST_COMPARED = 200
"""Of so many nodes, the best ones, is looked at how alike they are."""
_COVERAGE_SHARE = 0.5


_TOGETHER: dict[str, Callable[[Collection[float]], float]] = {
    "or": max,
    "some": max,
    "every": min,
    "avg": lambda scores: sum(scores) / len(scores),
    "gmean": lambda scores: prod(scores) ** (1.0 / len(scores)),
    "*": prod,
}


def _unset(*arguments: object, **named: object) -> list[Row]:
    raise AssertionError("a judge is used by a run")


def _asked(steps: Sequence[Step]) -> tuple[tuple[Step, ...], Only | None]:
    """The steps without the condition that is aggregated, and that condition; None if the last bracket is none."""
    last = steps[-1]
    if last.brackets and isinstance(last.brackets[-1], Only):
        return (*steps[:-1], Step(last.axis, last.type, last.brackets[:-1])), last.brackets[-1]
    return tuple(steps), None


def _aggregate(how: str, row: Row) -> float:
    if not row:
        return 1.0 if how == "every" else 0.0
    return _TOGETHER[how](row.values())


def _holds_of(how: str, row: Row, holding: set[int]) -> bool:
    held = len(holding & row.keys())
    if how == "every":
        return held == len(row)
    if how == "some":
        return held > 0
    return bool(row) and (2 * held >= len(row) if how == "avg" else _aggregate(how, row) >= 0.5)


def _constants(condition: Compare | In) -> tuple[str, list[Value]] | None:
    """A field of the node and what the query itself says on the right; None if one of them has to be looked up."""
    sides = [condition.right] if isinstance(condition, Compare) else list(condition.right)
    said = [said_value(side.value) for side in sides if isinstance(side, Said)]
    if isinstance(condition.left, Field) and condition.left.path is None and len(said) == len(sides):
        return condition.left.name, said
    return None


def _key(values: Sequence[Value]) -> tuple[str, float] | None:
    """The key to order by: of a range its middle, of several values the first; None of words."""
    for value in values:
        if value.kind != "words":
            return ("amount" if value.kind in ("number", "money") else value.kind), (value.low + value.high) / 2
    return None


def _some(texts: Sequence[str]) -> str:
    shown = ", ".join(repr(text if len(text) <= 30 else text[:29] + "…") for text in texts[:4])
    return f"{shown} and {len(texts) - 4} more" if len(texts) > 4 else shown
