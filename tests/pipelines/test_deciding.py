"""Paired examples tell two programs apart, or are too few to."""

from __future__ import annotations

from stitch.pipelines.optimize.deciding import decide


def test_few_examples_cannot_tell_whatever_they_say() -> None:
    decision = decide([0.0] * 4, [1.0] * 4)
    assert (decision.p, decision.too_few, decision.told) == (2 / 16, True, False)


def test_examples_that_all_agree_tell() -> None:
    decision = decide([0.0] * 8, [0.5] * 8)
    assert (decision.p, decision.too_few, decision.told) == (2 / 256, False, True)


def test_examples_that_disagree_do_not_tell() -> None:
    decision = decide([0.0] * 10, [0.5, -0.5] * 5)
    assert decision.p == 1.0
    assert not decision.too_few


def test_of_many_examples_a_sample_of_the_ways_is_drawn_the_same_each_time() -> None:
    before, after = [0.0] * 30, [0.4] * 24 + [-0.4] * 6
    assert decide(before, after) == decide(before, after)
    assert decide(before, after).told
    assert decide(before, [0.4] * 16 + [-0.4] * 14).p > 0.5
