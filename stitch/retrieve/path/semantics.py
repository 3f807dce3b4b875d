"""Between the evaluation and the scorers: what is read of a node, and beside which others."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from stitch.core.text_cache import text_cache
from stitch.retrieve.path.forest import Forest, Row
from stitch.retrieve.path.scorers.protocol import Passage, Passages, Scorer
from stitch.retrieve.path.scorers.reading import tells, words_of
from stitch.retrieve.path.syntax import Alike, Field
from stitch.trees.core.nodes import Node, Several, Tree, whole_text
from stitch.trees.core.values import read_value, surely_words


class Scored(NamedTuple):
    """The scores of places, and from which score on a condition is fulfilled if nobody says otherwise."""

    scores: Row
    cut: float


class ScorerSemantics:
    """Scores semantic conditions on nodes by a scorer."""

    def __init__(self, scorer: Scorer) -> None:
        self.scorer = scorer

    def scored(self, condition: Alike, places: Sequence[int], *, forest: Forest) -> Scored:
        """The score of each place. A node that does not have the field has 0."""
        target = f"@{condition.target.name}" if isinstance(condition.target, Field) else condition.target
        scores: Row = {}
        cuts: list[tuple[int, float]] = []
        for tree, offset, positions in forest.by_tree(places):
            types = tuple(sorted({tree.nodes[position].type for position in positions}))
            if self.scorer.relative:
                scored, passages = _of_types(tree, types, target)
            else:
                scored, passages = positions, passages_of(tree, positions, target=target)
            judgement = self.scorer.judge(condition.words, passages)
            said = dict(zip(scored, judgement.scores, strict=True))
            scores |= {position + offset: said[position] for position in positions}
            cuts.append((len(positions), judgement.cut))
        total = sum(count for count, _ in cuts)
        return Scored(scores, sum(count * cut for count, cut in cuts) / total if total else 0.5)

    def apart(self, places: Sequence[int], *, forest: Forest) -> Callable[[int, int], float]:
        """The share of their words that two nodes have in common."""
        said = []
        for place in places:
            words = words_of(whole_text(forest.node(place)))
            said.append(frozenset(word for word in words if tells(word)))

        def alike(one: int, other: int) -> float:
            together = len(said[one] | said[other])
            return len(said[one] & said[other]) / together if together else 1.0

        return alike


@text_cache(maxsize=64)
def _of_types(tree: Tree, types: tuple[str, ...], target: str) -> tuple[list[int], Passages]:
    """The positions of all nodes of some types, and their passages."""
    found = sorted(position for type_ in types for position in tree.of_type.get(type_, ()))
    return found, passages_of(tree, found, target=target)


def passages_of(tree: Tree, positions: Sequence[int], *, target: str) -> Passages:
    """The passages of nodes.

    Args:
        tree: Where they are.
        positions: Which they are.
        target: `node` with what it contains, `own` without, or `@field`.
    """
    found = Passages([_passage(tree, position, target) for position in positions])
    found.tree = tree.root.id
    return found


@text_cache(maxsize=65_536)
def _in_words(field: str, value: str) -> str:
    """The words of a field.

    Numbers, times and the like say nothing: they are for typed conditions. Of a field that says "yes", the name of the
    field is what is said: `waterproof="yes"`.
    """
    if _PLAIN_AMOUNT.fullmatch(value):  # as many are, and it need not be read
        return ""
    if surely_words(value) or isinstance(value, Several):
        return value
    read = read_value(value)
    if read.kind == "boolean" and read.low:
        return _NAME_PART.sub(" ", field).strip()
    return value if read.kind == "words" else ""


_PLAIN_AMOUNT = re.compile(r"[€$£]?[0-9]+(?:\.[0-9]+)?")
_NAME_PART = re.compile(r"^(?:is|has)(?=[A-Z_-])[_-]?|[_-]+|(?<=[a-z])(?=[A-Z])")


def _passage(tree: Tree, position: int, target: str) -> Passage:
    node = tree.nodes[position]
    if target.startswith("@"):
        value = node.fields.get(target[1:])
        return Passage(() if value is None else (value,))
    own = _texts(node)
    if target == "own" or not node.children:
        return Passage(own)
    return Passage(own, tuple(text for place in tree.below(position) for text in _texts(tree.nodes[place])))


def _texts(node: Node) -> tuple[str, ...]:
    return tuple([text for field, value in node.fields.items() if (text := _in_words(field, value))])
