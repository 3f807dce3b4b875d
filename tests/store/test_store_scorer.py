"""The most similar of many are those that scoring each of them gives, however few of them are looked at."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest
from numpy.typing import NDArray

from stitch.core import DensityQuery
from stitch.core.protocols import SparseVector
from stitch.store.bounds import VectorBounds
from stitch.store.index import Held, IndexEntry, LabelIndex
from stitch.store.scorer import TierScorer
from stitch.store.similarity import Similarity
from stitch.store.words import pack

COUNT, DIMENSION = 4000, 40


class CountedBounds(VectorBounds):
    """Bounds that tell of how many rows they were asked."""

    asked = 0

    def at_most(self, rows: NDArray[np.int64], unit: NDArray[np.float32]) -> NDArray[np.float64]:
        """As before, and counted."""
        self.asked += len(rows)
        return super().at_most(rows, unit)


class Vectors:
    """An engine of which only cosines are asked."""

    def __init__(self, units: NDArray[np.float32]) -> None:
        self._units = units

    def cosines(self, rows: list[int], vector: list[float]) -> NDArray[np.float64]:
        """Each on its own, so that it does not depend on the others."""
        asked = np.array(vector)
        return np.array([float(self._units[row].astype(np.float64) @ asked) for row in rows])


def make(
    path: Path, words: list[SparseVector], units: NDArray[np.float32]
) -> tuple[LabelIndex, CountedBounds, Vectors]:
    index, bounds = LabelIndex(), CountedBounds(path, dimension=DIMENSION)
    entries = [
        (Held(row, row, 1), IndexEntry(str(UUID(int=row)), "t", "x", row, str(row), ())) for row in range(len(words))
    ]
    index.add(entries, [pack(own) for own in words])
    bounds.put(range(len(words)), units)
    return index, bounds, Vectors(units)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("spread", ["rare words", "words of all", "no words"])
@pytest.mark.parametrize("need", [1, 30, 900])
def test_the_best_are_those_of_a_full_scan(tmp_path: Path, share: float, spread: str, need: int) -> None:
    rng = np.random.default_rng(5)
    vectors = rng.standard_normal((COUNT, DIMENSION)).astype(np.float32)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    weights = rng.integers(1, 5, COUNT).tolist()
    having = {"rare words": 40, "words of all": 1, "no words": COUNT + 1}[spread]
    words: list[SparseVector] = [
        {1: float(weight)} if row % having == 0 else {2: 1.0} for row, weight in enumerate(weights)
    ]
    index, bounds, engine = make(tmp_path, words, units)
    with closing(bounds):
        query = DensityQuery(tenant="t", vector=vectors[3].tolist(), words={1: 1.0}, lexical_share=share, k=need)
        labels, similarity = index.of("t"), Similarity.of(query, dimension=DIMENSION)
        scorer = TierScorer(labels, similarity, bounds=bounds, engine=engine)  # type: ignore[arg-type]
        every = np.arange(0, COUNT, 1)
        scores = scorer.scores(every)
        slots, found = scorer.best(every, need=need)
        worst = np.sort(scores)[-need]
        assert dict(zip(slots.tolist(), found.tolist(), strict=True)) == {
            slot: score for slot, score in enumerate(scores.tolist()) if score >= worst
        }


def test_who_has_too_few_words_of_the_question_is_ruled_out_before_its_vector_is_looked_at(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    vectors = rng.standard_normal((COUNT, DIMENSION)).astype(np.float32)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    words: list[SparseVector] = [{1: 8.0 if row % 40 == 0 else 0.1} for row in range(COUNT)]
    index, bounds, engine = make(tmp_path, [own if row % 2 == 0 else {2: 1.0} for row, own in enumerate(words)], units)
    with closing(bounds):
        query = DensityQuery(tenant="t", vector=vectors[3].tolist(), words={1: 9.0}, lexical_share=0.9, k=20)
        similarity = Similarity.of(query, dimension=DIMENSION)
        TierScorer(index.of("t"), similarity, bounds=bounds, engine=engine).best(np.arange(COUNT), need=20)  # type: ignore[arg-type]
        assert bounds.asked < COUNT / 2
