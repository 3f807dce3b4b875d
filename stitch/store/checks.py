"""What must be true of vectors before an engine sees them (Qdrant takes NaN without a word), and what damage is."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

from stitch.core.protocols import SnippetRecord, SparseVector
from stitch.errors import StoreError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Damage(NamedTuple):
    """A snippet that is not in a store as it was written."""

    trajectory: str
    step: str
    what: str


def check_records(records: Sequence[SnippetRecord], *, dimension: int) -> NDArray[np.float32]:
    """Return the vectors of records, one a row.

    Raises:
        StoreError: One has another dimension, holds what is not a finite number, or has impossible lexical weights.
    """
    import numpy as np

    for record in records:
        step = f"step {record.snippet.step!r}"
        if (shape := np.shape(record.vector)) != (dimension,):
            raise StoreError(f"the vector of {step} has shape {shape}, not {(dimension,)}")
        check_words(record.words, what=step)
    if not records:
        return np.empty((0, dimension), dtype=np.float32)
    vectors = np.stack([record.vector for record in records]).astype(np.float32, copy=False)
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        step = records[int(np.argmin(finite))].snippet.step
        raise StoreError(f"the vector of step {step!r} holds a value that is not a finite number")
    return vectors


def check_vector(vector: Collection[float], *, dimension: int, what: str) -> None:
    """Refuse a vector that has another dimension or holds what is not a finite number.

    Raises:
        StoreError: It does.
    """
    if len(vector) != dimension:
        raise StoreError(f"the vector of {what} has dimension {len(vector)}, not {dimension}")
    if not all(map(math.isfinite, vector)):
        raise StoreError(f"the vector of {what} holds a value that is not a finite number")


def check_words(words: SparseVector, *, what: str) -> None:
    """Refuse lexical weights that are not finite, negative, or stand under an index beyond 32 bits.

    Raises:
        StoreError: They are.
    """
    if not words:
        return
    weights = words.values()
    if min(words) >= 0 and max(words) < 2**32 and min(weights) >= 0 and math.isfinite(sum(weights)):
        return
    for index, weight in words.items():
        if not 0 <= index < 2**32 or not (math.isfinite(weight) and weight >= 0):
            raise StoreError(f"the lexical weights of {what} hold {weight!r} at index {index!r}")
