"""Whether examples that were held back can tell a compiled program from the one it replaces."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

CHANCE = 0.05
"""A difference that chance makes more often than this tells nothing."""
_MOST_EXACT = 14
_DRAWN = 20_000


class Decision(NamedTuple):
    """What paired scores tell."""

    p: float
    """How often chance alone makes a difference of the mean as large, either way; exact for up to 14 that differ."""
    least_p: float
    """The smallest that so many differing examples could give."""

    @property
    def too_few(self) -> bool:
        """Whether no outcome of so few examples could tell the two apart."""
        return self.least_p > CHANCE

    @property
    def told(self) -> bool:
        """Whether the two can be told apart."""
        return self.p <= CHANCE


def decide(before: Sequence[float], after: Sequence[float]) -> Decision:
    """Compare paired scores: chance draws the signs of their differences, all ways of it where that is possible."""
    differences = [b - a for a, b in zip(before, after, strict=True) if a != b]
    if not differences:
        return Decision(1.0, 2.0 ** (1 - len(before)) if before else 1.0)
    seen = abs(sum(differences)) - 1e-12
    if len(differences) <= _MOST_EXACT:
        signs = product((1, -1), repeat=len(differences))
        hits = [abs(sum(s * d for s, d in zip(own, differences, strict=True))) >= seen for own in signs]
        return Decision(sum(hits) / len(hits), 2.0 ** (1 - len(before)))
    draw = random.Random(0)
    hits = [abs(sum(d if draw.random() < 0.5 else -d for d in differences)) >= seen for _ in range(_DRAWN)]
    return Decision((sum(hits) + 1) / (_DRAWN + 1), 2.0 ** (1 - len(before)))
