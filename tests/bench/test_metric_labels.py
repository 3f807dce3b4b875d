"""Measures of induced labels, by hand-computed cases, properties, and scikit-learn."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.bench.metrics.clusters import (
    BCubed,
    Switches,
    adjusted_rand_index,
    bcubed,
    boundary_counts,
    entity_type_f1,
    macro_bcubed,
    majority_mapping,
    pk,
    switch_f1,
    switch_places,
    v_measure,
    window_diff,
    window_width,
)
from stitch.bench.metrics.scores import Unscored

labelings = st.integers(1, 25).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 4), min_size=n, max_size=n), st.lists(st.integers(0, 4), min_size=n, max_size=n)
    )
)


def test_bcubed_averages_over_items() -> None:
    # clusters {1,2,3} {4}; classes {1,2} {3,4}: precision (2/3+2/3+1/3+1)/4, recall (1+1+1/2+1/2)/4
    score = bcubed("aaab", "xxyy")
    assert score == pytest.approx((2 / 3, 3 / 4, 12 / 17))


def test_one_cluster_has_full_recall_and_every_item_alone_full_precision() -> None:
    assert bcubed("aaaa", "xxyy") == pytest.approx((0.5, 1.0, 2 / 3))
    assert bcubed("abcd", "xxyy") == pytest.approx((1.0, 0.5, 2 / 3))


def test_bcubed_of_a_set_is_the_mean_over_trajectories() -> None:
    assert macro_bcubed([("aa", "xx"), ("aaaa", "xxyy"), ("", "")]) == pytest.approx((0.75, 1.0, 5 / 6))
    assert isinstance(macro_bcubed([("", "")]), Unscored)
    assert isinstance(bcubed("", ""), Unscored)


@given(labelings)
def test_agreement_measures_ignore_names_and_reward_identity(pair: tuple[list[int], list[int]]) -> None:
    mine, gold = pair
    renamed = [9 - label for label in mine]
    assert bcubed(gold, gold) == pytest.approx(BCubed(1.0, 1.0, 1.0))
    for measure in (bcubed, v_measure, adjusted_rand_index, pk, window_diff):
        assert measure(mine, gold) == measure(renamed, gold)
    assert v_measure(gold, gold) == pytest.approx(1.0)
    assert adjusted_rand_index(gold, gold) == pytest.approx(1.0)
    for error in (pk(gold, gold), window_diff(gold, gold)):
        assert isinstance(error, Unscored) or error == 0.0


@given(labelings)
def test_v_measure_and_rand_index_equal_those_of_scikit_learn(pair: tuple[list[int], list[int]]) -> None:
    cluster = pytest.importorskip("sklearn.metrics.cluster")
    mine, gold = pair
    assert v_measure(mine, gold) == pytest.approx(cluster.v_measure_score(gold, mine), abs=1e-9)
    assert adjusted_rand_index(mine, gold) == pytest.approx(cluster.adjusted_rand_score(gold, mine), abs=1e-9)


def test_v_measure_of_a_hand_computed_case() -> None:
    # gold: two halves (1 bit); clusters: one half split in two; homogeneous, completeness 1/1.5
    assert v_measure("aabc", "xxyy") == pytest.approx(0.8)
    assert isinstance(v_measure("", ""), Unscored)
    assert isinstance(adjusted_rand_index("", ""), Unscored)


def test_rand_index_of_a_hand_computed_case() -> None:
    # both 1 pair, E = 1*2/6, mean (1+2)/2
    assert adjusted_rand_index("aabc", "xxyy") == pytest.approx((1 - 1 / 3) / (1.5 - 1 / 3))


def test_switches_are_pooled_over_trajectories() -> None:
    score = switch_f1([("aab", "xxy"), ("abb", "xxx")])
    assert score == Switches(0.5, 1.0, 2 / 3, 2 / 4, 1 / 4)
    assert switch_places("aabba") == {2, 4}


def test_where_nobody_switches_all_agree() -> None:
    assert switch_f1([("aa", "xx")]) == Switches(1.0, 1.0, 1.0, 0.0, 0.0)
    assert switch_f1([("aa", "xy")]) == Switches(0.0, 0.0, 0.0, 0.0, 1.0)
    assert isinstance(switch_f1([("a", "x"), ("", "")]), Unscored)


def test_pk_and_window_diff_of_a_hand_computed_case() -> None:
    gold, mine = "aaaabbbb", "aabbbbcc"
    assert window_width(gold) == 2
    assert boundary_counts(mine) == [0, 0, 1, 1, 1, 1, 2, 2]
    # windows (i, i+2): gold boundary inside for i = 2, 3; mine for 0, 1, 4, 5: all six are wrong
    assert pk(mine, gold) == 1.0
    assert window_diff(mine, gold) == 1.0
    # two boundaries where gold has one: Pk sees none wrong where WindowDiff does
    assert pk("aaabcccc", "aaaabbbb") == pytest.approx(1 / 6)
    assert window_diff("aaabcccc", "aaaabbbb") == pytest.approx(2 / 6)


def test_a_trajectory_no_longer_than_the_window_is_unscored() -> None:
    assert isinstance(pk("a", "x"), Unscored)
    assert isinstance(window_diff("a", "x"), Unscored)
    for measure in (pk, window_diff):
        with pytest.raises(ValueError, match="1 labels for 2 items"):
            measure("a", "xy")


def test_types_are_mapped_to_their_majority_on_one_half() -> None:
    first = [({"cost"}, {"price"}), ({"cost"}, {"price", "fee"}), ({"cost", "day"}, {"fee"}), ({"none"}, set[str]())]
    assert majority_mapping(first) == {"cost": "fee", "day": "fee"}  # 2 and 2 for cost: the first by name


def test_mapped_types_are_scored_on_the_other_half() -> None:
    first = [(["cost"], ["price"]), (["when"], ["date"])]
    second = [(["cost", "when"], ["price"]), (["new"], ["date"]), ([], ["date"])]
    # hits 1 of 3 predicted (price, date, unknown new) and of 3 wanted
    assert entity_type_f1([first, second]) == pytest.approx(1 / 3)
    assert entity_type_f1([first, [([], ["price"])]]) == 0.0


def test_types_need_gold_in_both_halves() -> None:
    assert isinstance(entity_type_f1([[(["a"], ["x"])]]), Unscored)
    assert isinstance(entity_type_f1([[(["a"], [])], [(["a"], ["x"])]]), Unscored)
