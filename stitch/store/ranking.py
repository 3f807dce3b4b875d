"""The ranking of a store, exactly as it is defined: label density first, then similarity, then the order of events.

One request asks for three lists of ids and scores: the points with most labels, the nearest vectors, the best words.
Payloads are read of what can be among the first alone. Lists are long enough if nothing behind their ends can be; else
longer ones are asked for, and in the end all points.

The score of the vector `labels` is an upper bound of density: two names of one label count twice there, and two labels
may share a place. What is returned has its density from its payload.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from stitch.core.intent import LABEL_FIELDS, Label
from stitch.core.protocols import DensityQuery, SparseVector, StoreHit
from stitch.core.ranking import DensityCount
from stitch.core.snippets import MemorySnippet
from stitch.store.payload import label_index
from stitch.store.points import DENSE, LABELS, WORDS, Id, Points, Search, Where
from stitch.store.similarity import Similarity, halved, informativeness

_LONGER = (1_024, 8_192)
"""How long the lists of a second and third request are."""
_PART = 16
"""So many payloads are read behind the first `k`, then twice as many."""
_DECIMALS = 8
"""The engine counts in single precision: what differs less is equal."""
_PLACE = ("trajectory", "position", "step")
MOST_TENANTS = 64
"""Of so many tenants counts are held; then those that were not asked for the longest time are counted again."""

Read = Callable[[Sequence[Id]], Mapping[Id, MemorySnippet]]
"""The snippets of ids, as far as they are there."""


class Ranking:
    """One ranking. In `similarity` each word is weighed by how rare it is."""

    def __init__(
        self, points: Points, query: DensityQuery, *, similarity: Similarity, where: Where, read: Read
    ) -> None:
        self._points, self._query, self._similarity, self._where, self._read = points, query, similarity, where, read
        self._values = {(label.kind, value): label for label, values in query.labels.items() for value in values}
        counted = {label.kind for label in query.labels} if query.count is DensityCount.KINDS else query.labels
        self._most = float(len(counted))
        self._asked: dict[str, Sequence[float] | SparseVector] = {}
        if self._values:
            self._asked[LABELS] = {label_index(kind, value): 1.0 for kind, value in self._values}
        if similarity.vector is not None:
            self._asked[DENSE] = similarity.vector.tolist()
        if similarity.words is not None:
            self._asked[WORDS] = similarity.words
        self._known: dict[str, dict[Id, float]] = {using: {} for using in self._asked}

    def hits(self) -> list[StoreHit]:
        """The first `k` snippets, best first."""
        k, exact = self._query.k, self._query.exact
        limits = [max(128, 2 * k) if exact else max(64, k), *_LONGER]
        ends = None
        while limits and ends != {}:
            ends = self._search(self._where, limits.pop(0))
            ids = list(dict.fromkeys(chain.from_iterable(self._known.values())))
            ids = ids if self._values else self._hopeful(ids, ends)
            self._complete(ids)
            hits = self._first(ids)
            if DENSE in self._asked and DENSE not in ends:  # these are all there are
                return hits
            nearest = self._similarity.combine(ends.get(DENSE, 0.0), ends.get(WORDS, 0.0))
            others = min(ends.get(LABELS, 0.0), self._most), round(nearest, _DECIMALS)
            if len(hits) == k and (not exact or _key(hits[-1]) > others):
                return hits
        return self._everything(search=bool(ends))

    def _search(self, where: Where, limit: int) -> dict[str, float]:
        """Take in the best of each list; return the last score of those that may go on."""
        searches = [Search(using, vector, where, limit) for using, vector in self._asked.items()]
        ends = {}
        for using, found in zip(self._asked, self._points.search(searches), strict=True):
            self._known[using].update(zip(found.ids, found.values, strict=True))
            if len(found.ids) >= limit:
                ends[using] = found.values[-1]
        return ends

    def _hopeful(self, ids: Sequence[Id], ends: Mapping[str, float]) -> list[Id]:
        """Points that can still be among the first `k` by similarity."""
        if len(ids) <= (k := self._query.k):
            return list(ids)
        lowest = self._similarities(ids, cosine=-1.0)
        highest = self._similarities(ids, cosine=ends.get(DENSE, 0.0), lexical=ends.get(WORDS, 0.0))
        nth = np.partition(lowest, len(ids) - k)[len(ids) - k]
        return [ids[place] for place in np.flatnonzero(highest >= nth).tolist()]

    def _complete(self, ids: Sequence[Id]) -> None:
        """Ask for what is not known yet of some points."""
        lacking = {using: [name for name in ids if name not in known] for using, known in self._known.items()}
        searches = [
            Search(using, self._asked[using], Where(ids=names), len(names)) for using, names in lacking.items() if names
        ]
        for search, found in zip(searches, self._points.search(searches) if searches else [], strict=True):
            known = dict(zip(found.ids, found.values, strict=True))
            self._known[search.using] |= {name: known.get(name, 0.0) for name in lacking[search.using]}

    def _everything(self, *, search: bool) -> list[StoreHit]:
        """The first of all points; they are searched unless the lists have all that is similar."""
        places = {
            each.id: tuple(map(each.payload.__getitem__, _PLACE))
            for each in self._points.scroll(self._where, fields=_PLACE)
        }
        ids = sorted(places, key=places.__getitem__)
        if search and ids:
            self._search(self._where, len(ids))
        for known in self._known.values():
            known.update({name: 0.0 for name in ids if name not in known})
        return self._first(ids, in_order=True)

    def _similarities(self, ids: Sequence[Id], *, cosine: float = 0.0, lexical: float = 0.0) -> NDArray[np.float64]:
        """The similarities of points; where a part is not known, with this one."""
        cosines, lexicals = (
            np.array([known.get(name, unknown) for name in ids])
            if (known := self._known.get(using)) is not None
            else np.zeros(len(ids))
            for using, unknown in ((DENSE, cosine), (WORDS, lexical))
        )
        rounded: NDArray[np.float64] = self._similarity.combine(cosines, lexicals).round(_DECIMALS)
        return rounded

    def _first(self, ids: Sequence[Id], *, in_order: bool = False) -> list[StoreHit]:
        """The first `k` of points of which all is known: they are read until no other of them can be among these.

        Where they stand in the order of events (`in_order`), equal ones need not be read to be told apart.
        """
        k = self._query.k
        labeled, dense, words = (self._known.get(using, {}) for using in (LABELS, DENSE, WORDS))
        bounds = np.minimum(np.rint([labeled.get(name, 0.0) for name in ids]), self._most).tolist()
        keys = list(zip(bounds, self._similarities(ids).tolist(), strict=True))
        order = sorted(range(len(ids)), key=keys.__getitem__, reverse=True)
        placed: list[StoreHit] = []
        start, end = 0, k
        while part := order[start:end]:
            snippets = self._read([ids[n] for n in part])
            for n in part:
                name = ids[n]
                snippet = snippets.get(name)
                if snippet is not None and self._query.sees(snippet):
                    lexical = halved(words.get(name, 0.0))
                    placed.append(StoreHit(snippet, self._density(snippet), keys[n][1], dense.get(name, 0.0), lexical))
            placed.sort(key=_place)
            if len(placed) >= k and end < len(order):
                last, following = _key(placed[k - 1]), keys[order[end]]
                if last > following or (in_order and last == following):
                    break
            start, end = end, end + max(_PART, end - k)
        return placed[:k]

    def _density(self, snippet: MemorySnippet) -> float:
        if not self._values:
            return 0.0
        matched: Collection[Label]
        if self._query.matches is not None:
            matched = self._query.matches(snippet.intent, snippet.trajectory)
        else:
            carried = ((kind, value) for kind in LABEL_FIELDS for value in snippet.intent.of(kind))
            matched = {label for each in carried if (label := self._values.get(each)) is not None}
        return float(len({label.kind for label in matched} if self._query.count is DensityCount.KINDS else matched))


def _key(hit: StoreHit) -> tuple[float, float]:
    return hit.density, hit.similarity


def _place(hit: StoreHit) -> tuple[float, float, str, int, str]:
    snippet = hit.snippet
    return -hit.density, -hit.similarity, snippet.trajectory, snippet.position, snippet.step


class WordCounter:
    """Counts of words by tenant, taken from the points when they are first asked for, and kept up to date."""

    def __init__(self, points: Points) -> None:
        self._points = points
        self._tenants: dict[str, Counter[int]] = {}

    def of(self, tenant: str) -> Mapping[int, int]:
        """Document frequency of each word of a tenant; under -1 the number of snippets with any word."""
        held = self._tenants.pop(tenant, None)
        if held is None:
            held = counted(self._points, Where(tenant=tenant))
            while len(self._tenants) >= MOST_TENANTS:
                del self._tenants[next(iter(self._tenants))]
        self._tenants[tenant] = held
        return held

    def rarity(self, tenant: str, words: Iterable[int]) -> dict[int, float]:
        """Informativeness of words among the snippets of a tenant."""
        counts = self.of(tenant)
        return {word: informativeness(counts.get(word, 0), snippets=counts.get(-1, 0)) for word in words}

    def holds(self, tenant: str) -> bool:
        """Whether a change has to be told."""
        return tenant in self._tenants

    def change(self, tenant: str, words: Collection[int], *, by: int) -> None:
        """Take note of a snippet that came (`by` 1) or went (-1)."""
        if words and (held := self._tenants.get(tenant)) is not None:
            for word in (*words, -1):
                held[word] += by
                if not held[word]:
                    del held[word]

    def clear(self) -> None:
        """Count again when asked."""
        self._tenants.clear()


def counted(points: Points, where: Where) -> Counter[int]:
    """Document frequency of each word over points; under -1 the number of points with any word."""
    said = np.fromiter(chain.from_iterable((*words, -1) for words in points.words(where)), np.int64)
    each, counts = np.unique(said, return_counts=True)  # quicker than a counter, which looks up each
    return Counter(dict(zip(each.tolist(), counts.tolist(), strict=True)))
