"""The most similar of many snippets, exactly: those are scored in full that bounds do not rule out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stitch.store.bounds import AT_MOST, VectorBounds
from stitch.store.index import TenantLabels
from stitch.store.similarity import Similarity, lexical_similarity
from stitch.store.vectors import as_kept
from stitch.store.words import at

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stitch.store.vectors import VectorEngine
    from stitch.store.words import Scores, Slots

_FIRST = 64
"""How many snippets are looked at closely at first, at least."""

_GROWTH = 4

_SAMPLED = 8
"""One bound of so many is looked at to see which are high: to find the highest takes ten times as long."""


class TierScorer:
    """Scores a tenant's snippets for one question.

    Args:
        labels: The tenant's index.
        similarity: What is similar to the question.
        bounds: Between which numbers cosines lie, by row.
        engine: Has the vectors, by row.
    """

    def __init__(
        self, labels: TenantLabels, similarity: Similarity, *, bounds: VectorBounds, engine: VectorEngine
    ) -> None:
        self._labels = labels
        self._similarity = similarity
        self._bounds, self._engine = bounds, engine
        self._rows = labels.rows.values
        self._words = labels.words.asked(similarity.words or {})
        vector = np.array(similarity.vector or [], dtype=np.float32)
        self._unit = as_kept(vector) if len(vector) else vector

    def scores(self, slots: Slots) -> Scores:
        """The similarity of each of these snippets, whose slots ascend."""
        return self._dense(slots) + self._lexical(slots)

    def best(self, slots: Slots, *, need: int) -> tuple[Slots, Scores]:
        """The `need` most similar of these snippets and all that tie with them, in no order, with their scores.

        The slots of the snippets ascend.
        """
        if not self._similarity.vector and not self._similarity.words:
            in_order = self._labels.ordered(slots, first=need)
            return in_order, np.zeros(len(in_order))
        if need <= 0:
            return slots[:0], np.zeros(0)
        lexical = self._lexical(slots)
        if self._similarity.vector:
            found = self._possible(slots, lexical, need)
            slots, lexical = slots[found], lexical[found]
        scores = self._dense(slots) + lexical
        if len(scores) > need:
            best = scores >= np.partition(scores, -need)[-need]
            slots, scores = slots[best], scores[best]
        return slots, scores

    def _possible(self, slots: Slots, lexical: Scores, need: int) -> Slots:
        """Which of these snippets may be among the `need` most similar, by what their vectors are bounded by."""
        share, first = self._similarity.dense_share, max(_FIRST, 2 * need)
        found = _Found(need)

        def look(numbers: Slots) -> None:
            about, error = self._bounds.near(self._rows[slots[numbers]], self._unit)
            found.add(numbers, share * (about + error) + lexical[numbers], share * (about - error) + lexical[numbers])

        left = np.arange(len(slots))
        # Those with the most words set a mark that most others cannot reach, even with a cosine of one.
        if self._similarity.words and len(slots) > _GROWTH * first:
            wordy = np.flatnonzero(_high(lexical, first))[: _GROWTH * first]  # of equals, any
            look(wordy)
            reaching = lexical + share * AT_MOST >= found.worst
            reaching[wordy] = False
            left = np.flatnonzero(reaching)
        lexical_left = lexical if len(left) == len(slots) else lexical[left]
        bounds = share * self._bounds.at_most(at(slots[left], self._rows), self._unit) + lexical_left
        for size in (first, first * _GROWTH, len(left)):
            if not len(left):
                break
            high = _high(bounds, size)
            look(left[high])
            others = ~high & (bounds >= found.worst)
            left, bounds = left[others], bounds[others]
        return found.numbers

    def _dense(self, slots: Slots) -> Scores:
        if not self._similarity.vector:
            return np.zeros(len(slots))
        return self._similarity.dense_share * self._engine.cosines(self._rows[slots].tolist(), self._unit.tolist())

    def _lexical(self, slots: Slots) -> Scores:
        similarity = self._similarity
        if not similarity.words:
            return np.zeros(len(slots))
        return similarity.lexical_share * lexical_similarity(self._words.scores(slots))


class _Found:
    """Snippets that were looked at closely, and may be among the `need` most similar."""

    def __init__(self, need: int) -> None:
        self._need = need
        self.numbers, self._most, self._least = np.arange(0), np.zeros(0), np.zeros(0)
        self.worst = -np.inf
        """Whoever is among the most similar has at least this similarity."""

    def add(self, numbers: Slots, most: Scores, least: Scores) -> None:
        """Take in snippets with what their similarities are at most and at least."""
        self.numbers = np.concatenate([self.numbers, numbers])
        self._most, self._least = np.concatenate([self._most, most]), np.concatenate([self._least, least])
        if len(self.numbers) >= self._need:
            self.worst = np.partition(self._least, -self._need)[-self._need]
            kept = self._most >= self.worst
            self.numbers, self._most, self._least = self.numbers[kept], self._most[kept], self._least[kept]


def _high(bounds: Scores, size: int) -> NDArray[np.bool_]:
    """Which are the highest: about so many of them, or all."""
    sample, wanted = bounds[::_SAMPLED], -(-size // _SAMPLED)
    if len(sample) <= wanted:
        return np.ones(len(bounds), dtype=bool)
    high: NDArray[np.bool_] = bounds >= np.partition(sample, -wanted)[-wanted]
    return high
