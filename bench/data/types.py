"""Data sets: what a memory may see and what it must not are of different types.

A `Trajectory` of `Step`s and an `Inquiry` are all that a method receives. Gold labels, evidence and answers are in
`GoldLabels`, `GoldOperation` and `Question`, which neither a `Step` (it forbids unknown fields) nor any function of the
ingest path can take.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, islice, zip_longest
from typing import NamedTuple

from stitch.core import Trajectory


@dataclass(frozen=True)
class Inquiry:
    """A question as a memory is asked it."""

    id: str
    trajectory: str
    text: str
    asked_at: float | str | None = None


@dataclass(frozen=True)
class GoldLabels:
    """Labels of a step or a question by a person, or by the plan behind a trajectory."""

    scope: tuple[str, ...] = ()
    event_types: tuple[str, ...] = ()
    entity_types: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.scope or self.event_types or self.entity_types or self.targets)


class GoldOperation(NamedTuple):
    """One operation of the plan behind a trajectory: at this step, this entity was meant."""

    step: str
    action: str
    entity: str


@dataclass(frozen=True)
class Question:
    """A question with everything that only the benchmark knows."""

    id: str
    trajectory: str
    type: str
    text: str
    answer: str | None
    evidence: tuple[str, ...]
    """Ids of the steps that answer it, in the order of the data set."""
    asked_at: float | str | None = None
    labels: GoldLabels = field(default_factory=GoldLabels)
    domain: str = ""
    """`travel` or `debate` in CAME-Bench."""

    @property
    def inquiry(self) -> Inquiry:
        """The question without its gold."""
        return Inquiry(self.id, self.trajectory, self.text, self.asked_at)


StepGold = Mapping[str, GoldLabels]
"""Gold labels by step id."""


@dataclass(frozen=True)
class DataSet:
    """Trajectories with questions, gold apart; a set of labels has no questions."""

    name: str
    trajectories: tuple[Trajectory, ...]
    questions: tuple[Question, ...]
    digest: str
    """SHA-256 of the files it was read from."""
    gold: Mapping[str, StepGold] = field(default_factory=dict)
    """Gold labels of steps, by trajectory; empty if the set has none."""
    operations: Mapping[str, tuple[GoldOperation, ...]] = field(default_factory=dict)
    """Operations of the plan, by trajectory."""
    notes: tuple[str, ...] = ()
    """What was left out or repaired while reading, in words."""

    @property
    def steps(self) -> int:
        """The number of steps of all trajectories."""
        return sum(len(trajectory.steps) for trajectory in self.trajectories)

    def only(self, questions: tuple[Question, ...], *, of: str | None = None) -> DataSet:
        """These questions with the trajectories they ask about, or with the one of this id."""
        kept = {of} if of is not None else {question.trajectory for question in questions}
        return replace(
            self,
            trajectories=tuple(trajectory for trajectory in self.trajectories if trajectory.id in kept),
            questions=questions,
            gold={name: own for name, own in self.gold.items() if name in kept},
            operations={name: own for name, own in self.operations.items() if name in kept},
        )

    def limited(self, questions: int | None) -> DataSet:
        """The set cut to a number of questions, with their trajectories; all of it if None.

        They are of each type in turn, and spread over the set: the first ones may be of its easiest trajectories.
        """
        if questions is None:
            return self
        by_type: dict[str, list[int]] = {}
        for place, question in enumerate(self.questions):
            by_type.setdefault(question.type, []).append(place)
        turns = chain.from_iterable(zip_longest(*by_type.values()))
        taken = islice((place for place in turns if place is not None), questions)
        quotas = Counter(self.questions[place].type for place in taken)
        spread = ((by_type[kind], quota, number) for kind, quota in quotas.items() for number in range(quota))
        chosen = sorted(places[number * len(places) // quota] for places, quota, number in spread)
        return self.only(tuple(self.questions[place] for place in chosen))
