"""Candidates for the split of a theme, of which the objective chooses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from stitch.core.protocols import Vectors

Parts = list[list[int]]
"""The places of the statements of each part, ascending; together all of them."""

_ROUNDS = 6
_NEARLY_0 = np.float32(1e-9)


def candidates(vectors: Vectors, *, most: int) -> list[Parts]:
    """Ways to split two statements or more into parts of at most `most`, each way once.

    Two and three means; the farthest link of the chain along the first principal component, and its middle. Components
    of near statements and a tree of average links beside these made themes as large, with centroids nearer by .003.
    """
    similarity = vectors @ vectors.T
    ways: dict[tuple[tuple[int, ...], ...], Parts] = {}
    for found in _ways(vectors, similarity):
        parts = sorted(sorted(part) for whole in found for part in _bounded(whole, similarity, most=most))
        if len(parts) > 1:
            ways.setdefault(tuple(map(tuple, parts)), parts)
    return list(ways.values())


def _ways(vectors: Vectors, similarity: Vectors) -> Iterator[Parts]:
    yield _means(vectors, similarity, count=2)
    if len(vectors) >= 6:
        yield _means(vectors, similarity, count=3)
    yield from _along_principal(vectors)


def _means(vectors: Vectors, similarity: Vectors, *, count: int) -> Parts:
    """Statements by the nearest of so many means, which begin at statements that are far from each other."""
    seeds = list(divmod(int(similarity.argmin()), len(similarity)))
    while len(seeds) < count:
        seeds.append(int(similarity[seeds].max(axis=0).argmin()))
    means = vectors[seeds]
    nearest = (vectors @ means.T).argmax(axis=1)
    for _ in range(_ROUNDS):
        means = np.stack(
            [vectors[nearest == k].sum(axis=0) if (nearest == k).any() else means[k] for k in range(count)]
        )
        means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), _NEARLY_0)
        again = (vectors @ means.T).argmax(axis=1)
        if (again == nearest).all():
            break
        nearest = again
    return [np.flatnonzero(nearest == k).tolist() for k in range(count) if (nearest == k).any()]


def _along_principal(vectors: Vectors) -> Iterator[Parts]:
    centered = vectors - vectors.mean(axis=0)
    along = centered[int(np.abs(centered).sum(axis=1).argmax())]
    for _ in range(_ROUNDS):  # the power method: only the order along the component counts
        along = (centered @ along) @ centered
        length = float(np.sqrt(along @ along))
        if length == 0.0:
            return
        along = along / length
    order = np.argsort(centered @ along, kind="stable").tolist()
    gaps = [float(vectors[a] @ vectors[b]) for a, b in pairwise(order)]
    for cut in dict.fromkeys((len(order) // 2, gaps.index(min(gaps)) + 1)):
        yield [order[:cut], order[cut:]]


def _bounded(part: Sequence[int], similarity: Vectors, *, most: int) -> list[list[int]]:
    """A part, or if it is too large, pieces of it: what is most like its most central statement stays together."""
    left, pieces = list(part), []
    while len(left) > most:
        among = similarity[np.ix_(left, left)]
        center = int(among.sum(axis=1).argmax())
        kept = np.argsort(-among[center], kind="stable")[:most].tolist()
        pieces.append([left[place] for place in kept])
        left = [each for place, each in enumerate(left) if place not in set(kept)]
    return [*pieces, left]
