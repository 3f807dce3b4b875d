"""Qdrant's engine in this process, as an embedded store uses it: vectors by row in half precision, scored exactly.

It holds no text and no label. What it is told to delete it leaves in its files, but a vector that is put again it
writes where the old one stood: so a row is overwritten with zeros before it is deleted.
"""

from __future__ import annotations

import platform
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stitch.core.process import close_files_in, never_free
from stitch.errors import StoreError, StoreLockedError
from stitch.store.read_ahead import read_ahead
from stitch.store.reserve import reserve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stitch.core.snippets import MemorySnippet

    Vectors = NDArray[np.float32]

_VECTOR = "text"
"""The name of the vector of a point: of its text."""

_BATCH = 1000
"""How many points are read at a time."""

_AHEAD_ROWS = 512
"""For so many rows there is always a place on the disk, or a call says beforehand that it is full."""

_POINT_BYTES = 128
"""What the engine writes of a point beside its vector, whenever it is put: an empty payload, until it is cleared."""

_SINGLE_FROM = 32
"""Of so many numbers on, and on these processors, the engine adds up products of halves in single precision.

Elsewhere (ARM) it adds them up in half precision, which may be off by a thousandth: vectors are read and scored here.
"""
_SINGLE_ON = ("x86_64", "amd64")

_NO_COSINE = 1.1
"""What is beyond is none, and more than rounding: a vector in the files of the engine was damaged."""

_HINTS = (
    ("No space left", "free some disk space and run the command again"),
    ("Read-only file system", "choose a folder on a disk that can be written"),
    ("Permission denied", "choose a folder that you may write, or change its owner"),
)


class EdgeEngine:
    """Unit vectors by row.

    It writes no log of its own: what was put or deleted since `flush` may be lost with the process.

    Args:
        folder: Where its files are.
        dimension: The length of a vector.
        create: Whether to make it, in an empty folder, or to open it.
        what: The store, for messages.
        hint: How a damaged one is mended.

    Raises:
        StoreError: It cannot be made or opened.
    """

    durable = False
    tells_snippets = False

    def __init__(self, folder: Path, *, dimension: int, create: bool, what: str, hint: str) -> None:
        from qdrant_edge import EdgeShard

        self._what, self._hint = what, hint
        self._folder, self._dimension = folder, dimension
        self._reserved_rows, self._reserved_at = 0, 0
        self._segments_made, self._vector_folders = 0, list[Path]()
        self._scores = dimension >= _SINGLE_FROM and platform.machine().lower() in _SINGLE_ON
        self._uncleared: set[int] = set()
        """Rows that were put since payloads were cleared."""
        with self._errors("make" if create else "open"):
            open_shard = EdgeShard.create if create else EdgeShard.load
            self._shard = open_shard(str(folder), _config(dimension))
            if create:
                self._shard.flush()
        # The engine drops its files from the cache when it opens them, and then reads a page for every vector.
        read_ahead(self._files())

    def put(self, rows: Sequence[int], vectors: Vectors, *, snippets: Sequence[MemorySnippet] = ()) -> None:
        """Write vectors; those of rows that are there are overwritten. Of their snippets it keeps nothing.

        Raises:
            StoreError: The disk is full, or the engine cannot write; some may be written.
        """
        from qdrant_edge import Point, UpdateOperation

        for start in range(0, len(rows), _AHEAD_ROWS):
            part = slice(start, start + _AHEAD_ROWS)
            named = zip(rows[part], vectors[part].tolist(), strict=True)
            points = [Point(row, {_VECTOR: vector}) for row, vector in named]
            self._reserve(len(points))
            with self._errors("write to"):
                self._shard.update(UpdateOperation.upsert_points(points))
            self._uncleared.update(rows[part])

    def delete(self, rows: Sequence[int]) -> None:
        """Overwrite vectors with zeros, and delete them."""
        from qdrant_edge import UpdateOperation

        self.put(rows, np.zeros((len(rows), self._dimension), dtype=np.float32))
        for start in range(0, len(rows), _AHEAD_ROWS):
            part = list(rows[start : start + _AHEAD_ROWS])
            self._reserve(len(part))
            self._uncleared.difference_update(part)
            with self._errors("delete from"):
                self._shard.update(UpdateOperation.delete_points([*part]))

    def cosines(self, rows: Sequence[int], vector: Sequence[float]) -> NDArray[np.float64]:
        """The cosine of each of these rows with a vector as it is kept; see `VectorEngine.cosines`.

        Raises:
            StoreError: One is no cosine: a vector is damaged.
        """
        if not rows:
            return np.zeros(0)
        cosines = self._scored(rows, vector) if self._scores else self._scored_here(rows, vector)
        if not np.all(np.abs(cosines) < _NO_COSINE):  # NaN, too, is not
            raise StoreError(f"{self._what} is damaged: a vector of it is not as it was written", hint=self._hint)
        return cosines

    def _scored(self, rows: Sequence[int], vector: Sequence[float]) -> NDArray[np.float64]:
        from qdrant_edge import Filter, HasIdCondition, Query, QueryRequest, SearchParams

        wanted: set[Any] = set(rows)
        request = QueryRequest(
            limit=len(rows),
            query=Query.Nearest(list(vector), using=_VECTOR),
            filter=Filter(must=[HasIdCondition(wanted)]),
            params=SearchParams(exact=True),
        )
        with self._errors("search"):
            scores = {point.id: point.score for point in self._shard.query(request)}
        if len(scores) < len(rows):
            raise StoreError(f"{self._what} lacks vectors", hint=self._hint)
        return np.array([scores[row] for row in rows])

    def _scored_here(self, rows: Sequence[int], vector: Sequence[float]) -> NDArray[np.float64]:
        asked, found = np.array(vector, dtype=np.float32), self.vectors(rows)
        if len(found) < len(set(rows)):
            raise StoreError(f"{self._what} lacks vectors", hint=self._hint)
        # One by one: what a product of matrices adds up first depends on where a row stands.
        return np.array([float(found[row] @ asked) for row in rows])

    def vectors(self, rows: Sequence[int]) -> dict[int, Vectors]:
        """The vectors of these rows; those that are not there are left out."""
        found: dict[int, Vectors] = {}
        for start in range(0, len(rows), _BATCH):
            with self._errors("read"):
                points = self._shard.retrieve(list(rows[start : start + _BATCH]), False, True)
            for point in points:
                if isinstance(named := point.vector, dict) and _VECTOR in named:
                    found[int(point.id)] = np.array(named[_VECTOR], dtype=np.float32)
        return found

    def __len__(self) -> int:
        """How many rows are there."""
        from qdrant_edge import CountRequest

        with self._errors("read"):
            return int(self._shard.count(CountRequest(exact=True)))

    def rows(self) -> list[int]:
        """Every row that is there."""
        from qdrant_edge import ScrollRequest

        rows: list[int] = []
        offset = None
        while True:
            request = ScrollRequest(limit=10 * _BATCH, offset=offset, with_payload=False, with_vector=False)
            with self._errors("read"):
                points, offset = self._shard.scroll(request)
            rows += [int(point.id) for point in points]
            if offset is None:
                return rows

    def flush(self) -> None:
        """Make everything written survive the death of the process, and a loss of power."""
        from qdrant_edge import UpdateOperation

        with self._errors("flush"):
            if self._uncleared:  # without this, the engine keeps a block of 128 bytes for the empty payload of each
                self._shard.update(UpdateOperation.clear_payload(sorted(self._uncleared)))
                self._uncleared.clear()
            self._shard.flush()

    def shrink(self) -> None:
        """Write the files anew, without the places of what was deleted.

        Raises:
            StoreError: There is no room for both.
        """
        needed = sum(path.stat().st_size for path in self._files())
        if shutil.disk_usage(self._folder).free < needed:
            raise engine_error(f"cannot purge {self._what}", f"No space left for {needed >> 20} MB", hint=self._hint)
        with self._errors("purge"):
            self._shard.optimize()
        self._reserved_rows = 0  # the files are others now

    def close(self) -> None:
        """Let go of the files; closing twice is harmless."""
        with self._errors("close"):
            self._shard.close()

    def leave_to_parent(self) -> None:
        """In a fork: never free the engine, and close its files."""
        never_free(self._shard)
        close_files_in(self._folder)

    def _reserve(self, rows: int) -> None:
        """See to it that the next so many rows have a place on the disk."""
        if rows > self._reserved_rows or self._last_made() > self._reserved_at:
            self._reserved_at = self._last_made()
            ahead = 2 * _AHEAD_ROWS
            with self._errors("write to"):
                try:
                    for path in self._files():
                        row_bytes = 2 * self._dimension if path.parent.name == "vectors" else _POINT_BYTES
                        reserve(path, ahead_bytes=ahead * row_bytes)
                except OSError as error:
                    reason = error.strerror or str(error)
                    raise engine_error(f"cannot write to {self._what}", reason, hint=self._hint) from error
            self._reserved_rows = ahead
        self._reserved_rows -= rows

    def _last_made(self) -> int:
        """When the engine last made or removed a file of vectors, in nanoseconds."""
        made = (self._folder / "segments").stat().st_mtime_ns
        if made != self._segments_made:  # else there is no other segment than before
            self._segments_made = made
            self._vector_folders = list(self._folder.glob("segments/*/vector_storage-*/vectors"))
        return max([made, *(folder.stat().st_mtime_ns for folder in self._vector_folders)])

    def _files(self) -> list[Path]:
        return sorted(path for path in self._folder.rglob("*") if path.is_file())

    @contextmanager
    def _errors(self, doing: str) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            # The engine raises nothing but bare exceptions; where it panics, not even a subclass of these.
            if type(error) is not Exception and type(error).__name__ != "PanicException":
                raise
            raise engine_error(f"cannot {doing} {self._what}", str(error), hint=self._hint) from error


def engine_error(what: str, reason: str, *, hint: str = "") -> StoreError:
    """The error of a store for what the engine or the system says."""
    reason = " ".join(reason.removeprefix("Service runtime error: ").split())
    if "WouldBlock" in reason or "Resource temporarily unavailable" in reason:
        return StoreLockedError(f"{what}: another process uses it", hint="wait until that process has ended")
    for sign, mended_by in _HINTS:
        if sign in reason:
            return StoreError(f"{what}: {reason}", hint=mended_by)
    return StoreError(f"{what}: {reason}", hint=hint)


def _config(dimension: int) -> Any:
    from qdrant_edge import (
        Distance,
        EdgeConfig,
        EdgeOptimizersConfig,
        EdgeVectorParams,
        Memory,
        VectorStorageDatatype,
    )

    # Cold: the engine maps vectors twice, and would otherwise read both maps into memory when it opens. Dot, for
    # vectors are of length one already, and so come back bit for bit.
    dense = EdgeVectorParams(
        size=dimension, distance=Distance.Dot, memory=Memory.Cold, datatype=VectorStorageDatatype.Float16
    )
    # It never builds a graph, for the ranking is exact; and when it is told to, it leaves out whatever was deleted.
    optimizers = EdgeOptimizersConfig(
        deleted_threshold=1e-9, vacuum_min_vector_number=1, indexing_threshold=0, default_segment_number=1
    )
    return EdgeConfig(vectors={_VECTOR: dense}, optimizers=optimizers, wal_enabled=False)
