"""Keeping themes in shape as statements come and go: attach, split, merge.

    a statement comes ─▶ its nearest theme, if it is as near as others have been to theirs ─▶ else a theme of its own
    a theme is too large, or loose ─▶ split, the way the objective likes best
    a theme moved ─▶ merged with a neighbor that is as near as neighbors seldom are, if the objective gains

What is near is a percentile of what was near in this collection. A statement is compared with all themes, which at a
hundred thousand statements takes a few milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from stitch.themes.grouping import ATTACHED, LEFT, MERGED, SPLIT, Event, Grouping, Measures
from stitch.themes.objective import Group, candidates, group_of, objective
from stitch.themes.rows import Rows

if TYPE_CHECKING:
    from stitch.core.protocols import Vectors

MOST = 12
"""The largest theme, in statements."""
SPLIT_FROM = 4
"""A theme of so many statements may be split because they are not like each other."""

ATTACH_PERCENTILE = 0.35
"""A statement joins its nearest theme if it is nearer than this share of all were to theirs."""
ATTACH_SMALL_PERCENTILE = 0.2
"""The same of a theme that has fewer than `SMALL` statements: there a centroid says little yet."""
SMALL = 3
SPLIT_PERCENTILE = 0.1
"""A theme is loose if its mean similarity is less than that of this share of statements to their nearest theme."""
MERGE_PERCENTILE = 0.7
"""Neighbors are merged that are nearer than this share of themes are to their nearest neighbor."""
SINGLE_PERCENTILE = 0.1
"""A single statement is merged with a neighbor unless it is farther than all but this share were."""
MERGE_NEIGHBORS = 2
"""With so many of its neighbors a theme may be merged."""
N_PROBE = 10
"""So many themes that are nearest to one are looked at when it changes."""

_BINS = 400
_FADES_AT = 8192
"""At so many similarities all counts are halved: what is near changes as a collection grows."""
_BEFORE = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
"""Counted before anything is known, and never taken back: among dozens of others they are nothing."""


class Percentiles:
    """Counts of similarities, from which their percentiles are read: what counts as near is a share of all."""

    def __init__(self) -> None:
        self._counts = np.zeros(_BINS, np.int64)
        for similarity in _BEFORE:
            self.add(similarity)

    def add(self, similarity: float) -> None:
        """Count a similarity."""
        self._counts[min(_BINS - 1, max(0, int((similarity + 1) / 2 * _BINS)))] += 1
        if self._counts.sum() >= _FADES_AT:
            self._counts //= 2

    def at(self, share: float) -> float:
        """The similarity below which this share of all lies."""
        up_to = self._counts.cumsum()
        wanted = share * int(up_to[-1])
        place = int(up_to.searchsorted(wanted, side="right"))
        if place == _BINS:
            return 1.0
        count = int(self._counts[place])
        return (place + (wanted - int(up_to[place]) + count) / count) / _BINS * 2 - 1

    def counts(self) -> dict[str, int]:
        """The counts, as JSON keeps them."""
        return {str(place): count for place, count in enumerate(self._counts.tolist()) if count}

    def recall(self, counts: Mapping[str, int]) -> None:
        """Go on with counts as they were kept."""
        self._counts[:] = 0
        for place, count in counts.items():
            self._counts[min(_BINS - 1, int(place))] = count


class Upkeep:
    """The themes of a tenant, with all that is needed to keep them in shape."""

    def __init__(self, dimension: int) -> None:
        self.grouping = Grouping()
        self.vectors: Rows[str] = Rows(dimension)
        """Of the statements."""
        self.centroids: Rows[int] = Rows(dimension)
        """Of the themes."""
        self.to_theme = Percentiles()
        """Similarities of statements to their nearest theme when they came."""
        self.to_neighbor = Percentiles()
        """Similarities of themes to their nearest neighbor when they changed."""
        self.events: list[Event] = []
        """Events since they were taken from here."""
        self.groups: dict[int, Group] = {}
        """Size, centroid and cohesion of each theme."""

    def measures(self) -> Measures:
        """The similarities counted, as they are kept."""
        return {"to_theme": self.to_theme.counts(), "to_neighbor": self.to_neighbor.counts()}

    def recall(self, measures: Measures, *, next_theme: int) -> None:
        """Go on with measures as they were kept; the next theme has at least this number."""
        self.to_theme.recall(measures["to_theme"])
        self.to_neighbor.recall(measures["to_neighbor"])
        self.grouping.next = max(self.grouping.next, next_theme)

    def settle(self, events: Iterable[Event], vectors: Mapping[str, Vectors]) -> None:
        """Replay earlier events, in their order, for the statements of which there are vectors."""
        for name, vector in vectors.items():
            self.vectors.put(name, vector)
        for event in events:
            if event.kind == ATTACHED:
                event = event._replace(statements=tuple(name for name in event.statements if name in vectors))
            self.grouping.take(event)
        for theme in self.grouping.members:
            self._place(theme)

    def attach(self, name: str, vector: Vectors, *, at: float) -> None:
        """Find the theme of a statement that is new."""
        theme = self.grouping.next
        for similarity, nearest in self.centroids.nearest(vector, limit=1):
            share = ATTACH_SMALL_PERCENTILE if self.groups[nearest].size < SMALL else ATTACH_PERCENTILE
            if similarity >= self.to_theme.at(share):
                theme = nearest
            self.to_theme.add(similarity)
        self.vectors.put(name, vector)
        self._happen(Event(at, ATTACHED, theme, (name,)))
        self._tend(theme, at=at)

    def detach(self, name: str, *, at: float) -> None:
        """Take a statement out of its theme; what is left of the theme stays together."""
        self.forget([name])
        self.events.append(Event(at, LEFT, 0, (name,)))

    def forget(self, names: Sequence[str]) -> None:
        """Forget statements as if they had never been; no event tells of it."""
        for name in names:
            theme = self.grouping.theme_of.get(name)
            self.grouping.take(Event(0.0, LEFT, 0, (name,)))
            if theme is not None:
                self.vectors.remove(name)
                self._place(theme)

    def _happen(self, event: Event) -> None:
        self.events.append(event)
        self.grouping.take(event)
        self._place(event.theme)
        if event.into:
            self._place(event.into)

    def _place(self, theme: int) -> None:
        """Find where a theme is now."""
        names = self.grouping.members.get(theme)
        if names is not None:
            self.groups[theme] = group_of(self.vectors.take(names))
            self.centroids.put(theme, self.groups[theme].centroid)
        elif self.groups.pop(theme, None) is not None:
            self.centroids.remove(theme)

    def neighbors(self, theme: int, *, limit: int) -> list[tuple[float, int]]:
        """The themes that are nearest to one, the nearest first."""
        return self.centroids.nearest(self.groups[theme].centroid, limit=limit, but=theme)

    def _tend(self, theme: int, *, at: float) -> None:
        """Split or merge a theme that has changed, if that is better."""
        group = self.groups[theme]
        loose = group.size >= SPLIT_FROM and group.cohesion < self.to_theme.at(SPLIT_PERCENTILE)
        if not ((group.size > MOST or loose) and self._split(theme, at=at)):
            self._merge(theme, at=at)

    def _around(self, themes: Sequence[int]) -> list[Group]:
        """The themes around some, which do not change."""
        found = {each: None for theme in themes for _, each in self.neighbors(theme, limit=N_PROBE)}
        return [self.groups[each] for each in found if each not in themes]

    def _split(self, theme: int, *, at: float) -> bool:
        """Split a theme the way that is best; one that is not too large may stay whole.

        The larger part stays the theme that was; of equal ones that with its oldest statement.
        """
        names = list(self.grouping.members[theme])
        vectors = self.vectors.take(names)
        around = self._around([theme])
        best = objective([self.groups[theme], *around]) if len(names) <= MOST else -np.inf
        leaves: list[int] = []
        for parts in candidates(vectors):
            value = objective([*(group_of(vectors[part]) for part in parts), *around])
            if value > best:
                best, leaves = value, min(parts, key=lambda part: (len(part), -part[0]))
        if leaves:
            self._happen(Event(at, SPLIT, theme, tuple(names[each] for each in leaves), self.grouping.next))
        return bool(leaves)

    def _merge(self, theme: int, *, at: float) -> None:
        """Merge a theme with one of its neighbors, if they are near and the objective gains."""
        group = self.groups[theme]
        for place, (similarity, other) in enumerate(self.neighbors(theme, limit=MERGE_NEIGHBORS)):
            beside = self.groups[other]
            usual = self.to_neighbor.at(MERGE_PERCENTILE)
            if place == 0:
                self.to_neighbor.add(similarity)
            if group.size + beside.size > MOST:
                continue
            single = min(group.size, beside.size) == 1 and similarity >= self.to_theme.at(SINGLE_PERCENTILE)
            if similarity < usual and not single:
                continue
            around = self._around([theme, other])
            both = [*self.grouping.members[theme], *self.grouping.members[other]]
            joined = group_of(self.vectors.take(both))
            if objective([joined, *around]) > objective([group, beside, *around]):
                gone, stays = max(theme, other), min(theme, other)
                self._happen(Event(at, MERGED, gone, (), stays))
                return
