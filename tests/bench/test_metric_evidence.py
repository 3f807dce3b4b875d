"""Measures of retrieved evidence and of selected labels."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.bench.metrics.evidence import (
    SelectionDiagnostics,
    all_at,
    diagnose_selection,
    mean_diagnostics,
    ndcg_at,
    precision_of,
    recall_at,
    reciprocal_rank,
    within_budget,
)
from stitch.bench.metrics.paired import bootstrap_mean, compare_paired
from stitch.bench.metrics.scores import Score, Unscored

RANKING = ["c", "a", "x", "b", "y"]


def test_recall_at_k_is_the_share_of_gold_found() -> None:
    assert recall_at(RANKING, ["a", "b"], k=2) == 0.5
    assert recall_at(RANKING, ["a", "b"]) == 1.0
    assert all_at(RANKING, ["a", "b"], k=2) == 0.0
    assert all_at(RANKING, ["a", "b"], k=4) == 1.0


def test_without_evidence_nothing_is_scored() -> None:
    for score in (
        recall_at(RANKING, [], k=1),
        all_at(RANKING, [], k=1),
        reciprocal_rank(RANKING, []),
        ndcg_at(RANKING, [], k=3),
    ):
        assert isinstance(score, Unscored)


def test_the_reciprocal_rank_is_that_of_the_first_gold_step() -> None:
    assert reciprocal_rank(RANKING, ["b", "a"]) == 0.5
    assert reciprocal_rank(RANKING, ["z"]) == 0.0


def test_ndcg_discounts_by_the_logarithm_of_the_rank() -> None:
    expected = (1 / math.log2(3) + 1 / math.log2(5)) / (1 + 1 / math.log2(3))
    assert ndcg_at(RANKING, ["a", "b"], k=10) == pytest.approx(expected)
    assert ndcg_at(["a", "a"], ["a", "b"], k=2) == pytest.approx(1 / (1 + 1 / math.log2(3)))


@given(st.permutations("abcdef"), st.sets(st.sampled_from("abcdef"), min_size=1), st.integers(1, 6))
def test_moving_a_gold_step_up_never_hurts(ranking: list[str], gold: set[str], k: int) -> None:
    best = sorted(ranking, key=lambda step: step not in gold)
    for measure in (
        lambda r: recall_at(r, gold, k=k),
        lambda r: reciprocal_rank(r, gold),
        lambda r: ndcg_at(r, gold, k=k),
    ):
        before, after = measure(ranking), measure(best)
        assert isinstance(before, float)
        assert isinstance(after, float)
        assert 0.0 <= before <= after + 1e-12 <= 1.0 + 1e-9
    assert ndcg_at(best, gold, k=k) == pytest.approx(1.0)


def test_a_step_that_does_not_fit_the_budget_is_passed_over() -> None:
    tokens = {"c": 4, "a": 3, "x": 5, "b": 1, "y": 1}
    assert within_budget(RANKING, tokens, budget=8) == ["c", "a", "b"]


def test_selected_labels_are_compared_with_the_gold_steps() -> None:
    labels = {"t1": {"x"}, "t2": {"x", "y"}, "t3": set[str](), "t4": {"y", "z"}}
    assert diagnose_selection({"x", "y", "w"}, labels, gold=["t1", "t2", "t2"]) == SelectionDiagnostics(
        gt_at_max=1.0, gt_dominant=0.5, gt_coverage=0.5, gt_best_coverage=2 / 3, gt_full=0.0, zero=0.0
    )
    assert diagnose_selection({"z"}, labels, gold=["t4"]) == SelectionDiagnostics(1.0, 1.0, 1.0, 1.0, 1.0, 0.0)


def test_labels_that_nobody_carries_are_zero_overlap() -> None:
    for selected in (set[str](), {"q"}):
        assert diagnose_selection(selected, {"t": {"x"}}, gold=["t"]) == SelectionDiagnostics(0, 0, 0, 0, 0, 1.0)
    assert isinstance(diagnose_selection({"x"}, {"t": {"x"}}, gold=[]), Unscored)


def test_diagnostics_are_averaged_under_the_names_of_the_paper() -> None:
    labels = {"t": {"x"}, "u": {"x", "y"}}
    means = mean_diagnostics(
        [
            diagnose_selection({"x", "y"}, labels, gold=["t"]),
            diagnose_selection({"x", "y"}, labels, gold=["u"]),
            diagnose_selection({"x"}, labels, gold=[]),
        ]
    )
    assert list(means) == ["Q_GT@MAX", "GT_DOM", "GT_COV", "GT_BEST_COV", "Q_GT_FULL", "Q_ZERO"]
    assert means["Q_GT@MAX"].value == 0.5
    assert means["GT_COV"].value == 0.75
    assert means["Q_ZERO"][1:] == (2, 1, {"no gold step": 1})


def test_a_paired_difference_has_its_interval_around_it() -> None:
    a: list[Score] = [1.0, 1.0, 1.0, 0.0] * 25
    b: list[Score] = [0.0, 1.0, 0.0, 0.0] * 25
    found = compare_paired(a, b)
    assert not isinstance(found, Unscored)
    assert found.difference == pytest.approx(0.5)
    assert 0.38 < found.low < 0.5 < found.high < 0.62
    assert found.p == pytest.approx(1 / 2001)
    assert found == compare_paired(a, b)


def test_equal_methods_do_not_differ() -> None:
    scores: list[Score] = [0.0, 1.0, 0.5]
    found = compare_paired(scores, scores)
    assert not isinstance(found, Unscored)
    assert found[:4] == (0.0, 0.0, 0.0, 1.0)


def test_only_pairs_scored_on_both_sides_are_compared() -> None:
    found = compare_paired([1.0, Unscored("x"), 0.0], [0.0, 1.0, Unscored("y")])
    assert not isinstance(found, Unscored)
    assert found.pairs == 1
    assert isinstance(compare_paired([Unscored("x")], [1.0]), Unscored)
    with pytest.raises(ValueError, match="argument 2 is"):
        compare_paired([1.0], [])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.integers(0, 3))
def test_an_interval_lies_inside_the_range_of_the_scores(values: list[float], seed: int) -> None:
    found = bootstrap_mean([*values, Unscored("x")], seed=seed, samples=100)
    assert not isinstance(found, Unscored)
    assert min(values) - 1e-9 <= found.low <= found.high <= max(values) + 1e-9
    assert isinstance(bootstrap_mean([]), Unscored)


def test_precision_is_the_share_of_what_is_shown_that_is_evidence() -> None:
    assert precision_of(["a", "x", "b", "y"], ["a", "b", "c"]) == 0.5
    assert precision_of([], ["a"]) == 0.0
    assert isinstance(precision_of(["a"], []), Unscored)
