"""What the engine in process says of similarity: exact scores of the rows that are asked for."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from stitch.store.similarity import Page, Similarity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DENSE, WORDS = "text", "words"
"""The vectors of a point: of its text, and of its words (BM25 weights)."""


class EdgeScorer:
    """The engine's scores for one query: of all rows, of those named, or of those that have a slot."""

    def __init__(
        self,
        shard: Any,
        similarity: Similarity,
        *,
        among: list[int] | None = None,
        slot_of: NDArray[np.int64] | None = None,
    ) -> None:
        from qdrant_edge import Query
        from qdrant_edge import SparseVector as EdgeSparse

        self._shard = shard
        self._among = among
        self._slot_of = slot_of
        if similarity.vector:
            self._dense_query = Query.Nearest(similarity.vector, using=DENSE)
        if similarity.words:
            words = EdgeSparse(indices=list(similarity.words), values=list(map(float, similarity.words.values())))
            self._words_query = Query.Nearest(words, using=WORDS)

    def dense(self, limit: int) -> Page[int]:
        """Return the best `limit` by cosine."""
        return self._page(self._dense_query, limit)

    def lexical(self, limit: int) -> Page[int]:
        """Return the best `limit` by BM25 score."""
        return self._page(self._words_query, limit)

    def cosines(self, keys: Collection[int]) -> dict[int, float]:
        """Return the cosine of each of these rows."""
        return {point.id: point.score for point in self._ask(self._dense_query, len(keys), keys)}

    def lexicals(self, keys: Collection[int]) -> dict[int, float]:
        """Return the BM25 scores of those of these rows that share a word."""
        return {point.id: point.score for point in self._ask(self._words_query, len(keys), keys)}

    def _page(self, query: Any, limit: int) -> Page[int]:
        points = self._ask(query, limit, self._among)
        scores = {point.id: point.score for point in points}
        if self._slot_of is not None:
            scores = {row: value for row, value in scores.items() if self._slot_of[row] >= 0}
        return Page(scores, points[-1].score if len(points) == limit else None)

    def _ask(self, query: Any, limit: int, among: Collection[int] | None) -> list[Any]:
        from qdrant_edge import Filter, HasIdCondition, QueryRequest, SearchParams

        condition = None if among is None else Filter(must=[HasIdCondition(set(among))])
        exact = SearchParams(exact=True)
        return self._shard.query(  # type: ignore[no-any-return]  # the engine ships no types
            QueryRequest(limit=limit, query=query, filter=condition, params=exact)
        )
