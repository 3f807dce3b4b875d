"""The store: snippets as points of Qdrant, with payload and three named vectors."""

from __future__ import annotations

import os
import shutil
from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from stitch.core.files import make_private_folder
from stitch.core.intent import LABEL_FIELDS
from stitch.core.process import ProcessLock, in_each_fork
from stitch.core.protocols import DensityQuery, SnippetRecord, StoreHit, WordCounts
from stitch.core.snippets import SCHEMA_VERSION, MemorySnippet
from stitch.errors import StoreError
from stitch.store.folder import StoreFolder
from stitch.store.payload import from_payload, label_index, to_payload
from stitch.store.points import Damage, Id, Point, Points, StoredPoint, Where, id_of, ids_of, name_of
from stitch.store.ranking import Ranking, WordCounter, counted
from stitch.store.similarity import Similarity, as_kept, check_vectors, words_as_kept

_BATCH = 512
_PLACE = ("trajectory", "position", "step")


class QdrantStore:
    """Snippets as points of a folder, searched by Qdrant's engine in this process; see `SnippetStore`.

    Its folder, the subfolder `store` of `path`, says what it was made with, and who has it open. Calls from several
    threads are served one after the other.

    Raises:
        StoreLockedError: Another process, or another store of this one, has it open.
        StoreMismatchError: It was written with another embedder or schema, or by another version.
        StoreError: The folder cannot be used, or a file is damaged.
    """

    def __init__(self, path: str | os.PathLike[str], *, embedder_name: str, dimension: int) -> None:
        self.path: Path | None = Path(path)
        """The folder it is in; None on a server."""
        self._begin(f"the memory {str(path)!r}", location=str(path), dimension=dimension)
        self._folder = StoreFolder(
            self.path / "store",
            facts={"schema_version": SCHEMA_VERSION, "embedder": embedder_name, "dimension": dimension},
            what=self._what,
            location=self._location,
        )
        try:
            self._load()
        except BaseException:
            self._folder.owner.release()
            raise
        in_each_fork(self._leave_to_parent)

    def _begin(self, what: str, *, location: str, dimension: int) -> None:
        """Begin a store that messages call so, of a memory that commands name so."""
        self._what, self._location, self._dimension = what, location, dimension
        self._calls, self._writes = ProcessLock(what), ProcessLock(what)
        self._cache: OrderedDict[Id, MemorySnippet] = OrderedDict()
        self._closed = self._failed = False

    # What a store on a server does otherwise

    _most_cached = 8_192
    """So many snippets are kept as they were read."""

    def _kept(self, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        """The part of a payload that is kept."""
        return payload

    def _made(self, payload: Mapping[str, Any], *, validate: bool = False) -> MemorySnippet | None:
        """The snippet of a payload; None if its step is gone."""
        return from_payload(payload, validate=validate)

    @property
    def not_searched(self) -> Sequence[str]:
        """Places beside its files where something deleted may be left."""
        return ()

    # Reading and writing

    def put(self, records: Sequence[SnippetRecord]) -> None:
        """Write snippets; see `SnippetStore.put`."""
        unique = {id_of(record.snippet.id): record for record in records}
        with self._writes:
            made = self._points_of(unique)
            with self._calls:
                points = self._points
                of_counted = [name for name, record in unique.items() if self._counts.holds(record.snippet.tenant)]
                before = points.retrieve(of_counted, fields=False, words=True)
                for start in range(0, len(made), _BATCH):
                    part = made[start : start + _BATCH]
                    with self._writing():
                        points.upsert(part)
                    for each in part:
                        self._cache.pop(each.id, None)
                        tenant = unique[each.id].snippet.tenant
                        if each.id in before:
                            self._counts.change(tenant, before[each.id].words, by=-1)
                        self._counts.change(tenant, each.words.keys(), by=1)

    def _points_of(self, records: Mapping[Id, SnippetRecord]) -> list[Point]:
        for snippet, vector, words in records.values():
            check_vectors(vector, words, dimension=self._dimension, what=f"step {snippet.step!r}")
        vectors = as_kept(np.asarray([record.vector for record in records.values()], np.float32)).tolist()
        made = []
        for (name, (snippet, _, words)), dense in zip(records.items(), vectors, strict=True):
            labels = {label_index(kind, value): 1.0 for kind in LABEL_FIELDS for value in snippet.intent.of(kind)}
            made.append(Point(name, dense, words_as_kept(words), labels, self._kept(to_payload(snippet))))
        return made

    def rank(self, query: DensityQuery) -> list[StoreHit]:
        """Rank the snippets of a tenant exactly; see `SnippetStore.rank`."""
        similarity = Similarity.of(query, dimension=self._dimension)
        with self._calls:
            points = self._points
            if query.k < 1:
                return []
            if similarity.words is not None:
                similarity = similarity.weighed(self._counts.rarity(query.tenant, similarity.words))
            where = Where.of(query)
            return Ranking(points, query, similarity=similarity, where=where, read=self._read).hits()

    def get(self, tenant: str, ids: Sequence[str]) -> list[MemorySnippet]:
        """Return a tenant's snippets by id; see `SnippetStore.get`."""
        with self._calls:
            found = self._read(numbers := ids_of(ids))
            return [own for number in numbers if (own := found.get(number)) is not None and own.tenant == tenant]

    def near(self, query: DensityQuery, snippets: Sequence[MemorySnippet], *, reach: int) -> list[MemorySnippet]:
        """Return what stands beside some of a tenant's snippets; see `SnippetStore.near`."""
        places = [(each.trajectory, each.position - reach, each.position + reach) for each in snippets]
        known = {id_of(each.id) for each in snippets}
        with self._calls:
            if not places:
                return []
            beside = self._points.scroll(Where.of(query)._replace(places=places), fields=False)
            found = self._read([each.id for each in beside if each.id not in known])
            return sorted((each for each in found.values() if query.sees(each)), key=attrgetter(*_PLACE))

    def word_counts(
        self, tenant: str, words: Collection[int], *, trajectory: str | None = None, ids: Sequence[str] = ()
    ) -> WordCounts:
        """Count words among a tenant's snippets; see `SnippetStore.word_counts`."""
        with self._calls:
            points, where = self._points, Where(tenant=tenant, trajectory=trajectory)
            counts = self._counts.of(tenant) if trajectory is None else counted(points, where)
            own = {name: each.id for name, each in self._read(ids_of(ids)).items() if each.tenant == tenant}
            found, wanted = points.retrieve(list(own), fields=False, words=True), frozenset(words)
            carried = {own[name]: wanted.intersection(point.words) for name, point in found.items()}
            snippets = counts.get(-1, 0) if trajectory is None else points.count(where)
            return WordCounts(snippets, {word: counts.get(word, 0) for word in words}, carried)

    def scroll(self, tenant: str, trajectory: str | None = None) -> Iterator[MemorySnippet]:
        """Iterate over a tenant's snippets; what is deleted meanwhile is left out."""
        with self._calls:
            points = self._points.scroll(Where(tenant=tenant, trajectory=trajectory), fields=_PLACE)
            in_order = sorted(points, key=lambda each: tuple(map(each.payload.__getitem__, _PLACE)))
            names = [each.id for each in in_order]
        for start in range(0, len(names), _BATCH):
            with self._calls:
                found = self._read(part := names[start : start + _BATCH])
            yield from (found[name] for name in part if name in found)

    def delete(self, tenant: str, ids: Sequence[str]) -> int:
        """Delete a tenant's snippets; see `SnippetStore.delete`."""
        with self._writes, self._calls:
            found = self._points.retrieve(ids_of(dict.fromkeys(ids)), fields=("tenant",), words=True)
            doomed = {name: point for name, point in found.items() if point.payload.get("tenant") == tenant}
            if doomed:
                with self._writing():
                    self._points.delete(list(doomed))
            for name, point in doomed.items():
                self._cache.pop(name, None)
                self._counts.change(tenant, point.words, by=-1)
            return len(doomed)

    def count(self, tenant: str | None = None) -> int:
        """The number of snippets of a tenant, or of all."""
        with self._calls:
            return self._points.count(Where(tenant=tenant))

    def purge(self) -> None:
        """See to it that no byte of what was deleted or replaced is left in files of this machine.

        If it is interrupted, no snippet is lost and it has to be called again.
        """
        with self._writes, self._calls:
            self._points.flush()
            self._points.purge()

    def flush(self) -> None:
        """Make everything written survive a loss of power."""
        with self._calls:
            self._points.flush()

    def close(self) -> None:
        """Flush and let go of the folder; closing twice is harmless."""
        with self._writes, self._calls:
            if not self._closed:
                try:
                    self._points.flush()
                finally:
                    self._let_go()

    # Damage

    def check(self, tenant: str) -> list[Damage]:
        """Read everything of a tenant, and name each snippet that is not as one is written."""
        with self._calls:
            points = self._points.scroll(Where(tenant=tenant), fields=True, dense=True)
            return [
                Damage(str(point.payload.get("trajectory", "")), str(point.payload.get("step", "")), what, point.id)
                for point in points
                if (what := self._damage(point))
            ]

    def mend(self, tenant: str) -> int:
        """Delete what `check` names, so that it can be put again; return how many."""
        with self._writes, self._calls:
            if damaged := [each.point for each in self.check(tenant)]:
                self._points.delete(damaged)
                self._use(self._opened)
            return len(damaged)

    def _damage(self, point: StoredPoint) -> str:
        """The damage of a point; empty if it is as it was written."""
        try:
            made = self._made(point.payload, validate=True)
        except StoreError as error:
            return error.message
        if made is not None and id_of(made.id) != point.id:
            return "its id is not that of its step"
        length = sum(value * value for value in point.dense)
        whole = len(point.dense) == self._dimension and (length == 0.0 or 0.9 < length < 1.1)
        return "" if whole else "its vector is not as it was written"

    @property
    def unchanged(self) -> ProcessLock:
        """The lock that holds writers back; searches go on."""
        return self._writes

    # Opening and closing

    def _load(self) -> None:
        new = self._folder.is_new()
        self._use(self._open_points(new))
        try:
            if new:
                self._folder.is_made()
        except BaseException:
            self._opened.close()
            raise

    def _let_go(self) -> None:
        """Let go of the points, and of the folder."""
        self._closed = True
        try:
            self._opened.close()
        finally:
            self._folder.owner.release()

    def _open_points(self, create: bool) -> Points:
        """The points; made anew, whatever was begun there, if `create`."""
        from stitch.store.edge import EdgePoints

        folder = self._folder.path / "shard"
        if create:
            shutil.rmtree(folder, ignore_errors=True)
            make_private_folder(folder)
        return EdgePoints(folder, dimension=self._dimension, create=create, what=self._what, hint=self._folder.reindex)

    def _leave_to_parent(self) -> None:
        """In a fork: the engine must not tidy up the parent's files when this process ends."""
        if not self._closed:
            self._opened.leave_to_parent()

    @property
    def _points(self) -> Points:
        if self._closed:
            raise StoreError(f"{self._what} is closed")
        if self._failed:
            self._opened.close()
            self._use(self._open_points(False))
        return self._opened

    def _use(self, points: Points) -> None:
        self._opened, self._counts, self._failed = points, WordCounter(points), False
        self._cache.clear()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A change; after one that failed, the points are opened anew."""
        try:
            yield
        except StoreError:
            self._failed = not self._opened.durable
            self._counts.clear()
            self._cache.clear()
            raise

    def _read(self, ids: Sequence[Id]) -> Mapping[Id, MemorySnippet]:
        """Snippets by id; those that were read lately are kept."""
        points, cache = self._points, self._cache
        found: dict[Id, MemorySnippet] = {}
        lacking = []
        for name in ids:
            if (held := cache.get(name)) is None:
                lacking.append(name)
            else:
                cache.move_to_end(name)
                found[name] = held
        try:
            for name, point in points.retrieve(lacking, fields=True).items():
                if (snippet := self._made(point.payload)) is None:
                    continue
                found[name] = cache[name] = snippet
                snippet.__dict__["id"] = name_of(name)  # a search asks for all of them, and to make one takes longer
        except StoreError as error:
            if error.hint:
                raise
            raise StoreError(
                f"{self._what} is damaged: {error.message}", hint=f"stitch verify --repair --memory {self._location}"
            ) from error
        while len(cache) > self._most_cached:
            cache.popitem(last=False)
        return found
