"""The vectors of an embedded store as a matrix in a mapped file: to multiply it costs less than to ask an engine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from stitch.core.files import private

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_GROW_ROWS = 4096

_FEW = 2
"""Of narrow rows, fewer than one of so many are gathered first; of more, all are multiplied: that reads in order."""

_NARROW = 64
"""Wide rows are always gathered: pages of the file that hold none of them are left on the disk."""

_GATHERED = 1024
"""How many rows are gathered at a time: what is freed of a large array, the process keeps."""

_HEAD = 32
"""How many coordinates a bound is made of. Those of the default embedder come in the order of their variance."""

_SLACK = 1e-5
"""What is computed in single precision may be off by less."""


class VectorFile:
    """Unit vectors by row, in files of which the system keeps in memory what is used.

    Beside the vectors stand their heads: the first coordinates, and how long the rest is. By Cauchy and Schwarz that
    bounds a cosine from above, at an eighth of the memory that has to be read for the cosine itself.

    They are derived: after a process died, they have to be made again from the engine.

    Args:
        file: Where they are; made if it is not there.
        dimension: The length of a vector.

    Raises:
        OSError: The file cannot be used.
    """

    def __init__(self, file: Path, *, dimension: int) -> None:
        self._vectors = _Matrix(file, dimension)
        self._heads = _Matrix(file.with_suffix(".heads"), min(_HEAD, dimension) + 1)

    def __len__(self) -> int:
        """How many rows there is room for."""
        return min(len(self._vectors.rows), len(self._heads.rows))

    def put(self, rows: Sequence[int], vectors: NDArray[np.float32]) -> None:
        """Write vectors, which need not be of length one; rows that are there are replaced."""
        if not rows:
            return
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        units: NDArray[np.float32] = (vectors / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)
        for matrix, values in ((self._vectors, units), (self._heads, _heads(units))):
            matrix.reserve(max(rows) + 1)
            matrix.rows[list(rows)] = values

    def clear(self, rows: Sequence[int]) -> None:
        """Overwrite vectors with zeros."""
        for matrix in (self._vectors, self._heads):
            matrix.rows[list(rows)] = 0.0

    def cosines(self, rows: NDArray[np.int64], vector: Sequence[float]) -> NDArray[np.float64]:
        """The cosine of each of these rows with a vector."""
        return self._vectors.times(_unit(vector), rows)

    def at_most(self, rows: NDArray[np.int64], vector: Sequence[float]) -> NDArray[np.float64]:
        """What none of these cosines exceeds."""
        return self._heads.times(_heads(_unit(vector)[None])[0], rows) + _SLACK

    def flush(self) -> None:
        """Make everything written survive a loss of power."""
        self._vectors.flush()
        self._heads.flush()

    def close(self) -> None:
        """Let go of the files."""
        self._vectors.close()
        self._heads.close()


class _Matrix:
    def __init__(self, file: Path, width: int) -> None:
        self._file = file
        self._width = width
        open(file, "ab", opener=private).close()
        self.rows = self._map()

    def times(self, vector: NDArray[np.float32], rows: NDArray[np.int64]) -> NDArray[np.float64]:
        if not len(rows):
            return np.zeros(0)
        top = int(rows.max()) + 1
        matrix = np.asarray(self.rows)  # every slice of a mapped array costs more than that of a plain one
        if self._width <= _NARROW and len(rows) * _FEW >= top:
            return self._products(matrix[:top], vector)[rows].astype(np.float64)
        starts = range(0, len(rows), _GATHERED)
        # To take rows costs a third of indexing by them.
        parts = [self._products(matrix.take(rows[start : start + _GATHERED], axis=0), vector) for start in starts]
        return np.concatenate(parts, dtype=np.float64)

    def _products(self, matrix: NDArray[np.float32], vector: NDArray[np.float32]) -> NDArray[np.float32]:
        # Row by row: for a whole matrix BLAS would start threads, which wait for each other where processors are busy.
        if self._width <= _NARROW:
            products: NDArray[np.float32] = np.einsum("ij,j->i", matrix, vector)
        else:
            products = np.matmul(matrix[:, None, :], vector[:, None])[:, 0, 0]
        return products

    def reserve(self, rows: int) -> None:
        if rows <= len(self.rows):
            return
        self.close()  # a mapped file cannot be made larger everywhere
        size = -(-rows // _GROW_ROWS) * _GROW_ROWS * self._width * 4
        with open(self._file, "r+b", opener=private) as stream:
            if hasattr(os, "posix_fallocate"):  # a full disk is an error here; where pages are written, it is the end
                os.posix_fallocate(stream.fileno(), 0, size)
            else:
                stream.truncate(size)
        self.rows = self._map()

    def flush(self) -> None:
        if isinstance(self.rows, np.memmap):
            self.rows.flush()

    def close(self) -> None:
        self.rows = np.empty((0, self._width), dtype=np.float32)

    def _map(self) -> NDArray[np.float32]:
        rows = self._file.stat().st_size // (4 * self._width)
        if not rows:
            return np.empty((0, self._width), dtype=np.float32)
        return np.memmap(self._file, dtype=np.float32, mode="r+", shape=(rows, self._width))


def _unit(vector: Sequence[float]) -> NDArray[np.float32]:
    values = np.array(vector, dtype=np.float32)
    unit: NDArray[np.float32] = values / np.linalg.norm(values)
    return unit


def _heads(units: NDArray[np.float32]) -> NDArray[np.float32]:
    rest = np.linalg.norm(units[:, _HEAD:], axis=1, keepdims=True)
    return np.concatenate([units[:, :_HEAD], rest], axis=1, dtype=np.float32)
