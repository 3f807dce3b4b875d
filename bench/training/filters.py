"""Lessons for the filter of a question: the labels that it chooses are searched by, and evidence has to come first.

The score is the recall of evidence among the first steps; the memory is labeled locally.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from stitch.bench.data.types import DataSet
from stitch.bench.metrics.evidence import recall_at
from stitch.bench.metrics.scores import Unscored
from stitch.bench.training.asked import question_keys
from stitch.core import ContextualIntent, IntentFilter, LabelInventory, LabelKind, SearchRequest, Selection
from stitch.label.model.quoting import shorten
from stitch.lm import CHARS_PER_TOKEN, LanguageModel
from stitch.pipelines.optimize.tasks import Cost, Lesson, Marks
from stitch.retrieve.question.model_filter import ModelFilterSelector
from stitch.signatures.programs import FilterProgram

if TYPE_CHECKING:
    from stitch.memory import Memory

RECALL_AT = 10
"""Among how many of the first steps evidence has to be."""

_UNUSABLE = "no usable reply"
_TOO_COMMON = 0.3


class Asked(NamedTuple):
    """What a lesson gives: a question to a trajectory."""

    question: str
    trajectory: str
    asked_at: float | str | None


class Evidence(NamedTuple):
    """What a lesson knows: the steps that answer it, and their labels."""

    steps: tuple[str, ...]
    intents: tuple[ContextualIntent, ...]


class FilterTask:
    """Choosing labels as a task for optimizers.

    Args:
        memory: What is asked; open as long as the task is used.
    """

    target = "filter"
    trained: tuple[str, ...] = ("select_filter",)
    demos = 3

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._inventories: dict[str, LabelInventory] = {}

    def program(self) -> Any:
        """The prompt that chooses labels."""
        return FilterProgram()

    def run(self, program: Any, lesson: Lesson, *, model: LanguageModel) -> Selection:
        """Choose the labels of a question."""
        asked: Asked = lesson.given
        selector = ModelFilterSelector(model, fallback=_NoFilter(), program=program)
        request = SearchRequest(
            tenant=self._memory.tenant, query=asked.question, trajectory=asked.trajectory, asked_at=asked.asked_at
        )
        return selector.select(request, self._inventory(asked.trajectory))

    def mark(self, lesson: Lesson, outcome: Any) -> Marks:
        """Search by the labels that were chosen."""
        chosen: Selection = outcome
        asked: Asked = lesson.given
        gold: Evidence = lesson.gold
        if _UNUSABLE in chosen.reasons:
            return Marks(0.0, {f"recall@{RECALL_AT}": 0.0}, "The reply could not be used: it has to give all lists.")
        found = self._memory.search(
            asked.question,
            trajectory=asked.trajectory,
            asked_at=asked.asked_at,
            k=RECALL_AT,
            intent_filter=chosen.intent_filter,
        )
        recall = recall_at([hit.snippet.step for hit in found.hits], gold.steps)
        assert not isinstance(recall, Unscored)
        return Marks(recall, {f"recall@{RECALL_AT}": recall}, self._feedback(lesson, chosen.intent_filter, recall))

    def cost(self, lesson: Lesson) -> Cost:
        """One call, which shows the label space."""
        inventory = self._inventory(lesson.given.trajectory)
        shown = sum(len(scope.name) + 60 for scope in inventory.scopes[:80])
        tokens = (shown + 20 * (len(inventory.event_types) + len(inventory.entity_types))) // CHARS_PER_TOKEN
        return Cost(1, 390 + tokens, tokens + 50)

    def _inventory(self, trajectory: str) -> LabelInventory:
        if trajectory not in self._inventories:
            self._inventories[trajectory] = self._memory.inventory(trajectory)
        return self._inventories[trajectory]

    def _feedback(self, lesson: Lesson, chosen: IntentFilter, recall: float) -> str:
        """What the choice brought, which labels the evidence carries, and which chosen ones much of the log carries."""
        if recall == 1.0:
            return ""
        gold, inventory = lesson.gold, self._inventory(lesson.given.trajectory)
        carried = {label for intent in gold.intents for label in intent.labels()}
        labels = chosen.labels()
        remarks = [f"{recall:.0%} of the evidence came first."]
        if wrong := sorted(label.value for label in labels - carried):
            remarks.append(f"No evidence carries what was chosen: {', '.join(wrong[:5])}.")
        if left := sorted(label.value for label in carried - labels):
            remarks.append(f"Evidence carries, and was not chosen: {', '.join(left[:8])}.")
        common = [
            name for name in chosen.event_types if inventory.event_types.get(name, 0) > _TOO_COMMON * inventory.steps
        ]
        if common:
            remarks.append(f"Carried by much of the log, so that it tells little: {', '.join(common)}.")
        return " ".join(remarks)


class _NoFilter:
    """Stands in where the model could not choose, and says so: a training run must not learn from local labels."""

    def select(self, request: SearchRequest, inventory: LabelInventory) -> Selection:
        return Selection(IntentFilter(), (_UNUSABLE,))


def filter_lessons(data: DataSet, memory: Memory) -> Iterator[Lesson]:
    """Yield a lesson for each question that names its evidence."""
    keys = question_keys(data)
    intents: dict[str, dict[str, ContextualIntent]] = {}
    for question in data.questions:
        if not question.evidence:
            continue
        if question.trajectory not in intents:
            entries = memory.steps(question.trajectory)
            intents[question.trajectory] = {each.id: each.labels.intent for each in entries if each.labels}
        own = tuple(intents[question.trajectory].get(step, ContextualIntent()) for step in question.evidence)
        yield Lesson(
            key=keys[question.id],
            group=question.trajectory,
            given=Asked(question.text, question.trajectory, question.asked_at),
            gold=Evidence(question.evidence, own),
            shown=shorten(question.text, limit=400),
            wanted="; ".join(_told(intent) for intent in own[:4]),
        )


def _told(intent: ContextualIntent) -> str:
    return ", ".join(f"{kind.value} {value}" for kind in LabelKind for value in intent.of(kind))
