"""Forests that queries are asked of: a tree, and trees below some of its nodes, such as versions of an artifact.

A *place* is a number for a node of any of these trees, in document order within a tree. Trees below nodes are asked for
when a path enters them, so that a thousand versions cost what is read of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from stitch.retrieve.path.syntax import ANY, ANYTHING, Axis, Step
from stitch.trees.core.nodes import Node, Tree

DOCUMENT = -1
"""The place above the root of the first tree, where absolute paths start."""
VERSION, VERSIONS = "Version", "Versions"
"""The types of a version, and of what holds them all."""
_BITS = 32
_STRIDE = 1 << _BITS
_WITHIN = _STRIDE - 1
Row = dict[int, float]
"""Places with their scores."""


class Forest:
    """A tree, and the trees below its nodes.

    Args:
        tree: The tree in which absolute paths start.
        below: The tree that stands below a node of it, beside its children; None where none does.
        before: The tree as it was before the version that a node stands for, so that what a version took away can be
            found by asking for that version.
        kinds: Types that there may be even if no node has them: to ask for them is no slip of the pen.
    """

    def __init__(
        self,
        tree: Tree,
        *,
        below: Callable[[Node], Tree | None] | None = None,
        before: Callable[[Node], Tree | None] | None = None,
        kinds: Collection[str] = (),
    ) -> None:
        self.base, self._before, self._kinds = tree, before, frozenset(kinds)
        self._below = below
        self._trees: dict[int, Tree | None] = {0: tree}

    def tree_of(self, place: int) -> Tree:
        """The tree in which a place is."""
        tree = self._trees[place >> _BITS]
        assert tree is not None  # a place is made of a tree that was entered
        return tree

    def node(self, place: int) -> Node:
        """The node at a place."""
        return self.tree_of(place).nodes[place & _WITHIN]

    def path(self, place: int) -> str:
        """The path of a place in its tree."""
        return self.tree_of(place).path_at(place & _WITHIN)

    def holder(self, place: int) -> Node | None:
        """The node below which the tree of a place stands; None of the first tree."""
        key = place >> _BITS
        return self.base.nodes[key - 1] if key else None

    def by_tree(self, places: Iterable[int]) -> Iterator[tuple[Tree, int, list[int]]]:
        """Places by their trees: the tree, what has to be added to its positions, and the positions, ascending."""
        ordered = sorted(places)
        if ordered and ordered[-1] < _STRIDE:
            yield self.base, 0, ordered
            return
        for key, group in groupby(ordered, key=lambda place: place >> _BITS):
            offset = key << _BITS
            yield self.tree_of(offset), offset, [place - offset for place in group]

    def entered(self, position: int) -> int | None:
        """The place of the root of the tree below a position of the first tree; None if none stands there."""
        if self._below is None:
            return None
        key = position + 1
        if key not in self._trees:
            self._trees[key] = self._below(self.base.nodes[position])
        return None if self._trees[key] is None else key << _BITS

    # Where steps lead.

    def along(self, step: Step, row: Row, *, grouped: bool) -> list[Row]:
        """The nodes that a step reaches, without its brackets. Each has the score of the node it was reached from.

        Args:
            step: The step.
            row: Where it starts.
            grouped: Whether positions are counted. Then there is one row for each parent (for an axis that is spelled,
                for each node it starts at), in the order of the axis; otherwise one row with all.
        """
        if step.axis == "child":
            groups = [dict.fromkeys(self._children(place, step.type), score) for place, score in row.items()]
        elif step.axis == "//":
            below = self._all_below(step.type, row)
            groups = self._by_parent(below) if grouped else [below]
        else:
            groups = [self._spelled(step, place, score) for place, score in row.items()]
        return [group for group in (groups if grouped else [best_of(groups)]) if group]

    def _all_below(self, type: str, row: Row) -> Row:  # noqa: A002 - the word of the domain
        found: Row = {}
        covered, before = -1, -1.0
        for place, score in sorted(row.items(), key=lambda item: (item[1], item[0])):
            if score == before and place < covered:
                continue  # all below it is below one that was before it
            for places in self._below_of(place, type):
                found.update(dict.fromkeys(places, score))
            if place != DOCUMENT:
                position = place & _WITHIN
                covered, before = place - position + self.tree_of(place).ends[position], score
        return found  # the children of a node come all at once, in their order

    def _by_parent(self, row: Row) -> list[Row]:
        groups: dict[int | None, Row] = {}
        for place, score in row.items():
            groups.setdefault(self._parent(place), {})[place] = score
        return list(groups.values())

    def _spelled(self, step: Step, place: int, score: float) -> Row:
        """The nodes of an axis from one node, the nearest first where the axis runs backwards."""
        found = self._reached(step.axis, place)
        if step.type == ANYTHING:
            return dict.fromkeys(found, score)
        return {there: score for there in found if there != DOCUMENT and step.type in (ANY, self.node(there).type)}

    def _reached(self, axis: Axis, place: int) -> list[int]:
        if axis in ("descendant", "descendant-or-self"):
            below = [there for places in self._below_of(place, ANY) for there in places]
            return below if axis == "descendant" else [place, *below]
        if place == DOCUMENT:
            return [0] if axis == "self" else []
        if axis == "self":
            return [place]
        if axis.endswith("sibling"):
            return self.siblings(place, by=1 if axis == "following-sibling" else -1)
        found = [place] if axis == "ancestor-or-self" else []
        above = self._parent(place)
        while above is not None:
            found.append(above)
            above = None if axis == "parent" else self._parent(above)
        return found

    def _parent(self, place: int) -> int | None:
        """The place above a place; None above the root of the first tree."""
        offset = place & ~_WITHIN
        above = self.tree_of(place).parents[place - offset]
        if above >= 0:
            return offset + above
        return (place >> _BITS) - 1 if offset else None

    def _children(self, place: int, type: str) -> list[int]:  # noqa: A002 - the word of the domain
        """The places right below a place, of a type or of any.

        Below the document, and where another tree begins, the step that names its root may be left out: `/Day` is
        `/Plan/Day` where the root is a `Plan`.
        """
        if place == DOCUMENT:
            return self._begun(0, type)
        tree, offset = self.tree_of(place), place & ~_WITHIN
        nodes = tree.nodes
        found = [offset + child for child in tree.children(place - offset) if type in (ANY, nodes[child].type)]
        if not offset and (root := self.entered(place)) is not None:
            found += self._begun(root, type)
        return found

    def _begun(self, root: int, type: str) -> list[int]:  # noqa: A002 - the word of the domain
        return [root] if type in (ANY, self.node(root).type) else self._children(root, type)

    def _below_of(self, place: int, type: str) -> Iterator[Sequence[int]]:  # noqa: A002 - the word of the domain
        """All places below a place, of a type or of any, ascending; of each tree a sequence of its own."""
        if place == DOCUMENT:
            if type in (ANY, self.base.root.type):
                yield (0,)
            place = 0
        tree, offset = self.tree_of(place), place & ~_WITHIN
        here = tree.below(place - offset, type=None if type == ANY else type)
        yield [offset + position for position in here] if offset else here
        if not offset and self._below is not None:
            for position in range(place, tree.ends[place]):
                if (root := self.entered(position)) is not None:
                    if type in (ANY, self.node(root).type):
                        yield (root,)
                    yield from self._below_of(root, type)

    def siblings(self, place: int, *, by: int) -> list[int]:
        """The places beside a place, the nearest first: those after it if `by` is positive, those before it if not."""
        offset = place & ~_WITHIN
        tree, position = self.tree_of(place), place - offset
        parent = tree.parents[position]
        if parent < 0:
            return []
        beside = tree.children(parent)
        at = beside.index(position)
        return [offset + child for child in (beside[at + 1 :] if by > 0 else beside[:at][::-1])]

    # What there is.

    def earlier(self) -> Forest | None:
        """The same with each tree as it was one version before; None if there are no versions."""
        return None if self._before is None else Forest(self.base, below=self._before)

    def still_there(self, place: int, *, forest: Forest) -> bool:
        """Whether a node of another forest over the same first tree also stands in this one, below the same node."""
        holder = forest.holder(place)
        if holder is None:
            return True
        root = self.entered(self.base.positions[holder.id])
        return root is not None and forest.node(place).id in self.tree_of(root)

    def types(self) -> set[str]:
        """The types of all nodes, of those in trees below others included, and those that there may be."""
        return {*self._kinds, *(type_ for tree in self._all() for type_ in tree.of_type)}

    def fields(self) -> set[str]:
        """The fields of all nodes, of those in trees below others included."""
        return {field for tree in self._all() for node in tree.nodes for field in node.fields}

    def _all(self) -> Iterator[Tree]:
        yield self.base
        for position in range(len(self.base)) if self._below is not None else ():
            if (root := self.entered(position)) is not None:
                yield self.tree_of(root)


def best_of(rows: Sequence[Row]) -> Row:
    """Nodes of any of several rows; one of several has the better score."""
    filled = [row for row in rows if row]
    if len(filled) < 2:
        return filled[0] if filled else {}
    together = dict(filled[0])
    for row in filled[1:]:
        for place, score in row.items():
            if together.get(place, -1.0) < score:
                together[place] = score
    return together


class Version(NamedTuple):
    """A version as it is asked about."""

    id: str
    number: int
    time: str
    author: str
    message: str
    parent: str | None
    """The id of the version before; None of the first."""
    branch: str = ""
    tree: str = ""
    """The name of its tree, where several are asked."""

    @property
    def node(self) -> Node:
        """The version as a node, with what can be asked about it as fields."""
        fields = {"message": self.message, "number": str(self.number), "time": self.time, "author": self.author}
        further = {"parent": self.parent or "", "branch": self.branch, "tree": self.tree}
        return Node(self.id, VERSION, fields=fields | {name: said for name, said in further.items() if said})


def version_forest(versions: Sequence[Version], *, tree: Callable[[str], Tree]) -> Forest:
    """Versions in their order, each with its tree below; a tree is asked for when a query enters it.

    Args:
        versions: The first one first.
        tree: The tree of a version, by its id; also of those that come before one of `versions`.
    """
    parents = {version.id: version.parent for version in versions}

    def before(node: Node) -> Tree | None:
        parent = parents.get(node.id)
        return None if parent is None else tree(parent)

    return Forest(
        Tree(Node("versions", VERSIONS, children=[version.node for version in versions])),
        below=lambda node: tree(node.id) if node.id in parents else None,
        before=before,
    )
