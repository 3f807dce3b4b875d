"""The fit: token vectors whose sums meet the teacher's sentence vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stitch.bench.fit.table.passages import Passages
    from stitch.core.protocols import Vectors


@dataclass(frozen=True)
class FitSettings:
    """What the fit is told; chosen by held-out texts."""

    batch: int = 1024
    """Runs in a batch; each gives a text and the sum of its neighbors. As many pairs of passages stand beside them."""
    steps: int = 40
    rate: float = 0.004
    """Of the first step; it falls to nothing."""
    temperature: float = 0.05
    """Of similarities inside a batch."""
    cosine: float = 0.2
    """Weight of the cosine with the teacher."""
    similarity: float = 1.0
    """Weight of the similarities inside a batch, beside the cosine with the teacher."""
    neighbor: float = 0.5
    """Weight of finding one's own neighbors inside a batch."""
    passage: float = 1.0
    """Weight of telling what follows a text from what follows others."""
    hold: float = 0.02
    """Weight of the squared distance from where a token began."""
    growth: float = 1.5
    """How much longer than it began a token's vector may become. Without a bound, words such as "the" take what all
    sentences have in common, and weigh too much."""
    seeds: tuple[int, ...] = (1, 2, 3, 4)
    """Of so many fits, each with batches and held-out texts of its own, the mean is taken: one alone finds .01 more or
    less by chance."""
    held_out: float = 0.05


@dataclass(frozen=True)
class HeldOut:
    """How well texts that were not fitted are met."""

    cosine: float
    agreement: float
    """Share of the teacher's ten nearest texts that are among the student's ten nearest."""
    neighbors: float
    """Share of texts whose own neighbors are among the ten nearest."""


class Runs:
    """Runs of neighboring texts as sets of tokens (sparse rows), with the teacher's vectors.

    Args:
        tokens: Of each text, distinct.
        targets: Unit vectors, one a text.
        runs: The places of the texts of each run, two or more.
        size: Tokens of the vocabulary.
    """

    def __init__(
        self, tokens: Sequence[Sequence[int]], targets: Vectors, runs: Sequence[Sequence[int]], size: int
    ) -> None:
        self.tokens = [frozenset(found) for found in tokens]
        self.targets = targets
        self.runs = [tuple(run) for run in runs]
        self.size = size

    def draw(self, places: Sequence[int], rng: Any) -> tuple[Any, Vectors]:
        """Rows of tokens and targets: one text of each run, then the rest of each run as one text."""
        import numpy as np

        first, rest = [], []
        for place in places:
            run = self.runs[place]
            at = int(rng.integers(len(run)))
            first.append((run[at],))
            others = run[:at] + run[at + 1 :]
            kept = 1 + int(rng.integers(len(others)))
            rest.append(others[:kept])
        groups = first + rest
        targets = np.stack([self.targets[list(group)].mean(axis=0) for group in groups])
        targets /= np.linalg.norm(targets, axis=1, keepdims=True)
        return self.rows(groups), targets

    def rows(self, groups: Sequence[Sequence[int]]) -> Any:
        """The distinct tokens of each group of texts, a sparse row a group."""
        return sparse_rows(
            [sorted(frozenset().union(*(self.tokens[at] for at in group))) for group in groups], self.size
        )


def sparse_rows(tokens: Sequence[Sequence[int]], size: int) -> Any:
    """A sparse row a text, with a one for each of its distinct tokens."""
    import numpy as np
    from scipy.sparse import csr_matrix

    ends = np.cumsum([0] + [len(found) for found in tokens])
    columns = np.array([token for found in tokens for token in found], np.int32)
    return csr_matrix((np.ones(len(columns), np.float32), columns, ends), shape=(len(tokens), size))


def unit(vectors: Vectors) -> Vectors:
    """The vectors at length one; zeros stay."""
    import numpy as np

    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    lengths[lengths == 0] = 1
    found: Vectors = vectors / lengths
    return found


def _softmax(scores: Vectors) -> Vectors:
    import numpy as np

    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: Vectors = scores / scores.sum(axis=1, keepdims=True)
    return shares


def gradient(sums: Vectors, targets: Vectors, settings: FitSettings) -> Vectors:
    """The gradient by the sums of token vectors of what the teacher asks for: texts, and the rests of their runs."""
    import numpy as np

    student = unit(sums)
    slope = -settings.cosine * targets
    if settings.similarity:
        ours, theirs = student @ student.T / settings.temperature, targets @ targets.T / settings.temperature
        np.fill_diagonal(ours, -1e4)
        np.fill_diagonal(theirs, -1e4)
        difference = _softmax(ours) - _softmax(theirs)
        slope += settings.similarity * ((difference + difference.T) @ student)
    if settings.neighbor:
        slope += settings.neighbor * _finding(student, settings.temperature)
    return _by_sums(slope, sums)


def pair_gradient(sums: Vectors, settings: FitSettings) -> Vectors:
    """The gradient by the sums of token vectors of finding each other: the upper half, and what belongs to it below."""
    return _by_sums(settings.passage * _finding(unit(sums), settings.temperature), sums)


def _finding(student: Vectors, temperature: float) -> Vectors:
    # Cross-entropy in both directions (InfoNCE), by unit vectors.
    import numpy as np

    half = len(student) // 2
    scores = student[:half] @ student[half:].T / temperature
    wrong = (_softmax(scores) + _softmax(scores.T).T) / 2 - np.eye(half, dtype=np.float32)
    slope: Vectors = np.concatenate([wrong @ student[half:], wrong.T @ student[:half]])
    return slope


def _by_sums(slope: Vectors, sums: Vectors) -> Vectors:
    # From the gradient by unit vectors to that by the sums which they are made of, the mean over rows.
    import numpy as np

    lengths = np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-6)
    student = sums / lengths
    slope = slope - student * np.sum(slope * student, axis=1, keepdims=True)
    found: Vectors = slope / lengths / np.float32(len(sums))
    return found


def measure(table: Vectors, rows: Any, targets: Vectors) -> HeldOut:
    """Measure a table on texts and, below them, the rests of their runs."""
    import numpy as np

    half = len(targets) // 2
    student = unit(rows @ table)
    ours, theirs = student[:half] @ student[half:].T, targets[:half] @ targets[half:].T
    best = np.argpartition(-ours, 10, axis=1)[:, :10]
    wanted = np.argpartition(-theirs, 10, axis=1)[:, :10]
    agreement = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(best.tolist(), wanted.tolist(), strict=True)])
    own = np.mean([at in row for at, row in enumerate(best.tolist())])
    return HeldOut(float(np.mean(np.sum(student * targets, axis=1))), float(agreement), float(own))


def fit(
    start: Vectors, runs: Runs, settings: FitSettings, *, passages: Passages | None = None, report: Any = None
) -> Vectors:
    """Fit several times and return the mean of the tables.

    Args:
        start: Where tokens begin.
        runs: Texts with what the teacher makes of them; each fit holds some out.
        settings: Of the fit.
        passages: Pairs beside them, which need no teacher.
        report: Is told how well the held-out texts are met before and after each fit.
    """
    import numpy as np

    tables = []
    for seed in settings.seeds:
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(runs.runs))
        held, fitted = order[: int(len(order) * settings.held_out)], order[int(len(order) * settings.held_out) :]
        rows, targets = runs.draw(held.tolist(), np.random.default_rng(seed))
        table = _fit_once(start, runs, fitted, settings, rng=rng, passages=passages)
        if report:
            report(f"fit {seed}", measure(start, rows, targets), measure(table, rows, targets))
        tables.append(table)
    found: Vectors = (np.sum(tables, axis=0) / len(tables)).astype(np.float32)
    return found


def _fit_once(
    start: Vectors, runs: Runs, fitted: Any, settings: FitSettings, *, rng: Any, passages: Passages | None
) -> Vectors:
    import numpy as np

    table: Vectors = start.copy()
    first, second = np.zeros_like(table), np.zeros_like(table)
    longest = settings.growth * np.linalg.norm(start, axis=1, keepdims=True)
    for step in range(settings.steps):
        rows, targets = runs.draw(rng.choice(fitted, min(settings.batch, len(fitted)), replace=False).tolist(), rng)
        slope = rows.T @ gradient(rows @ table, targets, settings)
        used = rows.indices
        if passages:
            pairs = passages.draw(settings.batch, rng)
            rows = sparse_rows([pair.text for pair in pairs] + [pair.rest for pair in pairs], len(table))
            slope += rows.T @ pair_gradient(rows @ table, settings)
            used = np.concatenate([used, rows.indices])
        used = np.unique(used)
        slope = slope[used] + settings.hold * (table[used] - start[used]) / len(table)
        first[used] = 0.9 * first[used] + 0.1 * slope
        second[used] = 0.99 * second[used] + 0.01 * slope * slope
        rate = settings.rate * (1 - step / settings.steps)
        fresh = table[used] - rate * first[used] / (np.sqrt(second[used]) + 1e-8)
        lengths = np.maximum(np.linalg.norm(fresh, axis=1, keepdims=True), 1e-6)
        table[used] = fresh * np.minimum(1, longest[used] / lengths)
    return table
