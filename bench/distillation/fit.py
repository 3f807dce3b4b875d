"""The fit: token vectors whose sums meet the teacher's sentence vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stitch.core.protocols import Vectors


@dataclass(frozen=True)
class FitSettings:
    """What the fit is told; chosen by held-out texts."""

    batch: int = 2048
    """Runs in a batch; each gives a text and the sum of its neighbors."""
    rounds: int = 30
    patience: int = 3
    """Rounds without a better held-out figure after which the fit ends."""
    rate: float = 0.004
    temperature: float = 0.05
    """Of similarities inside a batch."""
    cosine: float = 0.2
    """Weight of the cosine with the teacher."""
    similarity: float = 1.0
    """Weight of the similarities inside a batch, beside the cosine with the teacher."""
    neighbor: float = 0.5
    """Weight of finding one's own neighbors inside a batch."""
    hold: float = 0.02
    """Weight of the squared distance from where a token began."""
    growth: float = 1.5
    """How much longer than it began a token's vector may become. Without a bound, words such as "the" take what all
    sentences have in common, and weigh too much."""
    held_out: float = 0.05
    seed: int = 14


@dataclass(frozen=True)
class HeldOut:
    """How well texts that were not fitted are met."""

    cosine: float
    agreement: float
    """Share of the teacher's ten nearest texts that are among the student's ten nearest."""
    neighbors: float
    """Share of texts whose own neighbors are among the ten nearest."""

    @property
    def score(self) -> float:
        """What the best round is chosen by."""
        return self.agreement + self.neighbors


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
        import numpy as np
        from scipy.sparse import csr_matrix

        found = [sorted(frozenset().union(*(self.tokens[at] for at in group))) for group in groups]
        ends = np.cumsum([0] + [len(tokens) for tokens in found])
        columns = np.array([token for tokens in found for token in tokens], np.int32)
        return csr_matrix((np.ones(len(columns), np.float32), columns, ends), shape=(len(groups), self.size))


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
    """The gradient of the loss by the sums of token vectors."""
    import numpy as np

    count = len(sums)
    lengths = np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-6)
    student = sums / lengths
    slope = -settings.cosine * targets
    if settings.similarity:
        ours, theirs = student @ student.T / settings.temperature, targets @ targets.T / settings.temperature
        np.fill_diagonal(ours, -1e4)
        np.fill_diagonal(theirs, -1e4)
        difference = _softmax(ours) - _softmax(theirs)
        slope += settings.similarity * ((difference + difference.T) @ student)
    if settings.neighbor:
        half = count // 2
        scores = student[:half] @ student[half:].T / settings.temperature
        ahead, back = _softmax(scores), _softmax(scores.T).T
        wrong = (ahead + back) / 2 - np.eye(half, dtype=np.float32)
        slope[:half] += settings.neighbor * (wrong @ student[half:])
        slope[half:] += settings.neighbor * (wrong.T @ student[:half])
    slope -= student * np.sum(slope * student, axis=1, keepdims=True)
    found: Vectors = slope / lengths / np.float32(count)
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


def fit(start: Vectors, runs: Runs, settings: FitSettings, report: Any = None) -> Vectors:
    """Fit and return the table of the best round, by held-out texts."""
    import numpy as np

    rng = np.random.default_rng(settings.seed)
    order = rng.permutation(len(runs.runs))
    held, fitted = order[: int(len(order) * settings.held_out)], order[int(len(order) * settings.held_out) :]
    held_rows, held_targets = runs.draw(held.tolist(), np.random.default_rng(settings.seed))
    table = start.copy()
    first, second = np.zeros_like(table), np.zeros_like(table)
    longest = settings.growth * np.linalg.norm(start, axis=1, keepdims=True)
    best: Vectors
    best, best_score, waited, step = table.copy(), measure(table, held_rows, held_targets), 0, 0
    if report:
        report(0, best_score)
    for turn in range(1, settings.rounds + 1):
        rng.shuffle(fitted)
        for at in range(0, len(fitted) - settings.batch + 1, settings.batch):
            rows, targets = runs.draw(fitted[at : at + settings.batch].tolist(), rng)
            slope = rows.T @ gradient(rows @ table, targets, settings)
            used = np.unique(rows.indices)
            step += 1
            slope = slope[used] + settings.hold * (table[used] - start[used]) / len(table)
            first[used] = 0.9 * first[used] + 0.1 * slope
            second[used] = 0.99 * second[used] + 0.01 * slope * slope
            fresh = table[used] - settings.rate * first[used] / (np.sqrt(second[used]) + 1e-8)
            lengths = np.maximum(np.linalg.norm(fresh, axis=1, keepdims=True), 1e-6)
            table[used] = fresh * np.minimum(1, longest[used] / lengths)
        found = measure(table, held_rows, held_targets)
        if report:
            report(turn, found)
        if found.score > best_score.score + 1e-4:
            best, best_score, waited = table.copy(), found, 0
        elif (waited := waited + 1) >= settings.patience:
            break
    return best
