"""How similar things are in this collection: what counts as near is a share of that, and no number of one embedder."""

from __future__ import annotations

from collections.abc import Mapping

_BINS = 400
_FADES_AT = 8192
"""When so many similarities are counted, all counts are halved: what is near changes as a collection grows."""
_SURE_AT = 16
"""With fewer, an order of them says little; then those of `_UNSURE` are counted as well."""
_UNSURE = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
"""Before anything is known: unit vectors of texts in any embedding are seldom nearer or farther from their nearest."""


class Percentiles:
    """Counts of similarities, from which their percentiles are read."""

    def __init__(self) -> None:
        self._counts = [0] * _BINS
        self._total = 0
        for similarity in _UNSURE:
            self.add(similarity)

    def add(self, similarity: float) -> None:
        """Count a similarity."""
        self._counts[min(_BINS - 1, max(0, int((similarity + 1) / 2 * _BINS)))] += 1
        self._total += 1
        if self._total == _SURE_AT + len(_UNSURE):
            for each in _UNSURE:
                self._counts[int((each + 1) / 2 * _BINS)] -= 1
            self._total -= len(_UNSURE)
        if self._total >= _FADES_AT:
            self._counts = [count // 2 for count in self._counts]
            self._total = sum(self._counts)

    def at(self, share: float) -> float:
        """The similarity below which this share of all lies."""
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
            self._counts[int(place)] = count
        self._total = sum(self._counts)
