"""Vectors by name, in one matrix that is always dense."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

if TYPE_CHECKING:
    from stitch.core.protocols import Vectors

Name = TypeVar("Name", bound=Hashable)


class Rows(Generic[Name]):
    """Unit vectors by name. To add, change or remove one costs the same however many there are.

    Args:
        dimension: Length of a vector.
    """

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

    def fill(self, names: Sequence[Name], vectors: Vectors) -> None:
        """Begin with these, and with room for an eighth more."""
        self._matrix = np.zeros((8 + len(names) * 9 // 8, vectors.shape[1]), np.float32)
        self._matrix[: len(names)] = vectors
        self.names = list(names)
        self._places = {name: place for place, name in enumerate(self.names)}

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
        taken: Vectors = self._matrix.take([self._places[name] for name in names], axis=0)
        return taken

    @property
    def matrix(self) -> Vectors:
        """All vectors, in the order of `names`; not to be written to."""
        view = self._matrix[: len(self.names)]
        view.flags.writeable = False
        return view

    def similarities(self, vector: Vectors) -> Vectors:
        """The similarity of each to a vector, in the order of `names`."""
        found: Vectors = self._matrix[: len(self.names)].dot(vector)  # with less around it than `@`: rows are few
        return found
