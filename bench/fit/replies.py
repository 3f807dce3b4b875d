"""The matrices that tell how well a step follows another (`stitch.label.local.replies`); `scopes` fits them first.

The next step of a scope is to be found among other steps, and its predecessors among others'. Half of the batches are
drawn at random, half are stretches of neighbors: the first teach what the talk is about, the second how talk goes on.
One place in each batch belongs to what opens a scope.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stitch.bench.fit.solvers import contrast
from stitch.label.local.replies import FADING_STEPS, Replies, as_data, vector

NUMBERS = 32
PAIRS_PER_BATCH, EPOCHS, MAX_PAIRS_PER_SET = 64, 6, 5_000
RATE, DECAY = 3e-3, 0.05
NEIGHBORS = 0.5
"""The share of batches that are stretches of neighbors."""


def fit_replies(sets: Mapping[str, Sequence[Sequence[str]]]) -> Replies:
    """The matrices learned from scopes, set by set, those of one trajectory beside each other.

    The same input gives the same matrices.
    """
    rng = np.random.default_rng(0)
    groups = [pairs for talks in sets.values() if len((pairs := _pairs(talks)).follows) >= PAIRS_PER_BATCH]
    dimension = len(vector(""))
    spread = 0.1 if groups else 0.0  # nothing learned, nothing said
    said = rng.normal(0, spread, (2 * dimension + 2, NUMBERS)).astype(np.float32)
    follows = rng.normal(0, spread, (dimension + 1, NUMBERS)).astype(np.float32)
    sizes = np.array([min(len(group.follows), MAX_PAIRS_PER_SET) for group in groups], float)
    batches = int(EPOCHS * sizes.sum() // PAIRS_PER_BATCH)
    start = np.zeros((1, said.shape[0]), np.float32)
    start[0, -1] = 1
    matrices = (_Adam(said), _Adam(follows))
    for batch in range(batches):
        group = groups[rng.choice(len(groups), p=sizes / sizes.sum())]
        count = len(group.follows)
        if rng.random() < NEIGHBORS:
            chosen = rng.integers(count - PAIRS_PER_BATCH + 2) + np.arange(PAIRS_PER_BATCH - 1)
        else:
            chosen = rng.choice(count, PAIRS_PER_BATCH - 1, replace=False)
        before = np.concatenate([group.said[chosen], start])
        after = np.concatenate([group.follows[chosen], group.opens[[rng.integers(len(group.opens))]]])
        left, right = before @ said, after @ follows
        slope = contrast(left @ right.T) / PAIRS_PER_BATCH
        rate = RATE * (1 - batch / batches)
        for matrix, gradient in zip(matrices, (before.T @ (slope @ right), after.T @ (slope.T @ left)), strict=True):
            matrix.descend(gradient, rate=rate)
    return Replies(said[: dimension + 1], said[dimension + 1 : -1], follows, said[-1].tolist())


def write_replies(replies: Replies, folder: Path, *, made_by: str) -> None:
    """Write the file of weights, one row of numbers a line."""
    rows = {name: json.dumps(value) for name, value in as_data(replies).items()}
    lines = [f'"{name}": {text.replace("], [", f"],{chr(10)}[")}' for name, text in rows.items()]
    text = "{" + ",\n".join([f'"made_by": "{made_by}"', *lines]) + "}\n"
    (folder / "reply_weights.json").write_text(text, encoding="utf-8")


class _Pairs(NamedTuple):
    """What was said, as rows `(last, 1, gist, 0)`, and what followed, as rows `(vector, 1)`."""

    said: NDArray[np.float32]
    follows: NDArray[np.float32]
    opens: NDArray[np.float32]
    """What followed nothing."""


def _pairs(talks: Sequence[Sequence[str]]) -> _Pairs:
    one, zero = np.ones(1, np.float32), np.zeros(1, np.float32)
    said, follows, opens = [], [], []
    for talk in talks:
        vectors = [vector(text) for text in talk]
        opens += [np.concatenate([first, one]) for first in vectors[:1]]
        gist: Any = 0.0
        for place, (last, now) in enumerate(pairwise(vectors), 1):
            gist = gist + (last - gist) / min(place, FADING_STEPS)
            said.append(np.concatenate([last, one, gist, zero]))
            follows.append(np.concatenate([now, one]))
    return _Pairs(*(np.array(rows, np.float32) for rows in (said, follows, opens)))


class _Adam:
    """Changes a matrix step by step (Kingma and Ba, 2015), with weight decay apart from the gradient."""

    def __init__(self, matrix: NDArray[np.float32]) -> None:
        self._matrix = matrix
        self._mean, self._square = matrix * 0, matrix * 0
        self._steps = 0

    def descend(self, gradient: Any, *, rate: float) -> None:
        self._steps += 1
        self._mean += 0.1 * (gradient - self._mean)
        self._square += 0.001 * (gradient * gradient - self._square)
        mean, square = self._mean / (1 - 0.9**self._steps), self._square / (1 - 0.999**self._steps)
        self._matrix -= rate * (mean / (square**0.5 + 1e-8) + DECAY * self._matrix)
