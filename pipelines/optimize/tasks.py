"""Tasks and lessons: the protocol between whoever has the gold and the optimizers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from stitch.lm import LanguageModel


@dataclass(frozen=True, repr=False)
class Lesson:
    """One example."""

    key: str
    """A digest of what it asks; two lessons with one key are the same."""
    group: str
    """What must not be on both sides of the split, such as a trajectory."""
    given: Any
    """What the task needs to run it."""
    gold: Any
    """What the task needs to mark it."""
    shown: str
    """What it asks, for a reader."""
    wanted: str
    """What would be right, for a reader."""

    def __repr__(self) -> str:
        return f"Lesson(given={self.shown!r}, wanted={self.wanted!r})"  # optimizers show it to the model


class Marks(NamedTuple):
    """Marks of one lesson."""

    score: float
    """From 0 to 1."""
    parts: Mapping[str, float]
    """The measures that it is made of, by name; those that do not apply are left out."""
    feedback: str
    """What was wrong and what would have been right, for the model that improves the prompt."""


class Cost(NamedTuple):
    """Estimated costs of one run of a lesson."""

    calls: int
    tokens: int
    shown: int
    """Tokens of what a call shows of it, and of the reply: what it takes as an example in a prompt."""


class Task(Protocol):
    """A program with lessons for it. Runs of several lessons may be under way at once."""

    target: str
    """What the program does; compiled programs are marked with it."""
    trained: tuple[str, ...]
    """The predictors of the program that the lessons say something about."""
    demos: int
    """Number of examples a prompt may get."""

    def program(self) -> Any:
        """The program as it stands in the code, with predictors of its own."""
        ...

    def run(self, program: Any, lesson: Lesson, *, model: LanguageModel) -> Any:
        """Run the program on a lesson. Replies that cannot be used are part of it, not raised."""
        ...

    def mark(self, lesson: Lesson, outcome: Any) -> Marks:
        """Mark what came of it."""
        ...

    def cost(self, lesson: Lesson) -> Cost:
        """Estimate what running it costs."""
        ...
