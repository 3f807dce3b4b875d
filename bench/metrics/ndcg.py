"""Normalized discounted cumulative gain with binary gains (Järvelin and Kekäläinen 2002).

DCG@k = Σ_{i≤k} [step i is gold] / log2(i + 1); nDCG@k divides by the DCG of a ranking that begins with all gold steps.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from stitch.bench.metrics.recall import NO_EVIDENCE
from stitch.bench.metrics.scores import Score


def ndcg_at(ranking: Sequence[str], gold: Collection[str], *, k: int) -> Score:
    """NDCG of the first `k`, from 0 to 1; a step that is ranked twice counts once."""
    wanted = set(gold)
    if not wanted:
        return NO_EVIDENCE
    gain, seen = 0.0, set()
    for rank, step in enumerate(ranking[:k], start=1):
        if step in wanted and step not in seen:
            seen.add(step)
            gain += 1 / math.log2(rank + 1)
    return gain / sum(1 / math.log2(rank + 1) for rank in range(1, min(k, len(wanted)) + 1))
