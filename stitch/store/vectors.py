"""Vectors as stores keep them, and what must be true of them before an engine sees them: Qdrant takes NaN."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stitch.core.protocols import SparseVector
from stitch.errors import StoreError

_PARTS = 256


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
    """Refuse a vector or lexical weights that no engine can count with.

    Args:
        vector: None if there is none.
        words: The lexical weights.
        dimension: How long the vector has to be.
        what: What they are of, for messages.

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
