"""Nodes and trees: immutable values that know neither the path language nor the journal.

A tree may be 10,000 levels deep: nothing here recurses.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from stitch.errors import InputError, some_of

TEXT_FIELD = "text"
"""The field that holds the text of an element."""


class Several(str):
    """A field with several values, such as the event types of a step; as a string, its values with commas between."""

    __slots__ = ("values",)
    values: tuple[str, ...]

    def __new__(cls, values: Iterable[str]) -> Several:  # noqa: D102 - the class says it
        kept = tuple(values)
        made = super().__new__(cls, ", ".join(kept))
        made.values = kept
        return made

    def __reduce__(self) -> tuple[type[Several], tuple[tuple[str, ...]]]:
        return Several, (self.values,)


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class Node:
    """A node with all below it. Equal are nodes of equal ids, types, fields and children.

    Args:
        id: Its name, which never changes and is no field. Unique in a tree.
        type: What kind of thing it is: the name of an element.
        fields: What it says, as written; `values` reads numbers, amounts, times and dates of it. The text
            of an element is the field `text`.
        children: In document order.
    """

    id: str
    type: str
    fields: Mapping[str, str]
    children: tuple[Node, ...]

    def __init__(self, id: str, type: str, *, fields: Mapping[str, str] | None = None, children: Iterable[Node] = ()):  # noqa: A002 - the words of the domain
        set_once = object.__setattr__
        set_once(self, "id", id)
        set_once(self, "type", type)
        set_once(self, "fields", MappingProxyType(dict(fields)) if fields else _NO_FIELDS)
        set_once(self, "children", tuple(children))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Node):
            return NotImplemented
        pairs = [(self, other)]
        while pairs:
            one, two = pairs.pop()
            if one is two:
                continue
            if one.id != two.id or one.type != two.type or len(one.children) != len(two.children):
                return False
            if one.fields != two.fields:
                return False
            pairs.extend(zip(one.children, two.children, strict=True))
        return True

    def __hash__(self) -> int:
        return hash((self.id, self.type, len(self.children)))

    def __repr__(self) -> str:
        return f"Node({self.id!r}, {self.type!r}, fields={dict(self.fields)!r}, {len(self.children)} children)"

    def with_fields(self, fields: Mapping[str, str]) -> Node:
        """The same node with other fields; what stands below it is shared."""
        return Node(self.id, self.type, fields=fields, children=self.children)

    def with_children(self, children: Iterable[Node]) -> Node:
        """The same node with other children."""
        return Node(self.id, self.type, fields=self.fields, children=children)

    def walk(self) -> Iterator[Node]:
        """The node and all below it, in document order."""
        open_nodes = [self]
        while open_nodes:
            node = open_nodes.pop()
            yield node
            open_nodes.extend(reversed(node.children))


_NO_FIELDS: Mapping[str, str] = MappingProxyType({})


def rebuilt(root: Node, change: Callable[[Node], Iterable[Node]]) -> Node:
    """A tree made anew from below: `change` says which nodes stand for one that has its new children."""
    made: dict[str, tuple[Node, ...]] = {}
    for node in reversed(list(root.walk())):
        children = tuple(each for child in node.children for each in made.pop(child.id))
        made[node.id] = tuple(change(node if children == node.children else node.with_children(children)))
    (whole,) = made[root.id]
    return whole


def own_text(node: Node) -> str:
    """The text of a node itself: the values of its fields, one a line, in their order."""
    return "\n".join(value for value in node.fields.values() if value)


def whole_text(node: Node) -> str:
    """The text of a node with all that it contains, in document order."""
    return "\n".join(said for below in node.walk() if (said := own_text(below)))


class Tree:
    """A root with an index over what stands below it: by id, by type, by position in document order.

    A *position* is the place of a node in document order; the root's is 0, and all that a node contains follows it
    without a gap. The index is made when it is first asked for, once.
    """

    def __init__(self, root: Node) -> None:
        self.root = root
        self._columns: dict[str, dict[int, str]] = {}

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __contains__(self, id: object) -> bool:  # noqa: A002 - the word of the domain
        return id in self.positions

    def __eq__(self, other: object) -> bool:
        return self.root == other.root if isinstance(other, Tree) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.root)

    def __repr__(self) -> str:
        return f"Tree({self.root!r})"

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes in document order."""
        return tuple(self.root.walk())

    @cached_property
    def positions(self) -> Mapping[str, int]:
        """The position of each id."""
        places = {node.id: position for position, node in enumerate(self.nodes)}
        if len(places) != len(self.nodes):
            seen: set[str] = set()
            twice = [node.id for node in self.nodes if node.id in seen or seen.add(node.id)]  # type: ignore[func-returns-value]
            raise InputError(
                f"two nodes of a tree have one id: {some_of(twice)}", hint="give each node an id of its own, or none"
            )
        return places

    @cached_property
    def parents(self) -> Sequence[int]:
        """The position of the parent of each position; of the root -1."""
        return self._links[0]

    @cached_property
    def ends(self) -> Sequence[int]:
        """For each position the first position after the node's subtree."""
        return self._links[1]

    @cached_property
    def _links(self) -> tuple[list[int], list[int]]:
        parents, ends = [-1] * len(self.nodes), [0] * len(self.nodes)
        still_open: list[tuple[int, int]] = []
        for position, node in enumerate(self.nodes):
            if still_open:
                parent, left = still_open[-1]
                parents[position] = parent
                still_open[-1] = parent, left - 1
            still_open.append((position, len(node.children)))
            while still_open and not still_open[-1][1]:
                ends[still_open.pop()[0]] = position + 1
        return parents, ends

    @cached_property
    def of_type(self) -> Mapping[str, Sequence[int]]:
        """The positions of the nodes of each type, ascending; types in the order in which they first come."""
        found: dict[str, list[int]] = {}
        for position, node in enumerate(self.nodes):
            found.setdefault(node.type, []).append(position)
        return found

    def column(self, field: str) -> Mapping[int, str]:
        """The values of a field by position; nodes without it are left out. Made once a field."""
        found = self._columns.get(field)
        if found is None:
            found = {
                place: said for place, node in enumerate(self.nodes) if (said := node.fields.get(field)) is not None
            }
            self._columns[field] = found
        return found

    def position(self, id: str) -> int:  # noqa: A002 - the word of the domain
        """The position of a node."""
        try:
            return self.positions[id]
        except KeyError:
            raise InputError(
                f"no node {id!r} in this tree", hint="`stitch tree show` lists the nodes with their ids"
            ) from None

    def node(self, id: str) -> Node:  # noqa: A002 - the word of the domain
        """The node of an id."""
        return self.nodes[self.position(id)]

    def parent(self, id: str) -> Node | None:  # noqa: A002 - the word of the domain
        """The node above a node; None of the root."""
        above = self.parents[self.position(id)]
        return None if above < 0 else self.nodes[above]

    def children(self, position: int) -> list[int]:
        """The positions of the children of a position, ascending."""
        found, child, end = [], position + 1, self.ends[position]
        while child < end:
            found.append(child)
            child = self.ends[child]
        return found

    def below(self, position: int, *, type: str | None = None) -> Sequence[int]:  # noqa: A002 - the word of the domain
        """The positions of all below a position, of one type or of any, ascending."""
        if type is None:
            return range(position + 1, self.ends[position])
        found = self.of_type.get(type, ())
        return found[bisect_left(found, position + 1) : bisect_left(found, self.ends[position])]

    def above(self, position: int) -> list[int]:
        """The positions of all above a position, the nearest first."""
        found, above = [], self.parents[position]
        while above >= 0:
            found.append(above)
            above = self.parents[above]
        return found

    @cached_property
    def _numbers(self) -> list[int]:
        """For each position the number of the node among its parent's children of one type, from 1."""
        numbers = [1] * len(self.nodes)
        for position, node in enumerate(self.nodes):
            counted: dict[str, int] = {}
            child = position + 1
            for below in node.children:
                counted[below.type] = numbers[child] = counted.get(below.type, 0) + 1
                child = self.ends[child]
        return numbers

    def path(self, id: str) -> str:  # noqa: A002 - the word of the domain
        """The path of a node now: `/Plan/Day[2]/POI[1]`. Numbers count children of one type; the root has none."""
        return self.path_at(self.position(id))

    def path_at(self, position: int) -> str:
        """As `path`, of the node at a position."""
        steps = [
            f"/{self.nodes[place].type}" + (f"[{self._numbers[place]}]" if place else "")
            for place in (position, *self.above(position))
        ]
        return "".join(reversed(steps))
