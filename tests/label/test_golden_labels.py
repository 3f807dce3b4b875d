"""Whole conversations with the labels of each step, as a reader sees them, so that no change in them is missed.

Each file of `golden` is a conversation as the fixture `conversation` reads it. Under each step stands what is said
of it, which is not always right.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from doubles.golden import compare
from stitch.core import Step, StepLabels
from stitch.label.local import LocalLabeler
from stitch.label.local.candidates import FEATURES, Candidate
from stitch.label.local.reading import read_step
from stitch.label.local.scopes import ScopeTracker
from stitch.text.languages import function_words

Read = Callable[[Path], list[tuple[str, Step]]]
GOLDEN = Path(__file__).parent / "golden"


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


@pytest.mark.parametrize(("language", "name"), [("de", "gent"), ("it", "genova")])
def test_no_label_is_a_word_of_grammar(language: str, name: str, conversation: Read) -> None:
    light = function_words(language)
    for each in LocalLabeler().begin("t").label([step for _, step in conversation(GOLDEN / f"{name}.txt")]):
        assert not set((each.intent.scope or "").split()) <= light
        assert not set(each.intent.entity_types) & light


def test_a_goal_that_somebody_renamed_goes_on_under_its_name(conversation: Read) -> None:
    steps = [step for _, step in conversation(GOLDEN / "tickets.txt")][:12]
    made = LocalLabeler().begin("t").label(steps)
    intent = made[1].intent.model_copy(update={"scope": "the broken lamp"})
    given = [made[0], *(each.model_copy(update={"intent": intent, "made_by": "ann"}) for each in made[1:8])]
    session = LocalLabeler().begin("t")
    session.replay(steps[:8], given)
    assert {each.intent.scope for each in session.label(steps[8:])} == {"the broken lamp"}


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
