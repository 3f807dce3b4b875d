"""What all stores on Qdrant have in common: snippets, labels and words in files of our own, vectors in an engine.

More than 400 lines because opening, writing, searching and purging share one lock and the same files.
"""

from __future__ import annotations

import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

from stitch.core.files import make_private, make_private_folder
from stitch.core.process import ProcessLock, in_each_fork
from stitch.core.protocols import DensityQuery, SnippetRecord, StoreHit, WordCounts
from stitch.core.snippets import SCHEMA_VERSION, MemorySnippet
from stitch.errors import StoreError, StoreUnavailableError
from stitch.store.array_file import remove_for_good
from stitch.store.bounds import sketch_file
from stitch.store.checks import Damage, check_records
from stitch.store.checksums import changed_files, write_checksums
from stitch.store.edge_engine import engine_error
from stitch.store.files import StoreFiles
from stitch.store.index import Held, IndexEntry, LabelIndex
from stitch.store.made_with import Facts, compare_facts, write_facts
from stitch.store.owner import Ownership
from stitch.store.payload import intent_labels, to_payload
from stitch.store.saved_index import load_index, save_index
from stitch.store.scorer import TierScorer
from stitch.store.similarity import Similarity
from stitch.store.snippet_file import Record, SnippetFile, VectorMark, encode_record
from stitch.store.vectors import VectorEngine, as_kept
from stitch.store.words import pack

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from typing_extensions import Self

_BATCH = 2000
"""How many snippets are read at a time."""

_SPARE_BYTES = 128 * 2**20
"""What must be free before a write or a deletion: the engine writes into mapped files, where a full disk kills it."""

LAYOUT = 6
"""The version of the files; those of another are made anew from the journal."""

_PENDING_BYTES = 16 * 2**20
"""When so much is pending, the engine is flushed."""

_FREED_SHARE = 0.25
"""Of the engine's places so many may be freed before a purge takes them back."""

_FREED_BYTES = 8 * 2**20
"""When more than this is freed, and more than half of it, the file of snippets is written anew."""


class IndexedStore(ABC):
    """Snippets in a folder, their vectors in an engine that a subclass opens: in this process, or on a server.

    What must leave no trace when it is erased lies in a file of our own, where it is overwritten: texts and labels.
    Labels and words are kept in an in-process index, and of each vector a bound in a mapped file, so that the engine is
    asked for the cosines of those snippets alone that can be among the first. The index is saved when the store is
    closed; when a store is opened that was not closed, it is made from the file of snippets. It cannot be stale,
    because a store has one owner. Calls from several threads are served one after the other.

    What `put` wrote survives the death of the process; `flush` makes it survive a loss of power.

    Args:
        path: The folder of the store. Everything of it lies in its subfolder `store`.
        embedder_name: The embedder whose vectors are stored; compared with what the store was made with.
        dimension: The length of its vectors.
        create: Whether a store may be made where there is none.

    Raises:
        StoreLockedError: Another process, or another store of this one, has it open.
        StoreMismatchError: It was written with another embedder or schema, or by another version.
        StoreError: There is no store, the folder cannot be used, or a file is damaged.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, embedder_name: str, dimension: int, create: bool = True
    ) -> None:
        self.path = Path(path)
        self._folder = self.path / "store"
        self._embedder_name = embedder_name
        self._dimension = dimension
        self._facts: Facts = {
            "schema_version": SCHEMA_VERSION, "embedder": embedder_name, "dimension": dimension, "layout": LAYOUT,
        }  # fmt: skip
        self._calls = ProcessLock(self._what)
        self._writes = ProcessLock(self._what)
        """Held by whoever writes, and taken before `_calls`: while it is held, searches go on."""
        self._labels: LabelIndex | None = None
        self._owed: list[int] = []
        """Rows of a durable engine that no snippet has any more, to be deleted there."""
        self._fresh = 0
        """No row from here on was ever given to a durable engine; one that refuses may still have taken it."""
        self._saved = self._folder / "index.bin"
        self._checksums = self._folder / "checksums.json"
        self._closed = False
        self._files = StoreFiles(
            self._folder, layout=LAYOUT, dimension=dimension, hint=self._reindex, open_engine=self._open_engine
        )
        self._open(create=create)
        in_each_fork(self._leave_to_parent)

    @abstractmethod
    def _open_engine(self, create: bool) -> VectorEngine:
        """The engine of the vectors; made anew, whatever was begun there, if `create`."""

    @property
    @abstractmethod
    def _what(self) -> str:
        """The store, for messages."""

    @property
    @abstractmethod
    def _location(self) -> str:
        """The memory, as a command names it."""

    # Reading and writing

    def put(self, records: Sequence[SnippetRecord]) -> None:
        """Write snippets; see `SnippetStore.put`."""
        unique = {record.snippet.id: record for record in records}
        with self._writes:
            units = as_kept(check_records(list(unique.values()), dimension=self._dimension))
            checksums = [crc32(unit.tobytes()) for unit in units]
            tenants = [(record.snippet.tenant, name) for name, record in unique.items()]
            with self._calls:
                index, durable = self._index, self._files.engine.durable
                before = self._records(_held(index, tenants))
            if not unique:
                return
            rows = self._rows_for(list(unique), checksums, before=before)
            encoded, entries, packed = [], [], []
            for (name, record), row, checksum in zip(unique.items(), rows, checksums, strict=True):
                packed.append(pack(record.words))
                payload = to_payload(record.snippet, embedder_name=self._embedder_name)
                encoded.append(encode_record(payload, words=packed[-1], vectors=[VectorMark(row, checksum)]))
                entries.append(_entry(record.snippet, name))
            self._check_disk()
            if durable:
                self._put_first(list(unique.values()), rows, units, before=before)
            with self._calls, self._changing("write to"):
                replaced = _held(index, tenants)  # a flush may have moved them meanwhile
                places = self._files.put(encoded, rows, units)
                self._files.free(replaced.values())
                now = [Held(row, *place) for row, place in zip(rows, places, strict=True)]
                index.add(
                    list(zip(now, entries, strict=True)),
                    packed,
                    replaced={name: record.words for name, record in before.items()},
                )
                if durable:
                    self._owed += {held.row for held in replaced.values()}.difference(rows)
                if self._files.pending.size > _PENDING_BYTES:
                    self._flush()

    def _rows_for(self, names: Sequence[str], checksums: Sequence[int], *, before: Mapping[str, Record]) -> list[int]:
        """The row of each snippet: that which it has, unless a durable engine would have to overwrite it there."""
        rows, durable = [], self._files.engine.durable
        self._fresh = max(self._fresh, self._index.next_row)
        for name, checksum in zip(names, checksums, strict=True):
            mark = before[name].vectors[0] if name in before else None
            if mark is not None and (not durable or mark.checksum == checksum):
                rows.append(mark.row)
            else:
                rows.append(self._fresh)
                self._fresh += 1
        return rows

    def _put_first(
        self,
        records: Sequence[SnippetRecord],
        rows: Sequence[int],
        units: NDArray[np.float32],
        *,
        before: Mapping[str, Record],
    ) -> None:
        """Put vectors into a durable engine, before a record names them: if it refuses, nothing here has changed."""
        engine = self._files.engine
        kept = set() if engine.tells_snippets else {record.vectors[0].row for record in before.values()}
        new = [at for at, row in enumerate(rows) if row not in kept]
        if new:
            engine.put([rows[at] for at in new], units[new], snippets=[records[at].snippet for at in new])

    def rank(self, query: DensityQuery) -> list[StoreHit]:
        """Rank the snippets of a tenant exactly; see `SnippetStore.rank`."""
        import numpy as np

        similarity = Similarity.of(query, dimension=self._dimension)
        if query.k < 1:
            return []
        with self._calls:
            labels = self._index.of(query.tenant)
            if lacking := self._files.lacking:
                hint = f"stitch verify --repair --memory {self._location}"
                raise StoreError(f"{self._what} lacks the vectors of {lacking} snippets", hint=hint)
            cut = labels.cut(query)
            if not len(cut.certain) and not len(cut.tier):
                return []
            scorer = TierScorer(labels, similarity, bounds=self._files.bounds, engine=self._files.engine)
            of_tier, likeness = scorer.best(cut.tier, need=query.k - len(cut.certain))
            slots = np.concatenate([cut.certain, of_tier])
            scores = np.concatenate([scorer.scores(cut.certain), likeness])
            # The sort is stable: where density and similarity are equal, snippets stay in their order.
            in_order = labels.order(slots)
            slots, scores = slots[in_order], scores[in_order]
            level = cut.level[slots].astype(np.int64)
            best = np.lexsort((-scores, -level))[: query.k]
            snippets = self._read(query.tenant, slots[best])
        densities, similarities = cut.densities[level[best]].tolist(), scores[best].tolist()
        return list(map(StoreHit, snippets, densities, similarities))

    def get(self, tenant: str, ids: Sequence[str]) -> list[MemorySnippet]:
        """Return a tenant's snippets by id; see `SnippetStore.get`."""
        import numpy as np

        with self._calls:
            return self._read(tenant, np.array(self._index.of(tenant).slots_of(ids), dtype=np.int64))

    def near(self, query: DensityQuery, snippets: Sequence[MemorySnippet], *, reach: int) -> list[MemorySnippet]:
        """Return what stands beside some of a tenant's snippets; see `SnippetStore.near`."""
        import numpy as np

        places = [(snippet.trajectory, snippet.position) for snippet in snippets]
        with self._calls:
            labels = self._index.of(query.tenant)
            known = frozenset(labels.slots_of([snippet.id for snippet in snippets]))
            slots = [slot for slot in labels.near(places, reach=reach, among=query).tolist() if slot not in known]
            return self._read(query.tenant, labels.ordered(np.array(slots, dtype=np.int64)))

    def word_counts(
        self, tenant: str, words: Collection[int], *, trajectory: str | None = None, ids: Sequence[str] = ()
    ) -> WordCounts:
        """Count words among a tenant's snippets; see `SnippetStore.word_counts`."""
        with self._calls:
            labels = self._index.of(tenant)
            slots = None if trajectory is None else labels.slots(trajectory)
            return WordCounts(*labels.words.counted(words, slots), labels.carried(ids, list(words)))

    def scroll(self, tenant: str, trajectory: str | None = None) -> Iterator[MemorySnippet]:
        """Iterate over a tenant's snippets; what is deleted meanwhile is left out."""
        with self._calls:
            labels = self._index.of(tenant)
            names = labels.ids(labels.ordered(labels.slots(trajectory)))
        for start in range(0, len(names), _BATCH):
            yield from self.get(tenant, names[start : start + _BATCH])

    def delete(self, tenant: str, ids: Sequence[str]) -> int:
        """Delete a tenant's snippets; see `SnippetStore.delete`. Their texts are overwritten at once."""
        with self._writes, self._calls:
            index = self._index
            found = {name: held for name in ids if (held := index.find(tenant, name)) is not None}
            if found:
                self._check_disk()
                with self._changing("delete from"):
                    words = {name: record.words for name, record in self._records(found).items()}
                    self._files.free(found.values())
                    rows = [held.row for held in found.values()]
                    if self._files.engine.durable:
                        self._files.bounds.clear(rows)
                        self._owed += rows
                    else:
                        self._files.delete_vectors(rows)
                    index.remove(tenant, words)
            return len(found)

    def count(self, tenant: str | None = None) -> int:
        """The number of snippets of a tenant, or of all."""
        with self._calls:
            return len(self._index) if tenant is None else len(self._index.of(tenant))

    def purge(self) -> None:
        """See to it that no byte of what was deleted or replaced is left in the files, and that the disk has it so.

        If it is interrupted, no snippet is lost and it has to be called again.

        Raises:
            StoreUnavailableError: The engine does not answer, and may still have vectors of what was deleted.
        """
        with self._writes, self._calls:
            index = self._index
            self._check_disk()
            self._settle()
            with self._changing("purge"):
                self._flush()
                freed = index.next_row - index.reclaimed - len(index)
                if freed > _FREED_SHARE * (len(index) + freed):
                    self._files.engine.shrink()
                    self._files.engine.flush()
                    index.reclaimed += freed

    def flush(self) -> None:
        """Make everything written survive a loss of power."""
        with self._calls:
            self._reopen()
            with self._system("flush"):
                self._flush()
            self._settle_if_possible()

    def close(self) -> None:
        """Flush and let go of the folder; closing twice is harmless."""
        with self._writes, self._calls:
            if not self._closed:
                try:
                    self._finish()
                finally:
                    self._let_go()
                    make_private(self._folder)  # what the engine has written

    @property
    def not_searched(self) -> Sequence[str]:
        """Where beside the files here something of what was deleted may be left."""
        return ()

    # Damage

    def check(self, tenant: str) -> list[Damage]:
        """Read everything of a tenant, and name each snippet that is not as it was written; nothing if all is well."""
        return [damage for damage, _ in self._damaged(tenant)]

    def mend(self, tenant: str) -> int:
        """Delete what `check` names, so that it can be put again, and make anew what is derived; return how many.

        Raises:
            StoreError: The engine's files are damaged beyond that.
        """
        with self._writes, self._calls:
            damaged = self._damaged(tenant)
            if damaged:
                with self._changing("write to"):
                    self._files.free(held for _, held in damaged)
                self._recover(bounds=True)
            return len(damaged)

    def _damaged(self, tenant: str) -> list[tuple[Damage, Held]]:
        with self._calls:
            labels = self._index.of(tenant)
            names = labels.ids(labels.slots())
        damaged: list[tuple[Damage, Held]] = []
        for start in range(0, len(names), _BATCH):
            with self._calls:
                index = self._index
                labels = index.of(tenant)
                found = {name: held for name in names[start : start + _BATCH] if (held := labels.find(name))}
                vectors = self._files.engine.vectors([held.row for held in found.values()])
                for name, held in found.items():
                    if what := self._files.damage(held, vectors.get(held.row), name=name):
                        damaged.append((Damage(*labels.place(name), what), held))
        return damaged

    # A store built anew, while this one serves

    @abstractmethod
    def sibling(self, path: Path) -> Self:
        """A store like this one in another folder, made if it is not there."""

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Let writers wait; searches go on."""
        with self._writes:
            yield

    def replace_by(self, built: Self, *, move: Callable[[], None]) -> None:
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

    # Opening and closing

    def _open(self, *, create: bool) -> None:
        made_with = self._folder / "store.json"
        if made_with.exists():
            compare_facts(made_with, self._facts, what=self._what, hint=self._reindex)
        elif not create:
            raise StoreError(
                f"there is no memory at {self._location!r}", hint=f"stitch ingest FILE --memory {self._location}"
            )
        try:
            make_private_folder(self._folder, parents=True)
        except OSError as error:
            raise StoreError(f"{self._what} cannot be made: {(error.strerror or str(error)).lower()}") from error
        self._owner = Ownership(self._folder / "owner.json", what=self._what)
        try:
            self._load()
        except BaseException:
            self._owner.release()
            raise

    def _load(self) -> None:
        made_with = self._folder / "store.json"
        new = not made_with.exists()
        if not new:
            compare_facts(made_with, self._facts, what=self._what, hint=self._reindex)
        with self._system("open"):
            if new:
                self._make_room()
            changed = changed_files(self._checksums)
            if unknown := changed - {self._checksums, sketch_file(self._folder)}:
                raise StoreError(
                    f"{self._what} is damaged: {str(min(unknown))!r} is not as it was written", hint=self._reindex
                )
            if self._checksums.exists():  # the engine changes its files when it opens them
                remove_for_good(self._checksums)
            self._files.open(create=new)
        try:
            if new:
                make_private(self._folder)
                write_facts(made_with, self._facts)
            self._labels = None if changed else load_index(self._saved)
            if self._labels is None or not self._files.are_of(self._labels):
                self._recover(bounds=bool(changed))
        except BaseException:
            self._files.close()
            raise
        self._closed = False

    def _make_room(self) -> None:
        """Remove what a store was made of whose maker died before it had said what it is."""
        snippets = self._folder / "snippets.bin"
        if snippets.exists():
            half_made = SnippetFile(snippets, layout=LAYOUT, dimension=self._dimension)
            holds = any(isinstance(each, Record) for _, each in half_made.scan())
            half_made.close()
            if holds:
                raise StoreError(
                    f"{self._what} does not say what it was made with: 'store.json' is missing", hint=self._reindex
                )
        self._check_disk()
        for path in (self._checksums, self._saved, self._folder / "pending.bin"):
            path.unlink(missing_ok=True)

    def _finish(self) -> None:
        """Flush, and save what makes opening quick."""
        if self._labels is not None:  # or a write failed, and the files are made to agree when they are opened
            with self._system("flush"):
                self._flush()
            self._settle_if_possible()
        self._files.close()
        with suppress(OSError):  # without these, opening takes longer
            # Without an index, the next opening looks for rows that no snippet has.
            if self._labels is not None and not self._owed and not self._saved.exists():
                save_index(self._saved, self._labels)
            files = sorted((self._folder / "shard").rglob("*"))
            write_checksums(self._checksums, [*files, sketch_file(self._folder)])

    def _let_go(self, *, release: bool = True) -> Ownership:
        """Let go of the files, and of the folder unless its owner goes on."""
        self._closed, self._labels = True, None
        try:
            self._files.close()
        finally:
            if release:
                self._owner.release()
        return self._owner

    # What is made again from the files

    @property
    def _index(self) -> LabelIndex:
        self._reopen()
        assert self._labels is not None
        return self._labels

    def _reopen(self) -> None:
        """After a write that failed, read from the files what is there."""
        self._check_open()
        if self._labels is None:
            with self._system("recover"):
                self._files.close()
                self._files.open(create=False)
            self._recover(bounds=False)

    def _recover(self, *, bounds: bool) -> None:
        with self._system("recover"):
            if self._saved.exists():
                remove_for_good(self._saved)
            self._labels = self._files.recover(bounds=bounds)
            self._owed.clear()
            self._flush()

    def _settle(self) -> None:
        """Delete in a durable engine what no snippet has any more."""
        if self._owed:
            self._files.engine.delete(self._owed)
            self._owed.clear()

    def _settle_if_possible(self) -> None:
        # Nobody finds these rows any more. Whoever erases calls `purge`, and is told.
        with suppress(StoreUnavailableError):
            self._settle()

    # What the rest stands on

    @property
    def _reindex(self) -> str:
        return f"stitch reindex --memory {self._location}"

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError(f"{self._what} is closed")

    def _records(self, found: Mapping[str, Held]) -> dict[str, Record]:
        with self._reading():
            return self._files.records(found)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except StoreError as error:
            hint = error.hint or f"stitch verify --repair --memory {self._location}"
            raise StoreError(f"{self._what} is damaged: {error.message}", hint=hint) from error

    def _leave_to_parent(self) -> None:
        """In a fork: the engine must not tidy up the parent's files when this process ends."""
        if not self._closed:
            self._files.engine.leave_to_parent()

    def _flush(self) -> None:
        """Make everything survive a loss of power; where much is freed, take it back."""
        self._files.flush()
        if (index := self._labels) is not None:
            living = sum(index.of(tenant).record_bytes() for tenant in index.tenants())
            if self._files.snippets.size - living > max(living, _FREED_BYTES):
                if self._saved.exists():
                    remove_for_good(self._saved)
                self._files.rewrite(index)

    def _read(self, tenant: str, slots: NDArray[np.int64]) -> list[MemorySnippet]:
        labels, read = self._index.of(tenant), self._files.snippets.snippet
        with self._reading():
            snippets = list(map(read, *labels.spans(slots)))
        unnamed = [at for at, snippet in enumerate(snippets) if "id" not in snippet.__dict__]
        for at, name in zip(unnamed, labels.ids(slots[unnamed]), strict=True):
            snippets[at].__dict__["id"] = name  # a search asks for all of them, and to make one takes longer
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
    def _changing(self, doing: str) -> Iterator[None]:
        """A change of the files; if it fails, they alone know what of it is there: see `_index`."""
        try:
            with self._system(doing):
                if self._saved.exists():
                    remove_for_good(self._saved)
                yield
        except BaseException:
            self._labels = None
            raise

    @contextmanager
    def _system(self, doing: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise engine_error(f"cannot {doing} {self._what}", error.strerror or str(error), hint="") from error


def _held(index: LabelIndex, names: Sequence[tuple[str, str]]) -> dict[str, Held]:
    """Where the snippets of these tenants and ids are, by id; those that are not there are left out."""
    return {name: held for tenant, name in names if (held := index.find(tenant, name)) is not None}


def _entry(snippet: MemorySnippet, name: str) -> IndexEntry:
    labels = tuple(intent_labels(snippet.intent))
    return IndexEntry(
        name, snippet.tenant, snippet.trajectory, snippet.position, snippet.step, labels, snippet.trust,
        snippet.recorded,
    )  # fmt: skip
