"""The ranking of a store, exactly as it is defined: label density first, then similarity, then the order of events.

One request asks for three lists of ids and scores: the points with most labels, the nearest vectors, the best words.
Payloads are read of what can be among the first alone. A list is long enough if nothing behind its end can be; else a
longer one is asked for.

The score of the vector `labels` is an upper bound of density: two names of one label count twice there, and two labels
may share a place. What is returned has its density from its payload.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stitch.core.protocols import DensityQuery, StoreHit
from stitch.core.ranking import DensityCount
from stitch.core.snippets import MemorySnippet
from stitch.store.payload import LABEL_FIELDS, label_index
from stitch.store.points import DENSE, LABELS, WORDS, Id, Points, Scores, Search, Where
from stitch.store.similarity import Similarity, lexical_similarity
from stitch.store.vectors import as_kept

LONGER = (1_024, 8_192)
"""How long the lists of a second and third request are; those of a fourth have everything."""
_MOST_COMBINED = 12
"""Of more labels the engine takes long to find those that have several of them."""
_DECIMALS = 8
"""The engine counts in single precision: what differs less is equal."""
_PLACE = ("trajectory", "position", "step")


def first_length(need: int, *, exact: bool) -> int:
    """How long the lists of a first request are."""
    return max(128, 2 * need) if exact else max(64, need)


class _Near(NamedTuple):
    """What is nearest."""

    ids: list[Id]
    beyond: float
    """No other point is more similar."""
    are_all: bool
    """Whether there is no other point."""
    are_last: bool
    """Whether longer lists have no more; what is left has a similarity of 0."""


Read = Callable[[Sequence[Id]], Mapping[Id, MemorySnippet]]
"""The snippets of ids, as far as they are there."""


class Ranking:
    """One ranking.

    Args:
        points: Are asked.
        query: What for.
        similarity: What it calls similar, each word weighed by how rare it is.
        where: Which points it sees.
        read: Gives snippets.
    """

    def __init__(
        self, points: Points, query: DensityQuery, *, similarity: Similarity, where: Where, read: Read
    ) -> None:
        self._points, self._query, self._similarity, self._where, self._read = points, query, similarity, where, read
        asked = similarity.vector
        self._vector = None if asked is None else as_kept(np.array(asked, dtype=np.float32)).tolist()
        self._values = {(label.kind, value): label for label, values in query.labels.items() for value in values}
        self._pool: list[Id] | None = None
        self._snippets: dict[Id, MemorySnippet] = {}
        self._cosines: dict[Id, float] = {}
        self._lexicals: dict[Id, float] = {}

    def hits(self) -> list[StoreHit]:
        """The first `k` snippets, best first."""
        bounds, known_to = self._labeled()
        placed: list[StoreHit] = []
        levels = sorted({*map(int, bounds.values()), *range(known_to), 0} if self._values else {0}, reverse=True)
        for level in range(levels[0], -1, -1):
            need = self._query.k - len(placed)
            if need <= 0:
                break
            of_level = self._of_level(level, bounds, known_to=known_to, need=need)
            placed += [StoreHit(snippet, float(level), score) for snippet, score in of_level]
        return placed

    def _labeled(self) -> tuple[dict[Id, float], int]:
        """Upper bounds of density by id, and from which level on these are all that there are."""
        if not self._values:
            return {}, 0
        vector = {label_index(kind, value): 1.0 for kind, value in self._values}
        limit = first_length(self._query.k, exact=True)
        [found] = self._points.search([Search(LABELS, vector, self._where, limit)])
        complete = len(found.ids) < limit
        known_to = 1 if complete else int(found.values[-1]) + 1
        return dict(zip(found.ids, np.rint(found.values).tolist(), strict=True)), known_to

    def _of_level(
        self, level: int, bounds: Mapping[Id, float], *, known_to: int, need: int
    ) -> list[tuple[MemorySnippet, float]]:
        """The first so many snippets of one density, with their similarity."""
        ids = [name for name, bound in bounds.items() if bound >= level and self._may_have(name, level)]
        if level and level >= known_to:
            return self._first(self._sorted(ids), level, need=need)
        if not self._query.exact and self._values:
            near = [name for name in self._near_ids() if name not in bounds and self._may_have(name, level)]
            return self._first(self._sorted([*ids, *near]), level, need=need)
        return self._searched(level, need=need)

    def _near_ids(self) -> list[Id]:
        """The points of the first lists by similarity."""
        if self._pool is None:
            k = self._query.k
            self._pool = self._nearest(self._where, limit=first_length(k, exact=False), need=k).ids
        return self._pool

    def _may_have(self, name: Id, level: int) -> bool:
        """Whether a point may have this density, as far as it was read."""
        snippet = self._snippets.get(name)
        return snippet is None or self._density(snippet) == level

    def _sorted(self, ids: Sequence[Id]) -> list[tuple[Id, float]]:
        """Ids with their similarity, the most similar first."""
        self._score(ids)
        scores = self._scores_of(ids)
        return [(ids[place], float(scores[place])) for place in np.argsort(-scores, kind="stable").tolist()]

    def _first(self, ranked: Sequence[tuple[Id, float]], level: int, *, need: int) -> list[tuple[MemorySnippet, float]]:
        """Of what is sorted by similarity the first of one density; those that are equal in both by their order."""
        found: list[tuple[MemorySnippet, float]] = []
        for start in range(0, len(ranked), step := max(64, need)):
            part = ranked[start : start + step]
            if len(found) >= need and part[0][1] < found[-1][1]:
                break
            snippets = self._read_all([name for name, _ in part])
            for name, score in part:
                if len(found) >= need and score < found[-1][1]:
                    break
                snippet = snippets.get(name)
                if snippet is not None and self._density(snippet) == level and self._query.sees(snippet):
                    found.append((snippet, score))
        found.sort(key=lambda each: (-each[1], each[0].trajectory, each[0].position, each[0].step))
        return found[:need]

    def _searched(self, level: int, *, need: int) -> list[tuple[MemorySnippet, float]]:
        """The most similar snippets of one density, where it is not known which they are."""
        where = self._where
        if level:
            groups = self._groups()
            least = level if len(groups) <= _MOST_COMBINED else 1
            where = where._replace(labels=groups, least_labels=least)
        exact = self._query.exact or level > 0
        limits = [first_length(need, exact=exact), *LONGER]
        while True:
            limit = limits.pop(0) if limits else max(1, self._points.count(where))
            near = self._nearest(where, limit=limit, need=need)
            ranked = [each for each in self._sorted(near.ids) if near.are_all or not exact or each[1] > near.beyond]
            found = self._first(ranked, level, need=need)
            if len(found) == need or near.are_all:
                return found
            if near.are_last:
                known = {name for name, _ in ranked}
                return [*found, *self._without_similarity(where, level, need=need - len(found), but=known)]
            if not exact:
                return found

    def _groups(self) -> list[tuple[str, Sequence[str]]]:
        """What density counts: each label with its names; of kinds, all names of a kind."""
        if self._query.count is DensityCount.VALUES:
            return [(LABEL_FIELDS[label.kind], sorted(names)) for label, names in self._query.labels.items()]
        of_kind: dict[str, list[str]] = {}
        for kind, value in self._values:
            of_kind.setdefault(LABEL_FIELDS[kind], []).append(value)
        return list(of_kind.items())

    def _without_similarity(
        self, where: Where, level: int, *, need: int, but: Collection[Id]
    ) -> list[tuple[MemorySnippet, float]]:
        """What has nothing of what was asked for, in its order."""
        left = (each for each in self._points.scroll(where, fields=_PLACE) if each.id not in but)
        ids = [each.id for each in sorted(left, key=lambda each: tuple(map(each.payload.__getitem__, _PLACE)))]
        found: list[tuple[MemorySnippet, float]] = []
        for start in range(0, len(ids), step := max(64, need)):
            snippets = self._read_all(part := ids[start : start + step])
            seen = [own for name in part if (own := snippets.get(name)) is not None and self._query.sees(own)]
            found += [(own, 0.0) for own in seen if self._density(own) == level]
            if len(found) >= need:
                break
        return found[:need]

    def _nearest(self, where: Where, *, limit: int, need: int) -> _Near:
        """The nearest points by vector and by words."""
        similarity, searches = self._similarity, []
        if self._vector is not None:
            searches.append(Search(DENSE, self._vector, where, limit))
        if similarity.words is not None:
            searches.append(Search(WORDS, dict(similarity.words), where, limit))
        found = dict(zip((each.using for each in searches), self._points.search(searches), strict=True))
        least = {using: float(each.values[-1]) for using, each in found.items() if len(each.ids) >= limit}
        self._take(found)
        ids = list(dict.fromkeys(chain.from_iterable(each.ids for each in found.values())))
        if not self._values:
            ids = self._hopeful(ids, least, need=need)
        beyond = similarity.combine(least.get(DENSE, 0.0), least.get(WORDS, 0.0))
        return _Near(ids, round(beyond, _DECIMALS), are_all=DENSE in found and DENSE not in least, are_last=not least)

    def _hopeful(self, ids: Sequence[Id], least: Mapping[str, float], *, need: int) -> list[Id]:
        """Those that can be among the first so many, as far as is known of them."""
        if len(ids) <= need:
            return list(ids)
        lowest = self._scores_of(ids, cosine=-1.0)
        highest = self._scores_of(ids, cosine=least.get(DENSE, 0.0), lexical=least.get(WORDS, 0.0))
        nth = np.partition(lowest, len(ids) - need)[len(ids) - need]
        return [ids[place] for place in np.flatnonzero(highest >= nth).tolist()]

    def _take(self, found: Mapping[str, Scores]) -> None:
        for using, into in ((DENSE, self._cosines), (WORDS, self._lexicals)):
            if (own := found.get(using)) is not None:
                into.update(zip(own.ids, own.values.tolist(), strict=True))

    def _score(self, ids: Sequence[Id]) -> None:
        """Ask for what is not known yet of the similarity of some points."""
        similarity, searches = self._similarity, []
        if self._vector is not None and (lacking := [name for name in ids if name not in self._cosines]):
            searches.append(Search(DENSE, self._vector, Where(ids=lacking), len(lacking)))
        if similarity.words is not None and (lacking := [name for name in ids if name not in self._lexicals]):
            searches.append(Search(WORDS, dict(similarity.words), Where(ids=lacking), len(lacking)))
            self._lexicals.update(dict.fromkeys(lacking, 0.0))
        if searches:
            self._take(dict(zip((each.using for each in searches), self._points.search(searches), strict=True)))

    def _scores_of(self, ids: Sequence[Id], *, cosine: float = 0.0, lexical: float = 0.0) -> NDArray[np.float64]:
        """The similarities of points; where a part is not known, with this one."""
        known, similarity = self._cosines.get, self._similarity
        cosines = np.array([known(name, cosine) for name in ids] if self._vector is not None else 0.0)
        known = self._lexicals.get
        lexicals = np.array([known(name, lexical) for name in ids] if similarity.words is not None else 0.0)
        scores = similarity.dense_share * cosines + similarity.lexical_share * lexical_similarity(lexicals)
        found: NDArray[np.float64] = np.broadcast_to(scores, len(ids)).astype(np.float64).round(_DECIMALS)
        return found

    def _read_all(self, ids: Sequence[Id]) -> Mapping[Id, MemorySnippet]:
        if lacking := [name for name in ids if name not in self._snippets]:
            self._snippets.update(self._read(lacking))
        return self._snippets

    def _density(self, snippet: MemorySnippet) -> int:
        if not self._values:
            return 0
        carried = ((kind, value) for kind in LABEL_FIELDS for value in snippet.intent.of(kind))
        matched = {label for each in carried if (label := self._values.get(each)) is not None}
        return len({label.kind for label in matched} if self._query.count is DensityCount.KINDS else matched)
