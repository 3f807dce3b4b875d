"""What a judge is: somebody who counts, or decides, which generated items are correct."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from stitch.bench.metrics.candidates import candidates
from stitch.bench.metrics.containment import contains, count_contained
from stitch.bench.metrics.plans import count_slots
from stitch.bench.metrics.scores import Unscored


class Verdict(NamedTuple):
    """What a judge said of one answer, kept so that it can be scored again without asking again."""

    correct: int | Unscored
    """How many generated candidates are correct."""
    reason: str = ""
    given: int | None = None
    """How many slots of a plan the judge saw filled; None if it did not say."""


class Judge(Protocol):
    """Compares a generated answer with the gold one. A judge that fails says `Unscored`; it does not raise."""

    @property
    def name(self) -> str:
        """Who judges: stands beside every figure."""
        ...

    def count(self, question: str, *, gold: str, generated: str) -> Verdict:
        """How many candidates of an answer set are correct (Listing 12)."""
        ...

    def fill(self, question: str, *, gold: str, generated: str) -> Verdict:
        """How many slots of a plan hold what the gold plan has there (the released code's judge of plans)."""
        ...

    def accept(self, question: str, *, gold: str, generated: str) -> Verdict:
        """Whether a single answer is correct (Listing 11): a count of 1 or 0."""
        ...


class ContainmentJudge:
    """Judges by normalized containment; needs no model and gives the same verdict each time."""

    name = "containment"

    def count(self, question: str, *, gold: str, generated: str) -> Verdict:
        """Count generated candidates that contain a gold item or stand in one."""
        del question
        return Verdict(count_contained(candidates(gold), candidates(generated)))

    def fill(self, question: str, *, gold: str, generated: str) -> Verdict:
        """Count places that contain the gold place of the same slot or stand in it."""
        del question
        return Verdict(count_slots(gold, generated))

    def accept(self, question: str, *, gold: str, generated: str) -> Verdict:
        """Accept an answer in which the gold answer stands."""
        del question
        return Verdict(int(contains(generated, gold)))
