"""Points of Qdrant as the store uses them: one seam for the engine in this process and for a server."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from stitch.store.payload import clock

if TYPE_CHECKING:
    from stitch.core.protocols import DensityQuery, SparseVector

DENSE, WORDS, LABELS = "dense", "words", "labels"
"""The named vectors of a point: of what it says; BM25 weights of its words; 1.0 for each of its labels."""


_NAME = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

Fields: TypeAlias = "Sequence[str] | bool"
"""Names of fields or vectors; all of them, or none."""

Id = int
"""The 128 bits of a UUID, which compare quicker than its text."""


def id_of(name: str) -> Id:
    """The id of a snippet as points have it."""
    return int(name.replace("-", ""), 16)


def ids_of(names: Iterable[str]) -> list[Id]:
    """The ids of snippets; what is no id of one is passed over."""
    return [id_of(name) for name in names if len(name) == 36 and _NAME.fullmatch(name)]


def name_of(number: Id) -> str:
    """The text of a UUID."""
    text = f"{number:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


class Point(NamedTuple):
    """A point to be written."""

    id: Id
    dense: Sequence[float]
    words: SparseVector
    labels: SparseVector
    payload: Mapping[str, Any]


class StoredPoint(NamedTuple):
    """A point as it was read; what was not asked for is empty."""

    id: Id
    payload: Mapping[str, Any]
    words: Collection[int]
    """Which it has; what each weighs is not read."""
    dense: Sequence[float]


class Damage(NamedTuple):
    """A snippet that is not in a store as it was written."""

    trajectory: str
    step: str
    what: str
    point: Id


class Where(NamedTuple):
    """A filter; what is None lets everything pass."""

    tenant: str | None = None
    trajectory: str | None = None
    least_trust: int | None = None
    recorded_to: str | None = None
    """RFC 3339."""
    not_after: tuple[str, int] | None = None
    """Nothing behind this position of this trajectory."""
    ids: Collection[Id] | None = None
    places: Sequence[tuple[str, int, int]] | None = None
    """In one of these trajectories, from the first to the last position."""

    @classmethod
    def of(cls, query: DensityQuery) -> Where:
        """The filter of a query."""
        moment = query.as_of
        return cls(
            tenant=query.tenant,
            trajectory=query.trajectory,
            least_trust=query.min_trust.level if query.min_trust is not None else None,
            recorded_to=clock(moment.recorded) if moment is not None else None,
            not_after=(moment.trajectory, moment.position) if moment and moment.trajectory is not None else None,
        )


class Search(NamedTuple):
    """A search: the points most similar by one vector, exactly."""

    using: str
    vector: Sequence[float] | SparseVector
    where: Where
    limit: int


class Scores(NamedTuple):
    """Ids and scores of a search, best first."""

    ids: list[Id]
    values: list[float]


class Points(ABC):
    """The points of a collection. Each method raises `StoreError` where it cannot do what it says."""

    durable: bool
    """Whether what was written survives the death of this process at once, and not only after `flush`."""

    @abstractmethod
    def upsert(self, points: Sequence[Point]) -> None:
        """Write points; those that are there are replaced."""

    @abstractmethod
    def search(self, searches: Sequence[Search]) -> list[Scores]:
        """The results of searches, in their order, as one request."""

    def retrieve(
        self, ids: Sequence[Id], *, fields: Sequence[str] | bool, words: bool = False, dense: bool = False
    ) -> dict[Id, StoredPoint]:
        """Points by id, with all or some fields of their payload; those that are not there are left out."""
        wanted = [name for name, asked in ((WORDS, words), (DENSE, dense)) if asked] or False
        return {made.id: made for made in map(self._stored, self._found(ids, fields, wanted) if ids else ())}

    def scroll(self, where: Where, *, fields: Sequence[str] | bool, dense: bool = False) -> Iterator[StoredPoint]:
        """All points that pass, in no order, with all or some fields of their payload."""
        return map(self._stored, self._all(where, fields, [DENSE] if dense else False))

    def words(self, where: Where) -> Iterator[Collection[int]]:
        """The words of each point that passes and has any."""
        vectors = (point.vector for point in self._all(where, False, [WORDS]))
        return (own[WORDS].indices for own in vectors if own and WORDS in own)

    @abstractmethod
    def delete(self, ids: Sequence[Id]) -> None:
        """Delete points; those that are not there are no error."""

    @abstractmethod
    def count(self, where: Where) -> int:
        """Count the points that pass."""

    def flush(self) -> None:  # noqa: B027 - a server has nothing to do
        """Make everything written survive a loss of power."""

    def purge(self) -> None:  # noqa: B027 - a server frees room when it likes
        """Leave no byte of deleted points in files of this machine."""

    @abstractmethod
    def close(self) -> None:
        """Let go of it; closing twice is harmless."""

    @abstractmethod
    def leave_to_parent(self) -> None:
        """In a fork: do nothing to it any more, whatever becomes of this process."""

    @abstractmethod
    def _found(self, ids: Sequence[Id], fields: Fields, vectors: Fields) -> Iterable[Any]: ...

    @abstractmethod
    def _page(self, where: Where, offset: Any, fields: Fields, vectors: Fields) -> tuple[Sequence[Any], Any]: ...

    @staticmethod
    @abstractmethod
    def _number(point: Any) -> Id: ...

    def _all(self, where: Where, fields: Fields, vectors: Fields) -> Iterator[Any]:
        offset, begun = None, False
        while offset is not None or not begun:
            points, offset = self._page(where, offset, fields, vectors)
            begun = True
            yield from points

    def _stored(self, point: Any) -> StoredPoint:
        vectors = point.vector  # made of the engine's own each time it is asked for, as is the payload
        vectors = vectors if isinstance(vectors, dict) else {}
        sparse = vectors.get(WORDS)
        words = () if sparse is None else sparse.indices
        return StoredPoint(self._number(point), point.payload or {}, words, vectors.get(DENSE) or ())


def named_vectors(point: Point, sparse: Callable[..., Any]) -> Any:
    """The vectors of a point in the words of the engine or of its client, whose sparse vectors are of this class."""
    own = {WORDS: point.words, LABELS: point.labels}
    made = {
        name: sparse(indices=list(weights), values=list(weights.values())) for name, weights in own.items() if weights
    }
    return {DENSE: point.dense, **made}


def filter_of(where: Where, models: Any, *, numbers: Any, moments: Any, has_id: Any) -> Any:
    """A filter in the words of the engine or of its client, which differ in names of ranges and conditions of ids.

    `models` is the module with all others.
    """

    def equals(key: str, value: str) -> Any:
        return models.FieldCondition(key=key, match=models.MatchValue(value=value))

    def within(key: str, **bounds: float) -> Any:
        return models.FieldCondition(key=key, range=numbers(**bounds))

    named = (("tenant", where.tenant), ("trajectory", where.trajectory))
    must = [equals(key, value) for key, value in named if value is not None]
    if where.least_trust is not None:
        must.append(within("trust", gte=where.least_trust))
    if where.recorded_to is not None:
        must.append(models.FieldCondition(key="recorded", range=moments(lte=where.recorded_to)))
    if where.ids is not None:
        must.append(has_id(where.ids))
    if where.places is not None:
        either = [
            models.Filter(must=[equals("trajectory", name), within("position", gte=first, lte=last)])
            for name, first, last in _joined(where.places)
        ]
        must.append(models.Filter(should=either))
    without = None
    if where.not_after is not None:
        name, position = where.not_after
        without = [models.Filter(must=[equals("trajectory", name), within("position", gt=position)])]
    return models.Filter(must=must or None, must_not=without) if must or without else None


def _joined(places: Iterable[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    """The same places, those that overlap or touch as one: an engine asks each of them of each point."""
    joined: list[tuple[str, int, int]] = []
    for name, first, last in sorted(places):
        if joined and joined[-1][0] == name and first <= joined[-1][2] + 1:
            _, earlier, end = joined.pop()
            joined.append((name, earlier, max(last, end)))
        else:
            joined.append((name, first, last))
    return joined
