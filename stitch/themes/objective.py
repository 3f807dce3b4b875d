"""The objective of a grouping, as in the paper, with its mends; and the ways to split a theme of which it chooses.

    f = sparsity + semantics

    sparsity  = N² / (K · Σ n_k²)                  1 for themes of equal size, less the more one outweighs the others
    semantics = mean over themes of cohesion_k · g(s_k)
    cohesion_k = mean similarity of the statements of theme k to its centroid
    s_k        = similarity of its centroid to the nearest other centroid
    g(s)       = exp(-(s - m)² / 2σ²)              m: median of the s_k;  σ: their median distance from it (MAD)

Mends: with fewer than four themes, or where the MAD is 0, the s_k tell nothing of what is usual, and g is 1 (as
written, g is [1, 1, 0] of three themes). All candidates for a change are scored on the same set of statements: those of
the themes that change and of the themes around them, so that gains can be compared. Sparsity says nothing of how large
themes should be: the cap does.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import exp, sqrt
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from stitch.core.protocols import Vectors

LEAST_THEMES = 4
"""With fewer, g is 1."""
_ROUNDS = 6
_NEARLY_0 = 1e-9

Parts = tuple[list[int], list[int]]
"""The places of the statements of each part, ascending; together all of them."""


class Group(NamedTuple):
    """A theme, or what might become one, as far as the objective asks."""

    size: int
    centroid: Vectors
    """Of unit length."""
    cohesion: float
    """Mean similarity of its statements to the centroid."""


def group_of(vectors: Vectors) -> Group:
    """Statements, shape `(statements, dimension)`, as a group."""
    total = np.add.reduce(vectors, axis=0)
    length = sqrt(total.dot(total))
    centroid = total / length if length > 0 else total
    return Group(len(vectors), centroid, length / len(vectors))


def sparsity(sizes: Sequence[int]) -> float:
    """Equality of the sizes of themes: 1 if they are equal, 1 / K if one has nearly all."""
    count = sum(sizes)
    return count * count / (len(sizes) * sum(size * size for size in sizes))


def typical(nearest: Sequence[float]) -> list[float]:
    """The g of each theme, by its similarity to the nearest other one; 1 where too few themes say what is usual."""
    middle = median(nearest)
    spread = [abs(each - middle) for each in nearest]
    sigma = median(spread)
    if len(nearest) < LEAST_THEMES or sigma == 0.0:
        return [1.0] * len(nearest)
    return [exp(-((each / sigma) ** 2) / 2) for each in spread]


def objective(groups: Sequence[Group]) -> float:
    """F of a grouping of one theme or more."""
    semantics = [each.cohesion for each in groups]
    if len(groups) >= LEAST_THEMES:
        centroids = np.array([each.centroid for each in groups])
        similarity = centroids @ centroids.T
        np.fill_diagonal(similarity, -1.0)
        usual = typical(similarity.max(axis=1).tolist())
        semantics = [cohesion * each for cohesion, each in zip(semantics, usual, strict=True)]
    return sparsity([each.size for each in groups]) + sum(semantics) / len(groups)


def candidates(vectors: Vectors) -> list[Parts]:
    """Ways to split two statements or more in two: along their first principal component in the middle, and where the
    farthest neighbors are.

    Two and three means, components of near statements and a tree of average links beside these made themes as large,
    with centroids nearer by .004.
    """
    centered = vectors - vectors.mean(axis=0)
    along = centered[int(np.abs(centered).sum(axis=1).argmax())]
    for _ in range(_ROUNDS):  # the power method: only the order along the component counts
        along = (centered @ along) @ centered
        along = along / max(float(np.sqrt(along @ along)), _NEARLY_0)
    order = np.argsort(centered @ along, kind="stable").tolist()
    near = [float(vectors[one] @ vectors[other]) for one, other in pairwise(order)]
    cuts = dict.fromkeys((len(order) // 2, near.index(min(near)) + 1))
    return [(sorted(order[:cut]), sorted(order[cut:])) for cut in cuts]
