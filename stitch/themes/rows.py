"""Vectors by name, in one matrix that is always dense."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

if TYPE_CHECKING:
    from stitch.core.protocols import Vectors

_ROUNDING = 1e-5
"""Equal vectors may differ by less than this in their similarity."""

Name = TypeVar("Name", int, str)


class Rows(Generic[Name]):
    """Unit vectors by name. To add, change or remove one costs the same however many there are."""

    def __init__(self, dimension: int) -> None:
        self._matrix = np.zeros((8, dimension), np.float32)
        self._places: dict[Name, int] = {}
        self.names: list[Name] = []
        """The names of the rows, in their order."""

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __getitem__(self, name: Name) -> Vectors:
        row: Vectors = self._matrix[self._places[name]]
        return row

    def put(self, name: Name, vector: Vectors) -> None:
        """Add a vector, or change it."""
        place = self._places.get(name)
        if place is None:
            place = len(self.names)
            if place == len(self._matrix):
                self._matrix = np.concatenate([self._matrix, np.zeros_like(self._matrix)])
            self._places[name] = place
            self.names.append(name)
        self._matrix[place] = vector

    def remove(self, name: Name) -> None:
        """Remove a vector: the last row takes its place, and where that was are zeros."""
        place, last = self._places.pop(name), len(self.names) - 1
        moved = self.names.pop()
        if place != last:
            self._matrix[place] = self._matrix[last]
            self._places[moved] = place
            self.names[place] = moved
        self._matrix[last] = 0

    def take(self, names: Iterable[Name]) -> Vectors:
        """The vectors of names, shape `(len(names), dimension)`."""
        taken: Vectors = self._matrix.take(np.fromiter((self._places[name] for name in names), np.intp), axis=0)
        return taken

    def similarities(self, vector: Vectors) -> Vectors:
        """The similarity of each to a vector, in the order of `names`."""
        found: Vectors = self._matrix[: len(self.names)].dot(vector)
        return found

    def nearest(self, vector: Vectors, *, limit: int, but: Name | None = None) -> list[tuple[float, Name]]:
        """The most similar ones but one, with their similarities, the nearest first; of equals the lower name."""
        names = [self.names[place] for place in best_places(self.similarities(vector), limit + 1)]
        # Row by row, for those of a product of all rows depend on their order in the last digit.
        found = [(float(self[name].dot(vector)), name) for name in names if name != but]
        return sorted(found, key=lambda each: (-each[0], each[1]))[:limit]


def best_places(similarities: Vectors, limit: int) -> list[int]:
    """The places of the highest similarities, in their order, with all that are as good as the last one."""
    if limit >= len(similarities):
        return list(range(len(similarities)))
    least = np.partition(similarities, len(similarities) - limit)[len(similarities) - limit]
    places: list[int] = np.flatnonzero(similarities >= least - _ROUNDING).tolist()
    return places
