"""Labels without a model: of whole conversations, of phrases, and the vocabularies that hold them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doubles.golden import compare, compare_phrases
from stitch.core import LabelKind, Step, StepLabels, ToolCall
from stitch.label.curation import Vocabulary
from stitch.label.local import LocalLabeler
from stitch.label.local.acts import Act, act_of_name, acts_of_call, acts_of_script, written_action
from stitch.label.local.candidates import FEATURES, Candidate
from stitch.label.local.entities import EntityTyper
from stitch.label.local.events import EventTyper
from stitch.label.local.naming import propose_name
from stitch.label.local.outcomes import outcome_of
from stitch.label.local.reading import read_step
from stitch.label.local.scopes import ScopeTracker
from stitch.label.local.titles import goal_title
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


def told(acts: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{act} {what!r}" if what else act for act, what in acts)


def types(about: str, text: str) -> str:
    role, _, open_move = about.partition(" ")
    reading = read_step(Step(role=role or "user", content=text))
    events = EventTyper().type(reading, open_move=open_move.strip("-"), by_opener=role in ("", "user"))
    return f"{', '.join(events)} | {', '.join(EntityTyper().type(reading).types)}"


def script(about: str, text: str) -> str:
    acts = acts_of_script(text, name=about)
    assert acts_of_script(text, name=about, sure=True) == (acts or [Act("run", "")])
    return told(acts)


def written(about: str, text: str) -> str:
    found = written_action(text, fences=about == "fences")
    return "" if found is None else f"{found.name}: {told(found.acts)}, said as {found.text!r}"


KINDS: dict[str, Callable[[str, str], str]] = {
    "types": types,
    "scripts": script,
    "written": written,
    "tools": lambda _, name: act_of_name(name),
    "calls": lambda name, arguments: told(acts_of_call(name, json.loads(arguments, strict=False))),
    "outcomes": lambda act, text: outcome_of(text, act=act),
    "names": lambda _, text: propose_name(read_step(Step(role="user", content=text))).text,
    "goals": lambda _, text: goal_title(text),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_made_of_each_phrase_is_what_was_looked_at(kind: str) -> None:
    compare_phrases(Path(__file__).parent / "phrases" / f"{kind}.txt", KINDS[kind])


def read(content, role="user", **fields):
    return read_step(Step(role=role, content=content, **fields))


def test_tools_name_themselves():
    typer = EventTyper()
    call = ToolCall(name="runTests", arguments={})
    assert typer.type(read("", role="assistant", tool_calls=(call,))) == ["call tool", "run tests"]
    assert typer.type(read("8 passed", role="tool", tool_name="runTests")) == ["report result", "run tests"]
    assert typer.type(read("1 failed", role="tool", tool_name="runTests")) == ["report error", "run tests"]
    assert typer.type(read("*** eve quit")) == ["notice"]


def entity_types(text, **fields):
    return EntityTyper().type(read(text, **fields)).types


def test_keys_of_data_are_classes():
    kinds = EntityTyper().type(read('{"DepartureCity": "Boston", "Price": 12, "ids": [1]}', role="tool"))
    assert kinds.types == ["departure city", "price", "identifier"]
    assert ("departure city", "Boston") in [(m.entity_type, m.value) for m in kinds.mentions]


def test_inflected_types_are_merged_every_fifty_steps_and_can_be_undone():
    session = LocalLabeler().begin("t")
    texts = ['{"gate number": 4}', '{"gate number": 4}', '{"gated number": 4}'] * 17
    session.label([Step(role="user", content=text) for text in texts])
    merges = [merge for merge in session.inventory().merges if merge.kind is LabelKind.ENTITY_TYPE]
    assert [(m.alias, m.into, m.position) for m in merges] == [("gated number", "gate number", 50)]
    assert session.inventory().entity_types["gate number"].steps == 51


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
