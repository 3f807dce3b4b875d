"""Lessons for statements: what a model says of a window of steps has to be found by the questions that it answers.

The score is the share of the evidence that is found in few tokens, among all that is said in the same trajectory: what
other windows say stands beside it as it is said without a model.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stitch.bench.data.types import DataSet, Question
from stitch.core import StepState
from stitch.errors import ReplyError
from stitch.label.model.quoting import quote_window, shorten
from stitch.lm import CHARS_PER_TOKEN, LanguageModel
from stitch.pipelines.optimize.tasks import Cost, Lesson, Marks
from stitch.retrieve.themes import THEME_CONSTANTS
from stitch.retrieve.themes.wording import Wording, folded
from stitch.signatures.programs import StatementProgram
from stitch.text.words import count_tokens
from stitch.themes.asking import StatementModel, Window, windows

if TYPE_CHECKING:
    from stitch.core import Embedder
    from stitch.core.protocols import Vectors
    from stitch.journal import Entry
    from stitch.memory import Memory
    from stitch.themes.model_records import ReadWindow
    from stitch.themes.reading import Themes

BUDGET_TOKENS = 256
"""In so many tokens of statements evidence has to be."""
MOST_STEPS = 3
"""A statement that stands on more steps shows none of them: else one could stand on all."""

_MEASURE = f"recall in {BUDGET_TOKENS}"
_QUESTIONS_SHOWN = 4
_SAID_TOKENS = 30
"""What a reply says of a step, about."""


class Wanted(NamedTuple):
    """A question, and which steps of a window answer it."""

    question: str
    steps: frozenset[str]


class Line(NamedTuple):
    """A line of a context, and the steps that it shows."""

    text: str
    steps: frozenset[str]


class StatementTask:
    """Saying what steps assert as a task for optimizers, for a memory that is open as long as the task is used."""

    target = "statements"
    trained: tuple[str, ...] = ("extract_statements",)
    demos = 2

    def __init__(self, memory: Memory, *, embedder: Embedder) -> None:
        self._hierarchy: Themes = memory.hierarchy
        self._embedder = embedder
        self._said: dict[str, tuple[list[Line], Vectors]] = {}

    def program(self) -> Any:
        """The prompts over the hierarchy."""
        return StatementProgram()

    def run(self, program: Any, lesson: Lesson, *, model: LanguageModel) -> ReadWindow | None:
        """Statements of the model on a window; None if the reply cannot be used."""
        try:
            return StatementModel(model, program=program).read(lesson.given, earlier=())
        except ReplyError:
            return None

    def mark(self, lesson: Lesson, outcome: Any) -> Marks:
        """Ask the questions of what was said."""
        if outcome is None:
            return Marks(0.0, {_MEASURE: 0.0}, "The reply could not be used: it has to give statements.")
        reading: ReadWindow = outcome
        window: Window = lesson.given
        wanted: Sequence[Wanted] = lesson.gold
        lines, vectors = self._others(window)
        own = [Line(each.text, frozenset(each.steps if len(each.steps) <= MOST_STEPS else ())) for each in reading.said]
        texts = [*lines, *own]
        if own:
            vectors = np.concatenate([vectors, self._embedder.embed([each.text for each in own])])
        recalls: list[float] = []
        remarks: list[str] = []
        for each in wanted:
            found = self._found(each.question, texts, vectors) & each.steps
            recalls.append(len(found) / len(each.steps))
            remarks += self._missed(each, each.steps - found, window, reading)
        recall = sum(recalls) / len(recalls)
        return Marks(recall, {_MEASURE: recall}, " ".join(remarks[:_QUESTIONS_SHOWN]))

    def cost(self, lesson: Lesson) -> Cost:
        """One call, which shows the window."""
        steps = [each.step for each in lesson.given.entries]
        shown = len(quote_window(steps)) // CHARS_PER_TOKEN + _SAID_TOKENS * len(steps)
        return Cost(1, 700 + shown, shown)

    def _others(self, window: Window) -> tuple[list[Line], Vectors]:
        """Statements of the other steps of the trajectory, made without a model."""
        trajectory = window.entries[0].trajectory
        if trajectory not in self._said:
            steps = (step for episode in self._hierarchy.episodes(trajectory) for step in episode.steps)
            said = {each.id: each for step in steps for each in self._hierarchy.statements_of_step(trajectory, step)}
            lines = [Line(each.text, frozenset(each.steps)) for each in said.values()]
            self._said[trajectory] = lines, self._hierarchy.vectors_of(list(said))
        lines, vectors = self._said[trajectory]
        own = {entry.id for entry in window.entries}
        kept = [place for place, line in enumerate(lines) if own.isdisjoint(line.steps)]
        return [lines[place] for place in kept], vectors[kept]

    def _found(self, question: str, lines: Sequence[Line], vectors: Vectors) -> set[str]:
        """The steps of the lines that come first, in so many tokens."""
        texts = [folded(line.text) for line in lines]
        words = np.array(Wording(question, texts).each(texts))
        near = vectors @ self._embedder.embed([question])[0]
        share = THEME_CONSTANTS.lexical_share
        told = (1 - share) * near + share * words / (words + THEME_CONSTANTS.half_lexical)
        found, left = set[str](), BUDGET_TOKENS
        for place in np.argsort(-told, kind="stable").tolist():
            left -= count_tokens(lines[place].text)
            if left < 0:
                break
            found |= lines[place].steps
        return found

    def _missed(self, wanted: Wanted, missed: frozenset[str], window: Window, reading: ReadWindow) -> Iterator[str]:
        for number, entry in enumerate(window.entries, start=1):
            if entry.id in missed:
                said = [each.text for each in reading.said if entry.id in each.steps]
                told = f"was told as {shorten(said[0], limit=160)!r}" if said else "was not told"
                yield (
                    f"Step {number}, which helps to answer {shorten(wanted.question, limit=160)!r}, {told}: with that"
                    " the question does not find it."
                )


def statement_lessons(data: DataSet, memory: Memory) -> Iterator[Lesson]:
    """Yield a lesson for each window of steps in which there is evidence of a question."""
    hierarchy = memory.hierarchy
    asked: dict[str, list[Question]] = {}
    for question in data.questions:
        asked.setdefault(question.trajectory, []).append(question)
    for trajectory, questions in asked.items():
        entries = [entry for entry in memory.steps(trajectory) if entry.state is not StepState.RETIRED]
        for window in windows(entries, covered=lambda entry: False, asserts=partial(_asserts, hierarchy)):
            steps = frozenset(entry.id for entry in window.entries)
            wanted = tuple(Wanted(each.text, own) for each in questions if (own := steps.intersection(each.evidence)))
            if wanted:
                yield _lesson(window, wanted)


def _asserts(hierarchy: Themes, entry: Entry) -> bool:
    said = hierarchy.statements_of_step(entry.trajectory, entry.id)
    return any(each.steps[-1] == entry.id for each in said)


def _lesson(window: Window, wanted: Sequence[Wanted]) -> Lesson:
    contents = [f"{entry.step.role}\0{entry.step.content}" for entry in window.entries]
    asked = [f"{each.question}\0{sorted(each.steps)}" for each in wanted]
    places = {entry.id: number for number, entry in enumerate(window.entries, start=1)}
    told = []
    for each in wanted[:_QUESTIONS_SHOWN]:
        numbers = ", ".join(map(str, sorted(places[step] for step in each.steps)))
        told.append(f"{shorten(each.question, limit=160)} (steps {numbers})")
    return Lesson(
        key=hashlib.sha256("\0\0".join([*contents, *asked]).encode()).hexdigest(),
        group=window.entries[0].trajectory,
        given=window,
        gold=wanted,
        shown=shorten(" / ".join(entry.step.content for entry in window.entries), limit=400),
        wanted=f"statements by which these are answered: {'; '.join(told)}",
    )
