"""The seam for models: an answerer reads a context, a judge compares its answer with gold."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

from stitch.bench.metrics.answers import AnswerForm, AnswerSetScore, Judge, form_of, judge_by, score_by, settled
from stitch.bench.metrics.scores import Unscored
from stitch.bench.records import Answered, Record
from stitch.lm.batch import AwaitedError

AWAITED = "its reply is awaited from elsewhere"
NO_MODEL = "no model answered: see --answers"
NO_GOLD = "the question has no gold answer"


@dataclass
class Spent:
    """What the calls of a model came to."""

    calls: int = 0
    tokens: int = 0
    cost_usd: float | None = 0.0
    """None if the price of any of the calls is not known."""


_spent: ContextVar[Spent | None] = ContextVar("_spent", default=None)


@contextmanager
def metered() -> Iterator[Spent]:
    """Count what is spent on this thread inside the context."""
    spent = Spent()
    token = _spent.set(spent)
    try:
        yield spent
    finally:
        _spent.reset(token)


def spend(*, calls: int = 1, tokens: int = 0, cost_usd: float | None = 0.0) -> None:
    """Report a call to whoever meters this thread; without one, it is not counted. None: its price is not known."""
    spent = _spent.get()
    if spent is not None:
        spent.calls += calls
        spent.tokens += tokens
        spent.cost_usd = add_costs(spent.cost_usd, cost_usd)


def add_costs(one: float | None, other: float | None) -> float | None:
    """The sum of two costs; None if one of them is not known."""
    return None if one is None or other is None else one + other


class Answerer(Protocol):
    """Answers a question from a context. One that fails says `Unscored`; it does not raise. Safe for threads."""

    @property
    def name(self) -> str:
        """Who answers: stands beside every figure."""
        ...

    def answer(self, question: str, *, context: str, domain: str) -> str | Unscored:
        """Answer from the context alone; "Question not answerable" if it does not hold the answer."""
        ...


class Diagnostician(Protocol):
    """Says what is wrong with the labels that were selected for a question (Appendix D.2). Safe for threads."""

    def diagnose(self, question: str, *, kind: str, labels: tuple[str, ...]) -> tuple[str, ...] | Unscored:
        """The failure modes of the labels of one kind, judged by the question alone; empty if they are licensed."""
        ...


def answer_and_judge(
    record: Record, *, answerer: Answerer, judge: Judge, diagnostician: Diagnostician | None = None
) -> Answered:
    """Answer the question of a record from its context and judge the answer; a failure on either side is kept as such.

    The judge is chosen by the form of the answer (`form_of`); what is empty, declines, or is exactly the gold answer is
    judged without a call. Of a wrong answer, the labels selected for the question are diagnosed, one kind after the
    other. Of a record that was answered before and not scored, what is there is kept, and the rest is asked for again.
    """
    before = record.answered or Answered(answer=None)
    started = time.perf_counter()
    with metered() as spent:
        made = _answer_and_judge(record, before, answerer=answerer, judge=judge)
        seconds = time.perf_counter() - started
        failures: dict[str, tuple[str, ...]] = {}
        if diagnostician is not None and made.correct is not None and not _is_right(record, made):
            failures = _diagnosed(record, diagnostician)
    return made.model_copy(
        update={
            "model_calls": before.model_calls + spent.calls,
            "model_tokens": before.model_tokens + spent.tokens,
            "cost_usd": add_costs(before.cost_usd, spent.cost_usd),
            "seconds": before.seconds + seconds,
            "failures": failures,
            "tries": before.tries + 1,
        }
    )


def _diagnosed(record: Record, diagnostician: Diagnostician) -> dict[str, tuple[str, ...]]:
    """What is wrong with the labels of a question, by kind; all kinds are asked about before a reply is awaited."""
    failures: dict[str, tuple[str, ...]] = {}
    awaited: AwaitedError | None = None
    for kind, own in (record.labels or {}).items():
        try:
            found = diagnostician.diagnose(record.text, kind=kind, labels=own) if own else None
        except AwaitedError as error:
            awaited = error
            continue
        if isinstance(found, tuple):
            failures[kind] = found
    if awaited is not None:
        raise awaited
    return failures


def _answer_and_judge(record: Record, before: Answered, *, answerer: Answerer, judge: Judge) -> Answered:
    text = before.answer
    if text is None:
        told = answerer.answer(record.text, context=record.context or "", domain=record.domain)
        if isinstance(told, Unscored):
            return Answered(answer=None, reason=told.reason)
        text = told
    if record.gold_answer is None:
        return Answered(answer=text, reason=NO_GOLD)
    form = answer_form(record)
    verdict = settled(form, gold=record.gold_answer, generated=text) or judge_by(
        form, judge, record.text, gold=record.gold_answer, generated=text
    )
    if isinstance(verdict.correct, Unscored):
        return Answered(answer=text, reason=verdict.correct.reason)
    return Answered(answer=text, correct=verdict.correct, given=verdict.given, reason=verdict.reason)


def answer_form(record: Record) -> AnswerForm:
    """Of what form the gold answer of a record is."""
    return form_of(record.type, record.gold_answer, came=bool(record.domain))


def is_unscored(record: Record) -> bool:
    """Whether a model was asked, and something is still to be asked for."""
    own = record.answered
    return own is not None and own.correct is None and (own.answer is None or record.gold_answer is not None)


def score_answered(record: Record, answered: Answered) -> AnswerSetScore | Unscored:
    """The score of a judged answer to a question of CAME-Bench."""
    if answered.answer is None or answered.correct is None:
        return Unscored(answered.reason or "not judged")
    gold = record.gold_answer or ""
    form = answer_form(record)
    return score_by(form, gold=gold, generated=answered.answer, count=answered.correct, given=answered.given)


def _is_right(record: Record, answered: Answered) -> bool:
    score = score_answered(record, answered)
    return isinstance(score, Unscored) or score.correct
