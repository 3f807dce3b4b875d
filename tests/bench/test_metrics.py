"""Measures of answers, evidence, labels and differences, by hand-computed cases, properties, and scikit-learn."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.bench.metrics import clusters as c
from stitch.bench.metrics.answers import (
    AnswerForm,
    AnswerSetScore,
    ContainmentJudge,
    PlanPart,
    candidates,
    contains,
    count_contained,
    normalize,
    plan_parts,
    score_by,
    token_f1,
)
from stitch.bench.metrics.evidence import (
    SelectionDiagnostics,
    all_at,
    diagnose_selection,
    mean_diagnostics,
    ndcg_at,
    precision_of,
    recall_at,
    reciprocal_rank,
)
from stitch.bench.metrics.scores import Mean, PairedDifference, Score, Unscored, compare_paired, harmonic, mean

PLAN = "Stay at Apollo Resort; Breakfast at Olympus; Lunch at The Lyre; Dinner at Styx; Visit Oracle Hill, Muse Park"
RANKING = ["c", "a", "x", "b", "y"]


def test_a_mean_says_what_was_left_out_and_why() -> None:
    scores: list[Score] = [1.0, Unscored("judge failed"), 0.0, Unscored("judge failed"), Unscored("no gold")]
    assert mean(scores) == Mean(0.5, 2, 3, {"judge failed": 2, "no gold": 1})
    assert mean([Unscored("no answer")]).value is mean([]).value is None
    assert harmonic(0.0, 0.0) == 0.0
    assert harmonic(0.5, 1.0) == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('["AIC (2023); CFR (2024)"]', ("AIC (2023)", "CFR (2024)")),
        ("Apollo Seaside Resort, Daphne Laurel Hotel", ("Apollo Seaside Resort", "Daphne Laurel Hotel")),
        ("one;; two\n three ,", ("one", "two", "three")),
        ("$1,234", ("$1", "234")),
        ('["a", 2]', ("a", "2")),
        ('{"a": 1}', ('{"a": 1}',)),
        ("2.0", ("2.0",)),
        ("  ", ()),
        ("[]", ()),
    ],
)
def test_candidates_follow_the_rules_of_the_release(text: str, expected: tuple[str, ...]) -> None:
    assert candidates(text) == expected


@pytest.mark.parametrize(
    ("gold", "generated", "count", "score"),
    [
        ("a; b; c", "a; x", 1, (0.5, 1 / 3, 0.4)),
        ("a", "a; b", 9, (0.5, 1.0, 2 / 3)),  # a judge cannot count more than there is
        ("a", "", 0, (0.0, 0.0, 0.0)),
        ("a", "a", Unscored("judge failed"), None),
        (";", "a", 1, None),
    ],
)
def test_answer_set_scores_are_shares_of_the_candidates(gold: str, generated: str, count: Any, score: Any) -> None:
    found = score_by(AnswerForm.SET, gold=gold, generated=generated, count=count)
    assert found == score if score else isinstance(found, Unscored)
    assert score is None or (isinstance(found, AnswerSetScore) and found.correct == (score[1] == 1.0))


def test_recorded_judgements_are_recomputed_exactly(shared_data: Callable[[str], Path]) -> None:
    records = json.loads(shared_data("came/judged_answers.json").read_text(encoding="utf-8"))
    judge, same = ContainmentJudge(), 0
    for own in records:
        score = score_by(AnswerForm.SET, gold=own["gold"], generated=own["generated"], count=own["judge_count"])
        assert score == pytest.approx((own["precision"], own["recall"], own["f1"]), abs=1e-6)  # in single precision
        counted = judge.count(own["question"], gold=own["gold"], generated=own["generated"]).correct
        same += counted == own["judge_count"]
    assert same >= 9  # the others call "Palo Alto Networks (2024)" and "PaloAlto (2024)" the same


@given(st.lists(st.sampled_from("abcdef"), max_size=8), st.lists(st.sampled_from("abcdef"), max_size=8))
def test_contained_items_never_outnumber_either_side(gold: list[str], generated: list[str]) -> None:
    count = count_contained(tuple(gold), tuple(generated))
    assert 0 <= count <= min(len(gold), len(generated))
    if set(gold).isdisjoint(generated):
        assert count == 0


def test_containment_keeps_to_words_and_to_decimals_and_meets_an_item_once() -> None:
    held = {"It is priced at around $76.22, per person.": "76.22", "The rating is 3.4.": "3.4"}
    assert all(contains(text, item) for text, item in held.items())
    missing = {"priced at 7622": "76.22", "room 132.0": "32.0", "anything": ""}
    assert not any(contains(text, item) for text, item in missing.items())
    assert normalize("The  “Apollo” Hotel, Ünïcode.") == "apollo hotel ünïcode"
    assert normalize("ＡＢＣ") == "abc"
    assert count_contained(("apollo",), ("apollo", "apollo hotel")) == 1
    judge = ContainmentJudge()
    told = ("It was the Apollo Hotel.", "Hermes Inn")
    assert [judge.accept("q", gold="Apollo Hotel", generated=text).correct for text in told] == [1, 0]


def test_a_plan_is_scored_slot_by_slot_and_visit_by_visit() -> None:
    assert plan_parts("Stay at The Inn; visit Muse and Styx") == (
        PlanPart("stay", "inn"),
        PlanPart("visit", "muse"),
        PlanPart("visit", "styx"),
    )
    assert plan_parts("a walk") == (PlanPart("", "walk"),)
    answer, judge = "Stay at the Apollo Resort; Breakfast at Styx; Visit Muse Park and Oracle Hill", ContainmentJudge()
    assert judge.fill("q", gold=PLAN, generated=answer).correct == 3
    assert judge.fill("q", gold=PLAN, generated=PLAN).correct == 6
    assert score_by(AnswerForm.PLAN, gold=PLAN, generated=answer, count=3) == pytest.approx((3 / 4, 3 / 6, 0.6))
    assert score_by(AnswerForm.PLAN, gold=PLAN, generated=answer, count=3, given=3) == pytest.approx(
        (1.0, 3 / 6, 2 / 3)
    )
    assert score_by(AnswerForm.PLAN, gold=PLAN, generated=PLAN, count=9) == AnswerSetScore(1.0, 1.0, 1.0)
    assert score_by(AnswerForm.PLAN, gold=PLAN, generated="", count=0) == AnswerSetScore(0.0, 0.0, 0.0)
    assert isinstance(score_by(AnswerForm.PLAN, gold=" ; ", generated=PLAN, count=0), Unscored)


@pytest.mark.parametrize(
    ("answer", "gold", "value"), [("the red red hat", "red hat", 0.8), ("", "the", 1.0), ("", "hat", 0.0)]
)
def test_overlap_of_words(answer: str, gold: str, value: float) -> None:
    assert token_f1(answer, gold) == pytest.approx(value)


@pytest.mark.parametrize(
    ("found", "value"),
    [
        (recall_at(RANKING, ["a", "b"], k=2), 0.5),
        (recall_at(RANKING, ["a", "b"]), 1.0),
        (all_at(RANKING, ["a", "b"], k=2), 0.0),
        (all_at(RANKING, ["a", "b"], k=4), 1.0),
        (precision_of(["a", "x", "b", "y"], ["a", "b", "c"]), 0.5),
        (precision_of([], ["a"]), 0.0),
        (reciprocal_rank(RANKING, ["b", "a"]), 0.5),
        (reciprocal_rank(RANKING, ["z"]), 0.0),
        (ndcg_at(RANKING, ["a", "b"], k=10), (1 / math.log2(3) + 1 / math.log2(5)) / (1 + 1 / math.log2(3))),
        (ndcg_at(["a", "a"], ["a", "b"], k=2), 1 / (1 + 1 / math.log2(3))),
        *((score, None) for score in (recall_at(RANKING, [], k=1), all_at(RANKING, []), precision_of(RANKING, []),
                                      reciprocal_rank(RANKING, []), ndcg_at(RANKING, [], k=3))),
    ],
)  # fmt: skip
def test_evidence_in_a_ranking(found: Score, value: float | None) -> None:
    assert isinstance(found, Unscored) if value is None else found == pytest.approx(value)


def test_selected_labels_are_compared_with_the_gold_steps_and_averaged_under_the_names_of_the_paper() -> None:
    labels = {"t1": {"x"}, "t2": {"x", "y"}, "t3": set[str](), "t4": {"y", "z"}}
    assert diagnose_selection({"x", "y", "w"}, labels, gold=["t1", "t2", "t2"]) == SelectionDiagnostics(
        gt_at_max=1.0, gt_dominant=0.5, gt_coverage=0.5, gt_best_coverage=2 / 3, gt_full=0.0, zero=0.0
    )
    assert diagnose_selection({"z"}, labels, gold=["t4"]) == SelectionDiagnostics(1.0, 1.0, 1.0, 1.0, 1.0, 0.0)
    for selected in (set[str](), {"q"}):
        assert diagnose_selection(selected, labels, gold=["t1"]) == SelectionDiagnostics(0, 0, 0, 0, 0, 1.0)
    means = mean_diagnostics(diagnose_selection({"x", "y"}, labels, gold=gold) for gold in (["t1"], ["t2"], []))
    assert list(means) == ["Q_GT@MAX", "GT_DOM", "GT_COV", "GT_BEST_COV", "Q_GT_FULL", "Q_ZERO"]
    assert (means["Q_GT@MAX"].value, means["GT_COV"].value) == (0.5, 0.75)
    assert means["Q_ZERO"][1:] == (2, 1, {"no gold step": 1})


def test_a_paired_difference_has_its_interval_around_it_and_counts_what_both_sides_scored() -> None:
    a: list[Score] = [1.0, 1.0, 1.0, 0.0] * 25
    b: list[Score] = [0.0, 1.0, 0.0, 0.0] * 25
    found = compare_paired(a, b)
    assert isinstance(found, PairedDifference)
    assert 0.38 < found.low < found.difference == 0.5 < found.high < 0.62
    assert found.p == pytest.approx(1 / 2001)
    assert found == compare_paired(a, b)
    same = compare_paired(a, a)
    assert isinstance(same, PairedDifference)
    assert same[:4] == (0.0, 0.0, 0.0, 1.0)
    part = compare_paired([1.0, Unscored("x"), 0.0], [0.0, 1.0, Unscored("y")])
    assert isinstance(part, PairedDifference)
    assert part.pairs == 1
    assert isinstance(compare_paired([Unscored("x")], [1.0]), Unscored)
    with pytest.raises(ValueError, match="argument 2 is"):
        compare_paired([1.0], [])


def test_labels_against_gold_by_hand() -> None:
    cases: list[tuple[Any, Any]] = [
        # clusters {1,2,3} {4}; classes {1,2} {3,4}: precision (2/3+2/3+1/3+1)/4, recall (1+1+1/2+1/2)/4
        (c.bcubed("aaab", "xxyy"), (2 / 3, 3 / 4, 12 / 17)),
        (c.bcubed("aaaa", "xxyy"), (0.5, 1.0, 2 / 3)),
        (c.bcubed("abcd", "xxyy"), (1.0, 0.5, 2 / 3)),
        (c.macro_bcubed([("aa", "xx"), ("aaaa", "xxyy"), ("", "")]), (0.75, 1.0, 5 / 6)),
        # gold: two halves (1 bit); clusters: one half split in two; homogeneous, completeness 1/1.5
        (c.v_measure("aabc", "xxyy"), 0.8),
        (c.switch_f1([("aab", "xxy"), ("abb", "xxx")]), (0.5, 1.0, 2 / 3, 2 / 4, 1 / 4)),
        (c.switch_f1([("aa", "xx")]), (1.0, 1.0, 1.0, 0.0, 0.0)),
        (c.switch_f1([("aa", "xy")]), (0.0, 0.0, 0.0, 0.0, 1.0)),
        *((score, None) for score in (c.bcubed("", ""), c.macro_bcubed([("", "")]), c.v_measure("", ""),
                                      c.switch_f1([("a", "x"), ("", "")]))),
    ]  # fmt: skip
    for found, value in cases:
        assert isinstance(found, Unscored) if value is None else found == pytest.approx(value)


labelings = st.integers(1, 25).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 4), min_size=n, max_size=n) for _ in range(2)])
)


@given(labelings)
def test_agreement_ignores_names_and_rewards_identity(pair: Any) -> None:
    mine, gold = pair
    renamed = [9 - label for label in mine]
    assert c.bcubed(gold, gold) == pytest.approx(c.BCubed(1.0, 1.0, 1.0))
    assert c.bcubed(mine, gold) == pytest.approx(c.bcubed(renamed, gold))
    assert c.v_measure(mine, gold) == pytest.approx(c.v_measure(renamed, gold))
    assert c.v_measure(gold, gold) == pytest.approx(1.0)


def test_types_are_mapped_on_one_half_and_scored_on_the_other() -> None:
    halves = [({"cost"}, {"price"}), ({"cost"}, {"price", "fee"}), ({"cost", "day"}, {"fee"}), ({"none"}, set[str]())]
    assert c.majority_mapping(halves) == {"cost": "fee", "day": "fee"}  # 2 and 2 for cost: the first by name
    first = [(["cost"], ["price"]), (["when"], ["date"])]
    second: list[Any] = [(["cost", "when"], ["price"]), (["new"], ["date"]), ([], ["date"])]
    # hits 1 of 3 predicted (price, date, unknown new) and of 3 wanted
    assert c.entity_type_f1([first, second]) == pytest.approx(1 / 3)
    assert c.entity_type_f1([first, [([], ["price"])]]) == 0.0
    assert isinstance(c.entity_type_f1([first]), Unscored)
    assert isinstance(c.entity_type_f1([[(["a"], [])], first]), Unscored)
