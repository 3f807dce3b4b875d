"""Labelers of the benchmark: those that can be chosen by name, and those that stand in for parts of the default one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from stitch.bench.data.types import GoldLabels, Question, StepGold
from stitch.core import (
    ContextualIntent,
    EntityTypeSummary,
    IntentFilter,
    Labeler,
    LabelInventory,
    LabelSession,
    ScopeSummary,
    Step,
    StepLabels,
)

LABELERS = ("local", "model")


def labeler_named(name: str) -> Labeler:
    """The labeler of this name, or of files of written labels.

    Raises:
        SettingsError: It needs a model and settings name none.
        InputError: A file is not there, or not in the format.
    """
    from stitch.bench.written import written_labeler
    from stitch.parts import labeler_for

    if name not in LABELERS:
        return written_labeler(name)

    return labeler_for(labels=name)


Change = Callable[[StepLabels], StepLabels]


def with_targets(labels: StepLabels) -> StepLabels:
    """Labels with the values that the step mentions as targets, folded: the fourth kind of the authors' code."""
    intent = labels.intent
    changed = ContextualIntent(
        scope=intent.scope,
        event_types=intent.event_types,
        entity_types=intent.entity_types,
        targets=tuple(mention.value.casefold() for mention in labels.mentions),
    )
    return labels.model_copy(update={"intent": changed})


class ChangedLabeler:
    """Another labeler, each of whose results is changed.

    Args:
        labeler: Makes the labels.
        change: Changes them.
        name: Says what was changed.
    """

    def __init__(self, labeler: Labeler, change: Change, *, name: str) -> None:
        self._labeler, self._change = labeler, change
        self.name = f"{labeler.name}+{name}"

    def begin(self, trajectory: str, saved: bytes | None = None) -> LabelSession:
        """Start labeling a trajectory, or continue."""
        return _ChangedSession(self._labeler.begin(trajectory, saved), self._change)


class _ChangedSession:
    def __init__(self, session: LabelSession, change: Change) -> None:
        self._session, self._change = session, change

    def label(self, steps: Sequence[Step]) -> list[StepLabels]:
        return [self._change(labels) for labels in self._session.label(steps)]

    def replay(self, steps: Sequence[Step], labels: Sequence[StepLabels]) -> None:
        self._session.replay(steps, labels)

    def inventory(self) -> LabelInventory:
        return self._session.inventory()

    def save(self) -> bytes:
        return self._session.save()


class GoldLabeler:
    """Gives every step its gold labels: the ceiling of what labels can do. A step without gold gets none.

    Args:
        gold: Gold labels by trajectory and step.
    """

    name = "gold"

    def __init__(self, gold: Mapping[str, StepGold]) -> None:
        self._gold = gold

    def begin(self, trajectory: str, saved: bytes | None = None) -> LabelSession:
        """Start labeling a trajectory; there is nothing to continue from."""
        del saved
        return _GoldSession(trajectory, self._gold.get(trajectory, {}))


class _GoldSession:
    def __init__(self, trajectory: str, gold: StepGold) -> None:
        self._trajectory, self._gold = trajectory, gold
        self._intents: list[ContextualIntent] = []

    def label(self, steps: Sequence[Step]) -> list[StepLabels]:
        intents = [gold_intent(self._gold.get(str(step.id), GoldLabels())) for step in steps]
        self._intents += intents
        return [StepLabels(intent=intent, made_by="gold") for intent in intents]

    def replay(self, steps: Sequence[Step], labels: Sequence[StepLabels]) -> None:
        self._intents += [own.intent for own in labels]

    def inventory(self) -> LabelInventory:
        spans: dict[str, list[tuple[int, int]]] = {}
        events: dict[str, int] = {}
        entities: dict[str, int] = {}
        for place, intent in enumerate(self._intents):
            if intent.scope:
                spans.setdefault(intent.scope, []).append((place, place))
            for value in intent.event_types:
                events[value] = events.get(value, 0) + 1
            for value in intent.entity_types:
                entities[value] = entities.get(value, 0) + 1
        return LabelInventory(
            scopes=tuple(
                ScopeSummary(name=name, trajectory=self._trajectory, spans=tuple(own), steps=len(own))
                for name, own in spans.items()
            ),
            event_types=events,
            entity_types={name: EntityTypeSummary(steps=count) for name, count in entities.items()},
            steps=len(self._intents),
        )

    def save(self) -> bytes:
        return b"gold"


def gold_intent(gold: GoldLabels) -> ContextualIntent:
    """Gold labels as a step carries them; several gold scopes are one."""
    return ContextualIntent(
        scope=" + ".join(gold.scope) or None,
        event_types=gold.event_types,
        entity_types=gold.entity_types,
        targets=gold.targets,
    )


def gold_filter(question: Question, gold: StepGold) -> IntentFilter:
    """The labels a question asks for, by gold: its own where it has some, else all of its evidence steps."""
    own = [question.labels] if question.labels else [gold[step] for step in question.evidence if step in gold]
    intents = [gold_intent(labels) for labels in own]
    return IntentFilter(
        scopes=tuple(intent.scope for intent in intents if intent.scope),
        event_types=tuple(value for intent in intents for value in intent.event_types),
        entity_types=tuple(value for intent in intents for value in intent.entity_types),
        targets=tuple(value for intent in intents for value in intent.targets),
    )
