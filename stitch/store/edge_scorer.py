"""The most similar of many snippets, exactly: those are scored whose sketches do not rule them out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from stitch.store.index import TenantLabels
from stitch.store.similarity import Similarity, lexical_similarity
from stitch.store.sketch import WordCounts

if TYPE_CHECKING:
    from stitch.store.sketch import Scores, Slots

_FIRST = 64
"""How many snippets are scored at first, at least."""

_GROWTH = 4


class TierScorer:
    """Scores a tenant's snippets for one question.

    Args:
        labels: The tenant's index.
        similarity: What is similar to the question.
        counts: How many snippets of the store have each word.
        cosines: Gives the cosines of rows with the question's vector; a row without one is left out.
    """

    def __init__(
        self,
        labels: TenantLabels,
        similarity: Similarity,
        *,
        counts: WordCounts,
        cosines: Callable[[list[float], list[int]], dict[int, float]],
    ) -> None:
        self._labels = labels
        self._similarity = similarity
        self._cosines = cosines
        self._rows = np.array(labels.rows, dtype=np.int64)
        self._asked = labels.sketches.asked(similarity, counts)

    def scores(self, slots: Slots) -> Scores:
        """The similarity of each of these snippets."""
        similarity, scores = self._similarity, np.zeros(len(slots))
        if similarity.words:
            scores += similarity.lexical_share * lexical_similarity(self._asked.lexicals(slots))
        if similarity.vector and len(slots):
            rows = self._rows[slots].tolist()
            cosines = self._cosines(similarity.vector, rows)
            scores += similarity.dense_share * np.array([cosines.get(row, 0.0) for row in rows])
        return scores

    def best(self, slots: Slots, *, need: int) -> tuple[Slots, Scores]:
        """The `need` most similar of these snippets and all that tie with them, in no order, with their scores."""
        if not self._similarity.vector and not self._similarity.words:
            first = self._labels.ordered(slots, first=need)
            return first, np.zeros(len(first))
        if need <= 0 or not len(slots):
            return slots[:0], np.zeros(0)
        bounds, size = self._asked.at_most(slots), max(_FIRST, 2 * need)
        found, scores = slots[:0], np.zeros(0)
        while len(slots):
            order = np.argpartition(-bounds, size) if len(slots) > size else np.arange(len(slots))
            found = np.concatenate([found, slots[order[:size]]])
            scores = np.concatenate([scores, self.scores(slots[order[:size]])])
            slots, bounds = slots[order[size:]], bounds[order[size:]]
            if len(scores) >= need:
                worst = np.partition(scores, -need)[-need]
                slots, bounds = slots[bounds >= worst], bounds[bounds >= worst]
                found, scores = found[scores >= worst], scores[scores >= worst]
            size *= _GROWTH
        return found, scores
