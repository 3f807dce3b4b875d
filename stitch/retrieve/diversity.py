"""Choosing what says different things: maximal marginal relevance (Carbonell and Goldstein, 1998)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from stitch.core.protocols import Vectors

_SHARE = 0.7
"""What relevance counts; the likeness to what is chosen counts the rest."""


def choose_diverse(relevance: Sequence[float], likeness: Vectors, *, most: int) -> list[int]:
    """Choose candidates one after the other, each by its relevance beside the best and by how little it is like those
    chosen before it; of equals the first.

    Args:
        relevance: Of each candidate, above 0.
        likeness: How alike they are, from 0 to 1, shape `(n, n)`.
        most: How many to choose at most.
    """
    worth = _SHARE * np.asarray(relevance, np.float64) / max(relevance, default=1.0)
    repeated, chosen = np.zeros(len(worth)), list[int]()
    while len(chosen) < min(most, len(worth)):
        best = int(np.argmax((worth - (1.0 - _SHARE) * repeated).round(9)))  # processors differ in what comes after
        chosen.append(best)
        worth[best] = -np.inf
        repeated = np.maximum(repeated, likeness[best])
    return chosen
