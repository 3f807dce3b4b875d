"""What bounds cosines: the vectors themselves are in the engine, and to ask it costs more than a matrix does."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stitch.core.files import private

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]
    Cosines = NDArray[np.float64]

_GROW_ROWS = 4096

_FEW = 2
"""Fewer heads than one of so many are gathered first; of more, all are multiplied: that reads in order."""

_GATHERED = 1024
"""How many sketches are gathered at a time: what is freed of a large array, the process keeps."""

_HEAD = 32
"""How many coordinates a head has. Those of the default embedder come in the order of their variance."""

_STEPS = 127
"""The largest coordinate of a sketch."""

_SLACK = 1e-5
"""What is computed in single precision may be off by less."""

AT_MOST = 1.001
"""No cosine is more, whatever the vectors: rounded to half precision, their length is at most 1.0005."""


class VectorBounds:
    """Between which numbers the cosine of a unit vector lies, by row, in mapped files.

    Of each vector stand here its head (the first coordinates, and how long the rest is), an eighth of its bytes, and
    its sketch (all coordinates in steps of a 127th of the largest, and how far that is from the vector), a quarter.
    By Cauchy and Schwarz each bounds a cosine; the sketch within about a hundredth. Both are derived from vectors.

    Args:
        folder: Where the files are; made if they are not there.
        dimension: The length of a vector.

    Raises:
        OSError: A file cannot be used.
    """

    def __init__(self, folder: Path, *, dimension: int) -> None:
        self._dimension = dimension
        self.files = bound_files(folder)
        about = np.dtype([("steps", np.int8, dimension), ("scale", np.float32), ("error", np.float32)])
        self._heads = _Table(self.files[0], np.dtype((np.float32, min(_HEAD, dimension) + 1)))
        self._sketches = _Table(self.files[1], about)

    def __len__(self) -> int:
        """How many rows there is room for."""
        return min(len(self._heads.rows), len(self._sketches.rows))

    def put(self, rows: Sequence[int], units: Vectors) -> None:
        """Take in vectors of length one, or zero; rows that are there are replaced."""
        if rows:
            for table, values in self._derived(units):
                table.reserve(max(rows) + 1)
                table.rows[list(rows)] = values

    def clear(self, rows: Sequence[int]) -> None:
        """Overwrite what is known of rows with zeros."""
        for table in (self._heads, self._sketches):
            table.rows[list(rows)] = np.zeros((), dtype=table.rows.dtype)

    def agree(self, rows: Sequence[int], units: Vectors) -> NDArray[np.bool_]:
        """Of which of these rows is known what their vectors say."""
        same = np.ones(len(rows), dtype=bool)
        for table, values in self._derived(units):
            there, wanted = (np.ascontiguousarray(each) for each in (table.rows[list(rows)], values))
            width = table.item.itemsize
            bytes_there, bytes_wanted = (each.view(np.uint8).reshape(len(rows), width) for each in (there, wanted))
            same &= (bytes_there == bytes_wanted).all(axis=1)
        return same

    def at_most(self, rows: NDArray[np.int64], unit: Vectors) -> Cosines:
        """What none of these cosines with a unit vector exceeds, roughly, at the least cost."""
        if not len(rows):
            return np.zeros(0)
        heads = np.asarray(self._heads.rows)  # every slice of a mapped array costs more than that of a plain one
        asked = _heads(unit[None])[0]
        top = int(rows.max()) + 1
        if len(rows) * _FEW >= top:
            bounds: Cosines = np.einsum("ij,j->i", heads[:top], asked).take(rows).astype(np.float64)
        else:
            bounds = np.einsum("ij,j->i", heads.take(rows, axis=0), asked).astype(np.float64)
        return bounds + _SLACK

    def near(self, rows: NDArray[np.int64], unit: Vectors) -> tuple[Cosines, Cosines]:
        """About what these cosines with a unit vector are, and how far they may be from that."""
        sketches = np.asarray(self._sketches.rows)
        about, errors = np.empty(len(rows)), np.empty(len(rows))
        for start in range(0, len(rows), _GATHERED):
            part = sketches.take(rows[start : start + _GATHERED])
            steps = part["steps"].astype(np.float32)
            # Row by row: for a whole matrix BLAS would start threads, which wait for each other on a busy processor.
            products = np.matmul(steps[:, None, :], unit[:, None])[:, 0, 0]
            about[start : start + len(part)] = products * part["scale"]
            errors[start : start + len(part)] = part["error"]
        return about, errors + _SLACK

    def flush(self) -> None:
        """Make everything written survive a loss of power."""
        self._heads.flush()
        self._sketches.flush()

    def close(self) -> None:
        """Let go of the files."""
        self._heads.close()
        self._sketches.close()

    def _derived(self, units: Vectors) -> list[tuple[_Table, NDArray[Any]]]:
        sketches = np.zeros(len(units), dtype=self._sketches.item)
        scales = np.abs(units).max(axis=1, initial=0.0, keepdims=True) / np.float32(_STEPS)
        steps = np.rint(np.divide(units, scales, out=np.zeros_like(units), where=scales > 0))
        sketches["steps"], sketches["scale"] = steps, scales[:, 0]
        sketches["error"] = np.linalg.norm(units - steps * scales, axis=1)
        return [(self._heads, _heads(units)), (self._sketches, sketches)]


def bound_files(folder: Path) -> tuple[Path, Path]:
    """The files of the bounds in a folder."""
    return folder / "heads.bin", folder / "sketches.bin"


class _Table:
    """Rows of one type in a mapped file."""

    def __init__(self, file: Path, item: np.dtype[Any]) -> None:
        self._file, self.item = file, item
        open(file, "ab", opener=private).close()
        self.rows = self._map()

    def reserve(self, rows: int) -> None:
        if rows <= len(self.rows):
            return
        self.close()  # a mapped file cannot be made larger everywhere
        size = -(-rows // _GROW_ROWS) * _GROW_ROWS * self.item.itemsize
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
        self.rows = np.empty(0, dtype=self.item)

    def _map(self) -> NDArray[Any]:
        rows = self._file.stat().st_size // self.item.itemsize
        if not rows:
            return np.empty(0, dtype=self.item)
        return np.memmap(self._file, dtype=self.item, mode="r+", shape=(rows,))


def _heads(units: Vectors) -> Vectors:
    rest = np.linalg.norm(units[:, _HEAD:], axis=1, keepdims=True)
    return np.concatenate([units[:, :_HEAD], rest], axis=1, dtype=np.float32)
