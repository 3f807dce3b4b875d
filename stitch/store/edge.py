"""Qdrant in process: the default store. One folder, one owner, no server.

More than 400 lines because opening, writing, searching and purging share one lock and one engine.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stitch.core.files import make_private, make_private_folder
from stitch.core.process import ProcessLock, close_files_in, in_each_fork, never_free
from stitch.core.protocols import DensityQuery, SnippetRecord, StoreHit
from stitch.core.snippets import SCHEMA_VERSION, MemorySnippet
from stitch.errors import StoreError, StoreLockedError
from stitch.store.checks import check_records
from stitch.store.edge_scorer import TierScorer
from stitch.store.index import IndexEntry, LabelIndex
from stitch.store.made_with import Facts, compare_facts, write_facts
from stitch.store.owner import Ownership
from stitch.store.payload import (
    LABEL_FIELDS,
    Payload,
    from_payload,
    intent_labels,
    labels_of,
    origin_and_trust,
    to_payload,
)
from stitch.store.read_ahead import read_ahead
from stitch.store.saved_index import load_index, remove_index, save_index
from stitch.store.segments import SegmentFiles
from stitch.store.similarity import Similarity
from stitch.store.vectors import VectorFile
from stitch.store.words import pack

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DENSE = "text"
"""The vector of a point: of its text."""

_WORDS = "words"
"""Where in a payload the lexical weights stand, packed."""

_BATCH = 2000
"""How many snippets are read at a time."""

_SPARE_BYTES = 128 * 2**20
"""What must be free before a write or a deletion: the engine writes into mapped files, where a full disk kills it."""

_LAYOUT = 2
"""What the points of a store look like; one of another layout is built anew from the journal."""

_LOG_BYTES = 34 * 2**20
"""More than a file of the engine's log holds."""

_FREED_SHARE = 0.25
"""Of all places for points, so many may be freed before a purge writes the files anew and takes them back."""

_KEY = ("id", "tenant", "trajectory", "position", "step")
_FILTERED = ("recorded", "origin", "trust")

_HINTS = (
    ("No space left", "free some disk space and run the command again"),
    ("Read-only file system", "choose a folder on a disk that can be written"),
    ("Permission denied", "choose a folder that you may write, or change its owner"),
)


class EdgeStore:
    """Snippets in a folder, searched by Qdrant's engine in this process.

    Labels and words are kept in an in-process index, vectors in a matrix in a mapped file. So every label density, and
    the similarity of those snippets between which density does not decide, cost a few operations on arrays, where
    asking the engine for the same takes milliseconds to seconds and building its answers in Python more than that. The
    index is saved when the store is closed; when a store is opened that was not closed, index and matrix are made from
    what the engine holds. They cannot be stale, because a store has one owner. Calls from several threads are served
    one after the other.

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
        self._facts: Facts = {
            "schema_version": SCHEMA_VERSION, "embedder": embedder_name, "dimension": dimension, "layout": _LAYOUT,
        }  # fmt: skip
        self._calls = ProcessLock(self._what)
        self._writes = ProcessLock(self._what)
        """Held by whoever writes, and taken before `_calls`: while it is held, searches go on."""
        self._labels: LabelIndex | None = None
        self._saved = self._folder / "index.bin"
        self._shard: Any = None
        self._open(create=create)
        in_each_fork(self._leave_to_parent)

    # Reading and writing

    def put(self, records: Sequence[SnippetRecord]) -> None:
        """Write snippets; see `SnippetStore.put`."""
        from qdrant_edge import Point, UpdateOperation

        unique = {record.snippet.id: record for record in records}
        with self._writes:
            with self._calls:
                index = self._index
            vectors = check_records(list(unique.values()), dimension=self._dimension)
            points, entries, packed, fresh, replaced = [], [], [], index.next_row, dict[str, int]()
            for (snippet_id, record), vector in zip(unique.items(), vectors.tolist(), strict=True):
                snippet = record.snippet
                row = index.row(snippet.tenant, snippet_id)
                if row is None:
                    row, fresh = fresh, fresh + 1
                else:
                    replaced[snippet_id] = row
                packed.append(pack(record.words))
                payload = to_payload(snippet, embedder_name=self._embedder_name)
                points.append(Point(row, {DENSE: vector}, {**payload, _WORDS: packed[-1]}))
                entries.append((row, _entry(snippet, snippet_id)))
            if not points:
                return
            self._check_disk()
            with self._calls:
                before = self._packed_words(replaced)
                remove_index(self._saved)
                try:
                    with self._engine("write to"):
                        self._shard.update(UpdateOperation.upsert_points(points))
                    self._write_vectors([row for row, _ in entries], vectors)
                except StoreError:
                    self._labels = None  # a part may be written: see `_index`
                    raise
                index.add(entries, packed, replaced=before)

    def rank(self, query: DensityQuery) -> list[StoreHit]:
        """Rank the snippets of a tenant exactly; see `SnippetStore.rank`."""
        import numpy as np

        similarity = Similarity.of(query, dimension=self._dimension)
        if query.k < 1:
            return []
        with self._calls:
            labels = self._index.of(query.tenant)
            cut = labels.cut(query)
            scorer = TierScorer(labels, similarity, vectors=self._vectors)
            of_tier, likeness = scorer.best(cut.tier, need=query.k - len(cut.certain))
            slots = np.concatenate([cut.certain, of_tier])
            scores = np.concatenate([scorer.scores(cut.certain), likeness])
            # The sort is stable: where density and similarity are equal, snippets stay in their order.
            in_order = labels.order(slots)
            slots, scores, level = slots[in_order], scores[in_order], cut.level[slots[in_order]]
            best = np.lexsort((-scores, -level))[: query.k]
            snippets = self._read(query.tenant, labels.rows.values[slots[best]].tolist())
        densities, similarities = cut.densities[level[best]].tolist(), scores[best].tolist()
        return [StoreHit(*hit) for hit in zip(snippets, densities, similarities, strict=True)]

    def get(self, tenant: str, ids: Sequence[str]) -> list[MemorySnippet]:
        """Return a tenant's snippets by id; see `SnippetStore.get`."""
        with self._calls:
            rows = [row for snippet in ids if (row := self._index.row(tenant, snippet)) is not None]
            return self._read(tenant, rows)

    def scroll(self, tenant: str, trajectory: str | None = None) -> Iterator[MemorySnippet]:
        """Iterate over a tenant's snippets; what is deleted meanwhile is left out."""
        with self._calls:
            labels = self._index.of(tenant)
            rows = labels.rows.values[labels.ordered(labels.slots(trajectory))].tolist()
        for start in range(0, len(rows), _BATCH):
            with self._calls:
                snippets = self._read(tenant, rows[start : start + _BATCH])
            yield from snippets

    def delete(self, tenant: str, ids: Sequence[str]) -> int:
        """Delete a tenant's snippets; see `SnippetStore.delete`."""
        from qdrant_edge import UpdateOperation

        with self._writes, self._calls:
            index = self._index
            rows = {snippet: row for snippet in ids if (row := index.row(tenant, snippet)) is not None}
            if rows:
                self._check_disk()
                before = self._packed_words(rows)
                remove_index(self._saved)
                try:
                    with self._engine("delete from"):
                        self._shard.update(UpdateOperation.delete_points(list(rows.values())))
                except StoreError:
                    self._labels = None
                    raise
                self._vectors.clear(list(rows.values()))
                index.remove(tenant, before)
            return len(rows)

    def count(self, tenant: str | None = None) -> int:
        """The number of snippets of a tenant, or of all."""
        with self._calls:
            return len(self._index) if tenant is None else len(self._index.of(tenant))

    def purge(self) -> None:
        """See to it that no byte of what was deleted or replaced is left in the files.

        If it is interrupted, no snippet is lost and it has to be called again.
        """
        from qdrant_edge import Filter, HasIdCondition, UpdateOperation

        with self._writes, self._calls:
            self._check_disk()
            nowhere: list[Any] = [self._index.next_row]
            try:
                with self._engine("purge"), self._system("purge"):
                    self._shard.flush()
                    if not self._overwrite_freed():
                        self._write_anew(nowhere)
                    # The log cannot be removed, for the engine numbers its writes by it; but of a log that was flushed
                    # it keeps only the last file and the one before: so two are filled with writes that change nothing.
                    for size in (_LOG_BYTES, _LOG_BYTES // 16):
                        nobody = Filter(must=[HasIdCondition(set(nowhere))])
                        self._shard.update(UpdateOperation.set_payload_by_filter(nobody, {"": " " * size}))
                    self._shard.flush()
            except StoreError:
                self._labels = None
                raise

    def holding(self, file: Path, texts: set[bytes]) -> set[bytes]:
        """Those of some texts, in lower case, that a file of the engine holds, of all that were found in its bytes.

        Payloads are compressed, and between two parts of one may stand a byte that looks like a character.
        """
        if not file.name.startswith("page_"):
            return texts
        with self._calls:
            self.flush()  # what is read is what the engine wrote
            try:
                return SegmentFiles(file.parent.parent).holding(file, texts)
            except (ValueError, KeyError, OSError):
                return texts

    def _overwrite_freed(self) -> bool:
        """Overwrite what is freed in place; return whether that can be done, and is less than writing all anew."""
        try:
            segments = [SegmentFiles(folder) for folder in sorted((self._folder / "shard" / "segments").iterdir())]
        except (ValueError, KeyError, FileNotFoundError):
            return False
        if sum(files.freed for files in segments) > _FREED_SHARE * sum(map(len, segments)):
            return False
        for files in segments:
            files.overwrite_freed()
        return True

    def _write_anew(self, nowhere: list[Any]) -> None:
        """Let the engine write its files anew, without what is deleted."""
        from qdrant_edge import Point, UpdateOperation

        # Something has to be deleted, or the engine leaves its files as they are.
        self._shard.update(UpdateOperation.upsert_points([Point(nowhere[0], {DENSE: [0.0] * self._dimension})]))
        self._shard.update(UpdateOperation.delete_points(nowhere))
        self._shard.flush()
        self._shard.optimize()

    def flush(self) -> None:
        """Make everything written survive a loss of power."""
        with self._calls, self._engine("flush"):
            self._shard.flush()
            self._vectors.flush()

    def close(self) -> None:
        """Flush and let go of the folder; closing twice is harmless."""
        with self._writes, self._calls:
            if self._shard is None:
                return
            try:
                self._finish()
            finally:
                self._let_go()
                make_private(self._folder)  # what the engine has written

    # A store built anew, while this one serves

    def sibling(self, path: Path) -> EdgeStore:
        """A store like this one in another folder, made if it is not there."""
        return EdgeStore(path, embedder_name=self._embedder_name, dimension=self._dimension)

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Let writers wait; searches go on."""
        with self._writes:
            yield

    def replace_by(self, built: EdgeStore, *, move: Callable[[], None]) -> None:
        """Go on with what another store holds, from one search to the next.

        Args:
            built: The store; it is closed.
            move: Moves its folder to where that of this one is, and that one away.
        """
        with self._writes, self._calls:
            built._finish()
            owner = built._let_go(release=False)
            self._finish()
            self._let_go()
            move()
            self._owner = owner
            self._load()

    def _finish(self) -> None:
        self.flush()
        if self._labels is not None and not self._saved.exists():
            with suppress(OSError):  # without it, opening takes longer
                save_index(self._saved, self._labels)

    # Opening

    def _open(self, *, create: bool) -> None:
        if not create and not (self._folder / "store.json").exists():
            raise StoreError(
                f"there is no memory at {str(self.path)!r}", hint=f"stitch ingest FILE --memory {self.path}"
            )
        try:
            make_private_folder(self._folder, parents=True)
        except OSError as error:
            raise StoreError(f"{self._what} cannot be made: {(error.strerror or str(error)).lower()}") from error
        self._owner = Ownership(self._folder / "owner.json", what=self._what)
        self._load()

    def _load(self) -> None:
        from qdrant_edge import EdgeShard

        shard, made_with = self._folder / "shard", self._folder / "store.json"
        try:
            with self._engine("open"):
                if made_with.exists():
                    compare_facts(made_with, self._facts, what=self._what, hint=self._reindex)
                    self._shard = EdgeShard.load(str(shard), self._config())
                else:
                    self._create(shard, made_with)
            self._labels = load_index(self._saved)
            with self._system("open"):
                self._vectors = VectorFile(self._folder / "vectors.bin", dimension=self._dimension)
            if self._labels is None or len(self._vectors) < self._labels.next_row:
                self._labels = self._read_index()
            # The engine drops its files from the cache when it opens them, and then reads a page for every hit.
            read_ahead(sorted(shard.glob("segments/*/payload_storage/page_*.dat")))
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
        self._check_disk()
        with self._system("make"):
            make_private_folder(shard)
        self._shard = EdgeShard.create(str(shard), self._config())
        self._shard.flush()
        make_private(self._folder)
        write_facts(made_with, self._facts)

    def _config(self) -> Any:
        from qdrant_edge import Distance, EdgeConfig, EdgeOptimizersConfig, EdgeVectorParams, Memory

        # Cold: the engine maps vectors twice, and would otherwise read both maps into memory when it opens.
        dense = EdgeVectorParams(size=self._dimension, distance=Distance.Cosine, memory=Memory.Cold)
        # It never builds a graph, for the ranking is exact; and when it is told to, it leaves out whatever was deleted.
        optimizers = EdgeOptimizersConfig(
            deleted_threshold=1e-9, vacuum_min_vector_number=1, indexing_threshold=0, default_segment_number=1
        )
        return EdgeConfig(vectors={DENSE: dense}, optimizers=optimizers)

    def _read_index(self) -> LabelIndex:
        import numpy as np
        from qdrant_edge import ScrollRequest, UpdateOperation

        remove_index(self._saved)
        index, offset = LabelIndex(), None
        fields = [*_KEY, *LABEL_FIELDS.values(), *_FILTERED, _WORDS]
        while True:
            with self._engine("read"):
                request = ScrollRequest(limit=_BATCH, offset=offset, with_payload=fields, with_vector=True)
                records, offset = self._shard.scroll(request)
            if empty := [record.id for record in records if not record.payload]:
                with self._engine("write to"):  # what an interrupted purge left
                    self._shard.update(UpdateOperation.delete_points(empty))
                records = [record for record in records if record.payload]
            payloads = [(record.id, record.payload) for record in records]
            vectors = np.array([record.vector[DENSE] for record in records], dtype=np.float32)
            self._write_vectors([record.id for record in records], vectors)
            entries = [(row, _stored_entry(payload)) for row, payload in payloads]
            index.add(entries, [payload[_WORDS] for _, payload in payloads])
            if offset is None:
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
                self._shard = EdgeShard.load(str(self._folder / "shard"), self._config())
            self._labels = self._read_index()
        return self._labels

    def _let_go(self, *, release: bool = True) -> Ownership:
        """Let go of the engine, and of the folder unless its owner goes on."""
        shard, self._shard, self._labels = self._shard, None, None
        try:
            if shard is not None:
                self._vectors.close()
                shard.close()
        finally:
            if release:
                self._owner.release()
        return self._owner

    def _leave_to_parent(self) -> None:
        """In a fork: the engine must not tidy up the parent's files when this process ends."""
        if self._shard is not None:
            never_free(self._shard)
            close_files_in(self._folder / "shard")

    def _packed_words(self, rows: dict[str, int]) -> dict[str, str]:
        """The words of these rows, which are given by id, by id."""
        if not rows:
            return {}
        with self._engine("read"):
            records = self._shard.retrieve(list(rows.values()), [_WORDS], False)
        packed = {record.id: record.payload[_WORDS] for record in records}
        return {snippet: packed[row] for snippet, row in rows.items()}

    def _write_vectors(self, rows: list[int], vectors: NDArray[np.float32]) -> None:
        with self._system("write to"):
            self._vectors.put(rows, vectors)

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
    def _system(self, doing: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise _own_error(f"cannot {doing} {self._what}", error.strerror or str(error)) from error

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


def _entry(snippet: MemorySnippet, name: str) -> IndexEntry:
    labels = tuple(intent_labels(snippet.intent))
    return IndexEntry(
        name, snippet.tenant, snippet.trajectory, snippet.position, snippet.step, labels, snippet.trust,
        snippet.recorded,
    )  # fmt: skip


def _stored_entry(payload: Payload) -> IndexEntry:
    _, trust = origin_and_trust(payload)
    snippet, tenant, trajectory, position, step = map(payload.__getitem__, _KEY)
    return IndexEntry(
        snippet, tenant, trajectory, position, step, tuple(labels_of(payload)), trust, payload["recorded"]
    )


def _own_error(what: str, reason: str) -> StoreError:
    reason = " ".join(reason.removeprefix("Service runtime error: ").split())
    if "WouldBlock" in reason or "Resource temporarily unavailable" in reason:
        return StoreLockedError(f"{what}: another process uses it", hint="wait until that process has ended")
    for sign, hint in _HINTS:
        if sign in reason:
            return StoreError(f"{what}: {reason}", hint=hint)
    return StoreError(f"{what}: {reason}")
