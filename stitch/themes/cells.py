"""Which themes are near a vector, without looking at all of them.

Themes lie in cells around anchors, which are themes themselves when the cell begins; there are about twice as many
cells as a cell has themes. To look into the cells whose anchors are nearest costs a few square roots of the number of
themes.
"""

from __future__ import annotations

from math import isqrt
from typing import TYPE_CHECKING

import numpy as np

from stitch.themes.rows import Rows

if TYPE_CHECKING:
    from stitch.core.protocols import Vectors

PROBED = 8
"""So many cells are looked into."""


class Cells:
    """The centroids of themes, and the cells in which they lie.

    Args:
        dimension: Length of a vector.
    """

    def __init__(self, dimension: int) -> None:
        self.centroids: Rows[int] = Rows(dimension)
        """By the number of the theme."""
        self._anchors: Rows[int] = Rows(dimension)
        """By the number of the cell; each is where its first theme was."""
        self._cell_of: dict[int, int] = {}
        self._themes: dict[int, dict[int, None]] = {}
        self._begun = 0

    def __len__(self) -> int:
        return len(self.centroids)

    def put(self, theme: int, centroid: Vectors) -> None:
        """Add a theme, or move it to where its centroid is now."""
        self.centroids.put(theme, centroid)
        if len(self._anchors) < 2 * isqrt(len(self.centroids)):
            self._begin(theme)
            return
        similar = self._anchors.matrix @ centroid
        cell = self._anchors.names[int(similar.argmax())]
        if self._cell_of.get(theme) != cell:
            self._leave(theme)
            self._enter(theme, cell)

    def remove(self, theme: int) -> None:
        """Remove a theme; a cell without themes ends."""
        self.centroids.remove(theme)
        self._leave(theme)

    def near(self, vector: Vectors, *, limit: int) -> list[tuple[float, int]]:
        """Themes near a vector with their similarities, the nearest first; of equals the older first."""
        count = len(self._anchors)
        if not count:
            return []
        names = self._anchors.names
        if count > PROBED:
            similar = self._anchors.matrix @ vector
            chosen = np.argpartition(similar, count - PROBED)[count - PROBED :].tolist()
        else:
            chosen = range(count)
        among = [theme for place in chosen for theme in self._themes[names[place]]]
        similarities = self.centroids.take(among) @ vector
        if len(among) > limit:
            best = np.argpartition(similarities, len(among) - limit)[len(among) - limit :].tolist()
        else:
            best = list(range(len(among)))
        found = [(float(similarities[place]), among[place]) for place in best]
        return sorted(found, key=lambda pair: (-pair[0], pair[1]))

    def _begin(self, theme: int) -> None:
        """Begin a cell where a theme is, and take in the themes that are nearer to it than to their own anchors."""
        self._leave(theme)
        cell = self._begun
        self._begun += 1
        anchor = self.centroids[theme]
        self._anchors.put(cell, anchor)
        self._themes[cell] = {}
        self._enter(theme, cell)
        for other, held in list(self._themes.items()):
            if other == cell or not held:
                continue
            among = list(held)
            nearer = self.centroids.take(among) @ np.stack([anchor, self._anchors[other]], axis=1)
            for each in np.flatnonzero(nearer[:, 0] > nearer[:, 1]).tolist():
                self._leave(among[each])
                self._enter(among[each], cell)

    def _enter(self, theme: int, cell: int) -> None:
        self._cell_of[theme] = cell
        self._themes[cell][theme] = None

    def _leave(self, theme: int) -> None:
        cell = self._cell_of.pop(theme, None)
        if cell is None:
            return
        del self._themes[cell][theme]
        if not self._themes[cell]:
            del self._themes[cell]
            self._anchors.remove(cell)
