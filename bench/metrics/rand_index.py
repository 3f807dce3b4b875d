"""Adjusted Rand index (Hubert and Arabie 1985): agreement on pairs of items, 0 by chance, 1 if equal.

ARI = (Σ_ij C(n_ij,2) - E) / ((Σ_i C(a_i,2) + Σ_j C(b_j,2)) / 2 - E), E = Σ_i C(a_i,2) Σ_j C(b_j,2) / C(n,2). The
same as scikit-learn's `adjusted_rand_score`, which the tests compare it with.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

from stitch.bench.metrics.scores import Score, Unscored


def adjusted_rand_index(clusters: Sequence[Hashable], gold: Sequence[Hashable]) -> Score:
    """ARI of two labelings of the same items; names do not matter. `Unscored` without items."""
    both = _pairs(zip(clusters, gold, strict=True))
    if not gold:
        return Unscored("no gold")
    mine, theirs, everything = _pairs(clusters), _pairs(gold), math.comb(len(gold), 2)
    expected = mine * theirs / everything if everything else 0.0
    highest = (mine + theirs) / 2
    return (both - expected) / (highest - expected) if highest != expected else 1.0


def _pairs(labels: Iterable[Hashable]) -> int:
    return sum(math.comb(n, 2) for n in Counter(labels).values())
