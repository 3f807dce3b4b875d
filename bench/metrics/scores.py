"""A score, or the reason why there is none: what could not be scored never leaves the denominator in silence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple, TypeAlias


@dataclass(frozen=True)
class Unscored:
    """No score: a judge failed, an answer is missing, a set has no gold."""

    reason: str


Score: TypeAlias = "float | Unscored"


class Mean(NamedTuple):
    """A mean over what was scored, and how much was not."""

    value: float | None
    """None if nothing was scored."""
    scored: int
    unscored: int
    reasons: Mapping[str, int] = MappingProxyType({})
    """How often each reason occurred."""


def scored(scores: Iterable[Score]) -> list[float]:
    """The scores without what is unscored."""
    return [score for score in scores if not isinstance(score, Unscored)]


def mean(scores: Iterable[Score]) -> Mean:
    """The arithmetic mean of the scored values, beside the number and the reasons of the unscored ones."""
    every = list(scores)
    values, reasons = scored(every), Counter(each.reason for each in every if isinstance(each, Unscored))
    return Mean(sum(values) / len(values) if values else None, len(values), reasons.total(), dict(reasons))


def harmonic(precision: float, recall: float) -> float:
    """F1 of a precision and a recall; 0 if both are 0."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
