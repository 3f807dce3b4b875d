"""Keeping themes in shape as statements come and go: attach, split, merge.

    a statement comes ─▶ its nearest theme, if it is as near as others have been to theirs ─▶ else a theme of its own
    a theme is too large, or loose ─▶ split, the way the objective likes best
    a theme moved ─▶ merged with a neighbor that is as near as neighbors seldom are, if the objective gains

What is near is a percentile of what was near in this collection. All that is looked at lies around the theme that
changed, so that a step costs the same among a thousand statements and a hundred thousand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from stitch.themes.cells import Cells
from stitch.themes.graph import LINKS, STATEMENT_LINKS, Graph
from stitch.themes.grouping import ATTACHED, LEFT, MERGED, SPLIT, Event, Grouping
from stitch.themes.objective import Group, group_of, objective
from stitch.themes.percentiles import Percentiles
from stitch.themes.rows import Rows
from stitch.themes.splits import Parts, candidates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stitch.core.protocols import Vectors

MOST = 12
"""The largest theme, in statements."""
LOOSE_FROM = 4
"""A theme of so many statements may be split because they are not like each other."""

JOINS = 0.35
"""A statement joins its nearest theme if it is nearer than this share of all were to theirs."""
JOINS_SMALL = 0.2
"""The same of a theme that has fewer than `SMALL` statements: there a centroid says little yet."""
SMALL = 3
LOOSE = 0.1
"""A theme is loose if its mean similarity is less than that of this share of statements to their nearest theme."""
EDGE = 0.5
"""Statements nearer than this share are linked where components are looked for."""
MERGES = 0.7
"""Neighbors are merged that are nearer than this share of themes are to their nearest neighbor."""
FLOOR = 0.1
"""A single statement is merged with a neighbor unless it is farther than all but this share were."""
MOVED = 0.97
"""A theme is linked anew when its centroid is less similar than this to where it was when it was linked last."""
ASKED = 2
"""With so many of its neighbors a theme may be merged."""
AROUND = 4
"""Neighbors of a statement that comes are looked for in so many of the themes that are nearest to it."""


Near = Sequence[tuple[float, int]]
"""Themes with their similarities, the nearest first."""


class Upkeep:
    """The themes of a tenant, with all that is needed to keep them in shape.

    Args:
        dimension: Length of a vector.
        tends: Whether themes are split and merged; without it they only take in, which is there to be compared with.
    """

    def __init__(self, dimension: int, *, tends: bool = True) -> None:
        self._tends = tends
        self.grouping = Grouping()
        self.vectors: Rows[str] = Rows(dimension)
        """Of the statements."""
        self.cells = Cells(dimension)
        self.graph: Graph[int] = Graph()
        """Of the themes."""
        self.beside: Graph[str] = Graph(STATEMENT_LINKS)
        """Of the statements."""
        self.to_theme = Percentiles()
        """How near statements were to their nearest theme when they came."""
        self.to_neighbor = Percentiles()
        """How near themes were to their nearest neighbor when they changed."""
        self.events: list[Event] = []
        """What has happened since they were taken from here."""
        self._groups: dict[int, Group] = {}
        self._linked: dict[int, Vectors] = {}
        """Where each theme was when it was linked."""

    def measures(self) -> dict[str, dict[str, int]]:
        """What was near in this collection, as it is kept."""
        return {"to_theme": self.to_theme.counts(), "to_neighbor": self.to_neighbor.counts()}

    def recall(self, measures: Mapping[str, Mapping[str, int]], *, next_theme: int) -> None:
        """Go on with measures as they were kept; the next theme has at least this number."""
        self.to_theme.recall(measures["to_theme"])
        self.to_neighbor.recall(measures["to_neighbor"])
        self.grouping.next = max(self.grouping.next, next_theme)

    def group(self, theme: int) -> Group:
        """The size, centroid and cohesion of a theme."""
        return self._groups[theme]

    def settle(self, events: Iterable[Event], vectors: Mapping[str, Vectors]) -> None:
        """Let events happen that happened before, one after the other, so that all is as it was when they had happened.

        Args:
            events: In their order.
            vectors: Of the statements that came, as far as these are still there; others are passed over.
        """
        for event in events:
            if event.kind == ATTACHED:
                for name in event.statements:
                    if name in vectors:
                        self._drop(name)
                        near = self._meet(name, vectors[name])
                        self._let(event._replace(statements=(name,)), near=near)
            else:
                self._let(event)

    def _meet(self, name: str, vector: Vectors) -> list[tuple[float, int]]:
        """Link a statement that comes with those that are nearest around it; the themes that are near."""
        self.vectors.put(name, vector)
        near = self.cells.near(vector, limit=LINKS)
        among = [each for _, one in near[:AROUND] for each in self.grouping.members[one]]
        self._join_to(name, among, self.vectors.take(among) @ vector if among else vector[:0])
        return near

    def _join_to(self, name: str, among: Sequence[str], similar: Vectors) -> None:
        """Link a statement with the nearest of some, of which it may be one."""
        apart = max(0, len(among) - STATEMENT_LINKS - 1)
        places = similar.argpartition(apart)[apart:] if apart else np.arange(len(among))
        near = sorted(zip((-similar[places]).tolist(), places.tolist(), strict=True))
        self.beside.put(name, [(-away, among[place]) for away, place in near])

    def dump(self) -> tuple[dict[str, Any], list[NDArray[Any]]]:
        """All of it, as names and arrays, for `load`; no event waits. Statements are told by their places among all."""
        places = {name: place for place, name in enumerate(self.vectors.names)}
        members, (cells, anchors) = self.grouping.members, self.cells.dump()
        graph, beside = self.graph.dump(), self.beside.dump()
        named = {
            "themes": {str(theme): [places[name] for name in names] for theme, names in members.items()},
            "merged": list(self.grouping.merged_into.items()),
            "next": self.grouping.next,
            "measures": self.measures(),
            "cells": cells,
            "linked": list(self._linked),
            "graph": graph[0],
            "beside": [places[name] for name in beside[0]],
        }
        linked = np.array(list(self._linked.values()), np.float32).reshape(-1, self.vectors.matrix.shape[1])
        arrays: list[NDArray[Any]] = [self.vectors.matrix, anchors, linked]
        for counts, others, near in (graph[1:], beside[1:]):
            arrays += [np.array(counts, np.int32), np.array(others, np.int32), np.array(near, np.float64)]
        return named, arrays

    def load(self, named: Mapping[str, Any], arrays: Iterator[NDArray[Any]], *, statements: Sequence[str]) -> None:
        """Be as one that was dumped, with these statements."""
        self.vectors.fill(statements, next(arrays))
        anchors, linked = next(arrays), next(arrays)
        for theme, places in named["themes"].items():
            self.grouping.members[int(theme)] = dict.fromkeys(map(statements.__getitem__, places))
            self.grouping.theme_of.update(dict.fromkeys(self.grouping.members[int(theme)], int(theme)))
            self._groups[int(theme)] = group_of(self.vectors.matrix[places])
        self.grouping.merged_into.update(map(tuple, named["merged"]))
        self.recall(named["measures"], next_theme=named["next"])
        self.cells.load(named["cells"], anchors, centroid=lambda theme: self._groups[theme].centroid)
        self._linked = dict(zip(named["linked"], linked, strict=True))
        self.graph.load(named["graph"], *(next(arrays).tolist() for _ in range(3)))
        beside = [statements[place] for place in named["beside"]]
        self.beside.load(beside, *(next(arrays).tolist() for _ in range(3)))

    def attach(self, name: str, vector: Vectors, *, at: float) -> None:
        """Find the theme of a statement that is new."""
        near = self._meet(name, vector)
        theme = self.grouping.next
        if near:
            similarity, nearest = near[0]
            share = JOINS_SMALL if self._groups[nearest].size < SMALL else JOINS
            if similarity >= self.to_theme.at(share):
                theme = nearest
            self.to_theme.add(similarity)
        self._happen(Event(at, ATTACHED, theme, (name,)), near=near)
        self._tend(theme, at=at)

    def detach(self, name: str, *, at: float) -> None:
        """Let a statement leave its theme; what is left of it stays together."""
        self._happen(Event(at, LEFT, 0, (name,)))

    def forget(self, names: Sequence[str]) -> None:
        """Forget statements as if they had never been; no event tells of it."""
        for name in names:
            self._drop(name)

    def _happen(self, event: Event, *, near: Near = ()) -> None:
        self.events.append(event)
        self._let(event, near=near)

    def _let(self, event: Event, *, near: Near = ()) -> None:
        """Let an event happen, and find where the themes are that it changed: told later, it does the same again.

        Args:
            event: What happens.
            near: The themes that are near a statement that comes: if it begins a theme, near that one.
        """
        if event.kind == LEFT:
            for name in event.statements:
                self._drop(name)
            return
        self.grouping.take(event)
        if event.kind == ATTACHED:
            self._place(event.theme, near=near)
            return
        for theme in (event.into, event.theme) if event.kind == SPLIT else (event.theme, event.into):
            self._place(theme)

    def _drop(self, name: str) -> None:
        theme = self.grouping.theme_of.get(name)
        self.grouping.take(Event(0.0, LEFT, 0, (name,)))
        if name in self.vectors:
            self.vectors.remove(name)
        self.beside.remove(name)
        if theme is not None:
            self._place(theme)

    def _place(self, theme: int, *, near: Near = ()) -> None:
        """Find where a theme is now, and link it with those that are near: if it is new, with those that are given."""
        names = self.grouping.members.get(theme)
        if names is None:
            if self._groups.pop(theme, None) is not None:
                self._linked.pop(theme)
                self.cells.remove(theme)
                self.graph.remove(theme)
            return
        is_new = theme not in self._linked
        self._groups[theme] = group_of(self.vectors.take(names))
        centroid = self._groups[theme].centroid
        if not is_new and float(centroid @ self._linked[theme]) >= MOVED:
            self.cells.shift(theme, centroid)
            return
        self.cells.put(theme, centroid)
        self._linked[theme] = centroid
        known = near if is_new and near else self.cells.near(centroid, limit=LINKS + 1)
        self.graph.put(theme, known)

    def _tend(self, theme: int, *, at: float) -> None:
        """Split or merge a theme that has changed, if that is better."""
        if not self._tends:
            return
        group = self._groups[theme]
        loose = group.size >= LOOSE_FROM and group.cohesion < self.to_theme.at(LOOSE)
        if not ((group.size > MOST or loose) and self._split(theme, at=at)):
            self._merge(theme, at=at)

    def _around(self, themes: Sequence[int]) -> list[Group]:
        """The themes around some, which do not change."""
        found = {each: None for theme in themes for each in self.graph.nearest(theme, limit=LINKS)}
        return [self._groups[each] for each in found if each not in themes]

    def _split(self, theme: int, *, at: float) -> bool:
        """Split a theme the way that is best; one that is not too large may stay whole."""
        names = list(self.grouping.members[theme])
        vectors = self.vectors.take(names)
        around = self._around([theme])
        whole = len(names) <= MOST
        best, chosen = (objective([self._groups[theme], *around]) if whole else -np.inf), None
        for parts in candidates(vectors, edge=self.to_theme.at(EDGE), most=MOST):
            value = objective([*(group_of(vectors[part]) for part in parts), *around])
            if value > best:
                best, chosen = value, parts
        if chosen is None:
            return False
        self._divide(theme, names, chosen, at=at)
        return True

    def _divide(self, theme: int, names: Sequence[str], parts: Parts, *, at: float) -> None:
        """The largest part stays the theme that was; of equal ones that with its oldest statement."""
        kept = max(range(len(parts)), key=lambda place: (len(parts[place]), -parts[place][0]))
        for place, part in enumerate(parts):
            if place != kept:
                self._happen(Event(at, SPLIT, theme, tuple(names[each] for each in part), self.grouping.next))

    def _merge(self, theme: int, *, at: float) -> None:
        """Merge a theme with one of its neighbors, if they are near and the objective gains."""
        group = self._groups[theme]
        near = self.graph.nearest(theme, limit=ASKED)
        for place, other in enumerate(near):
            beside = self._groups[other]
            similarity = float(group.centroid @ beside.centroid)
            usual = self.to_neighbor.at(MERGES)
            if place == 0:
                self.to_neighbor.add(similarity)
            if group.size + beside.size > MOST:
                continue
            single = min(group.size, beside.size) == 1 and similarity >= self.to_theme.at(FLOOR)
            if similarity < usual and not single:
                continue
            around = self._around([theme, other])
            both = [*self.grouping.members[theme], *self.grouping.members[other]]
            joined = group_of(self.vectors.take(both))
            if objective([joined, *around]) > objective([group, beside, *around]):
                gone, stays = max(theme, other), min(theme, other)
                self._happen(Event(at, MERGED, gone, (), stays))
                return
