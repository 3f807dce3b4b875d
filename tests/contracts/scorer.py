"""What every `Scorer` must pass: subclass `ScorerContract`, give it a `scorer` and a `pool`, run pytest."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from stitch.retrieve.rank.pool import Pool, Scorer


class ScorerContract:
    """Inherit, name the class `Test…`, and override the fixtures."""

    @pytest.fixture
    def scorer(self) -> Scorer:
        raise NotImplementedError

    @pytest.fixture
    def pool(self) -> Pool:
        raise NotImplementedError

    def test_it_says_one_finite_number_of_every_candidate(self, scorer: Scorer, pool: Pool) -> None:
        numbers = scorer(pool)
        assert numbers is not None
        assert len(numbers) == len(pool.candidates)
        assert all(math.isfinite(number) for number in numbers)
        assert any(numbers)

    def test_what_it_says_of_one_does_not_depend_on_the_order_of_all(self, scorer: Scorer, pool: Pool) -> None:
        def by_id(asked: Pool) -> dict[str, float]:
            numbers = scorer(asked) or ()
            return {one.snippet.id: number for one, number in zip(asked.candidates, numbers, strict=True)}

        turned = replace(pool, candidates=[*reversed(pool.candidates)])
        assert by_id(turned) == by_id(pool)

    def test_of_no_candidates_it_says_nothing(self, scorer: Scorer, pool: Pool) -> None:
        assert not scorer(replace(pool, candidates=[]))
