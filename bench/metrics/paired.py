"""Paired comparison of two methods on the same questions: bootstrap interval and randomization test, both seeded.

Difference d = mean(a_i - b_i). The interval is the percentile bootstrap over questions (Efron and Tibshirani 1993,
§13); p is two-sided from random sign flips, (1 + #{|d*| >= |d|}) / (1 + flips) (Smucker, Allan and Carterette
2007).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from stitch.bench.metrics.scores import Score, Unscored

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_CHUNK = 250


class PairedDifference(NamedTuple):
    """How much better a is than b, with a 95 % interval."""

    difference: float
    low: float
    high: float
    p: float
    pairs: int


class Interval(NamedTuple):
    """A mean with its 95 % bootstrap interval."""

    value: float
    low: float
    high: float


def compare_paired(
    a: Sequence[Score], b: Sequence[Score], *, seed: int = 0, samples: int = 2000
) -> PairedDifference | Unscored:
    """Compare two methods question by question; pairs of which one side is unscored are left out and not counted.

    Args:
        a: Scores of the first method, in the order of the questions.
        b: Scores of the second method, in the same order.
        seed: Seed of the resampling; the same seed gives the same figures.
        samples: Number of bootstrap samples and of sign flips.

    Returns:
        The difference; `Unscored` if no pair is scored.

    Raises:
        ValueError: The two differ in length.
    """
    pairs = [(x, y) for x, y in zip(a, b, strict=True) if not isinstance(x, Unscored) and not isinstance(y, Unscored)]
    if not pairs:
        return Unscored("no question is scored for both")
    import numpy as np

    delta = np.array([x - y for x, y in pairs], dtype=np.float64)
    observed = float(delta.mean())
    low, high = _interval(delta, seed=seed, samples=samples)
    rng = np.random.default_rng(seed + 1)
    extreme = 0
    for start in range(0, samples, _CHUNK):
        signs = rng.integers(0, 2, size=(min(_CHUNK, samples - start), delta.size), dtype=np.int8) * 2 - 1
        extreme += int((np.abs(signs @ delta / delta.size) >= abs(observed) - 1e-12).sum())
    return PairedDifference(observed, low, high, (1 + extreme) / (1 + samples), len(pairs))


def bootstrap_mean(scores: Sequence[Score], *, seed: int = 0, samples: int = 2000) -> Interval | Unscored:
    """The mean of the scored values with its 95 % percentile bootstrap interval; `Unscored` if nothing is scored."""
    values = [score for score in scores if not isinstance(score, Unscored)]
    if not values:
        return Unscored("nothing is scored")
    import numpy as np

    array = np.array(values, dtype=np.float64)
    low, high = _interval(array, seed=seed, samples=samples)
    return Interval(float(array.mean()), low, high)


def _interval(values: NDArray[np.float64], *, seed: int, samples: int) -> tuple[float, float]:
    import numpy as np

    rng = np.random.default_rng(seed)
    means = [
        values[rng.integers(0, values.size, size=(min(_CHUNK, samples - start), values.size))].mean(axis=1)
        for start in range(0, samples, _CHUNK)
    ]
    low, high = np.percentile(np.concatenate(means), (2.5, 97.5))
    return float(low), float(high)
