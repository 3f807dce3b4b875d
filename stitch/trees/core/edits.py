"""Operations done to a tree, all or none.

Nodes are immutable: an operation replaces the nodes it touches and those above them, and shares all others with the
tree before. So an edit of a large tree costs as much as one of a small tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stitch.errors import EditRefusedError, InputError
from stitch.trees.core.making import MAX_DEPTH, MAX_NODES, height, too_deep, too_large
from stitch.trees.core.nodes import Node, Tree
from stitch.trees.core.operations import (
    ANY,
    Add,
    Delete,
    Move,
    NodeRef,
    Operation,
    SetField,
    checked_node,
    cleaned,
    id_of,
    operations_of,
)  # fmt: skip
from stitch.trees.core.schema import Schema


def apply(tree: Tree, operations: Iterable[Operation | Mapping[str, Any]], *, schema: Schema | None = None) -> Tree:
    """The tree after operations, which are done one after the other; the tree itself stays as it is.

    Raises:
        EditRefusedError: One cannot be done, or what comes of it breaks the schema; none was done.
    """
    index = Index(tree.root)
    index.edit(operations, schema=schema)
    return Tree(index.root)


class Index:
    """The nodes of a tree and their parents, by id, to which operations are done one after the other."""

    def __init__(self, root: Node) -> None:
        self.touched: dict[str, None] = {}
        """The ids of nodes that say something else now, or have other children."""
        self.reset(root)

    def reset(self, root: Node) -> None:
        """Rebuild the index for another tree."""
        self.root_id = root.id
        self.nodes: dict[str, Node] = {}
        self.parents: dict[str, str | None] = {root.id: None}
        self._take_in(root)

    def _take_in(self, root: Node) -> None:
        for node in root.walk():
            self.nodes[node.id] = node
            for child in node.children:
                self.parents[child.id] = node.id

    @property
    def root(self) -> Node:
        """The root of the tree as it is now."""
        return self.nodes[self.root_id]

    def __len__(self) -> int:
        return len(self.nodes)

    def __contains__(self, id: object) -> bool:  # noqa: A002 - the word of the domain
        return id in self.nodes

    def edit(
        self, operations: Iterable[Operation | Mapping[str, Any]], *, schema: Schema | None = None
    ) -> tuple[Operation, ...]:
        """Do operations; if one is refused, nothing changes.

        Returns:
            The operations with nothing left open: positions are numbers, fields say what they said before.

        Raises:
            EditRefusedError: One cannot be done, or what comes of it breaks the schema; says which, and why.
        """
        before, done = self.root, list[Operation]()
        self.touched.clear()
        try:
            for number, operation in enumerate(operations_of(operations), start=1):
                try:
                    done += self.do(operation)
                except EditRefusedError as error:
                    said = f"operation {number}: {error.message}; nothing was changed"
                    raise EditRefusedError(said, hint=error.hint) from None
            if schema is not None:
                schema.check_nodes(self.nodes[name] for name in self.touched if name in self)
        except EditRefusedError:
            self.reset(before)
            raise
        return tuple(done)

    def do(self, operation: Operation) -> list[Operation]:
        """Do one operation; a replacement is a removal and an addition."""
        try:
            if isinstance(operation, SetField):
                return [self._set(cleaned(operation))]
            if isinstance(operation, Move):
                return [self._move(operation)]
            if isinstance(operation, Delete):
                return [self._delete(self._there(operation.node), "deleted")]
            if isinstance(operation, Add):
                return [self._add(operation)]
            name = self._there(operation.node)
            parent, at = self._place_of(name, "replaced")
            return [self._delete(name, "replaced"), self._add(Add(parent, operation.by, at=at))]
        except EditRefusedError:
            raise
        except InputError as error:
            raise EditRefusedError(error.message, hint=error.hint) from None

    def _set(self, operation: SetField) -> Operation:
        name = self._there(operation.node)
        fields = dict(self.nodes[name].fields)
        before = fields.pop(operation.field, None) if operation.value is None else fields.get(operation.field)
        if operation.old is not ANY and operation.old != before:
            told, expected = ("nothing" if said is None else repr(said) for said in (before, operation.old))
            raise EditRefusedError(
                f"field {operation.field!r} of {name!r} says {told}, and not {expected}",
                hint="somebody changed it: look at the tree again",
            )
        value = None if operation.value is None else str(operation.value)
        if value is not None:
            fields[operation.field] = value
        self._put(self.nodes[name].with_fields(fields))
        return SetField(name, operation.field, value, old=before)

    def _move(self, operation: Move) -> Operation:
        name = self._there(operation.node)
        old_parent, _ = self._place_of(name, "moved")
        new_parent, beside = self._target(operation)
        if name in self._line(new_parent):
            raise EditRefusedError(f"{name!r} cannot be moved into {new_parent!r}, which it contains or is")
        node = self.nodes[name]
        self._check_depth(new_parent, height(node))
        self._put_children(old_parent, [child for child in self.nodes[old_parent].children if child.id != name])
        at = operation.at
        if beside is not None:
            at = self._ids(new_parent).index(beside) + (2 if operation.after is not None else 1)
        at = self._insert(new_parent, node, at)
        return Move(name, parent=new_parent, at=at)

    def _delete(self, name: str, what: str) -> Operation:
        parent, _ = self._place_of(name, what)
        node = self.nodes[name]
        self._put_children(parent, [child for child in self.nodes[parent].children if child.id != name])
        for below in node.walk():
            del self.nodes[below.id], self.parents[below.id]
        return Delete(name)

    def _add(self, operation: Add) -> Operation:
        parent = self._there(operation.parent)
        self._place(parent, operation.at)
        node = checked_node(operation.node, taken=self)
        self._check_depth(parent, height(node))
        self._take_in(node)
        if len(self) > MAX_NODES:
            raise too_large()
        self.touched.update((below.id, None) for below in node.walk())
        at = self._insert(parent, node, operation.at)
        return Add(parent, node, at=at)

    # What they share.

    def _put(self, node: Node) -> None:
        """Replace the node with the same id."""
        self.touched[node.id] = None
        self.nodes[node.id] = node
        while (above := self.parents[node.id]) is not None:
            parent = self.nodes[above]
            node = parent.with_children([node if child.id == node.id else child for child in parent.children])
            self.nodes[above] = node

    def _put_children(self, name: str, children: Sequence[Node]) -> None:
        self._put(self.nodes[name].with_children(children))

    def _insert(self, parent: str, node: Node, at: int | None) -> int:
        at = self._place(parent, at)
        children = self.nodes[parent].children
        self.parents[node.id] = parent
        self._put_children(parent, [*children[: at - 1], node, *children[at - 1 :]])
        return at

    def _ids(self, parent: str) -> list[str]:
        return [child.id for child in self.nodes[parent].children]

    def _there(self, node: NodeRef) -> str:
        name = id_of(node)
        if name not in self:
            raise EditRefusedError(
                f"no node {name!r} in this tree", hint="`stitch tree show` lists the nodes with their ids"
            )
        return name

    def _place_of(self, name: str, what: str) -> tuple[str, int]:
        """The parent of a node and its position there, from 1; the root is refused."""
        parent = self.parents[name]
        if parent is None:
            raise EditRefusedError(f"{name!r} is the root of the tree, which cannot be {what}")
        return parent, 1 + self._ids(parent).index(name)

    def _target(self, operation: Move) -> tuple[str, str | None]:
        """The parent that a move means, and the sibling beside which it ends."""
        places = [place for place in (operation.before, operation.after, operation.parent) if place is not None]
        if len(places) != 1:
            raise EditRefusedError("a move says one of before, after and parent", hint="Move(a, before=b)")
        if operation.parent is not None:
            return self._there(operation.parent), None
        if operation.at is not None:
            raise EditRefusedError("a move before or after a node has no position of its own")
        beside = self._there(places[0])
        if beside == id_of(operation.node):
            raise EditRefusedError(f"{beside!r} cannot be moved beside itself")
        return self._place_of(beside, "a sibling")[0], beside

    def _place(self, parent: str, at: int | None) -> int:
        count = len(self.nodes[parent].children)
        if at is not None and not 1 <= at <= count + 1:
            raise EditRefusedError(
                f"{parent!r} has {count} children: there is no position {at}", hint="positions count from 1"
            )
        return count + 1 if at is None else at

    def _line(self, name: str) -> list[str]:
        """A node with all above it, the nearest first."""
        line = [name]
        while (above := self.parents[line[-1]]) is not None:
            line.append(above)
        return line

    def _check_depth(self, parent: str, levels: int) -> None:
        if len(self._line(parent)) + levels > MAX_DEPTH:
            raise too_deep()
