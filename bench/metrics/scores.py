"""A score, or the reason why there is none: what could not be scored never leaves the denominator in silence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
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


SAMPLES = 2_000


class Interval(NamedTuple):
    """A mean with its 95 % bootstrap interval."""

    value: float
    low: float
    high: float


class PairedDifference(NamedTuple):
    """Paired difference of a and b, with a 95 % interval."""

    difference: float
    low: float
    high: float
    p: float
    pairs: int


def bootstrap_mean(scores: Sequence[Score], *, seed: int = 0) -> Interval | Unscored:
    """The mean of the scored values with its 95 % percentile bootstrap interval; `Unscored` if nothing is scored."""
    if not (kept := scored(scores)):
        return Unscored("nothing is scored")
    import numpy as np

    values = np.array(kept, np.float64)
    drawn = np.random.default_rng(seed).integers(0, values.size, size=(SAMPLES, values.size))
    low, high = np.percentile(values[drawn].mean(axis=1), (2.5, 97.5))
    return Interval(float(values.mean()), float(low), float(high))


def compare_paired(a: Sequence[Score], b: Sequence[Score], *, seed: int = 0) -> PairedDifference | Unscored:
    """The difference over the questions of which both sides are scored, given in the same order."""
    pairs = zip(a, b, strict=True)
    differences = [x - y for x, y in pairs if not isinstance(x, Unscored) and not isinstance(y, Unscored)]
    interval = bootstrap_mean(differences, seed=seed)
    if isinstance(interval, Unscored):
        return Unscored("no question is scored for both")
    import numpy as np

    signs = np.random.default_rng(seed + 1).integers(0, 2, size=(SAMPLES, len(differences)), dtype=np.int8) * 2 - 1
    extreme = int((np.abs(signs @ np.array(differences) / len(differences)) >= abs(interval.value) - 1e-12).sum())
    return PairedDifference(*interval, (1 + extreme) / (1 + SAMPLES), len(differences))
