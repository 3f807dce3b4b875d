"""Paired comparison of two methods on the same questions: bootstrap interval and randomization test, both seeded.

Difference d = mean(a_i - b_i). The interval is the percentile bootstrap over questions (Efron and Tibshirani 1993,
§13); p is two-sided from random sign flips, (1 + #{|d*| >= |d|}) / (1 + flips) (Smucker, Allan and Carterette
2007).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from stitch.bench.metrics.scores import Score, Unscored, scored

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_CHUNK = 250
"""Samples that are in memory at once."""


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
    """The difference over the questions of which both sides are scored, given in the same order."""
    pairs = [(x, y) for x, y in zip(a, b, strict=True) if not isinstance(x, Unscored) and not isinstance(y, Unscored)]
    if not pairs:
        return Unscored("no question is scored for both")
    import numpy as np

    delta = np.array([x - y for x, y in pairs], dtype=np.float64)
    observed, low, high = _interval(delta, seed=seed, samples=samples)
    rng = np.random.default_rng(seed + 1)

    def flipped(count: int) -> NDArray[np.float64]:
        signs = rng.integers(0, 2, size=(count, delta.size), dtype=np.int8) * 2 - 1
        return np.abs(signs @ delta / delta.size)

    extreme = int((_chunked(flipped, samples) >= abs(observed) - 1e-12).sum())
    return PairedDifference(observed, low, high, (1 + extreme) / (1 + samples), len(pairs))


def bootstrap_mean(scores: Sequence[Score], *, seed: int = 0, samples: int = 2000) -> Interval | Unscored:
    """The mean of the scored values with its 95 % percentile bootstrap interval; `Unscored` if nothing is scored."""
    values = scored(scores)
    if not values:
        return Unscored("nothing is scored")
    import numpy as np

    return _interval(np.array(values, dtype=np.float64), seed=seed, samples=samples)


def _interval(values: NDArray[np.float64], *, seed: int, samples: int) -> Interval:
    import numpy as np

    rng = np.random.default_rng(seed)

    def drawn(count: int) -> NDArray[np.float64]:
        means: NDArray[np.float64] = values[rng.integers(0, values.size, size=(count, values.size))].mean(axis=1)
        return means

    low, high = np.percentile(_chunked(drawn, samples), (2.5, 97.5))
    return Interval(float(values.mean()), float(low), float(high))


def _chunked(draw: Callable[[int], NDArray[np.float64]], samples: int) -> NDArray[np.float64]:
    import numpy as np

    return np.concatenate([draw(min(_CHUNK, samples - start)) for start in range(0, samples, _CHUNK)])
