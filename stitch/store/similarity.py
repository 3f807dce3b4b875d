"""The similarity of a ranking, and vectors as it compares them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from stitch.core.protocols import DensityQuery, SparseVector
from stitch.errors import StoreError

LEXICAL_HALF = 10.0
"""The lexical score that counts as a lexical similarity of one half."""

RARITY = 1.3
"""The power of the inverse document frequency: steps are short, and who has the rare word of a question is meant."""

Number = TypeVar("Number", float, NDArray[np.float64])
_PARTS = 256


@dataclass(frozen=True)
class Similarity:
    """Similarity of a query: `dense_share * cosine + lexical_share * lexical / (lexical + 10)`.

    A part that was not asked for, or that is the same for every snippet (a zero vector, no words), is None.
    """

    vector: NDArray[np.float32] | None
    """As stores ask with it."""
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
        if not 0.0 <= query.lexical_share <= 1.0:
            raise StoreError(f"the lexical share must be from 0 to 1, not {query.lexical_share!r}")
        check_vectors(query.vector, query.words or {}, dimension=dimension, what="the query")
        dense, lexical = query.vector is not None, query.words is not None
        share = query.lexical_share if dense and lexical else float(lexical)
        words = {index: weight for index, weight in (query.words or {}).items() if weight}
        vector = None if query.vector is None or share == 1.0 else as_kept(np.asarray(query.vector, np.float32))
        return cls(
            vector=vector if vector is not None and vector.any() else None,
            words=words if words and share > 0.0 else None,
            dense_share=1.0 - share,
            lexical_share=share,
        )

    def weighed(self, rarity: SparseVector) -> Similarity:
        """The same, with each word that is asked for multiplied by how much it tells."""
        words = words_as_kept({word: weight * rarity[word] for word, weight in (self.words or {}).items()})
        return replace(self, words=words or None)

    def combine(self, cosine: Number, lexical: Number) -> Number:
        """The similarity of snippets with these cosines and BM25 scores."""
        return self.dense_share * cosine + self.lexical_share * halved(lexical)


def halved(lexical: Number) -> Number:
    """A BM25 score as a similarity from 0 to 1."""
    return lexical / (lexical + LEXICAL_HALF)


def informativeness(carrying: int, *, snippets: int) -> float:
    """Inverse document frequency of BM25, ln(1 + (N - n + .5) / (n + .5)), to the power 1.3.

    Of N `snippets` of the tenant that have any word n are `carrying` this one.
    """
    rarity: float = math.log(1 + (snippets - carrying + 0.5) / (carrying + 0.5)) ** RARITY
    return rarity


def as_kept(vectors: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    """Vectors as stores keep them and ask with them: of length one, or zero, rounded to numbers of half precision.

    The similarity of a ranking is that of these, so half the bytes tell all of it. Vectors are along the last axis.
    """
    # As `np.linalg.norm` does it, which looks at its arguments for longer than that takes for one vector.
    lengths = np.sqrt(np.add.reduce(vectors * vectors, axis=-1, keepdims=True))
    return (vectors / np.where(lengths > 0, lengths, 1.0)).astype(np.float16).astype(np.float32)


def words_as_kept(words: SparseVector) -> dict[int, float]:
    """Weights of words as stores keep them and ask with them: in 256ths.

    Their products and sums are exact in single precision then, in whatever order an engine adds them up.
    """
    return {word: kept / _PARTS for word, weight in words.items() if (kept := round(weight * _PARTS))}


def check_vectors(vector: Any, words: SparseVector, *, dimension: int, what: str) -> None:
    """Refuse a vector or lexical weights that no engine can count with: Qdrant takes NaN.

    Raises:
        StoreError: The vector has another length or holds what is not a finite number; or weights are negative, not
            finite, or stand under an index beyond 32 bits.
    """
    if vector is not None and (shape := np.shape(vector)) != (dimension,):
        raise StoreError(f"the vector of {what} has dimension {' by '.join(map(str, shape))}, not {dimension}")
    if vector is not None and not np.isfinite(vector).all():
        raise StoreError(f"the vector of {what} holds a value that is not a finite number")
    if words and not (min(words) >= 0 and max(words) < 2**32):
        raise StoreError(f"the lexical weights of {what} have an index beyond 32 bits")
    if words and not (min(words.values()) >= 0 and math.isfinite(sum(words.values()))):
        raise StoreError(f"the lexical weights of {what} are negative, or not a finite number")
