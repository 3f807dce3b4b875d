"""Where windows are cut, and what was paid for them, outlives the process: a model is asked nothing twice."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from doubles.storing import ListStore
from stitch.core import Step, StepLabels
from stitch.embed import HashingEmbedder
from stitch.ingest import Ingestor
from stitch.journal import Journal
from stitch.label.local import LocalLabeler
from stitch.label.model.stepwise import StepwiseLabeler
from stitch.label.model.windowed import WindowedLabeler
from stitch.lm import LanguageModel
from stitch.testing.model import ScriptedCompletion, label_by_rules

SAID = (
    "Let us plan day {day}. What does the Zephyr Mill cost?",
    "It is priced at $41.80 for the evening of day {day}.",
    "Then take it, please, and tell me about parking.",
    "Parking costs $12 and is right behind the house.",
)


def talk(count: int) -> list[Step]:
    return [
        Step(id=str(n), role="user" if n % 2 == 0 else "assistant", content=SAID[n % 4].format(day=1 + n // 9))
        for n in range(count)
    ]


class Killed(BaseException):
    """The process ends here."""


class Provider(ScriptedCompletion):
    """Answers by rules; ends the process before or after some of its answers."""

    def __init__(self) -> None:
        super().__init__(label_by_rules)
        self.dies_before: int | None = None

    def complete(self, request: Any) -> Any:
        if self.dies_before is not None and len(self.prompts) >= self.dies_before:
            raise Killed
        return super().complete(request)


Make = Callable[[LanguageModel], Any]
MOST_KILLS = 10 if os.environ.get("STITCH_TEST_PROFILE") != "long" else 1_000


def windowed(model: LanguageModel) -> Any:
    return WindowedLabeler(model, fallback=LocalLabeler(), window_steps=4, patience_s=60)


def stepwise(model: LanguageModel) -> Any:
    return StepwiseLabeler(model, embedder=HashingEmbedder(16), fallback=LocalLabeler())


class Life:
    """One process after the other on the same journal, with the same provider."""

    def __init__(self, path: Path, make: Make) -> None:
        self.provider, self.now = Provider(), [0.0]
        self._path, self._make = path, make
        self.ingestor = self.begin()

    def begin(self) -> Ingestor:
        model = LanguageModel("scripted", completion=self.provider)
        self.ingestor = Ingestor(
            journal=Journal(self._path),
            store=ListStore(),
            embedder=HashingEmbedder(16),
            labeler=self._make(model),
            clock=lambda: 7.0,
            timer=lambda: self.now[0],
        )
        return self.ingestor

    def kill_and_begin(self) -> None:
        self.ingestor.journal.close()
        self.provider.dies_before = None
        self.begin().recover()

    def add(self, *steps: Step) -> None:
        self.ingestor.add_many(steps, tenant="a", trajectory="t")

    def labels(self) -> list[StepLabels | None]:
        return [entry.labels for entry in self.ingestor.journal.entries("a", "t")]

    def outcome(self) -> tuple[list[StepLabels | None], bytes, list[tuple[str, str]]]:
        self.ingestor.flush()
        checkpoint = self.ingestor.journal.checkpoint("a", "t")
        assert checkpoint is not None
        return self.labels(), checkpoint.session, self.provider.prompts


@pytest.mark.parametrize("make", [windowed, stepwise])
def test_a_process_that_dies_at_any_call_leaves_the_next_one_to_go_on_as_if_it_had_not(
    make: Make, tmp_path: Path
) -> None:
    steps = talk(9)
    calm = Life(tmp_path / "calm", make)
    calm.add(*steps[:5])
    calm.add(*steps[5:])
    expected = calm.outcome()
    calls = len(expected[2])
    for call in range(0, calls, max(1, calls // MOST_KILLS)):
        life = Life(tmp_path / f"killed-{call}", make)
        life.provider.dies_before = call
        for part in (steps[:5], steps[5:]):
            try:
                life.add(*part)
            except Killed:
                life.kill_and_begin()
                life.add(*part)
        with suppress(Killed):
            life.ingestor.flush()
        if life.provider.dies_before is not None:
            life.kill_and_begin()
        assert life.outcome() == expected, f"killed before call {call}"
