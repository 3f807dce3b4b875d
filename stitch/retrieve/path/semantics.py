"""Between the evaluation and the scorers: what is read of a node, and beside which others."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from stitch.core.text_cache import text_cache
from stitch.retrieve.path.axes import Row
from stitch.retrieve.path.forest import Forest
from stitch.retrieve.path.scorers.protocol import Passage, Scorer
from stitch.retrieve.path.scorers.reading import tells, words_of
from stitch.retrieve.path.scorers.similarity import Passages
from stitch.retrieve.path.syntax import Alike, Field
from stitch.trees.core.nodes import Node, Several, Tree
from stitch.trees.core.values import read_value, surely_words


class Scored(NamedTuple):
    """The scores of places, and from which score on a condition is fulfilled if nobody says otherwise."""

    scores: Row
    cut: float


class ScorerSemantics:
    """Scores semantic conditions on nodes by a scorer.

    Args:
        scorer: Scores passages.
    """

    def __init__(self, scorer: Scorer) -> None:
        self.scorer = scorer

    def scored(self, condition: Alike, places: Sequence[int], *, forest: Forest) -> Scored:
        """The score of each place. A node that does not have the field has 0."""
        target = f"@{condition.target.name}" if isinstance(condition.target, Field) else condition.target
        scores: Row = {}
        cuts: list[tuple[int, float]] = []
        for tree, offset, positions in forest.by_tree(places):
            types = tuple(sorted({tree.nodes[position].type for position in positions}))
            asked = _Asked(tree, types, target)
            everyone, passages = (asked.positions, _passages(asked)) if self.scorer.relative else (None, None)
            if everyone is None or passages is None:
                passages = passages_of(tree, positions, target=target)
                everyone = {position: place for place, position in enumerate(positions)}
            judgement = self.scorer.judge(condition.words, passages)
            for position in positions:
                scores[position + offset] = judgement.scores[everyone[position]]
            cuts.append((len(positions), judgement.cut))
        total = sum(count for count, _ in cuts)
        return Scored(scores, sum(count * cut for count, cut in cuts) / total if total else 0.5)

    def apart(self, places: Sequence[int], *, forest: Forest) -> Callable[[int, int], float]:
        """How many of their words two nodes have in common, as a share of all they say."""
        said, read = [], _Said()
        for place in places:
            passage = _passage(forest.tree_of(place), forest.position(place), "node", read)
            said.append(frozenset(word for text in passage.texts for word in words_of(text) if tells(word)))

        def alike(one: int, other: int) -> float:
            together = len(said[one] | said[other])
            return len(said[one] & said[other]) / together if together else 1.0

        return alike


class _Asked:
    """Nodes of some types of a tree and what of them is asked about; equal if it is the same tree."""

    def __init__(self, tree: Tree, types: tuple[str, ...], target: str) -> None:
        self.tree, self.types, self.target = tree, types, target

    @property
    def positions(self) -> dict[int, int]:
        return _positions(self)

    def __hash__(self) -> int:
        return hash((id(self.tree), self.types, self.target))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Asked) or self.tree is not other.tree:
            return False
        return self.types == other.types and self.target == other.target


@text_cache(maxsize=64)
def _positions(asked: _Asked) -> dict[int, int]:
    found = sorted(position for type_ in asked.types for position in asked.tree.of_type.get(type_, ()))
    return {position: place for place, position in enumerate(found)}


@text_cache(maxsize=64)
def _passages(asked: _Asked) -> Passages:
    """What is read of the nodes. Versions share the nodes that no commit between them touched: these are read once."""
    kin = (asked.tree.root.id, asked.types, asked.target)
    last, said, positions = _last_read(kin), _Said(), list(_positions(asked))
    nodes = [asked.tree.nodes[position] for position in positions]
    before = last.read  # with the nodes, so that none of them dies and gives its `id` to another
    passages = [
        before[1].get(id(node)) or _passage(asked.tree, position, asked.target, said)
        for node, position in zip(nodes, positions, strict=True)
    ]
    last.read = nodes, dict(zip(map(id, nodes), passages, strict=True))
    return Passages(passages, kin=kin)


class _LastRead:
    """Nodes of some types of a tree that were read last, and what was read of each, by its `id` in this process."""

    read: tuple[Sequence[Node], Mapping[int, Passage]] = ((), MappingProxyType({}))


@text_cache(maxsize=64)
def _last_read(kin: tuple[str, tuple[str, ...], str]) -> _LastRead:
    return _LastRead()


def passages_of(tree: Tree, positions: Sequence[int], *, target: str) -> Passages:
    """What is read of nodes.

    Args:
        tree: Where they are.
        positions: Which they are.
        target: `node` with what it contains, `own` without, or `@field`.
    """
    said = _Said()
    return Passages([_passage(tree, position, target, said) for position in positions])


class _Said(dict[str, "_SaidIn"]):
    """What fields say in words, by their values; each is read once."""

    def __missing__(self, field: str) -> _SaidIn:
        self[field] = said = _SaidIn(field)
        return said


class _SaidIn(dict[str, str]):
    """What a field says in words, by its value.

    Numbers, times and the like say nothing: they are for typed conditions. Of a field that says "yes", the name of the
    field is what is said: `waterproof="yes"`.
    """

    def __init__(self, field: str) -> None:
        super().__init__()
        self._field = field

    def __missing__(self, value: str) -> str:
        text = value
        if len(value) > _LONGEST_TRUTH and not _DIGIT.search(value):
            pass  # words, as most values are
        elif _PLAIN_AMOUNT.fullmatch(value):
            text = ""
        elif not surely_words(value) and not isinstance(value, Several):
            read = read_value(value)
            if read.kind == "boolean" and read.low:
                text = _NAME_PART.sub(" ", self._field).strip()
            elif read.kind != "words":
                text = ""
        self[value] = text
        return text


_DIGIT = re.compile(r"\d")
_LONGEST_TRUTH = 20
"""Characters; "true" and its like are shorter."""
_PLAIN_AMOUNT = re.compile(r"[€$£]?[0-9]+(?:\.[0-9]+)?")
"""What is no words for sure, at a glance."""
_NAME_PART = re.compile(r"^(?:is|has)(?=[A-Z_-])[_-]?|[_-]+|(?<=[a-z])(?=[A-Z])")


def _passage(tree: Tree, position: int, target: str, said: _Said) -> Passage:
    node = tree.nodes[position]
    if target.startswith("@"):
        value = node.fields.get(target[1:])
        return Passage(() if value is None else (value,))
    own = _texts(node, said)
    if target == "own" or not node.children:
        return Passage(own)
    return Passage(own, tuple(text for place in tree.below(position) for text in _texts(tree.nodes[place], said)))


def _texts(node: Node, said: _Said) -> tuple[str, ...]:
    return tuple([text for field, value in node.fields.items() if (text := said[field][value])])
