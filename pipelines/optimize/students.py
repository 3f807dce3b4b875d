"""A program as DSPy's optimizers see it: a module whose predictors they change, and a metric with feedback.

How it did on what was held back is judged here, too, and whether that tells it from the one it replaces.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from itertools import product
from statistics import fmean
from typing import Any, NamedTuple

import dspy

from stitch.label.model.compiled import Scores
from stitch.lm import CHARS_PER_TOKEN
from stitch.lm.adapter import compact
from stitch.pipelines.optimize.tasks import Lesson, Marks, Task

COST_OF_1000_TOKENS = 0.01
"""What a prompt that is longer by a thousand tokens costs, in points of score: it is paid for with every call."""

CHANCE = 0.05
"""A difference that chance makes more often than this tells nothing."""
_MOST_EXACT = 14
_DRAWN = 20_000

Run = Callable[[Any, Lesson], Any]
"""Runs a full program on a lesson."""


class Student(dspy.Module):
    """The predictors of a program that are trained, under their own names; the others are as they stand in the code."""

    def __init__(self, task: Task, run: Run) -> None:
        super().__init__()
        plain = dict(task.program().named_predictors())
        for name in task.trained:
            setattr(self, name, plain[name])
        self._names = task.trained
        # A bound method would be copied with its task, which may hold a memory.
        self._make: Callable[[], Any] = lambda: task.program()
        self._execute = run

    def program(self) -> Any:
        """The whole program, with the predictors of this student."""
        program = self._make()
        for name in self._names:
            setattr(program, name, getattr(self, name))
        return program

    def forward(self, lesson: Lesson) -> Any:
        """Run a lesson."""
        program = self.program()
        return dspy.Prediction(outcome=self._execute(program, lesson), prompt_tokens=prompt_tokens(program))


def prompt_tokens(program: Any) -> int:
    """Length of the instructions and examples of all predictors together, in tokens, about."""
    chars = 0
    for _, predictor in program.named_predictors():
        chars += len(predictor.signature.instructions)
        chars += sum(len(compact(value)) for demo in predictor.demos for value in dict(demo).values())
    return chars // CHARS_PER_TOKEN


def as_example(lesson: Lesson) -> Any:
    """A lesson as DSPy's optimizers take it."""
    return dspy.Example(lesson=lesson, wanted=lesson.wanted).with_inputs("lesson")


class Metric:
    """Marks runs of lessons, less what a longer prompt costs.

    Args:
        task: Whose lessons they are.
        plain_tokens: How long the prompts are as they stand in the code.
    """

    def __init__(self, task: Task, *, plain_tokens: int) -> None:
        self._task = task
        self._plain_tokens = plain_tokens

    def marks(self, lesson: Lesson, prediction: Any) -> Marks:
        """The marks of one run."""
        marks = self._task.mark(lesson, prediction.outcome)
        longer, feedback = prediction.prompt_tokens - self._plain_tokens, marks.feedback
        if longer > 250:
            feedback += f" The prompt is {longer} tokens longer than it was, which each call pays for: say it shorter."
        score = max(0.0, marks.score - self.cost_of(prediction.prompt_tokens))
        return Marks(score, marks.parts, feedback.strip() or "All right.")

    def cost_of(self, prompt_tokens: int) -> float:
        """Points that a prompt of so many tokens takes from each score."""
        return max(0, prompt_tokens - self._plain_tokens) / 1000 * COST_OF_1000_TOKENS

    def score(self, example: Any, prediction: Any, trace: Any = None) -> float:
        """The score alone, as few-shot optimizers take it."""
        return self.marks(example.lesson, prediction).score

    def feedback(
        self, example: Any, prediction: Any, trace: Any = None, pred_name: Any = None, pred_trace: Any = None
    ) -> Any:
        """Score and feedback, as optimizers take them that reflect."""
        if prediction is None:
            return dspy.Prediction(score=0.0, feedback="It could not be run.")
        marks = self.marks(example.lesson, prediction)
        return dspy.Prediction(score=marks.score, feedback=marks.feedback)


class Judged(NamedTuple):
    """Marks of a student."""

    scores: Scores
    each: list[float]
    """The score of each lesson, in their order."""


def judge(student: Student, lessons: Sequence[Lesson], *, metric: Metric, threads: int) -> Judged:
    """The mean marks of a student on lessons, and each of them. Whatever goes wrong is raised."""

    def one(lesson: Lesson) -> Marks:
        return metric.marks(lesson, student(lesson=lesson))

    pool = ThreadPoolExecutor(threads)
    try:
        # DSPy's settings are in the context, which a plain pool would not hand on.
        all_marks = [each.result() for each in [pool.submit(copy_context().run, one, lesson) for lesson in lessons]]
    finally:
        pool.shutdown(cancel_futures=True)
    names = dict.fromkeys(name for marks in all_marks for name in marks.parts)
    parts = {name: round(fmean(own.parts[name] for own in all_marks if name in own.parts), 6) for name in names}
    each = [marks.score for marks in all_marks]
    score = round(fmean(each), 6)
    return Judged(Scores(score=score, parts=parts, prompt_tokens=prompt_tokens(student.program())), each)


class Decision(NamedTuple):
    """Significance of a difference between paired scores."""

    p: float
    """How often chance alone makes a difference of the mean as large, either way; exact for up to 14 that differ."""
    least_p: float
    """The smallest that so many differing examples could give."""

    @property
    def too_few(self) -> bool:
        """Whether no outcome of so few examples could tell the two apart."""
        return self.least_p > CHANCE

    @property
    def told(self) -> bool:
        """Whether the two can be told apart."""
        return self.p <= CHANCE


def decide(before: Sequence[float], after: Sequence[float]) -> Decision:
    """Compare paired scores: chance draws the signs of their differences, all ways of it where that is possible."""
    differences = [b - a for a, b in zip(before, after, strict=True) if a != b]
    if not differences:
        return Decision(1.0, 2.0 ** (1 - len(before)) if before else 1.0)
    seen = abs(sum(differences)) - 1e-12
    if len(differences) <= _MOST_EXACT:
        signs = product((1, -1), repeat=len(differences))
        hits = [abs(sum(s * d for s, d in zip(own, differences, strict=True))) >= seen for own in signs]
        return Decision(sum(hits) / len(hits), 2.0 ** (1 - len(before)))
    draw = random.Random(0)
    hits = [abs(sum(d if draw.random() < 0.5 else -d for d in differences)) >= seen for _ in range(_DRAWN)]
    return Decision((sum(hits) + 1) / (_DRAWN + 1), 2.0 ** (1 - len(before)))
