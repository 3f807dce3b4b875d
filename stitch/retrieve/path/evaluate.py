"""Runs a path query: steps and brackets from left to right, for all nodes at once.

Brackets between which no position stands may be decided in any order: those that cost nothing go first, and semantic
conditions are scored in one batch over the nodes that are left.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import reduce
from heapq import nsmallest
from itertools import groupby

from stitch.core.cancellation import check_canceled
from stitch.errors import InputError
from stitch.retrieve.path.axes import Row, along
from stitch.retrieve.path.conditions import Judge, costs_nothing
from stitch.retrieve.path.forest import DOCUMENT, Forest
from stitch.retrieve.path.syntax import Between, Bracket, NodeSet, Only, Path, Query, Shift, Step
from stitch.retrieve.path.trace import SHORT_KEPT, Short, Trace


@dataclass(frozen=True)
class Cut:
    """The cut of results.

    Args:
        threshold: From which score on a semantic condition holds; .5 is "as likely as not". None leaves it to the
            scorer, which takes what promises the best balance of what is found and what is right.
        margin: How far below the best a node may be; None for any.
        k: How many nodes are given; None for all.

    Raises:
        InputError: One of them is out of its bounds.
    """

    threshold: float | None = None
    margin: float | None = None
    k: int | None = None

    def __post_init__(self) -> None:
        for name, value in (("threshold", self.threshold), ("margin", self.margin)):
            if value is not None and not 0 <= value <= 1:
                raise InputError(f"{name} is {value}, and not from 0 to 1", hint="scores are from 0 to 1")
        if self.k is not None and self.k < 1:
            raise InputError(f"k is {self.k}", hint="at least one node is asked for; leave k out for all")


class Run:
    """One query on one forest.

    Args:
        forest: What is asked.
        judge: Decides conditions.
        cut: What is enough.
        trace: Told of each step.
    """

    def __init__(self, forest: Forest, *, judge: Judge, cut: Cut, trace: Trace) -> None:
        self._forest, self._judge, self._cut, self._trace = forest, judge, cut, trace
        self.considered = 0
        judge.walk = self._walk

    def nodes(self, query: Query) -> list[tuple[int, float]]:
        """The places that a query finds, with their scores: the best first, equals in document order."""
        found = self._of(query)
        if self._cut.margin is not None and found:
            least = max(score for _, score in found) - self._cut.margin
            found = self._kept(
                found, [pair for pair in found if pair[1] >= least], f"within {self._cut.margin} of the best"
            )
        if self._cut.k is not None:
            found = self._kept(found, found[: self._cut.k], f"first {self._cut.k}")
        return found

    def _kept(
        self, given: list[tuple[int, float]], left: list[tuple[int, float]], what: str
    ) -> list[tuple[int, float]]:
        self._trace.stage(what, given=len(given), left=len(left))
        return left

    def _of(self, query: Query) -> list[tuple[int, float]]:
        found = _ranked(self._set(query.nodes))
        for pipe in query.pipes:
            if pipe.how == "top":
                kept = self._judge.top(pipe, found)
            elif pipe.how == "diverse":
                kept = self._judge.diverse(found, count=pipe.count)
            else:
                kept = found[: pipe.count]
            found = self._kept(found, kept, f"| {pipe.how} {pipe.count}")
        return found

    def _set(self, nodes: NodeSet) -> Row:
        if isinstance(nodes, Path):
            return self._path(nodes)
        if nodes.how == "|":
            return reduce(_best, map(self._set, nodes.parts))
        left, right = map(self._set, nodes.parts)
        ids = {self._forest.node(place).id for place in right}
        wanted = nodes.how == "intersect"
        kept = {place: score for place, score in left.items() if (self._forest.node(place).id in ids) is wanted}
        self._trace.stage(nodes.how, given=len(left), left=len(kept))
        return kept

    def _path(self, path: Path) -> Row:
        if isinstance(path.start, str):
            row: Row = {DOCUMENT: 1.0}
        else:
            found = self._of(path.start.query)
            group: Row = dict(found)
            for bracket in path.start.brackets:
                group = self._bracketed([[group]], bracket, told=True)[0][0]
            row = group
        [row] = self._walk(path.steps, [row], told=True)
        return row

    def _walk(self, steps: Sequence[Step], rows: list[Row], told: bool = False) -> list[Row]:
        """Follow steps from several rows at once; each stays by itself.

        Args:
            steps: The steps.
            rows: Where each begins.
            told: Whether the trace is told of each step.

        Returns:
            One row for each that was given.
        """
        for step in steps:
            check_canceled()
            grouped = any(not isinstance(bracket, Only) for bracket in step.brackets)
            owners = [along(step, row, forest=self._forest, grouped=grouped) if row else [] for row in rows]
            if told:
                reached = sum(len(group) for groups in owners for group in groups)
                self.considered = reached
                self._trace.stage(str(Step(step.axis, step.type)), given=sum(map(len, rows)), left=reached)
            for bracket in _in_order_of_cost(step.brackets):
                owners = self._bracketed(owners, bracket, told=told)
            rows = [reduce(_best, groups, {}) for groups in owners]
        return rows

    def _bracketed(self, owners: list[list[Row]], bracket: Bracket, *, told: bool) -> list[list[Row]]:
        if isinstance(bracket, Between):
            kept = [[_at(group, bracket) for group in groups] for groups in owners]
        elif isinstance(bracket, Shift):
            kept = [[self._shifted(group, bracket.by) for group in groups] for groups in owners]
        else:
            return self._filtered(owners, bracket, told=told)
        if told:
            self._trace.stage(str(bracket), given=_size(owners), left=_size(kept))
        return kept

    def _shifted(self, group: Row, by: int) -> Row:
        moved: Row = {}
        for place, score in group.items():
            beside = self._forest.siblings(place, by=by)
            if abs(by) <= len(beside):
                there = beside[abs(by) - 1]
                moved[there] = max(score, moved.get(there, 0.0))
        return moved

    def _filtered(self, owners: list[list[Row]], bracket: Only, *, told: bool) -> list[list[Row]]:
        check_canceled()
        scores, holding = self._judge.verdicts(bracket.condition, _places(owners))
        if told:
            missed = () if costs_nothing(bracket.condition) else self._short(scores, holding)
            self._trace.stage(str(bracket), given=len(scores), left=len(holding), short=missed)
        passed = {place: score for place, score in scores.items() if place in holding}
        return [[_passing(group, passed) for group in groups] for groups in owners]

    def _short(self, scores: Row, passed: Collection[int]) -> tuple[Short, ...]:
        missed = nsmallest(SHORT_KEPT, [(-score, place) for place, score in scores.items() if place not in passed])
        found = []
        for score, place in missed:
            node = self._forest.node(place)
            path = self._forest.tree_of(place).path_at(self._forest.position(place))
            found.append(Short(node.id, path, -score))
        return tuple(found)


def _places(owners: list[list[Row]]) -> list[int]:
    groups = [group for groups in owners for group in groups]
    return list(groups[0] if len(groups) == 1 else {place: 0 for group in groups for place in group})


def _passing(group: Row, passed: Row) -> Row:
    return {place: score * passed[place] for place, score in group.items() if place in passed}


def _best(one: Row, other: Row) -> Row:
    """Both rows; a node of both has the better score."""
    if not one or not other:
        return one or other
    together = dict(one)
    for place, score in other.items():
        if together.get(place, -1.0) < score:
            together[place] = score
    return together


def _ranked(row: Row) -> list[tuple[int, float]]:
    return sorted(row.items(), key=lambda pair: (-pair[1], pair[0]))


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
    for positional, group in groupby(brackets, key=lambda bracket: not isinstance(bracket, Only)):
        several = list(group)
        ordered += several if positional else sorted(several, key=_costs)
    return ordered


def _costs(bracket: Bracket) -> bool:
    return isinstance(bracket, Only) and not costs_nothing(bracket.condition)
