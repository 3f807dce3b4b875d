"""The most similar of many are found exactly, however little is fetched at a time."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.core import DensityQuery
from stitch.store.similarity import Page, Similarity, most_similar, score


class ListedScores:
    """A scorer over two lists of scores; snippets outside of `accepted` are fetched but do not belong to the set."""

    def __init__(self, cosines: list[float], lexicals: list[float], accepted: list[bool]) -> None:
        self.cosine = dict(enumerate(cosines))
        self.lexical_score = {key: value for key, value in enumerate(lexicals) if value > 0}
        self.accepted = accepted
        self.fetched = 0

    def dense(self, limit: int) -> Page[int]:
        return self._page(self.cosine, limit)

    def lexical(self, limit: int) -> Page[int]:
        return self._page(self.lexical_score, limit)

    def cosines(self, keys: Collection[int]) -> dict[int, float]:
        return {key: self.cosine[key] for key in keys}

    def lexicals(self, keys: Collection[int]) -> dict[int, float]:
        return {key: self.lexical_score[key] for key in keys if key in self.lexical_score}

    def _page(self, scores: dict[int, float], limit: int) -> Page[int]:
        best = sorted(scores, key=lambda key: -scores[key])[:limit]
        self.fetched = max(self.fetched, len(best))
        floor = scores[best[-1]] if len(best) == limit else None
        return Page({key: scores[key] for key in best if self.accepted[key]}, floor)


SHARES = st.sampled_from([(1.0, 0.0), (0.0, 1.0), (0.5, 0.5), (0.9, 0.1)])
FEW = st.integers(0, 6)  # few distinct scores, so that there are many ties


@given(
    snippets=st.lists(st.tuples(FEW, FEW, st.booleans()), min_size=1, max_size=60),
    shares=SHARES,
    need=st.integers(1, 12),
    limit=st.integers(1, 5),
)
def test_the_most_similar_and_all_their_ties_are_returned(
    snippets: list[tuple[int, int, bool]], shares: tuple[float, float], need: int, limit: int
) -> None:
    scorer = ListedScores(
        [(cosine - 3) / 3 for cosine, _, _ in snippets],
        [lexical * 2.5 for _, lexical, _ in snippets],
        [accepted for _, _, accepted in snippets],
    )
    dense, lexical = shares
    similarity = Similarity(
        vector=[1.0] if dense else None, words={1: 1.0} if lexical else None, dense_share=dense, lexical_share=lexical
    )
    members = [key for key, (_, _, accepted) in enumerate(snippets) if accepted]
    everything = score(similarity, scorer, members)
    found = most_similar(similarity, scorer, need=need, limit=limit)
    assert {key: everything[key] for key in found} == found
    missing = everything.keys() - found.keys()
    if len(found) < need:
        assert all(everything[key] == 0.0 for key in missing)
    else:
        worst = sorted(found.values(), reverse=True)[need - 1]
        assert all(everything[key] < worst for key in missing)


def test_a_zero_vector_and_no_words_say_nothing() -> None:
    query = DensityQuery(tenant="t", vector=np.zeros(2, dtype=np.float32), words={})
    similarity = Similarity.of(query, dimension=2)
    assert (similarity.vector, similarity.words) == (None, None)
    assert similarity.combine(0.4, 10.0) == pytest.approx(0.45)
