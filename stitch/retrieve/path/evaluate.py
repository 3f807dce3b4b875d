"""Runs a path query: steps and brackets from left to right, for all nodes at once.

Brackets between which no position stands may be decided in any order: those that cost nothing go first, and semantic
conditions are scored in one batch over the nodes that are left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import groupby

from stitch.core.cancellation import check_canceled
from stitch.errors import InputError
from stitch.retrieve.path.conditions import Judge, costs_nothing, some_of
from stitch.retrieve.path.forest import DOCUMENT, Forest, Row, best_of
from stitch.retrieve.path.operands import Values
from stitch.retrieve.path.semantics import ScorerSemantics
from stitch.retrieve.path.syntax import Between, Bracket, NodeSet, Only, Path, Pipe, Query, Shift, Step
from stitch.retrieve.path.trace import SHORT_KEPT, Short, Trace

Ranked = list[tuple[int, float]]
"""Places with their scores, the best first, equals in document order."""
_Valued = tuple[tuple[int, float], str, float]
"""A place with its score, and the kind and number to order it by."""
_MOST_COMPARED = 200
"""Of so many nodes, the best ones, is looked at how alike they are."""
_COVERAGE_SHARE = 0.5


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


class Run(Judge):
    """One query on one forest."""

    def __init__(self, forest: Forest, *, semantics: ScorerSemantics, cut: Cut) -> None:
        super().__init__(forest, semantics=semantics, threshold=cut.threshold, trace=Trace())
        self._cut = cut
        self.considered = 0
        """The number of nodes that the last step reached before its conditions."""

    def nodes(self, query: Query) -> Ranked:
        """The places that a query finds."""
        found = self._of(query)
        if (margin := self._cut.margin) is not None and found:
            least = max(score for _, score in found) - margin
            found = self._kept(found, [pair for pair in found if pair[1] >= least], f"within {margin} of the best")
        if self._cut.k is not None:
            found = self._kept(found, found[: self._cut.k], f"first {self._cut.k}")
        return found

    def _kept(self, given: Ranked, left: Ranked, what: str) -> Ranked:
        self.trace.stage(what, given=len(given), left=len(left))
        return left

    def _of(self, query: Query) -> Ranked:
        found = sorted(self._set(query.nodes).items(), key=lambda pair: (-pair[1], pair[0]))
        for pipe in query.pipes:
            if pipe.how == "limit":
                kept = found[: pipe.count]
            else:
                kept = self._top(pipe, found) if pipe.how == "top" else self._diverse(pipe, found)
            found = self._kept(found, kept, f"| {pipe.how} {pipe.count}")
        return found

    def _set(self, nodes: NodeSet) -> Row:
        if isinstance(nodes, Path):
            return self._path(nodes)
        rows = list(map(self._set, nodes.parts))
        if nodes.how == "|":
            return best_of(rows)
        left, right = rows
        ids = {self.forest.node(place).id for place in right}
        wanted = nodes.how == "intersect"
        kept = {place: score for place, score in left.items() if (self.forest.node(place).id in ids) is wanted}
        self.trace.stage(nodes.how, given=len(left), left=len(kept))
        return kept

    def _path(self, path: Path) -> Row:
        row: Row = {DOCUMENT: 1.0}
        if not isinstance(path.start, str):
            row = dict(self._of(path.start.query))
            for bracket in path.start.brackets:
                row = self._bracketed([[row]], bracket, told=True)[0][0]
        return self.walk(path.steps, [row], told=True)[0]

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
                owners = self._bracketed(owners, bracket, told=told)
            rows = [best_of(groups) for groups in owners]
        return rows

    def _bracketed(self, owners: list[list[Row]], bracket: Bracket, *, told: bool) -> list[list[Row]]:
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

    # Pipes.

    def _top(self, pipe: Pipe, found: Ranked) -> Ranked:
        """The first so many by a value, in the order of the value, with all that tie with the last of them."""
        assert pipe.by is not None
        said = self.values(pipe.by, [place for place, _ in found])
        valued = [(pair, *key) for pair, values in zip(found, said, strict=True) if (key := _key(values)) is not None]
        if left_out := len(found) - len(valued):
            words = sorted({value.text for values in said for value in values if value.kind == "words"})
            self.trace.note(f"no value to order by{': ' + some_of(words) if words else ''}", nodes=left_out)
        valued = self._of_one_kind(valued)
        valued.sort(key=lambda each: (each[2] if pipe.ascending else -each[2], -each[0][1], each[0][0]))
        kept = valued[: pipe.count]
        if ties := [each for each in valued[pipe.count :] if each[2] == kept[-1][2]]:
            self.trace.note(f"{len(ties)} more tie with the last of {pipe.count} and are kept")
        return [pair for pair, _, _ in kept + ties]

    def _of_one_kind(self, valued: list[_Valued]) -> list[_Valued]:
        """Those whose values have the most common kind: a time and an amount have no order."""
        kinds = Counter(kind for _, kind, _ in valued)
        if len(kinds) < 2:
            return valued
        common = kinds.most_common(1)[0][0]
        self.trace.note(f"values of several kinds: ordered are those of kind {common}")
        return [each for each in valued if each[1] == common]

    def _diverse(self, pipe: Pipe, found: Ranked) -> Ranked:
        """So many that together cover what was found, each by its score."""
        if len(found) <= pipe.count:
            return found
        import numpy as np

        from stitch.retrieve.rank.coverage import choose_covering

        compared = range(min(len(found), _MOST_COMPARED))
        alike = self.semantics.apart([found[number][0] for number in compared], forest=self.forest)
        likeness = np.array([[alike(one, other) for other in compared] for one in compared], np.float32)
        covering = choose_covering([score for _, score in found], likeness, share=_COVERAGE_SHARE)
        return [found[number] for number in covering.order[: pipe.count]]


def _key(values: Values) -> tuple[str, float] | None:
    """The key to order by: of a range its middle, of several values the first; None of words."""
    for value in values:
        if value.kind != "words":
            return ("amount" if value.kind in ("number", "money") else value.kind), (value.low + value.high) / 2
    return None


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
