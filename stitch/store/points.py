"""Points of Qdrant as the store uses them: one seam for the engine in this process and for a server."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from stitch.core.protocols import SparseVector

DENSE, WORDS, LABELS = "dense", "words", "labels"
"""The named vectors of a point: of what it says; BM25 weights of its words; 1.0 for each of its labels."""


Id = int
"""The 128 bits of a UUID, which compare quicker than its text."""


def id_of(name: str) -> Id:
    """The id of a snippet as points have it."""
    return int(name.replace("-", ""), 16)


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
    words: SparseVector
    dense: Sequence[float]


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


class Search(NamedTuple):
    """A search: the points most similar by one vector, exactly."""

    using: str
    vector: Sequence[float] | SparseVector
    where: Where
    limit: int


class Scores(NamedTuple):
    """What a search found, best first."""

    ids: list[Id]
    values: NDArray[np.float64]


class Points(Protocol):
    """The points of a collection. Each method raises `StoreError` where it cannot do what it says."""

    durable: bool
    """Whether what was written survives the death of this process at once, and not only after `flush`."""

    def upsert(self, points: Sequence[Point]) -> None:
        """Write points; those that are there are replaced."""

    def search(self, searches: Sequence[Search]) -> list[Scores]:
        """The results of searches, in their order, as one request."""

    def retrieve(
        self, ids: Sequence[Id], *, payload: bool = True, words: bool = False, dense: bool = False
    ) -> dict[Id, StoredPoint]:
        """Points by id; those that are not there are left out."""

    def scroll(
        self, where: Where, *, fields: Sequence[str] | bool, words: bool = False, dense: bool = False
    ) -> Iterator[StoredPoint]:
        """All points that pass, in no order, with all or some fields of their payload."""

    def delete(self, ids: Sequence[Id]) -> None:
        """Delete points; those that are not there are no error."""

    def count(self, where: Where) -> int:
        """How many points pass."""

    def flush(self) -> None:
        """Make everything written survive a loss of power."""

    def purge(self) -> None:
        """Leave no byte of deleted points in files of this machine."""

    def close(self) -> None:
        """Let go of it; closing twice is harmless."""

    def leave_to_parent(self) -> None:
        """In a fork: do nothing to it any more, whatever becomes of this process."""


def filter_of(where: Where, models: Any, *, numbers: Any, moments: Any, has_id: Any) -> Any:
    """A filter in the words of the engine or of its client, which differ in a few names.

    Args:
        where: What has to hold.
        models: The module with the others.
        numbers: A range of numbers.
        moments: A range of times.
        has_id: Makes a condition of the texts of ids.
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
        must.append(has_id(list(map(name_of, where.ids))))
    if where.places is not None:
        either = [
            models.Filter(must=[equals("trajectory", name), within("position", gte=first, lte=last)])
            for name, first, last in where.places
        ]
        must.append(models.Filter(should=either))
    without = []
    if where.not_after is not None:
        name, position = where.not_after
        without.append(models.Filter(must=[equals("trajectory", name), within("position", gt=position)]))
    return models.Filter(must=must or None, must_not=without or None) if must or without else None
