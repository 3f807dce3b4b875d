"""Document frequencies of words by tenant, for the rarity of a question's words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from itertools import chain

import numpy as np

from stitch.store.points import Points, Where
from stitch.store.similarity import informativeness

MOST_TENANTS = 64
"""Of so many tenants counts are held; then those that were not asked for the longest time are counted again."""


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
