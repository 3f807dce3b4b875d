"""Labelers for tests: they say what they are told, and fail when they are told."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeAlias

from stitch.core import (
    ContextualIntent,
    EntityTypeSummary,
    LabelInventory,
    LabelMerge,
    ReferenceRewrite,
    ScopeSummary,
    Step,
    StepLabels,
    clean_label,
)

Script: TypeAlias = Callable[[Step, Sequence[Step]], StepLabels]
"""Gives the labels of a step from it and those before it."""


def label_from_the_past(step: Step, past: Sequence[Step]) -> StepLabels:
    """Labels that change if a step is forgotten, taken twice, or taken out of order.

    The scope counts the steps before, the event type is the first word, an "It" at the beginning refers to the first
    word of the step before.
    """
    first = clean_label((step.content.split() or ["call"])[0].lower()) or "say"
    before = past[-1] if past else None
    references: tuple[ReferenceRewrite, ...] = ()
    if before and step.content.startswith("It "):
        replacement = (before.content.split() or ["that"])[0]
        references = (ReferenceRewrite(start=0, end=2, replacement=replacement, antecedent=before.id),)
    return StepLabels(
        intent=ContextualIntent(
            scope=f"scope {len(past) // 3}",
            event_types=(first,),
            entity_types=("number",) if any(map(str.isdigit, step.content)) else (),
        ),
        made_by="scripted",
        references=references,
        summary=f"step {len(past)}",
        context=before.content[:80] if before else "",
    )


class ScriptedLabeler:
    """A labeler that follows a script.

    Args:
        script: Gives the labels.
        name: Its name.
        merges: Merges that its inventories show once their `position` is reached.
    """

    def __init__(
        self, script: Script = label_from_the_past, *, name: str = "scripted", merges: Sequence[LabelMerge] = ()
    ) -> None:
        self.script = script
        self.merges = tuple(merges)
        self.calls: list[tuple[str, tuple[str, ...]]] = []
        """Trajectory and step ids of every call of `label`, failed ones included."""
        self.replayed: list[tuple[str, tuple[str, ...]]] = []
        """The same of every call of `replay`."""
        self._name = name
        self._failures: list[BaseException] = []

    @property
    def name(self) -> str:
        return self._name

    def fail_next(self, *errors: BaseException) -> None:
        self._failures.extend(errors)

    def begin(self, trajectory: str, saved: bytes | None = None) -> ScriptedSession:
        return ScriptedSession(self, trajectory, saved)

    def _called(self, trajectory: str, steps: Sequence[Step]) -> None:
        self.calls.append((trajectory, tuple(step.id or "" for step in steps)))
        if self._failures:
            raise self._failures.pop(0)


class ScriptedSession:
    """The labeling of one trajectory by a `ScriptedLabeler`."""

    def __init__(self, labeler: ScriptedLabeler, trajectory: str, saved: bytes | None) -> None:
        self._labeler = labeler
        self._trajectory = trajectory
        past = json.loads(saved) if saved is not None else []
        self._steps = [Step.model_validate(step) for step, _ in past]
        self._labels = [StepLabels.model_validate(labels) for _, labels in past]

    def label(self, steps: Sequence[Step]) -> list[StepLabels]:
        self._labeler._called(self._trajectory, steps)
        past, labels = list(self._steps), []
        for step in steps:
            labels.append(self._labeler.script(step, past))
            past.append(step)
        self._steps = past
        self._labels.extend(labels)
        return labels

    def replay(self, steps: Sequence[Step], labels: Sequence[StepLabels]) -> None:
        self._labeler.replayed.append((self._trajectory, tuple(step.id or "" for step in steps)))
        self._steps.extend(steps)
        self._labels.extend(labels)

    def inventory(self) -> LabelInventory:
        intents = [labels.intent for labels in self._labels]
        return LabelInventory(
            scopes=tuple(
                ScopeSummary(
                    name=name, trajectory=self._trajectory, spans=tuple(spans), steps=sum(b - a + 1 for a, b in spans)
                )
                for name, spans in self._spans().items()
                if name
            ),
            event_types=dict(Counter(value for intent in intents for value in intent.event_types)),
            entity_types={
                name: EntityTypeSummary(steps=steps)
                for name, steps in Counter(value for intent in intents for value in intent.entity_types).items()
            },
            merges=tuple(merge for merge in self._labeler.merges if merge.position < len(self._steps)),
            steps=len(self._steps),
        )

    def _spans(self) -> dict[str, list[tuple[int, int]]]:
        spans: dict[str, list[tuple[int, int]]] = {}
        for position, labels in enumerate(self._labels):
            stretches = spans.setdefault(labels.intent.scope or "", [])
            if stretches and stretches[-1][1] == position - 1:
                stretches[-1] = (stretches[-1][0], position)
            else:
                stretches.append((position, position))
        return spans

    def save(self) -> bytes:
        pairs = zip(self._steps, self._labels, strict=True)
        return json.dumps(
            [(step.model_dump(mode="json"), labels.model_dump(mode="json")) for step, labels in pairs]
        ).encode()
