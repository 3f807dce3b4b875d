"""Qdrant in process: the default store. One folder, one owner, no server.

More than 400 lines because opening, writing, searching and purging share one lock and one engine.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stitch.core.protocols import DensityQuery, SnippetRecord, StoreHit
from stitch.core.snippets import SCHEMA_VERSION, MemorySnippet
from stitch.errors import StoreError, StoreLockedError
from stitch.store.checks import check_records
from stitch.store.edge_scorer import DENSE, WORDS, EdgeScorer
from stitch.store.index import IndexEntry, LabelIndex
from stitch.store.made_with import Facts, compare_facts, write_facts
from stitch.store.owner import Ownership
from stitch.store.payload import LABEL_FIELDS, from_payload, intent_labels, labels_of, to_payload
from stitch.store.similarity import Similarity, most_similar, score

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BY_ID_ROWS = 6000
"""Up to so many snippets are searched by naming them; among more, scanning all is quicker (measured, see below)."""

_SCORE_ALL = 200
"""Up to so many snippets are all scored: cheaper than to ask for the best."""

_BATCH = 2000
"""How many snippets are read at a time."""

_SPARE_BYTES = 128 * 2**20
"""What must be free before a write: the engine writes into mapped files, where a full disk kills the process."""

_FRESH = "fresh-shard"
"""Where a purge writes the store anew. If there is no other, it is complete."""

_KEY = ("id", "tenant", "trajectory", "position", "step")

_HINTS = (
    ("No space left", "free some disk space and run the command again"),
    ("Read-only file system", "choose a folder on a disk that can be written"),
    ("Permission denied", "choose a folder that you may write, or change its owner"),
)


class EdgeStore:
    """Snippets in a folder, searched by Qdrant's engine in this process.

    Labels are kept in an in-process index, read from the store when it is opened: it gives every label density at once
    (0.1 ms at 50,000 snippets, where the engine's sparse vectors take milliseconds and its `min_should` seconds) and it
    cannot be stale, because a store has one owner. The engine does what remains: the similarity of those snippets
    between which density does not decide. Calls from several threads are served one after the other.

    What `put` wrote survives the death of the process; `flush` makes it survive a loss of power.

    Args:
        path: The folder of the memory. Everything of the store lies in its subfolder `store`.
        embedder_name: The embedder whose vectors are stored; compared with what the store was made with.
        dimension: The length of its vectors.
        create: Whether a store may be made where there is none.

    Raises:
        StoreLockedError: Another process, or another `EdgeStore` of this one, has it open.
        StoreMismatchError: It was written with another embedder or schema.
        StoreError: There is no store, or the folder cannot be used.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, embedder_name: str, dimension: int, create: bool = True
    ) -> None:
        self.path = Path(path)
        self._folder = self.path / "store"
        self._embedder_name = embedder_name
        self._dimension = dimension
        self._facts: Facts = {"schema_version": SCHEMA_VERSION, "embedder": embedder_name, "dimension": dimension}
        self._calls = threading.RLock()
        self._labels: LabelIndex | None = None
        self._shard: Any = None
        self._open(create=create)

    # Reading and writing

    def put(self, records: Sequence[SnippetRecord]) -> None:
        """Write snippets; see `SnippetStore.put`."""
        from qdrant_edge import Point, UpdateOperation
        from qdrant_edge import SparseVector as EdgeSparse

        unique = {record.snippet.id: record for record in records}
        with self._calls:
            index = self._index
            vectors = check_records(list(unique.values()), dimension=self._dimension)
            points, entries, fresh = [], [], index.next_row
            for (snippet_id, record), vector in zip(unique.items(), vectors, strict=True):
                snippet = record.snippet
                row = index.row(snippet.tenant, snippet_id)
                if row is None:
                    row, fresh = fresh, fresh + 1
                named: dict[str, Any] = {DENSE: vector}
                if record.words:
                    weights = list(map(float, record.words.values()))
                    named[WORDS] = EdgeSparse(indices=list(record.words), values=weights)
                points.append(Point(row, named, to_payload(snippet, embedder_name=self._embedder_name)))
                entries.append((row, _entry(snippet)))
            if not points:
                return
            self._check_disk()
            try:
                with self._engine("write to"):
                    self._shard.update(UpdateOperation.upsert_points(points))
            except StoreError:
                self._labels = None  # a part may be written: see `_index`
                raise
            for row, entry in entries:
                index.add(row, entry)

    def rank(self, query: DensityQuery) -> list[StoreHit]:
        """Rank the snippets of a tenant exactly; see `SnippetStore.rank`."""
        import numpy as np

        similarity = Similarity.of(query, dimension=self._dimension)
        if query.k < 1:
            return []
        with self._calls:
            labels = self._index.of(query.tenant)
            cut = labels.cut(query)
            need = query.k - len(cut.certain)
            rows = np.array(labels.rows, dtype=np.int64)
            slot_of = np.full(self._index.next_row, -1, dtype=np.int64)
            slot_of[rows[cut.tier]] = cut.tier
            with self._engine("search"):
                scores = self._search_tier(similarity, rows[cut.tier], slot_of=slot_of, need=need)
                scores |= score(similarity, EdgeScorer(self._shard, similarity), rows[cut.certain].tolist())
            slot_of[rows[cut.certain]] = cut.certain
            if len(scores) < min(query.k, len(cut.certain) + len(cut.tier)):
                unlike = cut.tier[~np.isin(rows[cut.tier], list(scores))]
                scores |= dict.fromkeys(rows[labels.ordered(unlike, first=need)].tolist(), 0.0)
            found = labels.ordered(slot_of[list(scores)])
            found_rows, densities = rows[found].tolist(), cut.densities[cut.level[found]].tolist()
            ranked = [(-density, -scores[row], row) for density, row in zip(densities, found_rows, strict=True)]
            ranked = sorted(ranked, key=itemgetter(0, 1))[: query.k]  # the sort is stable: ties stay in their order
            snippets = self._read(query.tenant, [row for _, _, row in ranked])
        return [
            StoreHit(snippet, -density, -similar)
            for snippet, (density, similar, _) in zip(snippets, ranked, strict=True)
        ]

    def get(self, tenant: str, ids: Sequence[str]) -> list[MemorySnippet]:
        """Return a tenant's snippets by id; see `SnippetStore.get`."""
        with self._calls:
            rows = [row for snippet in ids if (row := self._index.row(tenant, snippet)) is not None]
            return self._read(tenant, rows)

    def scroll(self, tenant: str, trajectory: str | None = None) -> Iterator[MemorySnippet]:
        """Iterate over a tenant's snippets; what is deleted meanwhile is left out."""
        import numpy as np

        with self._calls:
            labels = self._index.of(tenant)
            rows = np.array(labels.rows)[labels.ordered(labels.slots(trajectory))].tolist()
        for start in range(0, len(rows), _BATCH):
            with self._calls:
                snippets = self._read(tenant, rows[start : start + _BATCH])
            yield from snippets

    def delete(self, tenant: str, ids: Sequence[str]) -> int:
        """Delete a tenant's snippets; see `SnippetStore.delete`."""
        from qdrant_edge import Point, UpdateOperation

        with self._calls:
            index = self._index
            rows = {snippet: row for snippet in ids if (row := index.row(tenant, snippet)) is not None}
            if rows:
                try:
                    with self._engine("delete from"):
                        # A point deleted with its words would go on counting in the document frequencies.
                        nothing = [Point(row, {DENSE: [0.0] * self._dimension}) for row in rows.values()]
                        self._shard.update(UpdateOperation.upsert_points(nothing))
                        self._shard.update(UpdateOperation.delete_points(list(rows.values())))
                except StoreError:
                    self._labels = None
                    raise
                for snippet in rows:
                    index.remove(tenant, snippet)
            return len(rows)

    def count(self, tenant: str | None = None) -> int:
        """The number of snippets of a tenant, or of all."""
        with self._calls:
            return len(self._index) if tenant is None else len(self._index.of(tenant))

    def purge(self) -> None:
        """Write the store anew, so that no byte of what was deleted or replaced is left in its files.

        Takes some seconds at 50,000 snippets. If it is interrupted, no snippet is lost and it has to be called again.
        """
        from qdrant_edge import EdgeShard, Point, ScrollRequest, UpdateOperation

        with self._calls:
            shard, fresh, old = (self._folder / name for name in ("shard", _FRESH, "old-shard"))
            offset, _ = None, self._index
            try:
                with self._engine("purge"):
                    # Only a new shard will do: the engine keeps its log, and numbers its writes by it.
                    for leftover in (fresh, old):
                        shutil.rmtree(leftover, ignore_errors=True)
                    fresh.mkdir()
                    copy = EdgeShard.create(str(fresh), self._config())
                    while True:
                        request = ScrollRequest(limit=_BATCH, offset=offset, with_payload=True, with_vector=True)
                        records, offset = self._shard.scroll(request)
                        points = [Point(record.id, record.vector, record.payload) for record in records]
                        if points:
                            copy.update(UpdateOperation.upsert_points(points))
                        if offset is None:
                            break
                    copy.flush()
                    copy.close()
                    self._shard.close()
                    shard.rename(old)
                    fresh.rename(shard)
                    shutil.rmtree(old)
                    self._shard = EdgeShard.load(str(shard))
            except StoreError:
                self._labels = None
                raise

    def flush(self) -> None:
        """Make everything written survive a loss of power."""
        with self._calls, self._engine("flush"):
            self._shard.flush()

    def close(self) -> None:
        """Flush and let go of the folder; closing twice is harmless."""
        with self._calls:
            if self._shard is None:
                return
            try:
                self.flush()
            finally:
                self._let_go()

    # Opening

    def _open(self, *, create: bool) -> None:
        from qdrant_edge import EdgeShard

        shard, made_with = self._folder / "shard", self._folder / "store.json"
        if not create and not made_with.exists():
            raise StoreError(
                f"there is no memory at {str(self.path)!r}", hint=f"stitch ingest FILE --memory {self.path}"
            )
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{self._what} cannot be made: {(error.strerror or str(error)).lower()}") from error
        self._owner = Ownership(self._folder / "owner.json", what=self._what)
        try:
            with self._engine("open"):
                if made_with.exists():
                    compare_facts(made_with, self._facts, what=self._what, hint=self._reindex)
                    if not shard.exists() and (self._folder / _FRESH).exists():
                        (self._folder / _FRESH).rename(shard)
                    self._shard = EdgeShard.load(str(shard))
                else:
                    self._create(shard, made_with)
            self._labels = self._read_index()
        except BaseException:
            self._let_go()
            raise

    def _create(self, shard: Path, made_with: Path) -> None:
        from qdrant_edge import EdgeShard

        if shard.exists():  # the description is written last: whoever made this died before anything was stored
            if (shard / "edge_config.json").exists():
                half_made = EdgeShard.load(str(shard))
                stored = half_made.info().points_count
                half_made.close()
                if stored:
                    raise StoreError(
                        f"{self._what} does not say what it was made with: {str(made_with)!r} is missing",
                        hint=self._reindex,
                    )
            shutil.rmtree(shard)
        shard.mkdir()
        self._shard = EdgeShard.create(str(shard), self._config())
        self._shard.flush()
        write_facts(made_with, self._facts)

    def _config(self) -> Any:
        from qdrant_edge import (
            Distance,
            EdgeConfig,
            EdgeSparseVectorParams,
            EdgeVectorParams,
            Memory,
            Modifier,
        )

        # Cold: the engine maps vectors twice, and would otherwise read both maps into memory when it opens.
        dense = EdgeVectorParams(size=self._dimension, distance=Distance.Cosine, memory=Memory.Cold)
        return EdgeConfig(
            vectors={DENSE: dense},
            sparse_vectors={WORDS: EdgeSparseVectorParams(modifier=Modifier.Idf)},
        )

    def _read_index(self) -> LabelIndex:
        from qdrant_edge import ScrollRequest, UpdateOperation

        index, offset, half_deleted = LabelIndex(), None, list[Any]()
        while True:
            with self._engine("read"):
                request = ScrollRequest(
                    limit=_BATCH, offset=offset, with_payload=[*_KEY, *LABEL_FIELDS.values()], with_vector=False
                )
                records, offset = self._shard.scroll(request)
            for record in records:
                if payload := record.payload:
                    snippet, tenant, trajectory, position, step = map(payload.__getitem__, _KEY)
                    labels = tuple(labels_of(payload))
                    index.add(record.id, IndexEntry(snippet, tenant, trajectory, position, step, labels))
                else:
                    half_deleted.append(record.id)
            if offset is None:
                break
        if half_deleted:
            with self._engine("write to"):
                self._shard.update(UpdateOperation.delete_points(half_deleted))
        return index

    # What the rest stands on

    @property
    def _what(self) -> str:
        return f"the memory {str(self.path)!r}"

    @property
    def _reindex(self) -> str:
        return f"stitch reindex --memory {self.path}"

    @property
    def _index(self) -> LabelIndex:
        if self._shard is None:
            raise StoreError(f"{self._what} is closed")
        if self._labels is None:
            # A write failed. The engine takes no other until it has recovered from its log, and only it knows what is
            # there; the write itself is in the log, so it may be done now.
            from qdrant_edge import EdgeShard

            with self._engine("recover"):
                self._shard.close()
                self._shard = EdgeShard.load(str(self._folder / "shard"))
            self._labels = self._read_index()
        return self._labels

    def _let_go(self) -> None:
        shard, self._shard, self._labels = self._shard, None, None
        try:
            if shard is not None:
                shard.close()
        finally:
            self._owner.release()

    def _search_tier(
        self, similarity: Similarity, rows: NDArray[np.int64], *, slot_of: NDArray[np.int64], need: int
    ) -> dict[int, float]:
        if need == 0 or not len(rows):
            return {}
        if len(rows) <= max(_SCORE_ALL, 2 * need):
            return score(similarity, EdgeScorer(self._shard, similarity), rows.tolist())
        # Where both parts count, who is good in one is seldom good in the other, and the lists must be read further.
        first = need * (10 if similarity.vector and similarity.words else 2)
        if len(rows) <= _BY_ID_ROWS:
            scorer, limit = EdgeScorer(self._shard, similarity, among=rows.tolist()), first
        else:  # scan all: if labels say nothing of similarity, the tier's share of the best is its share of the whole
            scorer = EdgeScorer(self._shard, similarity, slot_of=slot_of)
            limit = first * len(slot_of) // len(rows)
        return most_similar(similarity, scorer, need=need, limit=limit)

    def _read(self, tenant: str, rows: Sequence[int]) -> list[MemorySnippet]:
        with self._engine("read"):
            records = self._shard.retrieve(list(rows), True, False)
        payloads = {record.id: record.payload for record in records}
        snippets = [from_payload(payloads[row]) for row in rows if row in payloads]
        if any(snippet.tenant != tenant for snippet in snippets):
            raise StoreError(f"{self._what} mixes up tenants", hint=self._reindex)
        return snippets

    def _check_disk(self) -> None:
        free = shutil.disk_usage(self._folder).free
        if free < _SPARE_BYTES:
            raise StoreError(
                f"the disk of {self._what} is full: {free // 2**20} MB are free, {_SPARE_BYTES // 2**20} MB are needed",
                hint="free some disk space and run the command again",
            )

    @contextmanager
    def _engine(self, doing: str) -> Iterator[None]:
        if self._shard is None and doing != "open":
            raise StoreError(f"{self._what} is closed")
        try:
            yield
        except Exception as error:
            if type(error) is not Exception:  # the engine raises nothing but bare Exceptions
                raise
            raise _own_error(f"cannot {doing} {self._what}", str(error)) from error


def _entry(snippet: MemorySnippet) -> IndexEntry:
    labels = tuple(intent_labels(snippet.intent))
    return IndexEntry(snippet.id, snippet.tenant, snippet.trajectory, snippet.position, snippet.step, labels)


def _own_error(what: str, reason: str) -> StoreError:
    reason = " ".join(reason.removeprefix("Service runtime error: ").split())
    if "WouldBlock" in reason or "Resource temporarily unavailable" in reason:
        return StoreLockedError(f"{what}: another process uses it", hint="wait until that process has ended")
    for sign, hint in _HINTS:
        if sign in reason:
            return StoreError(f"{what}: {reason}", hint=hint)
    return StoreError(f"{what}: {reason}")
