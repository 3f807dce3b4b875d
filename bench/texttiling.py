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

from stitch.bench.metrics.overlap import FUNCTION_WORDS, words

BLOCK = 3


def texttiling(texts: Sequence[str], *, block: int = BLOCK) -> list[int]:
    """The number of the segment of each text, from 0; a boundary never makes the label of an earlier segment return."""
    from stitch.text.words import stem

    bags = [Counter(stem(word) for word in words(text) if word not in FUNCTION_WORDS) for text in texts]
    cohesion = [
        _cosine(sum(bags[max(0, gap - block) : gap], Counter()), sum(bags[gap : gap + block], Counter()))
        for gap in range(1, len(bags))
    ]
    depths = [_climb(cohesion, i, -1) + _climb(cohesion, i, 1) - 2 * here for i, here in enumerate(cohesion)]
    if not depths:
        return [0] * len(texts)
    mean = sum(depths) / len(depths)
    cutoff = mean + math.sqrt(sum((d - mean) ** 2 for d in depths) / len(depths)) / 2
    segment, labels = 0, [0]
    for i, depth in enumerate(depths):
        neighbors = depths[max(0, i - 1) : i + 2]
        segment += depth > cutoff and depth == max(neighbors)
        labels.append(segment)
    return labels


def _climb(values: Sequence[float], start: int, direction: int) -> float:
    """The peak that is reached by going up from `start`."""
    peak, i = values[start], start + direction
    while 0 <= i < len(values) and values[i] >= peak:
        peak = values[i]
        i += direction
    return peak


def _cosine(one: Counter[str], other: Counter[str]) -> float:
    shared = sum(count * other[word] for word, count in one.items())
    if not shared:
        return 0.0
    return shared / math.sqrt(sum(c * c for c in one.values()) * sum(c * c for c in other.values()))
