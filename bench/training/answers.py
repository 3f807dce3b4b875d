"""Lessons for the answerer: a question with the context that a memory finds for it, marked without a judge model.

Questions of CAME-Bench ask for sets: F1 of items, an item being met by containment. Others ask for one answer: 1 if the
gold answer stands in a short answer, else token F1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from stitch.bench.data.types import DataSet
from stitch.bench.metrics.answers import candidates, contains, count_contained
from stitch.bench.metrics.overlap import token_f1
from stitch.bench.metrics.scores import Unscored, harmonic
from stitch.bench.models import ModelAnswerer
from stitch.bench.training.asked import question_keys
from stitch.label.model.quoting import shorten
from stitch.lm import CHARS_PER_TOKEN, LanguageModel
from stitch.pipelines.optimize.tasks import Cost, Lesson, Marks
from stitch.signatures.programs import AnswerProgram

if TYPE_CHECKING:
    from stitch.memory import Memory

_TALKATIVE = 3
"""An answer that is so many times longer than the gold one, and more, does not count for holding it."""


class Posed(NamedTuple):
    """What a lesson gives: a question to a trajectory."""

    question: str
    trajectory: str
    asked_at: float | str | None
    domain: str


class AnswerTask:
    """Answering as a task for optimizers.

    Args:
        lessons: Made by `answer_lessons`.
        memory: Finds what a question is answered from; open as long as the task is used.
    """

    target = "answerer"
    demos = 2

    def __init__(self, lessons: Sequence[Lesson], *, memory: Memory) -> None:
        self._memory = memory
        self._contexts: dict[str, str] = {}
        domains = {lesson.given.domain for lesson in lessons}
        self.trained = tuple(
            name
            for name, used in (("answer_question", domains != {"debate"}), ("answer_debate", "debate" in domains))
            if used
        )

    def program(self) -> Any:
        """The prompts that answer."""
        return AnswerProgram()

    def run(self, program: Any, lesson: Lesson, *, model: LanguageModel) -> str | Unscored:
        """Answer a question."""
        posed: Posed = lesson.given
        answerer = ModelAnswerer(model, program=program)
        return answerer.answer(posed.question, context=self._context(lesson), domain=posed.domain)

    def mark(self, lesson: Lesson, outcome: Any) -> Marks:
        """Compare an answer with gold."""
        if isinstance(outcome, Unscored):
            return Marks(0.0, {"answer": 0.0}, "The reply could not be used: it has to give every field.")
        if lesson.given.domain:
            return _mark_items(candidates(lesson.gold), candidates(outcome))
        held = contains(outcome, lesson.gold) and len(outcome.split()) <= _TALKATIVE * len(lesson.gold.split())
        score = 1.0 if held else token_f1(outcome, lesson.gold)
        remark = "" if score == 1.0 else f"Right would have been {lesson.gold!r}; the answer was {outcome[:200]!r}."
        return Marks(score, {"answer": score}, remark)

    def cost(self, lesson: Lesson) -> Cost:
        """One call, which shows the context."""
        shown = len(self._context(lesson)) // CHARS_PER_TOKEN
        return Cost(1, 270 + shown, shown + 50)

    def _context(self, lesson: Lesson) -> str:
        if lesson.key not in self._contexts:
            posed: Posed = lesson.given
            found = self._memory.search(posed.question, trajectory=posed.trajectory, asked_at=posed.asked_at)
            self._contexts[lesson.key] = found.context()
        return self._contexts[lesson.key]


def answer_lessons(data: DataSet) -> Iterator[Lesson]:
    """Yield a lesson for each question that has a gold answer."""
    keys = question_keys(data)
    for question in data.questions:
        if question.answer is None or not question.answer.strip():
            continue
        yield Lesson(
            key=keys[question.id],
            group=question.trajectory,
            given=Posed(question.text, question.trajectory, question.asked_at, question.domain),
            gold=question.answer,
            shown=shorten(question.text, limit=400),
            wanted=shorten(question.answer, limit=400),
        )


def _mark_items(gold: tuple[str, ...], given: tuple[str, ...]) -> Marks:
    correct = count_contained(gold, given)
    score = harmonic(correct / len(given), correct / len(gold)) if given and gold else float(given == gold)
    remarks = []
    if missing := [item for item in gold if not count_contained((item,), given)]:
        remarks.append(f"Missing: {', '.join(missing[:6])}.")
    if odd := [item for item in given if not count_contained(gold, (item,))]:
        remarks.append(f"Not asked for, or wrong: {', '.join(odd[:6])}.")
    return Marks(score, {"answer": score}, " ".join(remarks))
