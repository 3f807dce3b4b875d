"""Labels without a model of whole conversations, and the vocabularies that hold labels of models."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doubles.golden import compare
from stitch.core import LabelKind, Step, StepLabels
from stitch.label.curation import Vocabulary
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


@given(
    st.lists(st.sampled_from(["city", "cities", "date", "dates", "check-in date", "date check in", "x"]), max_size=30)
)
def test_merging_loses_no_count_and_a_saved_vocabulary_goes_on_the_same(labels):
    vocabulary = Vocabulary(LabelKind.ENTITY_TYPE, seed=["date"])
    for label in labels:
        vocabulary.count(vocabulary.admit([label]))
    vocabulary.curate(50)
    restored = Vocabulary(LabelKind.ENTITY_TYPE, seed=["date"])
    restored.restore(vocabulary.save())
    assert sum(vocabulary.canonical_counts().values()) == len(labels)
    assert restored.save() == vocabulary.save()
    assert restored.merges == vocabulary.merges
    assert restored.curate(100) == vocabulary.curate(100)
