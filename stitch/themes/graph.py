"""Who is near whom: a graph without directions, in which everybody has a bounded number of neighbors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import nlargest
from itertools import islice

from stitch.core import Near

LINKS = 10
"""To so many of those that are nearest a theme is linked when it comes or moves (k of the kNN graph)."""
MOST_LINKS = 2 * LINKS
"""Others that come may link to it too, until it has so many; then the weakest link goes."""


class Graph:
    """Links between themes, each with its similarity; whoever has a neighbor is a neighbor of it.

    A theme that comes updates its neighbors, too. What that costs does not depend on how many themes there are.
    """

    def __init__(self) -> None:
        self._links: dict[int, dict[int, float]] = {}

    def __iter__(self) -> Iterator[int]:
        return iter(self._links)

    def put(self, theme: int, near: Iterable[tuple[float, int]]) -> None:
        """Link a theme, which is new or has moved, with those that are near it now; the nearest come first."""
        self.remove(theme)
        own = self._links[theme] = {}
        for similarity, other in islice(((each, other) for each, other in near if other in self._links), LINKS + 1):
            if other == theme or len(own) == LINKS:
                continue
            own[other] = similarity
            others = self._links[other]
            others[theme] = similarity
            if len(others) > MOST_LINKS:
                weakest = min(others, key=lambda each: (others[each], -each))
                del others[weakest]
                del self._links[weakest][other]

    def remove(self, theme: int) -> None:
        """Remove a theme with its links; one that is not there makes no difference."""
        for other in self._links.pop(theme, {}):
            del self._links[other][theme]

    def neighbors(self, theme: int) -> list[Near]:
        """The neighbors of a theme, the nearest first."""
        links = self._links.get(theme, {})
        return [Near(name_of(other), links[other]) for other in sorted(links, key=lambda each: (-links[each], each))]

    def nearest(self, theme: int, *, limit: int) -> list[int]:
        """The nearest neighbors of a theme, the nearest first."""
        links = self._links.get(theme, {})
        return nlargest(limit, links, key=lambda each: (links[each], -each))


def name_of(theme: int) -> str:
    """The id of a theme, by its number."""
    return f"t{theme}"


def number_of(name: str) -> int | None:
    """The number of a theme, by its id; None if this is no such id."""
    return int(name[1:]) if name[:1] == "t" and name[1:].isascii() and name[1:].isdecimal() else None
