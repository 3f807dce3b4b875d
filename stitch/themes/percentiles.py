"""How similar things are in this collection: what counts as near is a share of that, and no number of one embedder."""

from __future__ import annotations

from collections.abc import Mapping

_BINS = 400
_FADES_AT = 8192
"""When so many similarities are counted, all counts are halved: what is near changes as a collection grows."""
_SETTLED_AT = 512
_LOOKED_UP = 32
"""From `_SETTLED_AT` on, a percentile hardly moves with one more: it is looked up after so many."""
_BEFORE = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
"""Counted before anything is known, and never taken back: among dozens of others they are nothing."""


class Percentiles:
    """Counts of similarities, from which their percentiles are read."""

    def __init__(self) -> None:
        self._counts = [0] * _BINS
        self._total = 0
        self._found: dict[float, float] = {}
        for similarity in _BEFORE:
            self.add(similarity)

    def add(self, similarity: float) -> None:
        """Count a similarity."""
        self._counts[min(_BINS - 1, max(0, int((similarity + 1) / 2 * _BINS)))] += 1
        self._total += 1
        if self._total < _SETTLED_AT or self._total % _LOOKED_UP == 0:
            self._found.clear()
        if self._total >= _FADES_AT:
            self._counts = [count // 2 for count in self._counts]
            self._total = sum(self._counts)

    def at(self, share: float) -> float:
        """The similarity below which this share of all lies; it is looked up again when some more were counted."""
        found = self._found.get(share)
        if found is None:
            found = self._found[share] = self._at(share)
        return found

    def _at(self, share: float) -> float:
        left = share * self._total
        for place, count in enumerate(self._counts):
            if count and left < count:
                return (place + left / count) / _BINS * 2 - 1
            left -= count
        return 1.0

    def counts(self) -> dict[str, int]:
        """The counts, as JSON keeps them."""
        return {str(place): count for place, count in enumerate(self._counts) if count}

    def recall(self, counts: Mapping[str, int]) -> None:
        """Go on with counts as they were kept."""
        self._counts = [0] * _BINS
        for place, count in counts.items():
            self._counts[min(_BINS - 1, int(place))] = count
        self._total = sum(self._counts)
        self._found.clear()
