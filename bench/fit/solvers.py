"""Logistic models by libraries, the slope of telling pairs apart, and leaving each set out once: shared by fits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
_Set = TypeVar("_Set")
_Model = TypeVar("_Model")


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


def listwise(groups: Sequence[Sequence[tuple[Array, Array]]], *, ridge: float, least: Array | None = None) -> Array:
    """The weights by which right rows stand first: a conditional logit, each group counting the same.

    None is below 0, or below what `least` says of it.
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

    start = np.zeros(tables[0].shape[1]) if least is None else least
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(bound, None) for bound in start])
    weights: Array = found.x
    return weights


def contrast(products: Array) -> Array:
    """The slope of finding the partner (the diagonal) of each row and of each column: InfoNCE in both directions."""
    from scipy.special import softmax

    shares = (softmax(products, axis=1) + softmax(products, axis=0)) / 2
    found: Array = shares - np.eye(len(products), dtype=products.dtype)
    return found
