"""Differences of two trees by ids, and the operations that make the one into the other."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from stitch.errors import InputError
from stitch.trees.core.edits import Index
from stitch.trees.core.nodes import Node, Tree, rebuilt
from stitch.trees.core.operations import Add, Delete, Move, Operation, SetField, id_of, node_json


class Place(NamedTuple):
    """A node with where it stands in the tree that has it."""

    node: Node
    parent: str | None
    path: str


class Moved(NamedTuple):
    """A node that stands elsewhere."""

    node: Node
    """As it is afterwards."""
    before: str
    """The path where it stood."""
    after: str


class Changed(NamedTuple):
    """A field that says something else."""

    node: Node
    """As it is afterwards."""
    path: str
    field: str
    old: str | None
    """None if there was no such field."""
    new: str | None
    """None if there is none any more."""


class TreeDiff(NamedTuple):
    """The difference of two trees."""

    added: tuple[Place, ...]
    """Nodes with all below them; what is below one of them is not named again."""
    removed: tuple[Place, ...]
    """The same of what is gone."""
    moved: tuple[Moved, ...]
    changed: tuple[Changed, ...]
    operations: tuple[Operation, ...]
    """The operations that make the first tree into the second."""

    def __bool__(self) -> bool:
        return bool(self.operations)

    def dump(self) -> dict[str, Any]:
        """The difference as JSON."""
        return {
            "added": [{"path": each.path, **node_json(each.node)} for each in self.added],
            "removed": [{"path": each.path, **node_json(each.node)} for each in self.removed],
            "moved": [
                {"id": each.node.id, "type": each.node.type, "before": each.before, "after": each.after}
                for each in self.moved
            ],
            "changed": [
                {"id": each.node.id, "path": each.path, "field": each.field, "old": each.old, "new": each.new}
                for each in self.changed
            ],
        }


def diff(before: Tree, after: Tree) -> TreeDiff:
    """The difference of two trees; its operations done to `before` give `after`.

    Nodes are the same if their ids and types are: a node never becomes one of another type.

    Raises:
        InputError: The trees have different roots.
    """
    if (before.root.id, before.root.type) != (after.root.id, after.root.type):
        raise InputError(
            f"the roots {before.root.id!r} and {after.root.id!r} are of different trees",
            hint="compare versions of one tree",
        )
    operations = _Comparison(before, after).operations()
    kept = {node.id for node in before if node.id in after and after.node(node.id).type == node.type}
    moved, changed = list[Moved](), list[Changed]()
    for each in operations:
        name = "" if isinstance(each, Add) else id_of(each.node)
        if isinstance(each, Move):
            moved.append(Moved(after.node(name), before.path(name), after.path(name)))
        elif isinstance(each, SetField):
            node = after.node(name)
            old = before.node(name).fields.get(each.field)
            changed.append(Changed(node, after.path(name), each.field, old, node.fields.get(each.field)))
    added, removed = tuple(_topmost(after, kept)), tuple(_topmost(before, kept))
    return TreeDiff(added, removed, tuple(moved), tuple(changed), operations)


def _topmost(tree: Tree, kept: set[str]) -> Iterable[Place]:
    """The nodes that are not kept and stand below one that is, without what of them is kept."""
    for node in tree:
        parent = tree.parent(node.id)
        if node.id not in kept and (parent is None or parent.id in kept):
            yield Place(_only(node, kept), None if parent is None else parent.id, tree.path(node.id))


def _only(node: Node, kept: set[str]) -> Node:
    """A node with what is below it, but for kept nodes."""
    return rebuilt(node, lambda each: () if each.id in kept else (each,))


class _Comparison:
    """Makes the first tree into the second, and notes how.

    Nodes are visited as they stand in the second, parents first, so that all above a node is in its place when it comes
    in its turn. What is gone goes last, when whatever it held that stays has left it.
    """

    def __init__(self, before: Tree, after: Tree) -> None:
        self._index, self._before, self._after = Index(before.root), before, after
        self._done: list[Operation] = []

    def operations(self) -> tuple[Operation, ...]:
        self._delete_what_changes_its_type()
        waiting = [self._after.root]
        while waiting:
            node = waiting.pop()
            self._set_fields(node)
            self._set_children(node)
            waiting.extend(reversed(node.children))
        for node in self._before:
            if node.id in self._index and node.id not in self._after:
                self._do(Delete(node.id))
        return tuple(self._done)

    def _do(self, operation: Operation) -> None:
        self._done += self._index.do(operation)

    def _delete_what_changes_its_type(self) -> None:
        for node in self._before:
            if node.id in self._index and node.id in self._after and self._after.node(node.id).type != node.type:
                self._do(Delete(node.id))

    def _set_fields(self, node: Node) -> None:
        old = dict(self._index.nodes[node.id].fields)
        for field in old:
            if field not in node.fields:
                self._do(SetField(node.id, field, None))
        for field, value in node.fields.items():
            if old.get(field) != value:
                self._do(SetField(node.id, field, value))

    def _set_children(self, parent: Node) -> None:
        """Bring the children of a node into their order; what does not belong there stays behind them."""
        here, wanted = self._children(parent.id), [child.id for child in parent.children]
        blocks = SequenceMatcher(None, here, wanted, autojunk=False).get_matching_blocks()
        still = {name for block in blocks for name in here[block.a : block.a + block.size]}
        previous: str | None = None
        for child in parent.children:
            if child.id not in self._index:
                order = self._children(parent.id)
                at = 1 if previous is None else order.index(previous) + 2
                self._do(Add(parent.id, _only(child, self._kept_below(child)), at=at))
            elif child.id not in still:
                if previous is not None:
                    self._do(Move(child.id, after=previous))
                else:
                    self._do(Move(child.id, parent=parent.id, at=1))
            previous = child.id

    def _children(self, name: str) -> list[str]:
        return [child.id for child in self._index.nodes[name].children]

    def _kept_below(self, node: Node) -> set[str]:
        return {below.id for below in node.walk() if below.id in self._index}
