"""The vectors of an embedded store as one matrix in a mapped file: to multiply it costs less than to ask an engine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_GROW_ROWS = 4096

_FEW = 4
"""Fewer than one of so many rows are gathered first; of more, all are multiplied: that reads memory in order."""


class VectorFile:
    """Unit vectors by row, in a file of which the system keeps in memory what is used.

    It is derived: after a process died, it has to be made again from the engine.

    Args:
        file: Where they are; made if it is not there.
        dimension: The length of a vector.

    Raises:
        OSError: The file cannot be used.
    """

    def __init__(self, file: Path, *, dimension: int) -> None:
        self._file = file
        self._dimension = dimension
        file.touch()
        self._matrix = self._map()

    def __len__(self) -> int:
        """How many rows there is room for."""
        return len(self._matrix)

    def put(self, rows: Sequence[int], vectors: NDArray[np.float32]) -> None:
        """Write vectors, which need not be of length one; rows that are there are replaced."""
        if not rows:
            return
        self._reserve(max(rows) + 1)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        self._matrix[list(rows)] = vectors / np.where(lengths > 0, lengths, 1.0)

    def clear(self, rows: Sequence[int]) -> None:
        """Overwrite vectors with zeros."""
        self._matrix[list(rows)] = 0.0

    def cosines(self, rows: NDArray[np.int64], vector: Sequence[float]) -> NDArray[np.float64]:
        """The cosine of each of these rows with a vector."""
        asked = np.array(vector, dtype=np.float32)
        asked /= np.linalg.norm(asked)
        if not len(rows):
            return np.zeros(0)
        top = int(rows.max()) + 1
        if len(rows) * _FEW < top:
            return (self._matrix[rows] @ asked).astype(np.float64)
        return (self._matrix[:top] @ asked)[rows].astype(np.float64)

    def flush(self) -> None:
        """Make everything written survive a loss of power."""
        if isinstance(self._matrix, np.memmap):
            self._matrix.flush()

    def close(self) -> None:
        """Let go of the file."""
        self._matrix = np.empty((0, self._dimension), dtype=np.float32)

    def _reserve(self, rows: int) -> None:
        if rows <= len(self._matrix):
            return
        self.close()  # a mapped file cannot be made larger everywhere
        size = -(-max(rows, 1) // _GROW_ROWS) * _GROW_ROWS * self._dimension * 4
        with open(self._file, "r+b") as stream:
            if hasattr(os, "posix_fallocate"):  # a full disk is an error here; where pages are written, it is the end
                os.posix_fallocate(stream.fileno(), 0, size)
            else:
                stream.truncate(size)
        self._matrix = self._map()

    def _map(self) -> NDArray[np.float32]:
        rows = self._file.stat().st_size // (4 * self._dimension)
        if not rows:
            return np.empty((0, self._dimension), dtype=np.float32)
        return np.memmap(self._file, dtype=np.float32, mode="r+", shape=(rows, self._dimension))
