"""Stores for tests, and faults at every boundary that a test may cross."""

import threading
from collections.abc import Collection, Iterator, Sequence
from typing import Any, TypeVar, cast

from contracts.worlds import expected_ranking, similarities
from stitch.core import DensityQuery, LabelMerge, LabelVocabulary, MemorySnippet, SnippetRecord, StoreHit, WordCounts
from stitch.errors import StoreError, StoreUnavailableError
from stitch.store.payload import to_payload
from stitch.store.similarity import check_vectors

_T = TypeVar("_T")


class ListStore:
    """Snippets in a dictionary, ranked by definition: the plainest store that satisfies the protocol.

    Args:
        dimension: The length of its vectors; the first put decides if None.
    """

    def __init__(self, *, dimension: int | None = None) -> None:
        self.records: dict[str, SnippetRecord] = {}
        """What is stored, by snippet id."""
        self.puts: list[tuple[str, ...]] = []
        """Step ids of every put, failed ones included."""
        self.flushes = 0
        self.closed = False
        self.away = False
        """Whether it answers nobody, as a server that cannot be reached."""
        self._dimension = dimension
        self._flushed: dict[str, SnippetRecord] = {}
        self._failures: list[BaseException] = []
        self._lock = threading.RLock()

    def fail_next(self, *errors: BaseException) -> None:
        self._failures.extend(errors)

    def lose_power(self) -> None:
        self.records = dict(self._flushed)

    def reopen(self) -> None:
        self.closed = False

    def put(self, records: Sequence[SnippetRecord]) -> None:
        with self._lock:
            self._check_open()
            self.puts.append(tuple(record.snippet.step for record in records))
            self._fail()
            if records and self._dimension is None:
                self._dimension = len(records[0].vector)
            for record in records:
                check_vectors(record.vector, record.words, dimension=self._dimension or 0, what=record.snippet.step)
                to_payload(record.snippet)  # raises for what no store can hold
            self.records.update({record.snippet.id: record for record in records})

    def rank(self, query: DensityQuery) -> list[StoreHit]:
        vocabulary = LabelVocabulary(
            LabelMerge(kind=label.kind, alias=alias, into=label.value)
            for label, aliases in query.labels.items()
            for alias in sorted(aliases - {label.value})
        )
        with self._lock:
            self._check_open()
            records = list(self.records.values())
        parts = {record.snippet.id: own for record, own in zip(records, similarities(records, query), strict=True)}
        ranking = expected_ranking(records, query, vocabulary)[: max(query.k, 0)]
        return [StoreHit(each.snippet, each.density, *parts[each.snippet.id]) for each in ranking]

    def get(self, tenant: str, ids: Sequence[str]) -> list[MemorySnippet]:
        with self._lock:
            self._check_open()
            found = [self.records[snippet].snippet for snippet in ids if snippet in self.records]
        return [snippet for snippet in found if snippet.tenant == tenant]

    def near(self, query: DensityQuery, snippets: Sequence[MemorySnippet], *, reach: int) -> list[MemorySnippet]:
        given = {snippet.id for snippet in snippets}
        return [
            each
            for each in self.scroll(query.tenant, query.trajectory)
            if query.sees(each)
            and each.id not in given
            and any(
                each.trajectory == own.trajectory and abs(each.position - own.position) <= reach for own in snippets
            )
        ]

    def word_counts(
        self, tenant: str, words: Collection[int], *, trajectory: str | None = None, ids: Sequence[str] = ()
    ) -> WordCounts:
        with self._lock:
            self._check_open()
            records = [record for record in self.records.values() if record.snippet.tenant == tenant]
        mine = {record.snippet.id: record.words for record in records}
        counted = [record.words for record in records if trajectory in (None, record.snippet.trajectory)]
        return WordCounts(
            sum(bool(own) for own in counted) if trajectory is None else len(counted),
            {word: sum(word in own for own in counted) for word in words},
            {name: frozenset(words) & mine[name].keys() for name in ids if name in mine},
        )

    def scroll(self, tenant: str, trajectory: str | None = None) -> Iterator[MemorySnippet]:
        with self._lock:
            self._check_open()
            snippets = [record.snippet for record in self.records.values()]
        mine = [s for s in snippets if s.tenant == tenant and trajectory in (None, s.trajectory)]
        return iter(sorted(mine, key=lambda snippet: (snippet.trajectory, snippet.position, snippet.step)))

    def delete(self, tenant: str, ids: Sequence[str]) -> int:
        with self._lock:
            found = self.get(tenant, list(dict.fromkeys(ids)))
            for snippet in found:
                del self.records[snippet.id]
        return len(found)

    def count(self, tenant: str | None = None) -> int:
        with self._lock:
            self._check_open()
            return sum(tenant in (None, record.snippet.tenant) for record in self.records.values())

    def flush(self) -> None:
        with self._lock:
            self._check_open()
            self._fail()
            self.flushes += 1
            self._flushed = dict(self.records)

    def close(self) -> None:
        if not self.closed:
            try:
                if not self.away:
                    self.flush()
            finally:
                self.closed = True

    def _check_open(self) -> None:
        if self.closed:
            raise StoreError("the store is closed")
        if self.away:
            raise StoreUnavailableError("nobody answers")

    def _fail(self) -> None:
        if self._failures:
            raise self._failures.pop(0)


class SimulatedCrash(BaseException):
    """The process ends here. Not an `Exception`: nothing may catch it and go on."""


class FaultPlan:
    """Where a run crashes: at the n-th boundary it crosses.

    A boundary is before or after a call of a method that `with_faults` watches. A first run with no crash tells which
    ones there are (`crossed`); then a test crashes at each of them. A crashed process does nothing more: every later
    crossing raises as well.

    Args:
        crash_at: The number of the boundary, from 0; None to only record.
    """

    def __init__(self, crash_at: int | None = None) -> None:
        self.crash_at = crash_at
        self.crossed: list[str] = []
        """The boundaries crossed, such as `before put`."""

    @property
    def crashed(self) -> bool:
        return self.crash_at is not None and len(self.crossed) > self.crash_at

    def cross(self, boundary: str) -> None:
        """Note that a boundary is crossed.

        Raises:
            SimulatedCrash: It is the one, or the run has crashed already.
        """
        if not self.crashed:
            self.crossed.append(boundary)
        if self.crashed:
            raise SimulatedCrash(self.crossed[-1])


def with_faults(target: _T, plan: FaultPlan, *methods: str) -> _T:
    return cast("_T", _Watched(target, plan, methods))


class _Watched:
    def __init__(self, target: Any, plan: FaultPlan, methods: Sequence[str]) -> None:
        self._target, self._plan, self._methods = target, plan, methods

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        if name not in self._methods:
            return found

        def watched(*arguments: Any, **options: Any) -> Any:
            self._plan.cross(f"before {name}")
            result = found(*arguments, **options)
            self._plan.cross(f"after {name}")
            return result

        return watched
