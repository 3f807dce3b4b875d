"""Lessons for the labelers: a stretch of a trajectory, its past labeled with gold, marked by names that do not count.

A lesson hands the labeler a session that knows the past as gold has it, and lets it label the next steps. Scope: the
mean of B-cubed F1 and switch F1. Event types: B-cubed F1. Both are taken with the scopes and event types of the past as
clusters that can be joined, so that a return to a known one counts and a new name for it costs. Entity types: F1, a
name of the model's own being read as the gold type that it most often stands beside on the other half of the stretch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from stitch.bench.data.types import GoldLabels, StepGold
from stitch.bench.labelers import canonical_intent
from stitch.bench.metrics.clusters import bcubed, majority_mapping, switch_f1
from stitch.bench.metrics.scores import Unscored, harmonic
from stitch.core import ContextualIntent, Embedder, LabelKind, Step, StepLabels, Trajectory
from stitch.label.local import LocalLabeler
from stitch.label.model.matching import match_name
from stitch.label.model.quoting import shorten, shown_text
from stitch.label.model.session import ModelSession
from stitch.label.model.stepwise import StepwiseLabeler
from stitch.label.model.windowed import WindowedLabeler, WindowedSession
from stitch.lm import CHARS_PER_TOKEN, LanguageModel
from stitch.pipelines.optimize.tasks import Cost, Lesson, Marks
from stitch.signatures.programs import StepProgram, WindowProgram

STRETCH_STEPS = 12
"""How many steps a lesson asks to label. A whole window would make examples that few prompts can afford."""

_MOST_REMARKS = 8
_WINDOW_TOKENS = 500
"""What a window takes beside its steps."""
_READING_TOKENS = 50
"""What a step takes beside its text: its place in the prompt, and a reply."""
_EARLIER_SHOWN = 0.3
"""How many earlier steps a window shows for each of its own, about."""
_KINDS = {"scope": LabelKind.SCOPE, "event_types": LabelKind.EVENT_TYPE, "entity_types": LabelKind.ENTITY_TYPE}


class Stretch(NamedTuple):
    """The given part of a lesson: steps to label, and what came before with its labels."""

    trajectory: str
    past: tuple[Step, ...]
    known: tuple[StepLabels, ...]
    steps: tuple[Step, ...]


class Right(NamedTuple):
    """The known part of a lesson: gold of the steps, and labels of the past."""

    steps: tuple[GoldLabels, ...]
    """Empty where there is no gold."""
    scopes: tuple[str, ...] = ()
    """Of the past, the last one at the end."""
    events: tuple[tuple[str, ...], ...] = ()
    """Sets of event types of the past."""


class Made(NamedTuple):
    """Labels that were made of a step."""

    intent: ContextualIntent
    by_model: bool
    """Whether its reply could be used; else local labels stand in."""


class _Part(NamedTuple):
    score: float
    remarks: list[str]


class LabelTask:
    """Labeling as a task for optimizers; `embedder` is for the stepwise labeler, None trains the windowed one."""

    def __init__(self, lessons: Sequence[Lesson], *, embedder: Embedder | None = None) -> None:
        gold = [own for lesson in lessons for own in lesson.gold.steps]
        self.target = "windowed" if embedder is None else "stepwise"
        self.demos = 2 if embedder is None else 3
        cues = {
            "induce_scope": any(own.scope for own in gold),
            "select_events": any(own.event_types for own in gold),
            "summarize": any(own.entity_types for own in gold),
        }
        self.trained: tuple[str, ...] = ("label_window",)
        if embedder is not None:
            self.trained = tuple(name for name, known in cues.items() if known)
        self._embedder = embedder
        self._fallback = LocalLabeler()
        self._saved: dict[str, bytes] = {}

    def program(self) -> Any:
        """The prompts of the labeler."""
        return WindowProgram() if self._embedder is None else StepProgram()

    def labeler(self, model: LanguageModel, program: Any = None) -> WindowedLabeler | StepwiseLabeler:
        """The labeler with a program."""
        if self._embedder is None:
            return WindowedLabeler(model, fallback=self._fallback, window_steps=STRETCH_STEPS, program=program)
        return StepwiseLabeler(model, embedder=self._embedder, fallback=self._fallback, program=program)

    def run(self, program: Any, lesson: Lesson, *, model: LanguageModel) -> list[Made]:
        """Label the steps of a lesson."""
        labeler = self.labeler(model, program)
        session = self._session(labeler, lesson)
        made = session.label(lesson.given.steps)
        vocabulary = session.inventory().vocabulary()
        intents = (canonical_intent(each.intent, vocabulary=vocabulary) for each in made)
        return [Made(intent, each.made_by == labeler.name) for intent, each in zip(intents, made, strict=True)]

    def shown(self, lesson: Lesson, *, model: LanguageModel) -> dict[str, str]:
        """The fields of the prompt of the windowed labeler for the steps of a lesson, all of them in one window."""
        session = self._session(self.labeler(model), lesson)
        assert isinstance(session, WindowedSession)
        return session.shown(lesson.given.steps)

    def _session(self, labeler: WindowedLabeler | StepwiseLabeler, lesson: Lesson) -> ModelSession:
        """A session that knows the past of a lesson."""
        given = lesson.given
        if lesson.key not in self._saved:
            past = self.labeler(labeler.model).begin(given.trajectory)
            past.replay(given.past, given.known)
            self._saved[lesson.key] = past.save()
        return labeler.begin(given.trajectory, self._saved[lesson.key])

    def mark(self, lesson: Lesson, outcome: Any) -> Marks:
        """Compare labels with gold; steps whose replies could not be used count for nothing."""
        made: list[Made] = outcome
        right: Right = lesson.gold
        measures = {
            "scope_bcubed": _mark_scopes,
            "scope_switch": _mark_switches,
            "event_bcubed": _mark_events,
            "entity_f1": _mark_entities,
        }
        parts = {name: part for name, measure in measures.items() if (part := measure(made, right)) is not None}
        scopes = [part.score for name, part in parts.items() if name.startswith("scope")]
        others = [part.score for name, part in parts.items() if not name.startswith("scope")]
        each = [*([sum(scopes) / len(scopes)] if scopes else []), *others]
        usable = sum(own.by_model for own in made) / len(made)
        remarks = [remark for part in parts.values() for remark in part.remarks][:_MOST_REMARKS]
        if usable < 1:
            remarks.insert(0, f"The replies for {sum(not own.by_model for own in made)} of {len(made)} steps could not"
                              " be used: each step needs one reading, with its number.")  # fmt: skip
        score = usable * sum(each) / len(each) if each else 0.0
        return Marks(score, {**{name: part.score for name, part in parts.items()}, "usable": usable}, " ".join(remarks))

    def cost(self, lesson: Lesson) -> Cost:
        """Calls and tokens of labeling its steps."""
        steps = lesson.given.steps
        shown = sum(len(shown_text(step)) for step in steps) // CHARS_PER_TOKEN
        if self._embedder is None:
            told = round(shown * (1 + _EARLIER_SHOWN)) + _READING_TOKENS * len(steps)
            windows = WindowedLabeler(LanguageModel("none"), fallback=self._fallback, window_steps=STRETCH_STEPS)
            calls = len(list(windows.windows(steps)))
            return Cost(calls, calls * _WINDOW_TOKENS + told, told // calls)
        calls, tokens = 4 * len(steps), 4 * 600 * len(steps) + 10 * shown
        return Cost(calls, tokens, tokens // calls - 400)


def lessons_of(trajectory: Trajectory, gold: StepGold) -> Iterator[Lesson]:
    """Yield the lessons of a trajectory with gold, one for each stretch that has any."""
    own = [gold.get(str(step.id), GoldLabels()) for step in trajectory.steps]
    yield from _lessons(trajectory, own, tuple(_as_labels(own)))


def lessons_from_corrections(
    trajectory: Trajectory, labels: Sequence[StepLabels], *, corrected: Mapping[int, frozenset[LabelKind]]
) -> Iterator[Lesson]:
    """Yield the lessons of a trajectory of a memory, one for each stretch in which a person corrected something.

    `corrected` has, by position, which kinds of labels a person has put right: these are the gold.
    """
    own = [
        GoldLabels(**{name: each.intent.of(kind) for name, kind in _KINDS.items() if kind in corrected.get(place, ())})
        for place, each in enumerate(labels)
    ]
    yield from _lessons(trajectory, own, tuple(labels))


def _lessons(trajectory: Trajectory, gold: Sequence[GoldLabels], known: tuple[StepLabels, ...]) -> Iterator[Lesson]:
    scopes: dict[str, None] = {}
    events: dict[tuple[str, ...], None] = {}
    said = hashlib.sha256()
    for start in range(0, len(trajectory.steps), STRETCH_STEPS):
        steps = trajectory.steps[start : start + STRETCH_STEPS]
        own, labels = tuple(gold[start : start + len(steps)]), known[start : start + len(steps)]
        for step in steps:
            said.update(f"{step.role}\0{shown_text(step)}\0".encode())
        if any(own):
            yield Lesson(
                key=said.hexdigest(),
                group=trajectory.id,
                given=Stretch(trajectory.id, trajectory.steps[:start], known[:start], steps),
                gold=Right(own, tuple(scopes), tuple(events)),
                shown="\n".join(f"{step.role}: {shorten(shown_text(step), limit=160)}" for step in steps),
                wanted="; ".join(f"{n}: {_told(each)}" for n, each in enumerate(own, start=1) if each),
            )
        for each in labels:
            if each.intent.scope:
                scopes.pop(each.intent.scope, None)
                scopes[each.intent.scope] = None
            if each.intent.event_types:
                events[tuple(sorted(each.intent.event_types))] = None


def _as_labels(gold: Sequence[GoldLabels]) -> Iterator[StepLabels]:
    """Gold as labels; a step without a scope stays in the one before."""
    scope = next((_scope_name(own) for own in gold if own.scope), "")
    for own in gold:
        scope = _scope_name(own) or scope
        intent = ContextualIntent(scope=scope or None, event_types=own.event_types, entity_types=own.entity_types)
        yield StepLabels(intent=intent, made_by="gold")


def _scope_name(gold: GoldLabels) -> str:
    return ContextualIntent(scope=", ".join(gold.scope)).scope or ""


def _told(gold: GoldLabels) -> str:
    named = {"scope": gold.scope, "events": gold.event_types, "entities": gold.entity_types}
    return ", ".join(f"{name} {' + '.join(values)}" for name, values in named.items() if values)


def _scopes(made: Sequence[Made], right: Right) -> list[tuple[int, Hashable, Hashable]]:
    """Number, scope and gold of the steps with a gold scope."""
    pairs = enumerate(zip(made, right.steps, strict=True), start=1)
    return [(n, own.intent.scope, _scope_name(gold)) for n, (own, gold) in pairs if gold.scope]


def _mark_scopes(made: Sequence[Made], right: Right) -> _Part | None:
    """B-cubed F1, the scopes of the past being there to be joined."""
    return _mark_clusters(_scopes(made, right), list(right.scopes), what="belongs to")


def _mark_events(made: Sequence[Made], right: Right) -> _Part | None:
    pairs = enumerate(zip(made, right.steps, strict=True), start=1)
    items = [(n, tuple(sorted(own.intent.event_types)), tuple(sorted(gold.event_types)))
             for n, (own, gold) in pairs if gold.event_types]  # fmt: skip
    return _mark_clusters(items, list(right.events), what="does")


def _mark_clusters(
    items: Sequence[tuple[int, Hashable, Hashable]], known: Sequence[Hashable], *, what: str
) -> _Part | None:
    found, wanted = ([item[place] for item in items] for place in (1, 2))
    agreement = bcubed([*known, *found], [*known, *wanted], context=len(known))
    if isinstance(agreement, Unscored):
        return None
    remarks = []
    meanings: dict[Hashable, Hashable] = {name: name for name in known}
    names: dict[Hashable, Hashable] = {name: name for name in known}
    for n, own, gold in items:
        if meanings.setdefault(own, gold) != gold:
            remarks.append(f"Step {n} {what} {_say(gold)}; it was put with {_say(own)}, which is another.")
        elif names.setdefault(gold, own) != own:
            remarks.append(f"Step {n} {what} {_say(gold)} again; it was split off as {_say(own)}.")
    return _Part(agreement.f1, remarks)


def _mark_switches(made: Sequence[Made], right: Right) -> _Part | None:
    items = [*((0, last, last) for last in right.scopes[-1:]), *_scopes(made, right)]
    agreement = switch_f1([([own for _, own, _ in items], [gold for _, _, gold in items])])
    if isinstance(agreement, Unscored):
        return None
    remarks = []
    for (_, own_before, gold_before), (n, own, gold) in pairwise(items):
        if (own != own_before) != (gold != gold_before):
            remarks.append(f"Step {n} {'turns to' if gold != gold_before else 'stays with'} {_say(gold)}.")
    return _Part(agreement.f1, remarks)


def _mark_entities(made: Sequence[Made], right: Right) -> _Part | None:
    pairs = _read_alike([(own.intent.entity_types, gold.entity_types)
                         for own, gold in zip(made, right.steps, strict=True) if gold.entity_types])  # fmt: skip
    if not pairs:
        return None
    hits = sum(len(own & set(gold)) for own, gold in pairs)
    found, wanted = (sum(map(len, each)) for each in zip(*pairs, strict=True))
    missed = dict.fromkeys(name for own, gold in pairs for name in gold if name not in own)
    odd = dict.fromkeys(name for own, gold in pairs for name in sorted(own - set(gold)))
    told = {"Classes of details that were missed": missed, "Classes that do not matter there": odd}
    remarks = [f"{what}: {', '.join(list(each)[:6])}." for what, each in told.items() if each]
    return _Part(harmonic(hits / found, hits / wanted) if found else 0.0, remarks)


def _read_alike(steps: Sequence[tuple[Sequence[str], Sequence[str]]]) -> list[tuple[set[str], Sequence[str]]]:
    """Entity types by the names of gold: each half of the steps tells what a name of its own means on the other."""
    names = sorted({name for _, gold in steps for name in gold})
    readings = [majority_mapping(steps[1::2]), majority_mapping(steps[::2])]
    return [
        ({match_name(name, names) or readings[place % 2].get(name) or name for name in own}, gold)
        for place, (own, gold) in enumerate(steps)
    ]


def _say(name: Hashable) -> str:
    return " + ".join(map(repr, name)) if isinstance(name, tuple) else repr(name)
