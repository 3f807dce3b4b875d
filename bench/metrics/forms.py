"""Of what form the gold answer of a question is, so that it goes to the judge of that form; and what needs no judge."""

from __future__ import annotations

import re
from enum import Enum

from stitch.bench.metrics.answer_set import AnswerSetScore, score_answer_set
from stitch.bench.metrics.candidates import candidates
from stitch.bench.metrics.containment import normalize
from stitch.bench.metrics.judging import Judge, Verdict
from stitch.bench.metrics.plans import is_plan, plan_parts, score_plan
from stitch.bench.metrics.scores import Unscored

_SINGLE_TYPES = frozenset(("type_1", "type_2"))
"""Revised states and facts; a question of the other types asks for several things, even where there is one."""
_AMOUNT = re.compile(r"\s*[$€£¥]?\s?\d[\d.,]*\s?[%$€£¥]?\s*")
_REFUSALS = frozenset(map(normalize, (
    "Question not answerable", "Not answerable", "Unanswerable", "I don't know", "I do not know", "Don't know",
    "Unknown",    "No answer", "None", "N/A", "Not mentioned", "Not specified", "The question is not answerable",
)))  # fmt: skip


class AnswerForm(str, Enum):
    """The form of a gold answer."""

    SINGLE = "single"
    """One thing, right or wrong (Listing 11)."""
    SET = "set"
    """Candidates that are counted (Listing 12)."""
    PLAN = "plan"
    """Slots, each filled as in the plan (the released code's judge of travel plans)."""


def form_of(type_: str, gold: str | None, *, came: bool) -> AnswerForm:
    """The form of a gold answer.

    Args:
        type_: Of the question.
        gold: The gold answer.
        came: Whether the question is of CAME-Bench; the other sets ask for one answer each.
    """
    if not came:
        return AnswerForm.SINGLE
    if is_plan(type_, gold):
        return AnswerForm.PLAN
    one = len(candidates(gold or "")) == 1 or _AMOUNT.fullmatch(gold or "") is not None
    return AnswerForm.SINGLE if type_ in _SINGLE_TYPES and one else AnswerForm.SET


def settled(form: AnswerForm, *, gold: str, generated: str) -> Verdict | None:
    """The verdict on an answer that needs no judge: empty, a refusal, or exactly the gold one; None if it needs one."""
    said = normalize(generated)
    wanted, given = sorted(map(normalize, candidates(gold))), sorted(map(normalize, candidates(generated)))
    if said == normalize(gold) or (form is AnswerForm.SET and wanted == given):
        return Verdict(_all_of(form, gold), "exactly the reference")
    if not said:
        return Verdict(0, "the answer is empty")
    if said in _REFUSALS and not declines(gold):
        return Verdict(0, "the answer declines")
    return None


def declines(gold: str) -> bool:
    """Whether a gold answer says that there is none; then a refusal in other words may be right."""
    return re.search(r"\b(?:not|no|never|cannot|unknown|unanswerable|n't|none)\b", gold.casefold()) is not None


def _all_of(form: AnswerForm, gold: str) -> int:
    if form is AnswerForm.PLAN:
        return len(plan_parts(gold))
    return len(candidates(gold)) if form is AnswerForm.SET else 1


def judge_by(form: AnswerForm, judge: Judge, question: str, *, gold: str, generated: str) -> Verdict:
    """What the judge of a form says of an answer."""
    told = {AnswerForm.SINGLE: judge.accept, AnswerForm.PLAN: judge.fill, AnswerForm.SET: judge.count}[form]
    return told(question, gold=gold, generated=generated)


def score_single(correct: int) -> AnswerSetScore:
    """A single answer is all of the set or nothing."""
    value = float(correct > 0)
    return AnswerSetScore(value, value, value)


def score_by(
    form: AnswerForm, *, gold: str, generated: str, count: int, given: int | None
) -> AnswerSetScore | Unscored:
    """The score of a judged answer, by its form."""
    if form is AnswerForm.SINGLE:
        return score_single(count)
    if form is AnswerForm.PLAN:
        return score_plan(gold, generated, count=count, given=given)
    return score_answer_set(gold, generated, count=count)
