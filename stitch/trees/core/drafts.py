"""A tree that is being edited: operations change a draft, which becomes the next tree or is thrown away.

An edit costs as much as it touches: what it does not touch is shared with the tree before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from stitch.errors import EditRefusedError, InputError
from stitch.trees.core.making import height, too_deep, too_large
from stitch.trees.core.names import MAX_DEPTH, MAX_NODES
from stitch.trees.core.nodes import Node
from stitch.trees.core.operations import (
    ANY,
    Add,
    Delete,
    Move,
    NodeRef,
    Operation,
    Replace,
    SetField,
    checked_node,
    cleaned,
    id_of,
)


class Index:
    """The nodes of a tree and their parents, by id. `Draft.finish` brings it to the next tree.

    Args:
        root: Of the tree.
    """

    def __init__(self, root: Node) -> None:
        self.root = root
        self.nodes: dict[str, Node] = {}
        self.parents: dict[str, str | None] = {root.id: None}
        for node in root.walk():
            self.nodes[node.id] = node
            for child in node.children:
                self.parents[child.id] = node.id

    def __len__(self) -> int:
        return len(self.nodes)


class _Open:
    """A node that was touched."""

    __slots__ = ("children", "fields", "type")

    def __init__(self, type_: str, fields: Mapping[str, str], children: Iterable[str]) -> None:
        self.type, self.fields, self.children = type_, dict(fields), list(children)


class Done(NamedTuple):
    """An operation as it was done, with nothing left open, and the one that undoes it."""

    operation: Operation
    inverse: Operation


class Draft:
    """A tree to which operations are done one after the other. The index is not changed before `finish`.

    Args:
        index: Of the tree.
    """

    def __init__(self, index: Index) -> None:
        self._index = index
        self._open: dict[str, _Open] = {}
        self._parents: dict[str, str | None] = {}
        self._gone: set[str] = set()
        self._count = len(index)

    def __contains__(self, id: object) -> bool:  # noqa: A002 - the word of the domain
        return id not in self._gone and (id in self._open or id in self._index.nodes)

    @property
    def touched(self) -> Iterator[str]:
        """The ids of the nodes that say something else now, or have other children."""
        return iter(self._open)

    def type_of(self, id: str) -> str:  # noqa: A002 - the word of the domain
        """The type of a node."""
        return self._open[id].type if id in self._open else self._index.nodes[id].type

    def fields_of(self, id: str) -> Mapping[str, str]:  # noqa: A002 - the word of the domain
        """What a node says."""
        return self._open[id].fields if id in self._open else self._index.nodes[id].fields

    def children_of(self, id: str) -> list[str]:  # noqa: A002 - the word of the domain
        """The ids of the children of a node, in order."""
        if id in self._open:
            return list(self._open[id].children)
        return [child.id for child in self._index.nodes[id].children]

    def parent_of(self, id: str) -> str | None:  # noqa: A002 - the word of the domain
        """The id of the parent of a node; None of the root."""
        return self._parents[id] if id in self._parents else self._index.parents[id]

    def do(self, operation: Operation) -> list[Done]:
        """Do one operation; return what that was in full, a replacement as what goes and what comes.

        Raises:
            EditRefusedError: It cannot be done.
        """
        try:
            if isinstance(operation, SetField):
                return [self._set(cleaned(operation))]
            if isinstance(operation, Move):
                return [self._move(operation)]
            if isinstance(operation, Delete):
                return [self._delete(id_of(operation.node))]
            if isinstance(operation, Add):
                return [self._add(operation)]
            return self._replace(operation)
        except EditRefusedError:
            raise
        except InputError as error:
            raise EditRefusedError(error.message, hint=error.hint) from None

    def finish(self) -> Node:
        """The root of the tree as it is now; the index is that of this tree from now on."""
        touched = self._with_ancestors()
        made: dict[str, Node] = {}
        for name in touched:  # children before their parents
            own = self._open.get(name)
            before = self._index.nodes.get(name)
            children = [made.get(child) or self._index.nodes[child] for child in self.children_of(name)]
            if own is None:
                assert before is not None
                made[name] = before.with_children(children)
            else:
                made[name] = Node(name, own.type, fields=own.fields, children=children)
        for name in self._gone:
            self._index.nodes.pop(name, None)
            self._index.parents.pop(name, None)
        self._index.parents.update((name, above) for name, above in self._parents.items() if name not in self._gone)
        self._index.nodes.update(made)
        self._index.root = self._index.nodes[self._index.root.id]
        self._open, self._parents, self._gone = {}, {}, set()
        return self._index.root

    def _with_ancestors(self) -> list[str]:
        """The touched nodes with all above them, the deepest first."""
        depths: dict[str, int] = {}
        for name in self._open:
            if name in self._gone:
                continue
            chain: list[str] = []
            at: str | None = name
            while at is not None and at not in depths:
                chain.append(at)
                at = self.parent_of(at)
            depth = -1 if at is None else depths[at]
            for each in reversed(chain):
                depth += 1
                depths[each] = depth
        return sorted(depths, key=lambda name: -depths[name])

    # The operations.

    def _set(self, operation: SetField) -> Done:
        name = self._there(operation.node)
        before = self.fields_of(name).get(operation.field)
        if operation.old is not ANY and operation.old != before:
            raise EditRefusedError(
                f"field {operation.field!r} of {name!r} says {_told(before)}, and not {_told(operation.old)}",
                hint="somebody changed it: look at the tree again",
            )
        value = None if operation.value is None else str(operation.value)
        fields = self._opened(name).fields
        if value is None:
            fields.pop(operation.field, None)
        else:
            fields[operation.field] = value
        return Done(
            SetField(name, operation.field, value, old=before), SetField(name, operation.field, before, old=value)
        )

    def _move(self, operation: Move) -> Done:
        name = self._there(operation.node)
        old_parent = self._not_root(name, "moved")
        new_parent, beside = self._target(operation)
        if self._is_in(new_parent, name):
            raise EditRefusedError(f"{name!r} cannot be moved into {new_parent!r}, which it contains or is")
        self._check_depth(new_parent, height=self._height(name))
        siblings = self._opened(old_parent).children
        old_at = siblings.index(name) + 1
        siblings.remove(name)
        try:
            at = self._place(new_parent, operation.at, beside=beside, after=operation.after is not None)
        except EditRefusedError:
            siblings.insert(old_at - 1, name)
            raise
        self._opened(new_parent).children.insert(at - 1, name)
        self._parents[name] = new_parent
        return Done(Move(name, parent=new_parent, at=at), Move(name, parent=old_parent, at=old_at))

    def _delete(self, id: str) -> Done:  # noqa: A002 - the word of the domain
        name = self._there(id)
        parent = self._not_root(name, "deleted")
        was = self.node(name)
        siblings = self._opened(parent).children
        at = siblings.index(name) + 1
        siblings.remove(name)
        for below in was.walk():
            self._gone.add(below.id)
            self._open.pop(below.id, None)
            self._count -= 1
        return Done(Delete(name), Add(parent, was, at=at))

    def _add(self, operation: Add) -> Done:
        parent = self._there(operation.parent)
        at = self._place(parent, operation.at)
        node = checked_node(operation.node, taken=self)
        self._check_depth(parent, height=height(node))
        self._opened(parent).children.insert(at - 1, node.id)
        self._parents[node.id] = parent
        for below in node.walk():
            self._count += 1
            self._gone.discard(below.id)
            self._open[below.id] = _Open(below.type, below.fields, (child.id for child in below.children))
            for child in below.children:
                self._parents[child.id] = below.id
        if self._count > MAX_NODES:
            raise too_large()
        return Done(Add(parent, node, at=at), Delete(node.id))

    def _replace(self, operation: Replace) -> list[Done]:
        name = self._there(operation.node)
        parent = self._not_root(name, "replaced")
        at = self.children_of(parent).index(name) + 1
        return [self._delete(name), self._add(Add(parent, operation.by, at=at))]

    # What they share.

    def node(self, id: str) -> Node:  # noqa: A002 - the word of the domain
        """A node as it is now, with all below it."""
        order, waiting = [], [id]
        while waiting:
            name = waiting.pop()
            order.append(name)
            waiting.extend(self.children_of(name))
        made: dict[str, Node] = {}
        for name in reversed(order):
            children = [made[child] for child in self.children_of(name)]
            made[name] = Node(name, self.type_of(name), fields=self.fields_of(name), children=children)
        return made[id]

    def _there(self, node: NodeRef) -> str:
        name = id_of(node)
        if name not in self:
            raise EditRefusedError(
                f"no node {name!r} in this tree", hint="`stitch tree show` lists the nodes with their ids"
            )
        return name

    def _not_root(self, name: str, what: str) -> str:
        parent = self.parent_of(name)
        if parent is None:
            raise EditRefusedError(f"{name!r} is the root of the tree, which cannot be {what}")
        return parent

    def _opened(self, name: str) -> _Open:
        if name not in self._open:
            node = self._index.nodes[name]
            self._open[name] = _Open(node.type, node.fields, (child.id for child in node.children))
        return self._open[name]

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
        return self._not_root(beside, "a sibling"), beside

    def _place(self, parent: str, at: int | None, *, beside: str | None = None, after: bool = False) -> int:
        children = self.children_of(parent)
        if beside is not None:
            return children.index(beside) + (2 if after else 1)
        if at is None:
            return len(children) + 1
        if not 1 <= at <= len(children) + 1:
            raise EditRefusedError(
                f"{parent!r} has {len(children)} children: there is no position {at}", hint="positions count from 1"
            )
        return at

    def _is_in(self, name: str, container: str) -> bool:
        at: str | None = name
        while at is not None:
            if at == container:
                return True
            at = self.parent_of(at)
        return False

    def _height(self, name: str) -> int:
        level, depth = [name], 0
        while level:
            depth += 1
            level = [child for each in level for child in self.children_of(each)]
        return depth

    def _check_depth(self, parent: str, *, height: int) -> None:
        depth, at = 0, parent
        while (above := self.parent_of(at)) is not None:
            depth, at = depth + 1, above
        if depth + 1 + height > MAX_DEPTH:
            raise too_deep()


def _told(value: Any) -> str:
    return "nothing" if value is None else repr(value)
