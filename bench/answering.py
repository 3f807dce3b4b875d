"""The seam for models: an answerer reads a context, a judge compares its answer with gold."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from stitch.bench.metrics.answers import AnswerForm, AnswerSetScore, Judge, form_of, judge_by, score_by, settled
from stitch.bench.metrics.scores import Unscored
from stitch.bench.records import Answered, Record
from stitch.lm import Charge, Ledger, sum_up

AWAITED = "its reply is awaited from elsewhere"
NO_MODEL = "no model answered: see --answers"
NO_GOLD = "the question has no gold answer"

_metered: ContextVar[list[Charge] | None] = ContextVar("_metered", default=None)


class MeteredLedger(Ledger):
    """A ledger that also reports each call to whoever meters the thread."""

    def charge(self, charge: Charge) -> None:
        """Count a call."""
        super().charge(charge)
        self._meter(charge)

    def recall(self, charge: Charge) -> None:
        """Count what an earlier process of the same run has paid: it is of the run all the same."""
        super().recall(charge)
        self._meter(charge)

    def _meter(self, charge: Charge) -> None:
        if (charges := _metered.get()) is not None:
            charges.append(charge)


@contextmanager
def metered() -> Iterator[list[Charge]]:
    """The calls of this thread inside the context."""
    charges: list[Charge] = []
    token = _metered.set(charges)
    try:
        yield charges
    finally:
        _metered.reset(token)


class Answerer(Protocol):
    """Answers a question from a context. One that fails says `Unscored`; it does not raise. Safe for threads."""

    @property
    def name(self) -> str:
        """The name that stands beside every figure."""
        ...

    def answer(self, question: str, *, context: str, domain: str) -> str | Unscored:
        """Answer from the context alone; "Question not answerable" if it does not hold the answer."""
        ...


def answer_and_judge(record: Record, *, answerer: Answerer, judge: Judge) -> Answered:
    """Answer the question of a record from its context and judge the answer; a failure on either side is kept as such.

    The judge is chosen by the form of the answer (`form_of`); what is empty, declines, or is exactly the gold answer is
    judged without a call. Of a record that was answered before and not scored, what is there is kept, and the rest is
    asked for again.
    """
    before = record.answered or Answered(answer=None)
    started = time.perf_counter()
    with metered() as charges:
        made = _answered(record, before, answerer=answerer, judge=judge)
        seconds = time.perf_counter() - started
    spent = sum_up(charges)
    costs = (before.cost_usd, spent.cost_usd if charges else 0.0)
    return made.model_copy(
        update={
            "model_calls": before.model_calls + spent.calls,
            "model_tokens": before.model_tokens + spent.tokens,
            "cost_usd": None if None in costs else sum(cost for cost in costs if cost),
            "seconds": before.seconds + seconds,
            "tries": before.tries + 1,
        }
    )


def _answered(record: Record, before: Answered, *, answerer: Answerer, judge: Judge) -> Answered:
    said: str | Unscored | None = before.answer
    if said is None:
        said = answerer.answer(record.text, context=record.context or "", domain=record.domain)
    if isinstance(said, Unscored):
        return Answered(answer=None, reason=said.reason)
    if record.gold_answer is None:
        return Answered(answer=said, reason=NO_GOLD)
    form, gold = answer_form(record), record.gold_answer
    verdict = settled(form, gold=gold, generated=said) or judge_by(form, judge, record.text, gold=gold, generated=said)
    if isinstance(verdict.correct, Unscored):
        return Answered(answer=said, reason=verdict.correct.reason)
    return Answered(answer=said, correct=verdict.correct, given=verdict.given, reason=verdict.reason)


def answer_form(record: Record) -> AnswerForm:
    """The form of the gold answer of a record."""
    return form_of(record.type, record.gold_answer, came=bool(record.domain))


def is_unscored(record: Record) -> bool:
    """Whether a model was asked, and something is still to be asked for."""
    own = record.answered
    return own is not None and own.correct is None and (own.answer is None or record.gold_answer is not None)


def score_answered(record: Record, answered: Answered) -> AnswerSetScore | Unscored:
    """The score of a judged answer to a question of CAME-Bench."""
    if answered.answer is None or answered.correct is None:
        return Unscored(answered.reason or "not judged")
    gold, count = record.gold_answer or "", answered.correct
    return score_by(answer_form(record), gold=gold, generated=answered.answer, count=count, given=answered.given)
