"""Which themes are near a vector, without looking at all of them.

Themes lie in cells around anchors, which are themes themselves when the cell begins; there are about twice as many
cells as a cell has themes. To look into the cells whose anchors are nearest costs a few square roots of the number of
themes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from stitch.themes.rows import Rows

if TYPE_CHECKING:
    from stitch.core.protocols import Vectors

PROBED = 5
"""So many cells are looked into."""


class Cells:
    """The centroids of themes, by their numbers, in the cells in which they lie.

    Args:
        dimension: Length of a vector.
    """

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._anchors: Rows[int] = Rows(dimension)
        """By the number of the cell; each is where its first theme was."""
        self._cells: dict[int, Rows[int]] = {}
        self._cell_of: dict[int, int] = {}
        self._begun = 0

    def __len__(self) -> int:
        return len(self._cell_of)

    def put(self, theme: int, centroid: Vectors) -> None:
        """Add a theme, or move it to where its centroid is now."""
        if len(self._anchors) < 2 * isqrt(len(self._cell_of) + 1):
            self._begin(theme, centroid)
            return
        cell = self._anchors.names[int(self._anchors.similarities(centroid).argmax())]
        if self._cell_of.get(theme, cell) != cell:
            self._leave(theme)
        self._enter(theme, cell, centroid)

    def shift(self, theme: int, centroid: Vectors) -> None:
        """Move a theme a little: it stays in its cell."""
        self._cells[self._cell_of[theme]].put(theme, centroid)

    def remove(self, theme: int) -> None:
        """Remove a theme; a cell without themes ends."""
        self._leave(theme)

    def dump(self) -> tuple[dict[str, Any], Vectors]:
        """All of it but where the themes are, and the anchors."""
        cells = [[cell, self._cells[cell].names] for cell in self._anchors.names]
        return {"begun": self._begun, "cells": cells}, self._anchors.matrix

    def load(self, named: Mapping[str, Any], anchors: Vectors, *, centroid: Callable[[int], Vectors]) -> None:
        """Be as one that was dumped."""
        self._begun = named["begun"]
        self._anchors.fill([cell for cell, _ in named["cells"]], anchors)
        for cell, themes in named["cells"]:
            self._cells[cell] = Rows(self._dimension)
            self._cells[cell].fill(themes, np.stack([centroid(theme) for theme in themes]))
            self._cell_of.update(dict.fromkeys(themes, cell))

    def near(self, vector: Vectors, *, limit: int) -> list[tuple[float, int]]:
        """Themes near a vector with their similarities, the nearest first; of equals the older first."""
        count, cells = len(self._anchors), self._anchors.names
        if not count:
            return []
        if count > PROBED:
            similar = self._anchors.similarities(vector)
            cells = [cells[place] for place in similar.argpartition(count - PROBED)[count - PROBED :].tolist()]
        names: list[int] = []
        parts = []
        for cell in cells:
            rows = self._cells[cell]
            names += rows.names
            parts.append(rows.similarities(vector))
        similarities = np.concatenate(parts)
        if len(names) > limit:
            places = similarities.argpartition(len(names) - limit)[len(names) - limit :].tolist()
        else:
            places = list(range(len(names)))
        found = [(float(similarities[place]), names[place]) for place in places]
        return sorted(found, key=lambda pair: (-pair[0], pair[1]))

    def _begin(self, theme: int, centroid: Vectors) -> None:
        """Begin a cell where a theme is, and take in the themes that are nearer to it than to their own anchors."""
        self._leave(theme)
        cell, both = self._begun, np.zeros((self._dimension, 2), np.float32)
        self._begun += 1
        both[:, 0] = centroid
        self._anchors.put(cell, centroid)
        self._cells[cell] = Rows(self._dimension)
        self._enter(theme, cell, centroid)
        for other, rows in list(self._cells.items()):
            if other != cell:
                both[:, 1] = self._anchors[other]
                nearer = rows.matrix @ both
                for each in [rows.names[place] for place in np.flatnonzero(nearer[:, 0] > nearer[:, 1]).tolist()]:
                    vector = rows[each].copy()
                    self._leave(each)
                    self._enter(each, cell, vector)

    def _enter(self, theme: int, cell: int, centroid: Vectors) -> None:
        self._cell_of[theme] = cell
        self._cells[cell].put(theme, centroid)

    def _leave(self, theme: int) -> None:
        cell = self._cell_of.pop(theme, None)
        if cell is None:
            return
        self._cells[cell].remove(theme)
        if not len(self._cells[cell]):
            del self._cells[cell]
            self._anchors.remove(cell)
