"""Follows steps and decides conditions: for many nodes at once, a score in [0, 1] of each.

Brackets between which no position stands may be decided in any order: those that cost nothing go first, and semantic
conditions are scored in one batch over the nodes that are left.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from heapq import nsmallest
from itertools import groupby
from math import prod
from typing import NamedTuple

from stitch.core.cancellation import check_canceled
from stitch.retrieve.path.forest import DOCUMENT, Forest, Row, best_of
from stitch.retrieve.path.operands import Values, column, ends, mean, number_value, read_all, said_value, total
from stitch.retrieve.path.semantics import ScorerSemantics
from stitch.retrieve.path.syntax import (
    Alike,
    Between,
    Bracket,
    Compare,
    Condition,
    Constant,
    End,
    Field,
    Has,
    Joined,
    Not,
    Only,
    Operand,
    Over,
    Path,
    Shift,
    Step,
    values_in,
)
from stitch.retrieve.path.trace import SHORT_KEPT, Short, Trace
from stitch.trees.core.values import Value, holds, read_value, straddles, within


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
    """Decides conditions on the nodes of one forest, in one run."""

    def __init__(self, forest: Forest, *, semantics: ScorerSemantics, threshold: float | None, trace: Trace) -> None:
        self.forest, self.trace = forest, trace
        self.semantics, self._threshold = semantics, threshold
        self.considered = 0
        """The number of nodes that the last step reached before its conditions."""
        self._from_root: dict[tuple[Path, str], list[Value]] = {}

    def verdicts(self, condition: Condition, places: list[int]) -> Verdicts:
        """Decide a condition; what types alone decide has 0 or 1."""
        if not places:
            return Verdicts({}, set())
        if isinstance(condition, Alike):
            condition = self._meant(condition)
            self.trace.scored(str(condition), nodes=len(places))
            scored = self.semantics.scored(condition, places, forest=self.forest)
            return Verdicts.of(scored.scores, least=scored.cut if self._threshold is None else self._threshold)
        if isinstance(condition, Not):
            inner = self.verdicts(condition.condition, places)
            return Verdicts({place: 1.0 - score for place, score in inner.scores.items()}, set(places) - inner.holding)
        if isinstance(condition, Joined):
            return self._all_of(condition, places) if condition.how == "and" else self._joined(condition, places)
        if isinstance(condition, Over):
            return self._evidence(condition, places)
        return Verdicts.of(self._typed(condition, places))

    def _typed(self, condition: Has | Compare, places: list[int]) -> Row:
        if isinstance(condition, Has):
            said = self.values(condition.operand, places)
            return {place: float(bool(values)) for place, values in zip(places, said, strict=True)}
        if condition.how != "contains" and isinstance(condition.left, Field) and condition.left.path is None:
            constants = [said_value(side.value) for side in condition.right if isinstance(side, Constant)]
            if len(constants) == len(condition.right):
                return self._by_column(condition, condition.left.name, constants, places)
        left = self.values(condition.left, places)
        rights = [self.values(side, places) for side in condition.right]
        row: Row = {}
        for number, place in enumerate(places):
            asked = [value for right in rights for value in right[number]]
            row[place] = float(_decided(condition.how, left[number], asked))
        return row

    def _meant(self, condition: Alike) -> Alike:
        """`content` is `node` where no node has such a field: the paper's code knows it by both words."""
        if condition.target != Field(_CONTENT) or _CONTENT in self.forest.fields():
            return condition
        self.trace.note(f"no node has the field {_CONTENT!r}: it is read as `node`")
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

    def _evidence(self, evidence: Over, places: list[int]) -> Verdicts:
        """A score over the nodes of a path from each place.

        The last condition of the last step is what is aggregated; all before it says over which nodes. `some` holds if
        it holds of one of them, `every` of all, `avg` of half. Of nothing, `every` is 1 and the others are 0.
        """
        rows, holding = self._asked_from_each(evidence, places)
        if empty := sum(not row for row in rows):
            what = f"{evidence.how}(..) of nothing is {1 if evidence.how == 'every' else 0}"
            self.trace.note(what, nodes=empty)
        found = list(zip(places, rows, strict=True))
        return Verdicts(
            {place: _aggregate(evidence.how, row) for place, row in found},
            {place for place, row in found if _holds_of(evidence.how, row, holding)},
        )

    def share(self, evidence: Over, places: list[int]) -> Row:
        """Evidence as a number: of `avg`, the share of nodes of which the condition holds; else the score."""
        if evidence.how != "avg" or _asked(evidence.path.steps)[1] is None:
            return self._evidence(evidence, places).scores
        rows, holding = self._asked_from_each(evidence, places)
        return {
            place: len(holding & row.keys()) / len(row) if row else 0.0 for place, row in zip(places, rows, strict=True)
        }

    def _asked_from_each(self, evidence: Over, places: list[int]) -> tuple[list[Row], set[int]]:
        """The nodes of evidence from each place with their scores, and at which of them its condition holds."""
        steps, asked = _asked(evidence.path.steps)
        rows = self.from_each(Path(evidence.path.start, steps), places)
        holding = {place for row in rows for place in row}
        if asked is None:
            return rows, holding
        verdicts = self.verdicts(asked.condition, list(holding))
        return [{place: verdicts.scores[place] for place in row} for row in rows], verdicts.holding

    def _by_column(self, condition: Compare, field: str, constants: list[Value], places: list[int]) -> Row:
        """Compare a field with what the query says: once for each text that the field has."""
        verdicts: dict[str | None, float] = {None: 0.0}
        row: Row = {}
        for tree, offset, positions in self.forest.by_tree(places):
            said_at = column(tree, field)
            for position in positions:
                said = said_at.get(position)
                if said not in verdicts:
                    verdicts[said] = float(_decided(condition.how, read_all(said or ""), constants))
                row[position + offset] = verdicts[said]
        if condition.how not in ("=", "!=", "in"):
            self._tell_of_values(field, verdicts, condition.how, constants[0])
        elif not any(verdicts.values()):
            # texts are compared letter for letter: say which would be equal if capitals did not count
            wanted = {value.text.casefold() for value in constants if value.text}
            if near := [said for said in verdicts if said is not None and said.casefold() in wanted]:
                self.trace.note(f"@{field} says it in other letters: {some_of(near)}")
        return row

    def _tell_of_values(self, field: str, verdicts: dict[str | None, float], order: str, asked: Value) -> None:
        odd = [said for said, verdict in verdicts.items() if not verdict and said is not None]
        values = [(said, read_value(said)) for said in odd]
        if partly := [said for said, value in values if straddles(value, order, asked)]:  # type: ignore[arg-type]
            self.trace.note(f"@{field}: a part of it only: {some_of(partly)}")
        words = [said for said, value in values if value.kind == "words"]
        if asked.kind == "words" and values and not words:
            self.trace.note(f"{asked.text!r} is no {values[0][1].kind}, as @{field} is")
        elif asked.kind != "words" and words:
            self.trace.note(f"@{field} is mixed, no {asked.kind}: {some_of(words)}")

    # Where steps lead.

    def walk(self, steps: Sequence[Step], rows: list[Row], *, told: bool = False) -> list[Row]:
        """Follow steps from several rows at once; each stays by itself."""
        for step in steps:
            check_canceled()
            grouped = any(not isinstance(bracket, Only) for bracket in step.brackets)
            owners = [self.forest.along(step, row, grouped=grouped) if row else [] for row in rows]
            if told:
                self.considered = _size(owners)
                self.trace.stage(str(Step(step.axis, step.type)), given=sum(map(len, rows)), left=self.considered)
            for bracket in _in_order_of_cost(step.brackets):
                owners = self.bracketed(owners, bracket, told=told)
            rows = [best_of(groups) for groups in owners]
        return rows

    def bracketed(self, owners: list[list[Row]], bracket: Bracket, *, told: bool) -> list[list[Row]]:
        """Apply a bracket to the groups of nodes of each owner."""
        if isinstance(bracket, Only):
            return self._filtered(owners, bracket, told=told)
        kept = [
            [_at(group, bracket) if isinstance(bracket, Between) else self._shifted(group, bracket) for group in groups]
            for groups in owners
        ]
        if told:
            self.trace.stage(str(bracket), given=_size(owners), left=_size(kept))
        return kept

    def _shifted(self, group: Row, bracket: Shift) -> Row:
        moved: Row = {}
        for place, score in group.items():
            beside = self.forest.siblings(place, by=bracket.by)
            if abs(bracket.by) <= len(beside):
                there = beside[abs(bracket.by) - 1]
                moved[there] = max(score, moved.get(there, 0.0))
        return moved

    def _filtered(self, owners: list[list[Row]], bracket: Only, *, told: bool) -> list[list[Row]]:
        check_canceled()
        groups = [group for groups in owners for group in groups]
        places = list(groups[0] if len(groups) == 1 else {place: 0 for group in groups for place in group})
        scores, holding = self.verdicts(bracket.condition, places)
        if told:
            missed = () if costs_nothing(bracket.condition) else self._short(scores, holding)
            self.trace.stage(str(bracket), given=len(scores), left=len(holding), short=missed)
        return [
            [{place: score * scores[place] for place, score in group.items() if place in holding} for group in groups]
            for groups in owners
        ]

    def _short(self, scores: Row, passed: Collection[int]) -> tuple[Short, ...]:
        missed = nsmallest(SHORT_KEPT, [(-score, place) for place, score in scores.items() if place not in passed])
        return tuple(Short(self.forest.node(place).id, self.forest.path(place), -score) for score, place in missed)

    # Operands.

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
        if isinstance(operand, Constant):
            return [[said_value(operand.value)]] * len(places)
        if isinstance(operand, End):
            return [ends(operand.which, values) for values in self.values(operand.of, places)]
        if operand.is_evidence:
            scores = self.share(operand, list(places))
            return [[number_value(scores[place])] for place in places]
        if operand.field is None:
            return [[number_value(len(row))] for row in self.from_each(operand.path, places)]
        found = self._field_of(operand.path, operand.field, places, each=True)
        return [total(operand.how, values, trace=self.trace) for values in found]

    def _field(self, field: str, places: Sequence[int]) -> list[Values]:
        found: dict[int, Values] = {}
        for tree, offset, positions in self.forest.by_tree(place for place in places if place != DOCUMENT):
            said_at = column(tree, field)
            for position in positions:
                said = said_at.get(position)
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


_CONTENT = "content"
_TOGETHER: dict[str, Callable[[Sequence[float]], float]] = {
    "or": max,
    "some": max,
    "every": min,
    "avg": mean,
    "gmean": lambda scores: prod(scores) ** (1.0 / len(scores)),
    "*": prod,
}


def _decided(how: str, values: Values, asked: Values) -> bool:
    """Whether a comparison holds of one of several values and one of those that are asked."""
    if how == "contains":
        return any(each.text in value.text for value in values for each in asked)
    if how == "in":
        return any(within(value, each) for value in values for each in asked)
    return any(holds(value, how, each) for value in values for each in asked)  # type: ignore[arg-type]


def _asked(steps: Sequence[Step]) -> tuple[tuple[Step, ...], Only | None]:
    """The steps without the condition that is aggregated, and that condition; None if the last bracket is none."""
    last = steps[-1]
    if last.brackets and isinstance(last.brackets[-1], Only):
        return (*steps[:-1], Step(last.axis, last.type, last.brackets[:-1])), last.brackets[-1]
    return tuple(steps), None


def _aggregate(how: str, row: Row) -> float:
    if not row:
        return 1.0 if how == "every" else 0.0
    return _TOGETHER[how](list(row.values()))


def _holds_of(how: str, row: Row, holding: set[int]) -> bool:
    held = len(holding & row.keys())
    if how == "every":
        return held == len(row)
    if how == "some":
        return held > 0
    return bool(row) and (2 * held >= len(row) if how == "avg" else _aggregate(how, row) >= 0.5)


def some_of(texts: Sequence[str]) -> str:
    """A few of several texts, as a note shows them."""
    shown = ", ".join(repr(text if len(text) <= 30 else text[:29] + "…") for text in texts[:4])
    return f"{shown} and {len(texts) - 4} more" if len(texts) > 4 else shown


def _size(owners: list[list[Row]]) -> int:
    return sum(len(group) for groups in owners for group in groups)


def _at(group: Row, bracket: Between) -> Row:
    """The nodes at positions of one group, in its order; negative positions count from its end."""
    pairs = list(group.items())
    first = 1 if bracket.first is None else bracket.first
    last = -1 if bracket.last is None else bracket.last
    start = first - 1 if first > 0 else max(0, len(pairs) + first)
    end = last if last > 0 else len(pairs) + last + 1
    return dict(pairs[start : max(end, 0)])


def _in_order_of_cost(brackets: Sequence[Bracket]) -> list[Bracket]:
    """Brackets as written, but between two positions those that cost nothing first."""
    ordered: list[Bracket] = []
    for _, group in groupby(brackets, key=lambda bracket: isinstance(bracket, Only)):
        ordered += sorted(group, key=lambda bracket: isinstance(bracket, Only) and not costs_nothing(bracket.condition))
    return ordered
