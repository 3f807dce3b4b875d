"""Pairwise cosine similarity of a few vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from stitch.core.protocols import Vectors

_ROWS = 8
"""So few rows at once are multiplied where they are: of more, a library of linear algebra gives a part to each of its
threads, which then wait for each other for many times longer than it takes, above all on a busy machine."""


def likeness(vectors: Vectors) -> Vectors:
    """The products of vectors with each other, shape `(n, n)`; of unit vectors their cosines."""
    if not len(vectors):
        return np.zeros((0, 0), np.float32)
    across = vectors.T
    return np.vstack([vectors[start : start + _ROWS] @ across for start in range(0, len(vectors), _ROWS)])
