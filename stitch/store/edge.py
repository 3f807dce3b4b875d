"""Qdrant's engine in this process: the points of one folder."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import qdrant_edge as engine

from stitch.core.files import SPARE_BYTES, make_private
from stitch.core.process import close_files_in, never_free
from stitch.errors import StoreError
from stitch.store.points import (
    DENSE,
    LABELS,
    WORDS,
    Fields,
    Id,
    Point,
    Points,
    Scores,
    Search,
    Where,
    filter_of,
    named_vectors,
)

_PAGE = 256
"""Number of points read at a time."""
_INDEXED_FROM = 64
"""From so many points on there are indexes. Each takes 4 to 9 MB and 2 ms whenever it is opened, however few points
there are; without them a filter reads the payload of each point, in 4 µs."""
_EXACT = engine.SearchParams(exact=True)
_HALF_ON = ("x86_64", "amd64")
"""Where the engine adds up products of halves in single precision; elsewhere vectors are kept in single precision."""
_HINTS = (
    ("No space left", "free some disk space and run the command again"),
    ("Read-only file system", "choose a folder on a disk that can be written"),
    ("Permission denied", "choose a folder that you may write, or change its owner"),
)
_MOVED = "if its folder was moved, close it and open it there: what was accepted is kept"


class EdgePoints(Points):
    """The points of a shard in a folder; see `Points`.

    The engine writes no log: what was put or deleted since `flush` may be lost with the process, and is put again from
    the journal. A log would keep words that were erased.

    With `create` it is made, in an empty folder. `what` is the store, for messages, `hint` how a damaged one is mended.

    Raises:
        StoreError: It cannot be made or opened.
    """

    durable = False

    def __init__(self, folder: Path, *, dimension: int, create: bool, what: str, hint: str) -> None:
        self._folder, self._what, self._hint = folder, what, hint
        self._sole: dict[str, bool] = {}
        """Of a tenant, whether all points are its own: then the engine need not look whose each one is."""
        self._unflushed = False
        """Whether something was written since the last flush, each of which takes some 12 ms."""
        self._indexed = False
        with self._errors("make" if create else "open"):
            self._check_disk(SPARE_BYTES)
            shard = engine.EdgeShard
            self._shard: Any = (shard.create if create else shard.load)(str(folder), _config(dimension))
            if create:
                self._shard.flush()
            self._index()
            make_private(folder)

    def upsert(self, points: Sequence[Point]) -> None:
        """Write points; see `Points.upsert`.

        What is replaced is deleted first: a payload that is changed in its place leaves bytes that no `purge` reaches.
        """
        made = [
            engine.Point(_uuid(each.id), named_vectors(each, engine.SparseVector), dict(each.payload))
            for each in points
        ]
        if known := list(self.retrieve([each.id for each in points], fields=False)):
            self.delete(known)
        self._check_disk(SPARE_BYTES)
        self._sole.clear()
        self._unflushed = True
        with self._errors("write to"):
            self._shard.update(engine.UpdateOperation.upsert_points(made))
            self._index()

    def search(self, searches: Sequence[Search]) -> list[Scores]:
        """The results of searches; see `Points.search`."""
        requests, filters = [], dict[int, Any]()  # searches of one filter share it: to make one of ids takes a while
        for each in searches:
            vector: Any = each.vector
            if isinstance(vector, dict):
                vector = engine.SparseVector(list(vector), list(vector.values()))
            if id(each.where) not in filters:
                filters[id(each.where)] = _filter(self._narrowed(each.where))
            requests.append(
                engine.QueryRequest(
                    each.limit,
                    query=engine.Query.Nearest(vector, using=each.using),
                    filter=filters[id(each.where)],
                    params=_EXACT,
                    with_payload=False,
                    with_vector=False,
                )
            )
        with self._errors("search"):
            answers: list[list[Any]] = self._shard.query_batch(engine.QueryBatchRequest(requests)) if requests else []
        return [Scores([point.id.int for point in own], [point.score for point in own]) for own in answers]

    def _index(self) -> None:
        """Make the indexes that are lacking of the fields that `filter_of` asks about, once there are enough points."""
        if not self._indexed and self.count(Where()) >= _INDEXED_FROM:
            there = self._shard.info().payload_schema
            number = engine.IntegerIndexParams(lookup=False, range=True)
            indexes: dict[str, Any] = {
                "tenant": engine.KeywordIndexParams(is_tenant=True), "trajectory": engine.KeywordIndexParams(),
                "position": number, "trust": number, "recorded": engine.DatetimeIndexParams(),
            }  # fmt: skip
            for field, index in indexes.items():
                if field not in there:
                    self._shard.update(engine.UpdateOperation.create_field_index(field, index))
            self._indexed = True

    def _narrowed(self, where: Where) -> Where:
        """A filter without the tenant where all points are its own: then the engine need not look at each."""
        if where.tenant is None or where != Where(where.tenant):
            return where
        if where.tenant not in self._sole:
            self._sole[where.tenant] = self.count(where) == self.count(Where())
        return Where() if self._sole[where.tenant] else where

    def _found(self, ids: Sequence[Id], fields: Fields, vectors: Fields) -> list[Any]:
        with self._errors("read"):
            found: list[Any] = self._shard.retrieve(list(map(_uuid, ids)), fields, vectors)
        return found

    def _page(self, where: Where, offset: Any, fields: Fields, vectors: Fields) -> tuple[list[Any], Any]:
        wanted: Any = {"with_payload": fields, "with_vector": vectors}
        with self._errors("read"):
            page: tuple[list[Any], Any] = self._shard.scroll(
                engine.ScrollRequest(offset=offset, limit=_PAGE, filter=_filter(where), **wanted)
            )
        return page

    @staticmethod
    def _number(point: Any) -> Id:
        number: Id = point.id.int
        return number

    def delete(self, ids: Sequence[Id]) -> None:
        """Delete points; see `Points.delete`."""
        self._check_disk(SPARE_BYTES)
        self._unflushed = True
        with self._errors("delete from"):
            self._shard.update(engine.UpdateOperation.delete_points(list(map(_uuid, ids))))

    def count(self, where: Where) -> int:
        """Count the points that pass."""
        with self._errors("read"):
            return int(self._shard.count(engine.CountRequest(exact=True, filter=_filter(where))))

    def flush(self) -> None:
        """Make everything written survive a loss of power."""
        if self._unflushed:
            self._unflushed = False  # before, for another thread may write meanwhile
            try:
                with self._errors("flush"):
                    self._shard.flush()
            except StoreError:
                self._unflushed = True
                raise

    def purge(self) -> None:
        """Write segments with deleted points anew, and remove the old ones.

        Raises:
            StoreError: There is no room for both.
        """
        self._check_disk(sum(path.stat().st_size for path in self._folder.rglob("*") if path.is_file()))
        with self._errors("purge"):
            self._unflushed = True
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

    def _check_disk(self, needed: int) -> None:
        with self._errors("write to"):
            free = shutil.disk_usage(self._folder).free
        if free < needed:
            raise StoreError(
                f"the disk of {self._what} is full: {free // 2**20} MB are free, {needed // 2**20} MB are needed",
                hint="free some disk space and run the command again",
            )

    @contextmanager
    def _errors(self, doing: str) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            # The engine raises nothing but bare exceptions; where it panics, not even a subclass of these.
            if not isinstance(error, OSError) and type(error).__name__ not in ("Exception", "PanicException"):
                raise
            reason = (isinstance(error, OSError) and error.strerror) or str(error)
            reason = " ".join(reason.removeprefix("Service runtime error: ").split())
            otherwise = self._hint if self._folder.is_dir() else _MOVED
            hint = next((mended_by for sign, mended_by in _HINTS if sign in reason), otherwise)
            raise StoreError(f"cannot {doing} {self._what}: {reason}", hint=hint) from error


def holds_points(folder: Path) -> bool:
    """Whether the store of a folder holds anything, of an earlier layout too; nobody has it open."""
    earlier = folder / "snippets.bin"
    if earlier.is_file():
        return earlier.stat().st_size > 64  # behind its head
    if not (folder / "shard").is_dir():
        return False
    with closing(engine.EdgeShard.load(str(folder / "shard"))) as shard:
        return bool(shard.count(engine.CountRequest(exact=True)))


def _uuid(number: Id) -> UUID:
    """The UUID of an id: the engine reads it quicker than its text."""
    return UUID(int=number)


def _filter(where: Where) -> Any:
    numbers, moments, has_id = engine.RangeFloat, engine.RangeDateTime, engine.HasIdCondition
    return filter_of(where, engine, numbers=numbers, moments=moments, has_id=lambda ids: has_id(set(map(_uuid, ids))))


def _config(dimension: int) -> engine.EdgeConfig:
    half = dimension >= 32 and platform.machine().lower() in _HALF_ON
    dense = engine.EdgeVectorParams(
        size=dimension,
        distance=engine.Distance.Dot,  # vectors are of length one already
        memory=engine.Memory.Cold,  # or both maps of the engine are read into memory when it opens
        datatype=engine.VectorStorageDatatype.Float16 if half else engine.VectorStorageDatatype.Float32,
    )
    # No graph, for the ranking is exact; and segments with anything deleted are written anew when it is asked for.
    optimizers = engine.EdgeOptimizersConfig(
        deleted_threshold=1e-9, vacuum_min_vector_number=1, indexing_threshold=0, default_segment_number=1
    )
    sparse = {WORDS: engine.EdgeSparseVectorParams(), LABELS: engine.EdgeSparseVectorParams()}
    return engine.EdgeConfig(vectors={DENSE: dense}, sparse_vectors=sparse, optimizers=optimizers, wal_enabled=False)
