"""TextTiling (Hearst 1997) over the steps of a trajectory: the classic baseline of segmentation by word cohesion.

For each gap, the similarity of the `BLOCK` steps before and after is the cosine of their stem counts; its depth is how
far it lies below the nearest peaks on both sides. A boundary stands where the depth is a local maximum and above the
mean of all depths by half a standard deviation. (Hearst subtracts it: her units are longer than the steps of a
dialogue, of which most are deep.)
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean, pstdev

from stitch.bench.lexical import terms

BLOCK = 3


def texttiling(texts: Sequence[str]) -> list[int]:
    """The number of the segment of each text, from 0; a boundary never makes the label of an earlier segment return."""
    bags = [Counter(terms(text)) for text in texts]
    gaps = range(1, len(bags))
    cohesion = [_cosine(_sum(bags[max(0, gap - BLOCK) : gap]), _sum(bags[gap : gap + BLOCK])) for gap in gaps]
    depths = [_peak(cohesion[place::-1]) + _peak(cohesion[place:]) - 2 * here for place, here in enumerate(cohesion)]
    segment, labels = 0, [0] * bool(texts)
    cutoff = fmean(depths) + pstdev(depths) / 2 if depths else 0.0
    for place, depth in enumerate(depths):
        segment += depth > cutoff and depth == max(depths[max(0, place - 1) : place + 2])
        labels.append(segment)
    return labels


def _peak(values: Sequence[float]) -> float:
    """The height that is reached by going up from the first value."""
    return next((here for here, after in pairwise(values) if after < here), values[-1])


def _sum(bags: Sequence[Counter[str]]) -> Counter[str]:
    return sum(bags, Counter())


def _cosine(one: Counter[str], other: Counter[str]) -> float:
    shared = sum(count * other[word] for word, count in one.items())
    squares = (sum(count * count for count in bag.values()) for bag in (one, other))
    return shared / math.sqrt(math.prod(squares)) if shared else 0.0
