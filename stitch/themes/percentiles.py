"""How similar things are in this collection: what counts as near is a share of that, and no number of one embedder."""

from __future__ import annotations

from collections.abc import Mapping

_BINS = 400
_FADES_AT = 8192
"""When so many similarities are counted, all counts are halved: what is near changes as a collection grows."""
_BEFORE = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
"""Counted before anything is known, and never taken back: among dozens of others they are nothing."""


class Percentiles:
    """Counts of similarities, from which their percentiles are read: from the same counts the same ones."""

    def __init__(self) -> None:
        self._counts = [0] * _BINS
        self._total = 0
        self._found: dict[float, tuple[int, int]] = {}
        """Of shares that were asked for: where each was found, and how many are counted below that."""
        for similarity in _BEFORE:
            self.add(similarity)

    def add(self, similarity: float) -> None:
        """Count a similarity."""
        place = min(_BINS - 1, max(0, int((similarity + 1) / 2 * _BINS)))
        self._counts[place] += 1
        self._total += 1
        for share, (found, below) in self._found.items():
            if place < found:
                self._found[share] = found, below + 1
        if self._total >= _FADES_AT:
            self._begin([count // 2 for count in self._counts])

    def at(self, share: float) -> float:
        """The similarity below which this share of all lies; looked for from where it was found last."""
        wanted, counts = share * self._total, self._counts
        place, below = self._found.get(share, (0, 0))
        while below > wanted:
            place -= 1
            below -= counts[place]
        while place < _BINS and wanted >= below + counts[place]:
            below += counts[place]
            place += 1
        self._found[share] = place, below
        return 1.0 if place == _BINS else (place + (wanted - below) / counts[place]) / _BINS * 2 - 1

    def counts(self) -> dict[str, int]:
        """The counts, as JSON keeps them."""
        return {str(place): count for place, count in enumerate(self._counts) if count}

    def recall(self, counts: Mapping[str, int]) -> None:
        """Go on with counts as they were kept."""
        own = [0] * _BINS
        for place, count in counts.items():
            own[min(_BINS - 1, int(place))] = count
        self._begin(own)

    def _begin(self, counts: list[int]) -> None:
        self._counts, self._total = counts, sum(counts)
        self._found.clear()
