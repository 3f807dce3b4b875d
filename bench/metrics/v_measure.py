"""V-measure (Rosenberg and Hirschberg 2007): harmonic mean of homogeneity and completeness.

h = 1 - H(class | cluster) / H(class), c = 1 - H(cluster | class) / H(cluster), each 1 where its entropy is 0. The same
as scikit-learn's `v_measure_score`, which the tests compare it with; here in a few lines, so that nothing heavy loads.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence

from stitch.bench.metrics.scores import Score, Unscored, harmonic


def v_measure(clusters: Sequence[Hashable], gold: Sequence[Hashable]) -> Score:
    """V-measure of two labelings of the same items, from 0 to 1; names do not matter. `Unscored` without items."""
    if not gold:
        return Unscored("no gold")
    of_gold, of_clusters = _entropy(gold), _entropy(clusters)
    together = _entropy(list(zip(clusters, gold, strict=True)))
    homogeneity = 1 - (together - of_clusters) / of_gold if of_gold else 1.0
    completeness = 1 - (together - of_gold) / of_clusters if of_clusters else 1.0
    return harmonic(max(0.0, homogeneity), max(0.0, completeness))


def _entropy(labels: Sequence[Hashable]) -> float:
    total = len(labels)
    return -math.fsum(n / total * math.log(n / total) for n in sorted(Counter(labels).values()))
