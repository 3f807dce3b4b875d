"""Blocks and tokens that cover an answer (xMemory §5.2, Table 3): how much must be read, in ranking order.

The smallest n such that the first n blocks hold all content words of the answer, and the tokens of those n blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from stitch.bench.metrics.content_words import content_words, words
from stitch.bench.metrics.scores import Unscored


class Coverage(NamedTuple):
    """What had to be read to see the whole answer."""

    blocks: int
    tokens: int


def coverage(answer: str, blocks: Sequence[str], *, tokens: Sequence[int]) -> Coverage | Unscored:
    """The blocks, and their tokens, that cover the answer.

    Args:
        answer: The gold answer.
        blocks: Retrieved texts, best first.
        tokens: The length of each block.

    Returns:
        The coverage; `Unscored` if the answer has no content word or all blocks together do not cover it.
    """
    missing = content_words(answer)
    if not missing:
        return Unscored("answer has no content word")
    spent = 0
    for count, (block, length) in enumerate(zip(blocks, tokens, strict=True), start=1):
        missing.difference_update(words(block))
        spent += length
        if not missing:
            return Coverage(count, spent)
    return Unscored("answer is not covered")
