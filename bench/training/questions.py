"""Lessons from questions: for the answerer, and for the filter of a question.

An answer is made from the context that a memory finds, and marked without a judge model: questions of CAME-Bench ask
for sets (F1 of items, an item being met by containment), others for one answer (1 if the gold answer stands in a short
answer, else token F1). The labels that a filter chooses are searched by, and the score is the recall of evidence among
the first steps. The memory is real, labeled locally, in a temporary folder.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from stitch.bench.data.types import DataSet
from stitch.bench.memories import SharedMemory
from stitch.bench.metrics.answers import candidates, contains, count_contained, token_f1
from stitch.bench.metrics.evidence import recall_at
from stitch.bench.metrics.scores import Unscored, harmonic
from stitch.bench.models import ModelAnswerer
from stitch.core import ContextualIntent, IntentFilter, LabelKind, SearchRequest, Selection
from stitch.core.results import WITHOUT_MODEL
from stitch.label.model.quoting import shorten
from stitch.lm import CHARS_PER_TOKEN, LanguageModel
from stitch.pipelines.optimize.tasks import Cost, Lesson, Marks
from stitch.retrieve.model_filter import ModelFilterSelector
from stitch.signatures.programs import AnswerProgram, FilterProgram

if TYPE_CHECKING:
    from stitch.memory import Memory

RECALL_AT = 10
"""Among how many of the first steps evidence has to be."""

_MEASURE = f"recall@{RECALL_AT}"
_TOO_COMMON = 0.3
_TALKATIVE = 3
"""An answer that is so many times longer than the gold one, and more, does not count for holding it."""


class Posed(NamedTuple):
    """The given part of a lesson: a question to a trajectory."""

    question: str
    trajectory: str
    asked_at: float | str | None
    domain: str = ""


class Evidence(NamedTuple):
    """The known part of a lesson for the filter: the steps that answer it, and their labels."""

    steps: tuple[str, ...]
    intents: tuple[ContextualIntent, ...]


@contextmanager
def asked_memory(data: DataSet) -> Iterator[Memory]:
    """A memory that holds the trajectories of a data set."""

    def open_in(folder: Path) -> Memory:
        from stitch.factory import open_memory

        return open_memory(folder, labels="local", filter="local")

    shared = SharedMemory(open_in)
    try:
        shared.take_in(data.trajectories)
        yield shared.memory
    finally:
        shared.close()


def question_keys(data: DataSet) -> dict[str, str]:
    """Digests of the questions and their steps, by id: the same in two copies of a data set."""
    contents = {
        each.id: _digest("\0".join(f"{step.role}\0{step.content}" for step in each.steps)) for each in data.trajectories
    }
    return {each.id: _digest(f"{contents[each.trajectory]}\0{each.text}\0{each.asked_at}") for each in data.questions}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def answer_lessons(data: DataSet) -> Iterator[Lesson]:
    """Yield a lesson for each question that has a gold answer."""
    keys = question_keys(data)
    for each in data.questions:
        if each.answer and each.answer.strip():
            posed = Posed(each.text, each.trajectory, each.asked_at, each.domain)
            shown, wanted = (shorten(text, limit=400) for text in (each.text, each.answer))
            yield Lesson(keys[each.id], each.trajectory, posed, each.answer, shown, wanted)


class AnswerTask:
    """Answering as a task for optimizers, by what a memory finds, which is open as long as the task is used."""

    target = "answerer"
    demos = 2

    def __init__(self, lessons: Sequence[Lesson], *, memory: Memory) -> None:
        self._context = cache(partial(_context, memory))
        domains = {lesson.given.domain for lesson in lessons}
        used = {"answer_question": domains != {"debate"}, "answer_debate": "debate" in domains}
        self.trained = tuple(name for name, is_used in used.items() if is_used)

    def program(self) -> Any:
        """The prompts that answer."""
        return AnswerProgram()

    def run(self, program: Any, lesson: Lesson, *, model: LanguageModel) -> str | Unscored:
        """Answer a question."""
        answerer = ModelAnswerer(model, program=program)
        return answerer.answer(lesson.given.question, context=self._context(lesson.given), domain=lesson.given.domain)

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
        shown = len(self._context(lesson.given)) // CHARS_PER_TOKEN
        return Cost(1, 270 + shown, shown + 50)


def _context(memory: Memory, posed: Posed) -> str:
    return memory.search(posed.question, trajectory=posed.trajectory, asked_at=posed.asked_at).context()


def _mark_items(gold: tuple[str, ...], given: tuple[str, ...]) -> Marks:
    correct = count_contained(gold, given)
    score = harmonic(correct / len(given), correct / len(gold)) if given and gold else float(given == gold)
    remarks = []
    if missing := [item for item in gold if not count_contained((item,), given)]:
        remarks.append(f"Missing: {', '.join(missing[:6])}.")
    if odd := [item for item in given if not count_contained(gold, (item,))]:
        remarks.append(f"Not asked for, or wrong: {', '.join(odd[:6])}.")
    return Marks(score, {"answer": score}, " ".join(remarks))


def filter_lessons(data: DataSet, memory: Memory) -> Iterator[Lesson]:
    """Yield a lesson for each question that names its evidence."""
    keys = question_keys(data)
    intents: dict[str, dict[str, ContextualIntent]] = {}
    for each in data.questions:
        if not each.evidence:
            continue
        if each.trajectory not in intents:
            entries = memory.steps(each.trajectory)
            intents[each.trajectory] = {entry.id: entry.labels.intent for entry in entries if entry.labels}
        own = tuple(intents[each.trajectory].get(step, ContextualIntent()) for step in each.evidence)
        posed = Posed(each.text, each.trajectory, each.asked_at)
        told = [", ".join(f"{kind.value} {value}" for kind in LabelKind for value in made.of(kind)) for made in own[:4]]
        shown = shorten(each.text, limit=400)
        yield Lesson(keys[each.id], each.trajectory, posed, Evidence(each.evidence, own), shown, "; ".join(told))


class FilterTask:
    """Choosing labels as a task for optimizers, for a memory that is open as long as the task is used."""

    target = "filter"
    trained: tuple[str, ...] = ("select_filter",)
    demos = 3

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._inventory = cache(memory.inventory)

    def program(self) -> Any:
        """The prompt that chooses labels."""
        return FilterProgram()

    def run(self, program: Any, lesson: Lesson, *, model: LanguageModel) -> Selection:
        """Choose the labels of a question."""
        asked: Posed = lesson.given
        selector = ModelFilterSelector(model, program=program)
        request = SearchRequest(
            tenant=self._memory.tenant, query=asked.question, trajectory=asked.trajectory, asked_at=asked.asked_at
        )
        return selector.select(request, self._inventory(asked.trajectory))

    def mark(self, lesson: Lesson, outcome: Any) -> Marks:
        """Search by the labels that were chosen."""
        chosen: Selection = outcome
        asked: Posed = lesson.given
        if any(reason.startswith(WITHOUT_MODEL) for reason in chosen.reasons):  # nothing is learned from local labels
            return Marks(0.0, {_MEASURE: 0.0}, "The reply could not be used: it has to give all lists.")
        found = self._memory.search(
            asked.question, trajectory=asked.trajectory, asked_at=asked.asked_at, k=RECALL_AT,
            intent_filter=chosen.intent_filter, min_relevance=0.0,
        )  # fmt: skip
        recall = recall_at([hit.snippet.step for hit in found.hits], lesson.gold.steps)
        assert not isinstance(recall, Unscored)
        return Marks(recall, {_MEASURE: recall}, self._feedback(lesson, chosen.intent_filter, recall))

    def cost(self, lesson: Lesson) -> Cost:
        """One call, which shows the label space."""
        inventory = self._inventory(lesson.given.trajectory)
        shown = sum(len(scope.name) + 60 for scope in inventory.scopes[:80])
        tokens = (shown + 20 * (len(inventory.event_types) + len(inventory.entity_types))) // CHARS_PER_TOKEN
        return Cost(1, 390 + tokens, tokens + 50)

    def _feedback(self, lesson: Lesson, chosen: IntentFilter, recall: float) -> str:
        """Remarks on a choice: its recall, labels of the evidence, and chosen ones that much of the log carries."""
        if recall == 1.0:
            return ""
        inventory, labels = self._inventory(lesson.given.trajectory), chosen.labels()
        carried = {label for intent in lesson.gold.intents for label in intent.labels()}
        most, counts = _TOO_COMMON * inventory.steps, inventory.event_types
        told = {
            "No evidence carries what was chosen": sorted(label.value for label in labels - carried)[:5],
            "Evidence carries, and was not chosen": sorted(label.value for label in carried - labels)[:8],
            "Carried by much of the log, so that it tells little": [
                name for name in chosen.event_types if counts.get(name, 0) > most
            ],
        }
        remarks = [f"{what}: {', '.join(values)}." for what, values in told.items() if values]
        return " ".join([f"{recall:.0%} of the evidence came first.", *remarks])
