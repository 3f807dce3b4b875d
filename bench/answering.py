"""The seam for models: an answerer reads a context, a judge compares its answer with gold."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol

from stitch.bench.data.types import Question
from stitch.bench.metrics.judging import Judge
from stitch.bench.metrics.scores import Unscored
from stitch.bench.records import Answered

NO_MODEL = "no model answered: see --answers"


@dataclass(frozen=True)
class Answer:
    """What an answerer wrote, and what it took."""

    text: str | Unscored
    calls: int = 1
    tokens: int = 0
    cost_usd: float = 0.0


class Answerer(Protocol):
    """Answers a question from a context. One that fails says `Unscored`; it does not raise."""

    @property
    def name(self) -> str:
        """Who answers: stands beside every figure."""
        ...

    def answer(self, question: str, *, context: str, domain: str) -> Answer:
        """Answer from the context alone; "Question not answerable" if it does not hold the answer."""
        ...


def answer_and_judge(question: Question, context: str, *, answerer: Answerer, judge: Judge) -> Answered:
    """Answer one question and judge the answer; a failure on either side is kept as such."""
    started = time.perf_counter()
    answer = answerer.answer(question.text, context=context, domain=question.domain)
    used = {"model_calls": answer.calls, "model_tokens": answer.tokens, "cost_usd": answer.cost_usd}
    seconds = time.perf_counter() - started
    if isinstance(answer.text, Unscored):
        return Answered(answer=None, reason=answer.text.reason, seconds=seconds, **used)
    if question.answer is None:
        return Answered(answer=answer.text, reason="the question has no gold answer", seconds=seconds, **used)
    # CAME-Bench asks for sets and counts what is right; the other sets ask for one answer.
    judging = judge.count if question.domain else judge.accept
    verdict = judging(question.text, gold=question.answer, generated=answer.text)
    if isinstance(verdict.correct, Unscored):
        return Answered(answer=answer.text, reason=verdict.correct.reason, seconds=seconds, **used)
    return Answered(answer=answer.text, correct=verdict.correct, reason=verdict.reason, seconds=seconds, **used)
