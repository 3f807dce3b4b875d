"""The fit of the static embedder's table: token vectors whose sums meet the teacher's sentence vectors.

`README.md` says what pulls at a token.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stitch.bench.fit.solvers import contrast
from stitch.bench.fit.table.texts import Text

if TYPE_CHECKING:
    from stitch.core.protocols import Vectors

LONGEST = 24
"""So many texts may follow one in a pair of passages: a step of an agent is as long as pages."""
NEAR = 8
"""So many pairs are drawn from one long document, so that they have to be told apart."""
SHARES = {"chat": 6.0, "page": 2.0, "plan": 1.5, "gloss": 1.0, "dictionary": 1.0, "code": 1.0, "manual": 1.0,
          "docstring": 1.0, "saying": 0.3}  # fmt: skip
"""How often pairs of a kind are drawn: talk most."""


@dataclass(frozen=True)
class FitSettings:
    """Settings of the fit, chosen by held-out texts. Names of pulls are their weights."""

    batch: int = 1024
    """Runs in a batch; each gives a text and the sum of its neighbors. As many pairs of passages stand beside them."""
    steps: int = 40
    rate: float = 0.004
    """Of the first step; it falls to nothing."""
    temperature: float = 0.05
    cosine: float = 0.2
    similarity: float = 1.0
    neighbor: float = 0.5
    passage: float = 1.0
    hold: float = 0.02
    """Of the squared distance from where a token began."""
    growth: float = 1.5
    """How much longer than it began a token's vector may become. Without a bound, words such as "the" take what all
    sentences have in common, and weigh too much."""
    seeds: tuple[int, ...] = (1, 2, 3, 4)
    """Of so many fits the mean is taken: one alone finds .01 more or less by chance."""
    held_out: float = 0.05


class Runs:
    """Runs of neighboring texts as sets of tokens, with the teacher's unit vectors.

    `tokens` and `targets` are by text, `runs` the places of the texts of each run, two or more; `size` is that of the
    vocabulary.
    """

    def __init__(
        self, tokens: Sequence[Sequence[int]], targets: Vectors, runs: Sequence[Sequence[int]], size: int
    ) -> None:
        self._tokens = [frozenset(found) for found in tokens]
        self._targets, self._size = targets, size
        self.runs = [tuple(run) for run in runs]

    def draw(self, places: Sequence[int], rng: Any) -> tuple[Any, Vectors]:
        """Rows of tokens and targets: one text of each run, then the rest of each run as one text."""
        first, rest = list[tuple[int, ...]](), list[tuple[int, ...]]()
        for run in (self.runs[place] for place in places):
            at = int(rng.integers(len(run)))
            first.append((run[at],))
            others = run[:at] + run[at + 1 :]
            rest.append(others[: 1 + int(rng.integers(len(others)))])
        targets = np.stack([self._targets[list(group)].mean(axis=0) for group in first + rest])
        return self.rows(first + rest), unit(targets)

    def rows(self, groups: Sequence[Sequence[int]]) -> Any:
        """The distinct tokens of each group of texts, a sparse row a group."""
        return sparse_rows([sorted(frozenset().union(*(self._tokens[at] for at in own))) for own in groups], self._size)


class Pair(NamedTuple):
    """The distinct tokens of a text, and those of what follows it."""

    text: Sequence[int]
    rest: Sequence[int]


class Passages:
    """Documents of which pairs of a text and what follows it are drawn: they teach without a teacher.

    Texts of a document stand beside each other. Of kinds that `shares` does not name nothing is drawn.
    """

    def __init__(
        self, texts: Sequence[Text], tokens: Sequence[Sequence[int]], shares: Mapping[str, float] = SHARES
    ) -> None:
        self._tokens, self._shares = tokens, shares
        self._documents: dict[str, list[range]] = defaultdict(list)
        for (kind, _document), group in groupby(range(len(texts)), key=lambda at: (texts[at].kind, texts[at].document)):
            places = list(group)
            if kind in shares and len(places) > 1:
                self._documents[kind].append(range(places[0], places[-1] + 1))

    def draw(self, count: int, rng: Any) -> list[Pair]:
        """Draw pairs. Half of the long documents give several, which differ in little."""
        kinds = list(self._documents)
        of_kind = np.array([self._shares[kind] for kind in kinds])
        by_length = {kind: np.array([len(each) for each in self._documents[kind]], float) for kind in kinds}
        found: list[Pair] = []
        while len(found) < count:
            kind = kinds[rng.choice(len(kinds), p=of_kind / of_kind.sum())]
            lengths = by_length[kind]
            document = self._documents[kind][rng.choice(len(lengths), p=lengths / lengths.sum())]
            starts = 1
            if len(document) > LONGEST and rng.random() < 0.5:
                starts = max(1, min(NEAR, len(document) // (LONGEST + 1)))
            places = rng.choice(len(document) - 1, size=starts, replace=False).tolist()
            found += [self._pair(document, place, rng) for place in places]
        return found[:count]

    def _pair(self, document: range, place: int, rng: Any) -> Pair:
        follow = int(math.exp(rng.uniform(0, math.log(LONGEST + 0.99))))  # short ones as often as long ones
        rest = document[place + 1 : place + 1 + follow]
        text = self._tokens[document[place]]
        told = sorted({token for at in rest for token in self._tokens[at]})
        return Pair(told, text) if len(rest) == 1 and rng.random() < 0.5 else Pair(text, told)


def sparse_rows(tokens: Sequence[Sequence[int]], size: int) -> Any:
    """A sparse row a text, with a one for each of its distinct tokens."""
    from scipy.sparse import csr_matrix

    ends = np.cumsum([0] + [len(found) for found in tokens])
    columns = np.array([token for found in tokens for token in found], np.int32)
    return csr_matrix((np.ones(len(columns), np.float32), columns, ends), shape=(len(tokens), size))


def unit(vectors: Vectors) -> Vectors:
    """The vectors at length one; zeros stay."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    lengths[lengths == 0] = 1
    found: Vectors = vectors / lengths
    return found


def gradient(sums: Vectors, targets: Vectors, settings: FitSettings) -> Vectors:
    """The gradient by the sums of token vectors of what the teacher asks for: texts, and the rests of their runs."""
    from scipy.special import softmax

    student, shares = unit(sums), []
    slope = -settings.cosine * targets
    for vectors in (student, targets):
        scores = vectors @ vectors.T / settings.temperature
        np.fill_diagonal(scores, -1e4)
        shares.append(softmax(scores, axis=1))
    difference = shares[0] - shares[1]
    slope = slope + settings.similarity * ((difference + difference.T) @ student)
    return _by_sums(slope + settings.neighbor * _finding(student, settings.temperature), sums)


def _finding(student: Vectors, temperature: float) -> Vectors:
    half = len(student) // 2
    wrong = contrast(student[:half] @ student[half:].T / temperature)
    slope: Vectors = np.concatenate([wrong @ student[half:], wrong.T @ student[:half]])
    return slope


def _by_sums(slope: Vectors, sums: Vectors) -> Vectors:
    # From the gradient by unit vectors to that by the sums which they are made of, the mean over rows.
    lengths = np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-6)
    student = sums / lengths
    found: Vectors = (slope - student * np.sum(slope * student, axis=1, keepdims=True)) / lengths
    found /= np.float32(len(sums))
    return found


def fit(start: Vectors, runs: Runs, settings: FitSettings, *, passages: Passages | None = None) -> Vectors:
    """The mean of the tables of several fits, from where tokens begin.

    Each holds some runs out: settings were chosen by them. `passages` are pairs beside the runs, which need no teacher.
    """
    tables = []
    for seed in settings.seeds:
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(runs.runs))
        tables.append(_fit_once(start, runs, order[int(len(order) * settings.held_out) :], settings, rng, passages))
    found: Vectors = (np.sum(tables, axis=0) / len(tables)).astype(np.float32)
    return found


def _fit_once(
    start: Vectors, runs: Runs, fitted: Any, settings: FitSettings, rng: Any, passages: Passages | None
) -> Vectors:
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
            sums = rows @ table
            slope += rows.T @ _by_sums(settings.passage * _finding(unit(sums), settings.temperature), sums)
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
