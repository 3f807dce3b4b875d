"""Evidence density of retrieved blocks (xMemory §5.2).

The content words of the gold answer are its evidence units. A block is 1-hit, 2-hit or multi-hit if it holds exactly
one, exactly two, or at least three distinct ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from stitch.bench.metrics.content_words import content_words, words
from stitch.bench.metrics.scores import Unscored


class EvidenceDensity(NamedTuple):
    """Shares of the retrieved blocks; what is missing to 1 holds no evidence unit."""

    one_hit: float
    two_hit: float
    multi_hit: float


def evidence_density(answer: str, blocks: Sequence[str]) -> EvidenceDensity | Unscored:
    """The shares of blocks with one, two, or more content words of the answer.

    Returns:
        The shares; `Unscored` if the answer has no content word or nothing was retrieved.
    """
    units = content_words(answer)
    if not units:
        return Unscored("answer has no content word")
    if not blocks:
        return Unscored("nothing was retrieved")
    hits = [len(units.intersection(words(block))) for block in blocks]
    return EvidenceDensity(
        *(sum(test) / len(hits) for test in zip(*((h == 1, h == 2, h > 2) for h in hits), strict=True))
    )
