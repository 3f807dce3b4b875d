"""A conditional logit: of the candidates of an example, the right ones are to win."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from stitch.label.local.candidates import Candidate

if TYPE_CHECKING:
    from numpy.typing import NDArray

Weights = dict[str, float]
_NOTHING: Mapping[str, float] = {}
OPENING_WEIGHT, RETURN_WEIGHT = 1.3, 2.0
"""What a step that opens a scope, or returns to one, counts beside one that continues: both are rare."""
RIDGE, CUE_RIDGE, MIN_CUE_COUNT = 5.0, 20.0, 25


class Choice(NamedTuple):
    """What a scope just left may be: the continuation of an earlier one, or, without evidence, its own."""

    features: list[float]
    cues: tuple[str, ...] = ()


class Example(NamedTuple):
    """The candidates of one step, or of a scope just left, and which of them are right."""

    candidates: Sequence[Candidate | Choice]
    right: list[bool]
    leaves: list[bool]
    """Which of the candidates leave the current scope."""


def fit_logit(
    groups: Sequence[tuple[Sequence[Example], float]], features: Sequence[str], *, near: Mapping[str, float] = _NOTHING
) -> Weights:
    """The weights of features, and of the cues that are frequent.

    Args:
        groups: Examples, and what each of them counts.
        features: The names of the numbers of a candidate.
        near: Weights from which the examples have to speak for departing; 0 where there is none.
    """
    import numpy as np
    from scipy.optimize import minimize

    examples = [(example, weight) for group, weight in groups for example in group]
    if not examples:
        return dict(near)
    cues = sorted({*_frequent_cues([example for example, _ in examples]), *near} - {*features})
    rows = _Rows([*features, *cues])
    for example, weight in examples:
        rows.add(example, weight=weight)
    ridge = np.array([RIDGE] * len(features) + [CUE_RIDGE] * len(cues))
    start = np.array([near.get(name, 0.0) for name in rows.names])
    found = minimize(rows.loss(ridge, start), start, jac=True, method="L-BFGS-B", options={"maxiter": 120})
    return dict(zip(rows.names, map(float, found.x), strict=True))


def _frequent_cues(examples: Sequence[Example]) -> list[str]:
    counts: Counter[str] = Counter()
    for example in examples:
        counts.update(sorted({cue for candidate in example.candidates for cue in candidate.cues}))
    return sorted(cue for cue, count in counts.items() if count >= MIN_CUE_COUNT)


def _importance(example: Example) -> float:
    """What an example counts where some candidates stay in the current scope, and every right one leaves it."""
    stays_right = any(right and not leaves for right, leaves in zip(example.right, example.leaves, strict=True))
    if stays_right or all(example.leaves):
        return 1.0
    return OPENING_WEIGHT if example.right[-1] else RETURN_WEIGHT


class _Rows:
    """The candidates of all examples, one after the other, as the rows of a sparse table.

    Args:
        names: The columns: features, in the order in which candidates have them, then cues.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self._column = {name: index for index, name in enumerate(names)}
        self._data: list[float] = []
        self._columns: list[int] = []
        self._ends = [0]
        self._right: list[bool] = []
        self._starts: list[int] = []
        self._importance: list[float] = []

    def add(self, example: Example, *, weight: float) -> None:
        """Add the candidates of an example, which counts `weight` times what its kind does."""
        self._starts.append(len(self._right))
        self._right += example.right
        self._importance.append(weight * _importance(example))
        for candidate in example.candidates:
            numbers = candidate.features
            present = [index for index, value in enumerate(numbers) if value]
            cues = [self._column[cue] for cue in candidate.cues if cue in self._column]
            self._columns += present + cues
            self._data += [numbers[index] for index in present] + [1.0] * len(cues)
            self._ends.append(len(self._columns))

    def loss(self, ridge: NDArray[Any], start: NDArray[Any]) -> Callable[[NDArray[Any]], tuple[float, NDArray[Any]]]:
        """How improbable weights make the right candidates, plus what departing from `start` costs; and its slope."""
        import numpy as np
        from scipy.sparse import csr_matrix

        table = csr_matrix((self._data, self._columns, self._ends), shape=(len(self._right), len(self.names)))
        transposed = table.T.tocsr()
        right, first, weigh = np.array(self._right, float), np.array(self._starts), np.array(self._importance)
        group = np.repeat(np.arange(len(first)), np.diff([*self._starts, len(self._right)]))

        def at(weights: NDArray[Any]) -> tuple[float, NDArray[Any]]:
            scores = table @ weights
            powers = np.exp(scores - np.maximum.reduceat(scores, first)[group])
            all_of, right_of = np.add.reduceat(powers, first), np.add.reduceat(powers * right, first) + 1e-12
            slope = weigh[group] * (powers / all_of[group] - powers * right / right_of[group])
            away = weights - start
            value = (weigh * (np.log(all_of) - np.log(right_of))).sum() + 0.5 * (ridge * away * away).sum()
            return float(value), transposed @ slope + ridge * away

        return at
