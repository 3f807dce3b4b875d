"""What labels steps, wherever it runs: subclass `WorkerContract`, give it a fixture `labeled_by`, run pytest."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import TypeAlias

import pytest

from doubles.labeling import ScriptedLabeler, label_from_the_past
from stitch.core import Labeler, Step, StepLabels, StepState, Trust
from stitch.errors import ModelUnavailableError
from stitch.journal.entries import encode_labels
from stitch.label.local import LocalLabeler
from stitch.memory import Memory

LabeledBy: TypeAlias = Callable[[Labeler], AbstractContextManager[Memory]]
"""Opens the memory of the test, whose steps a labeler labels as long as this is entered; again and again."""

TALK = ("Day 1: let's plan the trip to Kyoto.", "The Harbor Inn costs 90 dollars a night.", "It is near the pier.",
        "Day 2: what about dinner?", "A table at Kikunoi for four at 7 pm.", "Book it, please.",
        "How much was the inn again?", "90 dollars.")  # fmt: skip
OTHER = "The Palm Court costs 70 dollars a night."
HALT = "Wait here."


def says(*contents: str) -> list[Step]:
    return [Step(id=str(number), role="user", content=content) for number, content in enumerate(contents)]


def encoded(labels: StepLabels | None, *, step: str | None) -> bytes:
    """Labels as a journal has them, without the trust, which is not the labeler's."""
    assert labels is not None
    return encode_labels(labels.model_copy(update={"trust": Trust.HIGH}), step=step or "")


def labels_of(memory: Memory, trajectory: str) -> list[bytes]:
    entries = list(memory.steps(trajectory))
    assert {entry.state for entry in entries} == {StepState.STORED}
    return [encoded(entry.labels, step=entry.id) for entry in entries]


def labels_by(labeler: Labeler, trajectory: str, steps: Sequence[Step]) -> list[bytes]:
    """The labels that a labeler gives who sees the steps one after the other, and nothing else."""
    session = labeler.begin(trajectory)
    return [encoded(session.label([step])[0], step=step.id) for step in steps]


class Halting:
    """A script that stands still at some steps until it is let go."""

    def __init__(self) -> None:
        self.reached, self.free = threading.Event(), threading.Event()

    def __call__(self, step: Step, past: Sequence[Step]) -> StepLabels:
        if step.content == HALT:
            self.reached.set()
            assert self.free.wait(timeout=120)
        return label_from_the_past(step, past)


class WorkerContract:
    """The tests whoever labels passes."""

    def test_labels_are_those_of_one_who_reads_the_steps_one_by_one(self, labeled_by: LabeledBy) -> None:
        steps = says(*TALK)
        with labeled_by(LocalLabeler()) as memory:
            for step in steps:
                memory.add(step, trajectory="single")
                memory.add(step.model_copy(update={"content": f"Elsewhere: {step.content}"}), trajectory="other")
            memory.add_many(steps[:3], trajectory="batch")
            memory.flush()
            memory.add_many(steps[3:], trajectory="batch")
            memory.flush()
            assert labels_of(memory, "single") == labels_by(LocalLabeler(), "single", steps)
            assert labels_of(memory, "batch") == labels_by(LocalLabeler(), "batch", steps)

    def test_steps_are_labeled_in_their_order_and_once(self, labeled_by: LabeledBy) -> None:
        labeler, names = ScriptedLabeler(), [f"t{number}" for number in range(4)]
        steps = says(*(f"{word} comes." for word in ["one", "two", "three", "four", "five", "six", "seven", "eight"]))
        with labeled_by(labeler) as memory:

            def add(trajectory: str) -> None:
                for first in range(0, len(steps), 2):
                    memory.add_many(steps[first : first + 2], trajectory=trajectory)

            with ThreadPoolExecutor(len(names)) as adders:
                list(adders.map(add, names))
            memory.flush()
            for name in names:
                labeled = [step for trajectory, ids in labeler.calls if trajectory == name for step in ids]
                assert labeled == [step.id for step in steps]
                assert labels_of(memory, name) == labels_by(ScriptedLabeler(), name, steps)

    def test_while_a_model_is_away_steps_wait_and_then_have_the_same_labels(self, labeled_by: LabeledBy) -> None:
        labeler, steps = ScriptedLabeler(), says(*TALK)
        with labeled_by(labeler) as memory:
            memory.add_many(steps[:2], trajectory="t")
            memory.flush()
            labeler.fail_next(*[ModelUnavailableError("the model is away")] * 2)
            memory.add_many(steps[2:4], trajectory="t")
            memory.add_many(steps[4:], trajectory="t")
            memory.flush()
            memory.retry()
            assert labels_of(memory, "t") == labels_by(ScriptedLabeler(), "t", steps)

    def test_who_waits_for_labels_holds_up_no_other_trajectory(self, labeled_by: LabeledBy) -> None:
        script, steps = Halting(), says(*TALK)
        waiting = says(TALK[0], HALT, TALK[1])
        with labeled_by(ScriptedLabeler(script)) as memory, ThreadPoolExecutor(1) as pool:
            adding = pool.submit(memory.add_many, waiting, trajectory="waits")
            try:
                assert script.reached.wait(timeout=120)
                memory.add_many(steps, trajectory="goes on")
                memory.finish("goes on")
                assert labels_of(memory, "goes on") == labels_by(ScriptedLabeler(), "goes on", steps)
                assert {entry.state for entry in memory.steps("waits")} != {StepState.STORED}
            finally:
                script.free.set()
            adding.result(timeout=120)
            memory.flush()
            assert labels_of(memory, "waits") == labels_by(ScriptedLabeler(), "waits", waiting)

    @pytest.mark.parametrize("change", ["correct", "erase"])
    def test_what_is_changed_while_labels_are_made_stands(self, labeled_by: LabeledBy, change: str) -> None:
        script = Halting()
        with labeled_by(ScriptedLabeler(script)) as memory, ThreadPoolExecutor(2) as pool:
            adding = pool.submit(memory.add_many, says(TALK[0], TALK[1], HALT, TALK[3]), trajectory="t")
            try:
                assert script.reached.wait(timeout=120)
                changing = (
                    pool.submit(memory.delete, "1", trajectory="t")
                    if change == "erase"
                    else pool.submit(memory.lifecycle.correct, "1", trajectory="t", text=OTHER)
                )
                threading.Event().wait(0.2)  # it comes before the labels where nothing holds it up
            finally:
                script.free.set()
            adding.result(timeout=120)
            changing.result(timeout=120)
            memory.flush()
            said = [entry.step.content for entry in memory.steps("t")]
            assert said == [TALK[0], *([OTHER] if change == "correct" else []), HALT, TALK[3]]
            assert {entry.state for entry in memory.steps("t")} == {StepState.STORED}
            assert "Harbor" not in memory.search("What does the hotel cost a night?").context()
            assert memory.lifecycle.verify().disagreements == ()

    def test_what_one_has_left_another_goes_on_with(self, labeled_by: LabeledBy) -> None:
        labeler, steps = ScriptedLabeler(), says(*TALK)
        with labeled_by(labeler) as memory:
            memory.add_many(steps[:3], trajectory="t")
            memory.flush()
            labeler.fail_next(*[ModelUnavailableError("the model is away")] * 20)
            memory.add_many(steps[3:], trajectory="t")
            memory.flush()
        with labeled_by(ScriptedLabeler()) as memory:
            memory.retry()
            assert labels_of(memory, "t") == labels_by(ScriptedLabeler(), "t", steps)
            assert memory.lifecycle.verify().disagreements == ()
