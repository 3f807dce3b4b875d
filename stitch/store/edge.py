"""Qdrant's engine in this process: the points of one folder."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from stitch.core.files import make_private
from stitch.core.process import close_files_in, never_free
from stitch.core.protocols import SparseVector
from stitch.errors import StoreError, StoreLockedError
from stitch.store.payload import INDEXES
from stitch.store.points import DENSE, LABELS, WORDS, Id, Point, Scores, Search, StoredPoint, Where, filter_of, name_of

_PAGE = 2_000
"""How many points are read at a time."""
_SPARE_BYTES = 128 * 2**20
"""What must be free before a write: the engine writes into mapped files, where a full disk kills the process."""
_HALF_ON = ("x86_64", "amd64")
"""Where the engine adds up products of halves in single precision; elsewhere vectors are kept in single precision."""
_HINTS = (
    ("No space left", "free some disk space and run the command again"),
    ("Read-only file system", "choose a folder on a disk that can be written"),
    ("Permission denied", "choose a folder that you may write, or change its owner"),
)


class EdgePoints:
    """The points of a shard in a folder; see `Points`.

    The engine writes no log: what was put or deleted since `flush` may be lost with the process, and is put again from
    the journal. A log would keep words that were erased.

    Args:
        folder: Where its files are.
        dimension: The length of a dense vector.
        create: Whether to make it, in an empty folder, or to open it.
        what: The store, for messages.
        hint: How a damaged one is mended.

    Raises:
        StoreError: It cannot be made or opened.
    """

    durable = False

    def __init__(self, folder: Path, *, dimension: int, create: bool, what: str, hint: str) -> None:
        from qdrant_edge import EdgeShard, UpdateOperation

        self._folder, self._what, self._hint = folder, what, hint
        with self._errors("make" if create else "open"):
            self._check_disk()
            self._shard = (EdgeShard.create if create else EdgeShard.load)(str(folder), _config(dimension))
            if create:
                for field, kind in INDEXES.items():
                    self._shard.update(UpdateOperation.create_field_index(field, _index(kind)))
                self._shard.flush()
            make_private(folder)

    def upsert(self, points: Sequence[Point]) -> None:
        """Write points; see `Points.upsert`.

        What is replaced is deleted first: a payload that is changed in its place leaves bytes that no `purge` reaches.
        """
        from qdrant_edge import Point as EdgePoint
        from qdrant_edge import UpdateOperation

        self._check_disk()
        made = [EdgePoint(name_of(each.id), _vectors(each), dict(each.payload)) for each in points]
        known = list(self.retrieve([each.id for each in points], payload=False))
        with self._errors("write to"):
            if known:
                self._shard.update(UpdateOperation.delete_points(list(map(name_of, known))))
            self._shard.update(UpdateOperation.upsert_points(made))

    def search(self, searches: Sequence[Search]) -> list[Scores]:
        """The results of searches; see `Points.search`."""
        from qdrant_edge import Query, QueryRequest, SearchParams

        found = []
        for each in searches:
            vector = _sparse(each.vector) if isinstance(each.vector, dict) else list(each.vector)
            request = QueryRequest(
                limit=each.limit,
                query=Query.Nearest(vector, using=each.using),
                filter=_filter(each.where),
                params=SearchParams(exact=True),
                with_payload=False,
                with_vector=False,
            )
            with self._errors("search"):
                points: list[Any] = self._shard.query(request)
            scores = np.fromiter((point.score for point in points), np.float64, len(points))
            found.append(Scores([point.id.int for point in points], scores))
        return found

    def retrieve(
        self, ids: Sequence[Id], *, payload: bool = True, words: bool = False, dense: bool = False
    ) -> dict[Id, StoredPoint]:
        """Points by id; see `Points.retrieve`."""
        wanted = [name for name, asked in ((WORDS, words), (DENSE, dense)) if asked]
        with self._errors("read"):
            points = self._shard.retrieve(list(map(name_of, ids)), payload, wanted or False) if ids else []
        return {(made := _stored(point)).id: made for point in points}

    def scroll(
        self, where: Where, *, fields: Sequence[str] | bool, words: bool = False, dense: bool = False
    ) -> Iterator[StoredPoint]:
        """All points that pass; see `Points.scroll`."""
        from qdrant_edge import ScrollRequest

        wanted = [name for name, asked in ((WORDS, words), (DENSE, dense)) if asked]
        offset, begun = None, False
        while offset is not None or not begun:
            request = ScrollRequest(
                offset=offset,
                limit=_PAGE,
                filter=_filter(where),
                with_payload=fields if isinstance(fields, bool) else list(fields),
                with_vector=wanted or False,
            )
            with self._errors("read"):
                points, offset = self._shard.scroll(request)
            begun = True
            yield from map(_stored, points)

    def delete(self, ids: Sequence[Id]) -> None:
        """Delete points; see `Points.delete`."""
        from qdrant_edge import UpdateOperation

        self._check_disk()
        with self._errors("delete from"):
            self._shard.update(UpdateOperation.delete_points(list(map(name_of, ids))))

    def count(self, where: Where) -> int:
        """How many points pass."""
        from qdrant_edge import CountRequest

        with self._errors("read"):
            return int(self._shard.count(CountRequest(exact=True, filter=_filter(where))))

    def flush(self) -> None:
        """Make everything written survive a loss of power."""
        with self._errors("flush"):
            self._shard.flush()

    def purge(self) -> None:
        """Write segments with deleted points anew, and remove the old ones.

        Raises:
            StoreError: There is no room for both.
        """
        needed = sum(path.stat().st_size for path in self._folder.rglob("*") if path.is_file())
        if shutil.disk_usage(self._folder).free < needed:
            raise engine_error(f"cannot purge {self._what}", f"No space left for {needed >> 20} MB", hint=self._hint)
        with self._errors("purge"):
            self._shard.optimize()
            make_private(self._folder)
        self.flush()

    def close(self) -> None:
        """Let go of the files; closing twice is harmless."""
        with self._errors("close"):
            self._shard.close()
            make_private(self._folder)

    def leave_to_parent(self) -> None:
        """In a fork: never free the engine, and close its files."""
        never_free(self._shard)
        close_files_in(self._folder)

    def _check_disk(self) -> None:
        free = shutil.disk_usage(self._folder).free
        if free < _SPARE_BYTES:
            raise StoreError(
                f"the disk of {self._what} is full: {free // 2**20} MB are free, {_SPARE_BYTES // 2**20} MB are needed",
                hint="free some disk space and run the command again",
            )

    @contextmanager
    def _errors(self, doing: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = error.strerror or str(error)
            raise engine_error(f"cannot {doing} {self._what}", reason, hint=self._hint) from error
        except BaseException as error:
            # The engine raises nothing but bare exceptions; where it panics, not even a subclass of these.
            if type(error) is not Exception and type(error).__name__ != "PanicException":
                raise
            raise engine_error(f"cannot {doing} {self._what}", str(error), hint=self._hint) from error


def holds_points(folder: Path) -> bool:
    """Whether the store of a folder holds anything, of an earlier layout too; nobody has it open."""
    from qdrant_edge import CountRequest, EdgeShard

    earlier = folder / "snippets.bin"
    if earlier.is_file():
        return earlier.stat().st_size > 64  # behind its head
    if not (folder / "shard").is_dir():
        return False
    shard = EdgeShard.load(str(folder / "shard"))
    try:
        return bool(shard.count(CountRequest(exact=True)))
    finally:
        shard.close()


def engine_error(what: str, reason: str, *, hint: str = "") -> StoreError:
    """The error of a store for what the engine or the system says."""
    reason = " ".join(reason.removeprefix("Service runtime error: ").split())
    if "WouldBlock" in reason or "Resource temporarily unavailable" in reason:
        return StoreLockedError(f"{what}: another process uses it", hint="wait until that process has ended")
    for sign, mended_by in _HINTS:
        if sign in reason:
            return StoreError(f"{what}: {reason}", hint=mended_by)
    return StoreError(f"{what}: {reason}", hint=hint)


def _stored(point: Any) -> StoredPoint:
    vectors = point.vector if isinstance(point.vector, dict) else {}
    sparse = vectors.get(WORDS)
    words = {} if sparse is None else dict(zip(sparse.indices, sparse.values, strict=True))
    return StoredPoint(point.id.int, point.payload or {}, words, vectors.get(DENSE) or ())


def _vectors(point: Point) -> Any:
    sparse = {name: _sparse(own) for name, own in ((WORDS, point.words), (LABELS, point.labels)) if own}
    return {DENSE: list(point.dense), **sparse}


def _sparse(weights: SparseVector) -> Any:
    from qdrant_edge import SparseVector as EdgeSparseVector

    return EdgeSparseVector(indices=list(weights.keys()), values=list(map(float, weights.values())))


def _filter(where: Where) -> Any:
    import qdrant_edge as edge

    return filter_of(
        where,
        edge,
        numbers=edge.RangeFloat,
        moments=edge.RangeDateTime,
        has_id=lambda names: edge.HasIdCondition(set(names)),
    )


def _index(kind: str) -> Any:
    from qdrant_edge import KeywordIndexParams, PayloadSchemaType

    return KeywordIndexParams(is_tenant=True) if kind == "tenant" else getattr(PayloadSchemaType, kind.capitalize())


def _config(dimension: int) -> Any:
    from qdrant_edge import (
        Distance,
        EdgeConfig,
        EdgeOptimizersConfig,
        EdgeSparseVectorParams,
        EdgeVectorParams,
        Memory,
        VectorStorageDatatype,
    )

    half = dimension >= 32 and platform.machine().lower() in _HALF_ON
    dense = EdgeVectorParams(
        size=dimension,
        distance=Distance.Dot,  # vectors are of length one already
        memory=Memory.Cold,  # or both maps of the engine are read into memory when it opens
        datatype=VectorStorageDatatype.Float16 if half else VectorStorageDatatype.Float32,
    )
    # No graph, for the ranking is exact; and segments with anything deleted are written anew when it is asked for.
    optimizers = EdgeOptimizersConfig(
        deleted_threshold=1e-9, vacuum_min_vector_number=1, indexing_threshold=0, default_segment_number=1
    )
    sparse = {WORDS: EdgeSparseVectorParams(), LABELS: EdgeSparseVectorParams()}
    return EdgeConfig(vectors={DENSE: dense}, sparse_vectors=sparse, optimizers=optimizers, wal_enabled=False)
