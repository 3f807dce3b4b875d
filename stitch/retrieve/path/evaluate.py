"""Runs a path query: its sets and pipes, and the cut of what is found."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from stitch.errors import InputError
from stitch.retrieve.path.conditions import Judge, some_of
from stitch.retrieve.path.forest import DOCUMENT, Forest, Row, best_of
from stitch.retrieve.path.operands import Values
from stitch.retrieve.path.semantics import ScorerSemantics
from stitch.retrieve.path.syntax import NodeSet, Path, Pipe, Query
from stitch.retrieve.path.trace import Trace

Ranked = list[tuple[int, float]]
"""Places with their scores, the best first, equals in document order."""
_Valued = tuple[tuple[int, float], str, float]
"""A place with its score, and the kind and number to order it by."""
_MOST_COMPARED = 200
"""Of so many nodes, the best ones, is looked at how alike they are."""


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
                row = self.bracketed([[row]], bracket, told=True)[0][0]
        return self.walk(path.steps, [row], told=True)[0]

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
        """Nodes whose values have the most common kind: a time and an amount have no order."""
        kinds = Counter(kind for _, kind, _ in valued)
        if len(kinds) < 2:
            return valued
        common = kinds.most_common(1)[0][0]
        self.trace.note(f"values of several kinds: ordered are those of kind {common}")
        return [each for each in valued if each[1] == common]

    def _diverse(self, pipe: Pipe, found: Ranked) -> Ranked:
        """A diverse subset of what was found, each node with its score."""
        if len(found) <= pipe.count:
            return found
        import numpy as np

        from stitch.retrieve.diversity import choose_diverse

        compared = range(min(len(found), _MOST_COMPARED))
        alike = self.semantics.apart([found[number][0] for number in compared], forest=self.forest)
        likeness = np.array([[alike(one, other) for other in compared] for one in compared], np.float32)
        scores = [found[number][1] for number in compared]
        return [found[number] for number in choose_diverse(scores, likeness, most=pipe.count)]


def _key(values: Values) -> tuple[str, float] | None:
    """The key to order by: of a range its middle, of several values the first; None of words."""
    for value in values:
        if value.kind != "words":
            return ("amount" if value.kind in ("number", "money") else value.kind), (value.low + value.high) / 2
    return None
