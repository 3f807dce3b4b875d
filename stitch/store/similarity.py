"""The similarity of a ranking, and how the most similar of many snippets are found exactly without scoring all."""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Hashable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from stitch.core.protocols import DensityQuery, SparseVector
from stitch.errors import StoreError
from stitch.store.checks import check_vector, check_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

K = TypeVar("K", bound=Hashable)

LEXICAL_HALF = 10.0
"""The lexical score that counts as a lexical similarity of one half."""

RARITY = 1.3
"""The power of the inverse document frequency: steps are short, and who has the rare word of a question is meant."""

_GROWTH = 4


@dataclass(frozen=True)
class Similarity:
    """What a query calls similar: `dense_share * cosine + lexical_share * lexical / (lexical + 10)`.

    A part that was not asked for, or that is the same for every snippet (a zero vector, no words), is None.
    """

    vector: list[float] | None
    words: SparseVector | None
    dense_share: float
    lexical_share: float

    @classmethod
    def of(cls, query: DensityQuery, *, dimension: int) -> Similarity:
        """Return the similarity that a query asks for.

        Raises:
            StoreError: The vector has another dimension or is not finite, the share is not in [0, 1], or a label has a
                negative weight.
        """
        _check(query, dimension=dimension)
        dense, lexical = query.vector is not None, query.words is not None
        share = query.lexical_share if dense and lexical else float(lexical)
        words = {index: weight for index, weight in query.words.items() if weight} if query.words else None
        vector = [float(x) for x in query.vector] if query.vector is not None else None
        return cls(
            vector=vector if vector is not None and any(vector) and share < 1.0 else None,
            words=words if words and share > 0.0 else None,
            dense_share=1.0 - share,
            lexical_share=share,
        )

    def weighed(self, informativeness: SparseVector) -> Similarity:
        """The same, with each word that is asked for multiplied by how much it tells."""
        words = {word: weight * informativeness[word] for word, weight in (self.words or {}).items()}
        return replace(self, words=words or None)

    def combine(self, cosine: float, lexical: float) -> float:
        """The similarity of a snippet with this cosine and this BM25 score."""
        return self.dense_share * cosine + self.lexical_share * lexical_similarity(lexical)


def _check(query: DensityQuery, *, dimension: int) -> None:
    if not 0.0 <= query.lexical_share <= 1.0:
        raise StoreError(f"the lexical share must be from 0 to 1, not {query.lexical_share!r}")
    if query.vector is not None:
        check_vector(query.vector, dimension=dimension, what="the query")
    if query.words is not None:
        check_words(query.words, what="the query")


Number = TypeVar("Number", float, "NDArray[np.float64]")


def lexical_similarity(lexical: Number) -> Number:
    """How similar a lexical score says that a snippet is, from 0 to 1."""
    return lexical / (lexical + LEXICAL_HALF)


def informativeness(carrying: int, *, snippets: int) -> float:
    """How much a word tells: the inverse document frequency of BM25, ln(1 + (N - n + .5) / (n + .5)), to the power 1.3.

    Args:
        carrying: How many snippets of the tenant have the word.
        snippets: How many snippets of the tenant have any word.
    """
    rarity: float = math.log(1 + (snippets - carrying + 0.5) / (carrying + 0.5)) ** RARITY
    return rarity


@dataclass(frozen=True)
class Page(Generic[K]):
    """The best snippets of one part of the similarity."""

    scores: dict[K, float]
    """Those that belong to the set that is searched."""
    floor: float | None
    """No snippet that was not fetched scores higher; None if all were fetched (or the rest scores nothing)."""


class Scorer(Protocol[K]):
    """An engine that scores the snippets of one set against one query."""

    def dense(self, limit: int) -> Page[K]:
        """Return the best `limit` by cosine; the set may be met only partly among them."""
        ...

    def lexical(self, limit: int) -> Page[K]:
        """Return the best `limit` by BM25 score; who shares no word has no score."""
        ...

    def cosines(self, keys: Collection[K]) -> dict[K, float]:
        """Return the cosine of each of these snippets."""
        ...

    def lexicals(self, keys: Collection[K]) -> dict[K, float]:
        """Return the BM25 scores of those of these snippets that share a word."""
        ...


def score(similarity: Similarity, scorer: Scorer[K], keys: Collection[K]) -> dict[K, float]:
    """Return the similarity of each of these snippets."""
    cosines = scorer.cosines(keys) if similarity.vector and keys else {}
    lexicals = scorer.lexicals(keys) if similarity.words and keys else {}
    return {key: similarity.combine(cosines.get(key, 0.0), lexicals.get(key, 0.0)) for key in keys}


def most_similar(similarity: Similarity, scorer: Scorer[K], *, need: int, limit: int) -> dict[K, float]:
    """Return similarities of some snippets, the `need` most similar and all that tie with them included.

    Whoever is not returned has a lower similarity than `need` of those that are; or there are fewer than `need`, and
    the rest has similarity 0. This is Fagin's threshold algorithm: read the list by cosine and the list by BM25 score,
    look up for whoever stands in one what the other says, and stop when nobody further down can be better.

    Args:
        similarity: What is similar to the query.
        scorer: The engine, for the set that is searched.
        need: How many are wanted.
        limit: How many to fetch at first; four times as many whenever that was not enough.
    """
    if not similarity.vector and not similarity.words:
        return {}
    while True:
        dense = scorer.dense(limit) if similarity.vector else Page[K]({}, None)
        lexical = scorer.lexical(limit) if similarity.words else Page[K]({}, None)
        found = _combined(similarity, scorer, dense.scores, lexical.scores, complete=lexical.floor is None)
        if (dense if similarity.vector else lexical).floor is None:
            return found
        worst = heapq.nlargest(need, found.values())[-1] if len(found) >= need else -math.inf
        # Nothing that was not fetched can be better than this.
        if worst > similarity.combine(dense.floor or 0.0, lexical.floor or 0.0):
            return {key: value for key, value in found.items() if value >= worst}
        limit *= _GROWTH


def _combined(
    similarity: Similarity, scorer: Scorer[K], cosines: dict[K, float], lexicals: dict[K, float], *, complete: bool
) -> dict[K, float]:
    if similarity.vector and (only_words := lexicals.keys() - cosines.keys()):
        cosines = {**cosines, **scorer.cosines(only_words)}
    if similarity.words and not complete and (only_dense := cosines.keys() - lexicals.keys()):
        lexicals = {**lexicals, **scorer.lexicals(only_dense)}
    keys = cosines if similarity.vector else lexicals
    return {key: similarity.combine(cosines.get(key, 0.0), lexicals.get(key, 0.0)) for key in keys}
