"""Who is near whom: graphs without directions, in which everybody has a bounded number of neighbors."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from heapq import nlargest
from itertools import islice
from typing import Generic, TypeVar

from stitch.errors import InputError

Node = TypeVar("Node", bound=Hashable)

LINKS = 10
"""To so many of those that are nearest a theme is linked when it comes or moves (k of the kNN graph)."""
STATEMENT_LINKS = 5
"""The same of a statement, when it comes."""


class Graph(Generic[Node]):
    """Links between themes, or between statements, each with its similarity; whoever has a neighbor is one of it.

    A node that comes updates its neighbors, too. What that costs does not depend on how many nodes there are.

    Args:
        links: To so many of those that are nearest a node is linked when it comes or moves. Others that come may link
            to it too, until it has twice as many; then the weakest link goes.
    """

    def __init__(self, links: int = LINKS) -> None:
        self._own, self._most = links, 2 * links
        self._links: dict[Node, dict[Node, float]] = {}

    def __iter__(self) -> Iterator[Node]:
        return iter(self._links)

    def __contains__(self, node: object) -> bool:
        return node in self._links

    def put(self, node: Node, near: Iterable[tuple[float, Node]]) -> None:
        """Link a node, which is new or has moved, with those that are near it now; the nearest come first."""
        self.remove(node)
        own = self._links[node] = {}
        for similarity, other in islice(((each, other) for each, other in near if other in self._links), self._own + 1):
            if other == node or len(own) == self._own:
                continue
            own[other] = similarity
            others = self._links[other]
            others[node] = similarity
            if len(others) > self._most:
                weakest = min(reversed(others), key=others.__getitem__)  # of equals the one that linked last
                del others[weakest]
                del self._links[weakest][other]

    def remove(self, node: Node) -> None:
        """Remove a node with its links; one that is not there makes no difference."""
        for other in self._links.pop(node, {}):
            del self._links[other][node]

    def neighbors(self, node: Node) -> list[tuple[float, Node]]:
        """The neighbors of a node, the nearest first, with their similarities."""
        links = self._links.get(node, {})
        return [(links[other], other) for other in sorted(links, key=links.__getitem__, reverse=True)]

    def nearest(self, node: Node, *, limit: int) -> list[Node]:
        """The nearest neighbors of a node, the nearest first."""
        links = self._links.get(node, {})
        return nlargest(limit, links, key=links.__getitem__)

    def dump(self) -> tuple[list[Node], list[int], list[int], list[float]]:
        """All nodes, how many neighbors each has, the places of these among all, and their similarities."""
        places = {node: place for place, node in enumerate(self._links)}
        return (
            list(self._links),
            [len(links) for links in self._links.values()],
            [places[other] for links in self._links.values() for other in links],
            [similarity for links in self._links.values() for similarity in links.values()],
        )

    def load(self, nodes: Sequence[Node], counts: Sequence[int], places: Sequence[int], near: Sequence[float]) -> None:
        """Be as one that was dumped."""
        start = 0
        for node, count in zip(nodes, counts, strict=True):
            end = start + count
            self._links[node] = dict(zip(map(nodes.__getitem__, places[start:end]), near[start:end], strict=True))
            start = end


def name_of(theme: int) -> str:
    """The id of a theme, by its number."""
    return f"t{theme}"


def number_of(name: str) -> int | None:
    """The number of a theme, by its id; None if this is no such id.

    Raises:
        InputError: It is no text.
    """
    if not isinstance(name, str):
        raise InputError(f"{name!r} is no id of a theme", hint="`themes()` lists those there are")
    return int(name[1:]) if name[:1] == "t" and name[1:].isascii() and name[1:].isdecimal() else None
