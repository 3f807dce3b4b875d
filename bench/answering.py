"""The seam for models: an answerer reads a context, a judge compares its answer with gold."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

from stitch.bench.metrics.answer_set import AnswerSetScore, score_answer_set
from stitch.bench.metrics.judging import Judge, Verdict
from stitch.bench.metrics.plans import is_plan, score_plan
from stitch.bench.metrics.scores import Unscored
from stitch.bench.records import Answered, Record

NO_MODEL = "no model answered: see --answers"


@dataclass
class Spent:
    """What the calls of a model came to."""

    calls: int = 0
    tokens: int = 0
    cost_usd: float = 0.0


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


def spend(*, calls: int = 1, tokens: int = 0, cost_usd: float = 0.0) -> None:
    """Report a call to whoever meters this thread; without one, it is not counted."""
    spent = _spent.get()
    if spent is not None:
        spent.calls += calls
        spent.tokens += tokens
        spent.cost_usd += cost_usd


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

    The judge is chosen by the form of the answer: places in the slots of a plan, a set of items, or one answer. Of a
    wrong answer, the labels selected for the question are diagnosed, one kind after the other.
    """
    started = time.perf_counter()
    with metered() as spent:
        made = _answer_and_judge(record, answerer=answerer, judge=judge)
        seconds = time.perf_counter() - started
        failures: dict[str, tuple[str, ...]] = {}
        if diagnostician is not None and made.correct is not None and not _is_right(record, made):
            for kind, own in (record.labels or {}).items():
                found = diagnostician.diagnose(record.text, kind=kind, labels=own) if own else None
                if isinstance(found, tuple):
                    failures[kind] = found
    used = {"model_calls": spent.calls, "model_tokens": spent.tokens, "cost_usd": spent.cost_usd}
    return made.model_copy(update={**used, "seconds": seconds, "failures": failures})


def _answer_and_judge(record: Record, *, answerer: Answerer, judge: Judge) -> Answered:
    text = answerer.answer(record.text, context=record.context or "", domain=record.domain)
    if isinstance(text, Unscored):
        return Answered(answer=None, reason=text.reason)
    if record.gold_answer is None:
        return Answered(answer=text, reason="the question has no gold answer")
    verdict = _judge(record, judge)(record.text, gold=record.gold_answer, generated=text)
    if isinstance(verdict.correct, Unscored):
        return Answered(answer=text, reason=verdict.correct.reason)
    return Answered(answer=text, correct=verdict.correct, given=verdict.given, reason=verdict.reason)


class _Judging(Protocol):
    def __call__(self, question: str, *, gold: str, generated: str) -> Verdict: ...


def _judge(record: Record, judge: Judge) -> _Judging:
    if not record.domain:
        return judge.accept  # CAME-Bench asks for sets, the other sets for one answer
    return judge.fill if is_plan(record.type, record.gold_answer) else judge.count


def score_answered(record: Record, answered: Answered) -> AnswerSetScore | Unscored:
    """The score of a judged answer to a question of CAME-Bench."""
    gold = record.gold_answer or ""
    if answered.answer is None or answered.correct is None:
        return Unscored(answered.reason or "not judged")
    if is_plan(record.type, gold):
        return score_plan(gold, answered.answer, count=answered.correct, given=answered.given)
    return score_answer_set(gold, answered.answer, count=answered.correct)


def _is_right(record: Record, answered: Answered) -> bool:
    if not record.domain:
        return bool(answered.correct)
    score = score_answered(record, answered)
    return isinstance(score, Unscored) or score.correct
