"""Measures of answers, by hand-computed cases and the recorded judgements of CAME-Bench."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.bench.metrics.answers import (
    AnswerSetScore,
    ContainmentJudge,
    PlanPart,
    candidates,
    contains,
    count_contained,
    normalize,
    plan_parts,
    score_answer_set,
    score_plan,
)
from stitch.bench.metrics.overlap import bleu_1, rouge_l, token_f1
from stitch.bench.metrics.scores import Mean, Score, Unscored, harmonic, mean

PLAN = "Stay at Apollo Resort; Breakfast at Olympus; Lunch at The Lyre; Dinner at Styx; Visit Oracle Hill, Muse Park"


def test_a_mean_says_what_was_left_out_and_why() -> None:
    scores: list[Score] = [1.0, Unscored("judge failed"), 0.0, Unscored("judge failed"), Unscored("no gold")]
    assert mean(scores) == Mean(0.5, 2, 3, {"judge failed": 2, "no gold": 1})


def test_a_mean_of_nothing_is_none_and_not_zero() -> None:
    assert mean([Unscored("no answer")]).value is None
    assert mean([]).value is None


def test_harmonic_mean_of_two_zeros_is_zero() -> None:
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


def test_answer_set_scores_are_shares_of_the_candidates() -> None:
    assert score_answer_set("a; b; c", "a; x", count=1) == AnswerSetScore(0.5, 1 / 3, 0.4)


def test_a_judge_cannot_count_more_than_there_is() -> None:
    score = score_answer_set("a", "a; b", count=9)
    assert score == AnswerSetScore(0.5, 1.0, 2 / 3)
    assert isinstance(score, AnswerSetScore)
    assert score.correct


def test_an_empty_answer_scores_zero() -> None:
    assert score_answer_set("a", "", count=0) == AnswerSetScore(0.0, 0.0, 0.0)


def test_a_failed_judge_and_an_empty_gold_answer_are_unscored() -> None:
    assert score_answer_set("a", "a", count=Unscored("judge failed")) == Unscored("judge failed")
    assert isinstance(score_answer_set(";", "a", count=1), Unscored)


def test_recorded_judgements_are_recomputed_exactly(shared_data: Callable[[str], Path]) -> None:
    records = json.loads(shared_data("came/judged_answers.json").read_text(encoding="utf-8"))
    assert records
    for record in records:
        score = score_answer_set(record["gold"], record["generated"], count=record["judge_count"])
        recorded = (record["precision"], record["recall"], record["f1"])
        assert score == pytest.approx(recorded, abs=1e-6)  # recorded in single precision


def test_the_judge_without_a_model_mostly_agrees_with_the_recorded_one(shared_data: Callable[[str], Path]) -> None:
    records = json.loads(shared_data("came/judged_answers.json").read_text(encoding="utf-8"))
    judge = ContainmentJudge()
    same = [
        judge.count(r["question"], gold=r["gold"], generated=r["generated"]).correct == r["judge_count"]
        for r in records
    ]
    assert sum(same) >= 9  # the others call "Palo Alto Networks (2024)" and "PaloAlto (2024)" the same


@given(st.lists(st.sampled_from("abcdef"), max_size=8), st.lists(st.sampled_from("abcdef"), max_size=8))
def test_contained_items_never_outnumber_either_side(gold: list[str], generated: list[str]) -> None:
    count = count_contained(tuple(gold), tuple(generated))
    assert 0 <= count <= min(len(gold), len(generated))
    if set(gold).isdisjoint(generated):
        assert count == 0


def test_containment_keeps_to_words_and_to_decimals() -> None:
    assert contains("It is priced at around $76.22, per person.", "76.22")
    assert contains("The rating is 3.4.", "3.4")
    assert not contains("priced at 7622", "76.22")
    assert not contains("room 132.0", "32.0")
    assert not contains("anything", "")


def test_normalizing_folds_case_marks_articles_and_width() -> None:
    assert normalize("The  “Apollo” Hotel, Ünïcode.") == "apollo hotel ünïcode"
    assert normalize("ＡＢＣ") == "abc"


def test_a_gold_item_is_met_only_once() -> None:
    assert count_contained(("apollo",), ("apollo", "apollo hotel")) == 1


def test_the_judge_without_a_model_accepts_an_answer_that_holds_the_gold() -> None:
    judge = ContainmentJudge()
    assert judge.accept("q", gold="Apollo Hotel", generated="It was the Apollo Hotel.").correct == 1
    assert judge.accept("q", gold="Apollo Hotel", generated="Hermes Inn").correct == 0


def test_a_plan_has_a_part_for_each_slot_and_each_visit() -> None:
    assert plan_parts("Stay at The Inn; visit Muse and Styx") == (
        PlanPart("stay", "inn"),
        PlanPart("visit", "muse"),
        PlanPart("visit", "styx"),
    )
    assert plan_parts("a walk") == (PlanPart("", "walk"),)


def test_a_plan_is_scored_part_by_part() -> None:
    answer = "Stay at the Apollo Resort; Breakfast at Styx; Visit Muse Park and Oracle Hill"
    judge = ContainmentJudge()
    assert judge.fill("q", gold=PLAN, generated=answer).correct == 3
    assert judge.fill("q", gold=PLAN, generated=PLAN).correct == 6
    assert score_plan(PLAN, answer, count=3) == pytest.approx((3 / 4, 3 / 6, 0.6))
    assert score_plan(PLAN, answer, count=3, given=3) == pytest.approx((1.0, 3 / 6, 2 / 3))
    assert score_plan(PLAN, PLAN, count=9) == AnswerSetScore(1.0, 1.0, 1.0)
    assert score_plan(PLAN, "", count=0) == AnswerSetScore(0.0, 0.0, 0.0)


def test_a_plan_without_parts_cannot_be_scored_against() -> None:
    assert isinstance(score_plan(" ; ", PLAN, count=0), Unscored)


def test_bleu_1_is_clipped_unigram_precision_with_a_brevity_penalty() -> None:
    assert bleu_1("the cat the cat", "the cat sat down") == pytest.approx(0.5)
    assert bleu_1("the cat", "the cat sat down") == pytest.approx(2.718281828 ** (1 - 4 / 2))
    assert bleu_1("dog", "cat") == 0.0


def test_token_f1_shares_repeated_tokens() -> None:
    assert token_f1("the red red hat", "red hat") == pytest.approx(0.8)
    assert token_f1("", "the") == 1.0
    assert token_f1("", "hat") == 0.0


def test_rouge_l_follows_the_order_of_words() -> None:
    assert rouge_l("police killed the gunman", "police kill the gunman") == pytest.approx(0.75)
    assert rouge_l("b a", "a b") == pytest.approx(0.5)
    assert rouge_l("", "") == 1.0
    assert rouge_l("a", "") == 0.0


@given(st.text("ab c", max_size=12), st.text("ab c", max_size=12))
def test_overlap_measures_are_symmetric_and_bounded(one: str, other: str) -> None:
    for measure in (token_f1, rouge_l):
        assert 0.0 <= measure(one, other) <= 1.0
        assert measure(one, other) == pytest.approx(measure(other, one))
        assert measure(one, one) == 1.0
