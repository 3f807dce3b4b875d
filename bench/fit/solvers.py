"""What fits share: logistic models by libraries, the slope of telling pairs apart, and leaving each set out once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from stitch.label.local.candidates import Candidate

Weights = dict[str, float]
Array = NDArray[Any]
_Set = TypeVar("_Set")
_Model = TypeVar("_Model")

OPENING_WEIGHT, RETURN_WEIGHT = 1.3, 2.0
"""What a step that opens a scope, or returns to one, counts beside one that continues: both are rare."""
RIDGE, CUE_RIDGE, MIN_CUE_COUNT = 5.0, 20.0, 25


def left_out(
    sets: Mapping[str, _Set], fit: Callable[[Mapping[str, _Set]], _Model]
) -> Iterator[tuple[str, _Set, _Model]]:
    """Each set, by its name, with what is fitted on all others."""
    for name, own in sets.items():
        yield name, own, fit({other: each for other, each in sets.items() if other != name})


def logistic(rows: Array, right: Array, *, counts: Array, ridge: float, intercept: bool) -> tuple[Array, float]:
    """The weights and the intercept of a logistic model; `counts` is what each row counts."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=1 / ridge, tol=1e-8, max_iter=2_000, fit_intercept=intercept)
    model.fit(rows, right, sample_weight=counts)
    return model.coef_[0], float(model.intercept_[0]) if intercept else 0.0


def listwise(groups: Sequence[Sequence[tuple[Array, Array]]], *, ridge: float) -> Array:
    """The weights, none below 0, by which right rows stand before others: a conditional logit of each list.

    Args:
        groups: Lists of rows, each with which of them are right; every group counts as much as another.
        ridge: The penalty on squares of weights.
    """
    from scipy.optimize import minimize

    tables = [np.concatenate([rows for rows, _ in own]) for own in groups]
    firsts = [np.cumsum([0, *(len(rows) for rows, _ in own[:-1])]) for own in groups]
    lists = [np.repeat(np.arange(len(own)), [len(rows) for rows, _ in own]) for own in groups]
    shares = [np.concatenate([right / right.sum() for _, right in own]) for own in groups]

    def loss(weights: Array) -> tuple[float, Array]:
        value, slope = 0.5 * ridge * float(weights @ weights), ridge * weights
        for own, table, first, of, share in zip(groups, tables, firsts, lists, shares, strict=True):
            scores = table @ weights
            most = np.maximum.reduceat(scores, first)
            powers = np.exp(scores - most[of])
            sums = np.add.reduceat(powers, first)
            value += float((np.log(sums) + most).sum() - share @ scores) / len(own) / len(groups)
            slope = slope + table.T @ (powers / sums[of] - share) / len(own) / len(groups)
        return value, slope

    size = tables[0].shape[1]
    found = minimize(loss, np.zeros(size), jac=True, method="L-BFGS-B", bounds=[(0, None)] * size)
    weights: Array = found.x
    return weights


def contrast(products: Array) -> Array:
    """The slope of finding the partner (the diagonal) of each row and of each column: InfoNCE in both directions."""
    from scipy.special import softmax

    shares = (softmax(products, axis=1) + softmax(products, axis=0)) / 2
    found: Array = shares - np.eye(len(products), dtype=products.dtype)
    return found


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

    @property
    def importance(self) -> float:
        """What it counts where some candidates stay in the current scope, and every right one leaves it."""
        stays_right = any(right and not leaves for right, leaves in zip(self.right, self.leaves, strict=True))
        if stays_right or all(self.leaves):
            return 1.0
        return OPENING_WEIGHT if self.right[-1] else RETURN_WEIGHT


def conditional_logit(
    groups: Sequence[tuple[Sequence[Example], float]],
    features: Sequence[str],
    *,
    near: Mapping[str, float] | None = None,
) -> Weights:
    """The weights by which the right candidates win, of features and of the cues that are frequent.

    Args:
        groups: Examples, and what each of them counts.
        features: The names of the numbers of a candidate.
        near: Weights from which the examples have to speak for departing; 0 where there is none.
    """
    from scipy.optimize import minimize

    near = near or {}
    examples = [example for group, _ in groups for example in group]
    if not examples:
        return dict(near)
    cues = sorted(_frequent_cues(examples).union(near).difference(features))
    names = [*features, *cues]
    table = _table(examples, names)
    transposed = table.T.tocsr()
    sizes = [len(example.right) for example in examples]
    first, group = np.cumsum([0, *sizes[:-1]]), np.repeat(np.arange(len(sizes)), sizes)
    right = np.array([each for example in examples for each in example.right], float)
    weigh = np.array([weight * example.importance for own, weight in groups for example in own])
    ridge = np.array([RIDGE] * len(features) + [CUE_RIDGE] * len(cues))
    start = np.array([near.get(name, 0.0) for name in names])

    def loss(weights: Array) -> tuple[float, Array]:
        scores = table @ weights
        powers = np.exp(scores - np.maximum.reduceat(scores, first)[group])
        all_of, right_of = np.add.reduceat(powers, first), np.add.reduceat(powers * right, first) + 1e-12
        slope = weigh[group] * (powers / all_of[group] - powers * right / right_of[group])
        away = weights - start
        value = (weigh * (np.log(all_of) - np.log(right_of))).sum() + 0.5 * (ridge * away * away).sum()
        return float(value), transposed @ slope + ridge * away

    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 120})
    return dict(zip(names, map(float, found.x), strict=True))


def _frequent_cues(examples: Sequence[Example]) -> set[str]:
    met = Counter(cue for example in examples for cue in {cue for each in example.candidates for cue in each.cues})
    return {cue for cue, count in met.items() if count >= MIN_CUE_COUNT}


def _table(examples: Sequence[Example], names: Sequence[str]) -> Any:
    """The candidates of all examples, one after the other, as the rows of a sparse table."""
    from scipy.sparse import csr_matrix

    column = {name: index for index, name in enumerate(names)}
    data, columns, ends = list[float](), list[int](), [0]
    for candidate in (candidate for example in examples for candidate in example.candidates):
        numbers = candidate.features
        present = [index for index, value in enumerate(numbers) if value]
        own = [column[cue] for cue in candidate.cues if cue in column]
        columns += present + own
        data += [numbers[index] for index in present] + [1.0] * len(own)
        ends.append(len(columns))
    return csr_matrix((data, columns, ends), shape=(len(ends) - 1, len(names)))
