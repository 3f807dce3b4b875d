"""What bounds cosines: the vectors themselves are in the engine, and to ask it costs more than a matrix does."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stitch.core.files import private
from stitch.store.vectors import lengths

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]
    Cosines = NDArray[np.float64]

_GROW_ROWS = 4096

_FEW = 2
"""Fewer heads than one of so many are gathered first; of more, all are multiplied: that reads in order."""

_GATHERED = 1024
"""How many sketches are gathered at a time: what is freed of a large array, the process keeps."""

_READ_ROWS = 8192
"""Of so many sketches at a time heads are made when a store is opened."""

_HEAD = 32
"""How many coordinates a head has. Those of the default embedder come in the order of their variance."""

_STEPS = 127
"""The largest coordinate of a sketch."""

_SLACK = 1e-5
"""What is computed in single precision may be off by less."""

AT_MOST = 1.001
"""No cosine is more, whatever the vectors: rounded to half precision, their length is at most 1.0005."""


class VectorBounds:
    """Between which numbers the cosine of a unit vector lies, by row.

    Of each vector stands in a mapped file its sketch: all coordinates in steps of a 127th of the largest, a byte each,
    and how far that is from the vector. In memory stands its head, made of the sketch when the file is opened: the
    first coordinates, and how long the rest is. By Cauchy and Schwarz each bounds a cosine, the sketch within about a
    hundredth.

    Args:
        folder: Where the file is; made if it is not there.
        dimension: The length of a vector.

    Raises:
        OSError: The file cannot be used.
    """

    def __init__(self, folder: Path, *, dimension: int) -> None:
        about = np.dtype([("steps", np.int8, dimension), ("scale", np.float32), ("error", np.float32)])
        self._sketches = _Table(sketch_file(folder), about)
        self._room = np.zeros((0, min(_HEAD, dimension) + 2), dtype=np.float32)
        """The heads, and places for more."""
        self._make_room()
        start = 0
        for sketches in self._sketches.read():
            self._set_heads(range(start, start := start + len(sketches)), sketches)

    def __len__(self) -> int:
        """How many rows there is room for."""
        return len(self._sketches.rows)

    def put(self, rows: Sequence[int], units: Vectors) -> None:
        """Take in vectors of length one, or zero; rows that are there are replaced."""
        if rows:
            self._sketches.reserve(max(rows) + 1)
            self._make_room()
            self._set(rows, self._sketches_of(units))

    def clear(self, rows: Sequence[int]) -> None:
        """Overwrite what is known of rows with zeros."""
        self._set(rows, np.zeros(len(rows), dtype=self._sketches.item))

    def agree(self, rows: Sequence[int], units: Vectors) -> NDArray[np.bool_]:
        """Of which of these rows is known what their vectors say."""
        there, wanted = (
            np.ascontiguousarray(each).view(np.uint8).reshape(len(rows), self._sketches.item.itemsize)
            for each in (self._sketches.rows[list(rows)], self._sketches_of(units))
        )
        same: NDArray[np.bool_] = (there == wanted).all(axis=1)
        return same

    def at_most(self, rows: NDArray[np.int64], unit: Vectors) -> Cosines:
        """What none of these cosines with a unit vector exceeds, roughly, at the least cost."""
        if not len(rows):
            return np.zeros(0)
        heads = self._room
        asked = np.append(_heads(unit[None])[0], np.float32(AT_MOST))
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
        self._sketches.flush()

    def close(self) -> None:
        """Let go of the file."""
        self._sketches.close()

    def _set(self, rows: Sequence[int], sketches: NDArray[Any]) -> None:
        self._sketches.rows[list(rows)] = sketches
        self._set_heads(rows, sketches)

    def _make_room(self) -> None:
        if len(self._room) < len(self):
            room = np.zeros((max(len(self), len(self._room) * 9 // 8), self._room.shape[1]), dtype=np.float32)
            room[: len(self._room)] = self._room
            self._room = room

    def _set_heads(self, rows: Sequence[int], sketches: NDArray[Any]) -> None:
        about = sketches["steps"].astype(np.float32) * sketches["scale"][:, None]
        self._room[list(rows)] = np.concatenate([_heads(about), sketches["error"][:, None]], axis=1)

    def _sketches_of(self, units: Vectors) -> NDArray[Any]:
        sketches = np.zeros(len(units), dtype=self._sketches.item)
        scales = np.abs(units).max(axis=1, initial=0.0, keepdims=True) / np.float32(_STEPS)
        steps = np.rint(np.divide(units, scales, out=np.zeros_like(units), where=scales > 0))
        sketches["steps"], sketches["scale"] = steps, scales[:, 0]
        sketches["error"] = lengths(units - steps * scales)[:, 0]
        return sketches


def sketch_file(folder: Path) -> Path:
    """The file of the bounds in a folder."""
    return folder / "sketches.bin"


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

    def read(self) -> Iterator[NDArray[Any]]:
        """All rows, some at a time; not through the map, whose pages the process would hold."""
        with open(self._file, "rb", opener=private) as stream:
            for start in range(0, len(self.rows), _READ_ROWS):
                rows = min(_READ_ROWS, len(self.rows) - start)
                yield np.frombuffer(stream.read(rows * self.item.itemsize), dtype=self.item)

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
    return np.concatenate([units[:, :_HEAD], lengths(units[:, _HEAD:])], axis=1, dtype=np.float32)
