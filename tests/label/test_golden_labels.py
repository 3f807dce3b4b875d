"""Whole conversations with the labels of each step, as a reader sees them, so that no change in them is missed.

Each file of `golden` is a conversation as the fixture `conversation` reads it. Under each step stands what is said
of it, which is not always right. Run with STITCH_TEST_GOLDEN=write to write that after a change that is meant.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from stitch.core import Step, StepLabels
from stitch.label.local import LocalLabeler
from stitch.label.local.candidates import FEATURES, Candidate
from stitch.label.local.reading import read_step
from stitch.label.local.scopes import ScopeTracker

Read = Callable[[Path], list[tuple[str, Step]]]
GOLDEN = Path(__file__).parent / "golden"


def compare(file: Path, text: str) -> None:
    if os.environ.get("STITCH_TEST_GOLDEN") == "write":
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


def shown(step: Step, labels: StepLabels) -> list[str]:
    intent = labels.intent
    lines = [f"    {intent.scope} | {', '.join(intent.event_types)} | {', '.join(intent.entity_types)}"]
    lines += [
        f"    {step.content[each.start : each.end]!r} at {each.start} stands for {each.replacement!r}"
        f" of step {each.antecedent} ({each.confidence:.2f})"
        for each in labels.references
    ]
    lines += [f"    values: {', '.join(f'{one.entity_type} {one.value!r}' for one in labels.mentions)}"]
    lines += [f"    behind: {labels.context!r}"] if labels.context else []
    lines += [f"    in short: {labels.summary!r}"] if labels.summary != step.content else []
    return lines


@pytest.mark.parametrize("file", sorted(GOLDEN.glob("*.txt")), ids=lambda file: file.stem)
def test_the_labels_of_a_conversation_are_those_that_were_looked_at(file: Path, conversation: Read) -> None:
    said = conversation(file)
    labels = LocalLabeler().begin("t").label([step for _, step in said])
    lines = [part for (line, step), each in zip(said, labels, strict=True) for part in (line, *shown(step, each))]
    compare(file, "\n".join(lines) + "\n")


def weighed(candidate: Candidate) -> str:
    """A scope that a step may belong to, with all that is said of it."""
    figures = [f"{name} {value:.2f}" for name, value in zip(FEATURES, candidate.features, strict=True) if value]
    name = f"scope {candidate.scope.number}" if candidate.scope else "a new scope"
    return f"    {name} has {candidate.score:.2f}: {', '.join((*figures, *sorted(candidate.cues)))}"


@pytest.mark.parametrize("name", ["desk", "errands", "room"])
def test_what_speaks_for_each_scope_of_a_step_is_what_was_looked_at(name: str, conversation: Read) -> None:
    lines, tracker = [], ScopeTracker()
    for number, (line, step) in enumerate(conversation(GOLDEN / f"{name}.txt")):
        reading = read_step(step)
        if number % 3 == 2:  # or the files were as long as a book
            lines += [line, *(weighed(each) for each in tracker.candidates(reading))]
        tracker.assign(reading, tracker.choose(reading))
    compare(GOLDEN / "evidence" / f"{name}.txt", "\n".join(lines) + "\n")
