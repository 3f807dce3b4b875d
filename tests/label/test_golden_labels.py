"""Labels without a model of whole conversations."""

from collections.abc import Callable
from pathlib import Path

import pytest

from doubles.golden import compare
from stitch.core import Step, StepLabels
from stitch.label.local import LocalLabeler
from stitch.text.languages import function_words

Read = Callable[[Path], list[tuple[str, Step]]]
GOLDEN = Path(__file__).parent / "golden"


def shown(step: Step, labels: StepLabels) -> list[str]:
    intent = labels.intent
    lines = [f"    {intent.scope} | {', '.join(intent.event_types)} | {', '.join(intent.entity_types)}"]
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


def test_no_scope_is_named_by_words_of_grammar(conversation: Read) -> None:
    light = function_words("de")
    for each in LocalLabeler().begin("t").label([step for _, step in conversation(GOLDEN / "gent.txt")]):
        assert not set((each.intent.scope or "").lower().split()) <= light
