"""The most similar of many snippets, exactly: those are scored in full that bounds do not rule out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stitch.store.index import TenantLabels
from stitch.store.similarity import Similarity, lexical_similarity
from stitch.store.vectors import VectorFile

if TYPE_CHECKING:
    from stitch.store.words import Scores, Slots

_FIRST = 64
"""How many snippets are scored in full at first, at least."""

_GROWTH = 4


class TierScorer:
    """Scores a tenant's snippets for one question.

    Args:
        labels: The tenant's index.
        similarity: What is similar to the question.
        vectors: Of the store, by row.
    """

    def __init__(self, labels: TenantLabels, similarity: Similarity, *, vectors: VectorFile) -> None:
        self._labels = labels
        self._similarity = similarity
        self._vectors = vectors
        self._rows = labels.rows.values
        self._words = labels.words.asked(similarity.words or {})

    def scores(self, slots: Slots) -> Scores:
        """The similarity of each of these snippets."""
        return self._dense(slots) + self._lexical(slots)

    def best(self, slots: Slots, *, need: int) -> tuple[Slots, Scores]:
        """The `need` most similar of these snippets and all that tie with them, in no order, with their scores."""
        if not self._similarity.vector and not self._similarity.words:
            in_order = self._labels.ordered(slots, first=need)
            return in_order, np.zeros(len(in_order))
        if need <= 0:
            return slots[:0], np.zeros(0)
        lexical = self._lexical(slots)
        bounds, first = self._dense_at_most(slots) + lexical, max(_FIRST, 2 * need)
        found, scores, left = np.arange(0), np.zeros(0), np.arange(len(slots))
        for size in (first, first * _GROWTH, len(left)):
            order = np.argpartition(-bounds[left], size) if len(left) > size else np.arange(len(left))
            now, left = left[order[:size]], left[order[size:]]
            found = np.concatenate([found, now])
            scores = np.concatenate([scores, self._dense(slots[now]) + lexical[now]])
            if len(scores) >= need:
                worst = np.partition(scores, -need)[-need]
                left, found, scores = left[bounds[left] >= worst], found[scores >= worst], scores[scores >= worst]
        return slots[found], scores

    def _dense(self, slots: Slots) -> Scores:
        similarity = self._similarity
        if not similarity.vector:
            return np.zeros(len(slots))
        return similarity.dense_share * self._vectors.cosines(self._rows[slots], similarity.vector)

    def _dense_at_most(self, slots: Slots) -> Scores:
        similarity = self._similarity
        if not similarity.vector:
            return np.zeros(len(slots))
        return similarity.dense_share * self._vectors.at_most(self._rows[slots], similarity.vector)

    def _lexical(self, slots: Slots) -> Scores:
        similarity = self._similarity
        if not similarity.words:
            return np.zeros(len(slots))
        return similarity.lexical_share * lexical_similarity(self._words.scores(slots))
