"""Choosing what covers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stitch.retrieve.coverage import choose_covering


def test_without_coverage_the_order_is_that_of_relevance() -> None:
    chosen = choose_covering([0.2, 0.9, 0.5], np.eye(3, dtype=np.float32), share=0.0)
    assert chosen.order == (1, 2, 0)
    assert chosen.by_coverage == 0.0


def test_what_says_the_same_as_the_first_comes_after_what_says_something_new() -> None:
    likeness = np.array([[1, 0.99, 0], [0.99, 1, 0], [0, 0, 1]], dtype=np.float32)
    chosen = choose_covering([1.0, 0.98, 0.7], likeness, share=0.7)
    assert chosen.order == (0, 2, 1)
    assert chosen.by_coverage > 0


@given(
    st.lists(st.floats(0.01, 1.0), min_size=1, max_size=30), st.floats(0, 1), st.integers(0, 1000), st.floats(0, 0.5)
)
def test_everything_is_chosen_once_and_the_beginning_does_not_depend_on_the_end(
    relevance: list[float], share: float, seed: int, repeat: float
) -> None:
    vectors = np.random.default_rng(seed).normal(size=(len(relevance), 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    groups = [place % 4 for place in range(len(relevance))]
    whole = choose_covering(relevance, vectors @ vectors.T, share=share, groups=groups, repeat=repeat)
    assert sorted(whole.order) == list(range(len(relevance)))
    assert 0.0 <= whole.by_coverage <= 1.0
    made: list[int] = []

    def is_enough(place: int) -> bool:
        made.append(place)
        return len(made) == 3

    part = choose_covering(relevance, vectors @ vectors.T, share=share, groups=groups, repeat=repeat, enough=is_enough)
    assert part.order == whole.order[: len(part.order)]
