"""Event types and entity types, and the vocabularies that hold them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.core import LabelKind, Step, ToolCall
from stitch.label.curation import Vocabulary
from stitch.label.local import LocalLabeler
from stitch.label.local.entities import EntityTyper
from stitch.label.local.events import EventTyper
from stitch.label.local.reading import read_step


def read(content, role="user", **fields):
    return read_step(Step(role=role, content=content, **fields))


@pytest.mark.parametrize(
    ("text", "event"),
    [
        ("One idea for breakfast is Zephyr Mill.", "propose"),
        ("What about Zephyr Mill?", "propose"),
        ("How much is it?", "ask"),
        ("Please find me a hotel.", "search"),
        ("I'd like some tea.", "request"),
        ("Let's turn to day 2.", "plan"),
        ("I'll go with the second one.", "decide"),
        ("Could you compare the two?", "compare"),
        ("Is there another one?", "ask for alternatives"),
        ("I disagree, that overstates it.", "disagree"),
        ("Good morning!", "greet"),
        ("Thanks a lot.", "thank"),
        ("Bye!", "say goodbye"),
        ("I am sorry.", "apologize"),
        ("The build failed with an error.", "report error"),
        ("It is raining.", "inform"),
    ],
)
def test_a_step_is_named_by_what_it_does(text, event):
    assert EventTyper().type(read(text))[0] == event


@pytest.mark.parametrize(
    ("text", "open_move", "events"),
    [
        ("Yes, please.", "check", ["affirm"]),
        ("Yes, that works.", "offer", ["accept offer"]),
        ("Sounds great.", "told price", ["accept"]),
        ("Yes.", "", ["agree"]),
        ("No, that is all.", "more", ["decline help"]),
        ("No.", "offer", ["refuse"]),
        ("I want it on March 8th.", "time", ["answer"]),
        ("Yes. But what does it cost?", "check", ["ask", "affirm"]),
        ("Next Tuesday", "time", ["answer"]),
    ],
)
def test_a_reaction_is_named_by_what_was_open(text, open_move, events):
    assert EventTyper().type(read(text), open_move=open_move) == events


@pytest.mark.parametrize(
    ("text", "open_move", "event"),
    [
        ("When do you want to leave?", "", "ask for details"),
        ("Please tell me a bit more.", "", "tell"),
        ("Please.", "", "ask for details"),
        ("Would you like me to book it?", "", "propose"),
        ("Is there anything else I can help you with?", "", "offer help"),
        ("You want 2 seats to Boston at 6 pm?", "", "confirm"),
        ("Your tickets have been booked.", "", "report success"),
        ("The Kendal Museum in Boston.", "request", "propose"),
        ("Just a moment", "request", "answer"),
        ("It works nicely", "told", "answer"),
    ],
)
def test_who_answers_does_other_things_than_who_asks(text, open_move, event):
    assert EventTyper().type(read(text, role="agent"), open_move=open_move, by_opener=False)[0] == event


def test_tools_name_themselves():
    typer = EventTyper()
    call = ToolCall(name="runTests", arguments={})
    assert typer.type(read("", role="assistant", tool_calls=(call,))) == ["call tool", "run tests"]
    assert typer.type(read("8 passed", role="tool", tool_name="runTests")) == ["report result", "run tests"]
    assert typer.type(read("1 failed", role="tool", tool_name="runTests")) == ["report error", "run tests"]
    assert typer.type(read("*** eve quit")) == ["notice"]


def entity_types(text, **fields):
    return EntityTyper().type(read(text, **fields)).types


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("It is priced at $76.22.", ["price"]),
        ("How much is the room?", ["price"]),
        ("How many stops are there?", ["quantity"]),
        ("It has 2 stops.", ["quantity"]),
        ("What kind of thing is it?", []),
        ("What about Zephyr Mill?", ["name"]),
        ("Where is it, and when does it open?", ["time", "place"]),
    ],
)
def test_classes_come_from_the_shape_of_values_and_from_words_that_ask_for_one(text, kinds):
    assert entity_types(text) == kinds


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


def test_a_vocabulary_merges_the_rarer_into_the_more_frequent():
    vocabulary = Vocabulary(LabelKind.ENTITY_TYPE, seed=["price"])
    vocabulary.count(["departure dates"])
    vocabulary.count(["departure date"])
    vocabulary.count(["departure date"])
    vocabulary.count(["prices"])
    made = vocabulary.curate(50)
    assert [(merge.alias, merge.into, merge.position) for merge in made] == [("departure dates", "departure date", 50)]
    assert vocabulary.canonical_counts() == {"departure date": 3, "prices": 1}
    assert vocabulary.admit(["departure dates", "departure date"]) == ["departure date"]
    assert vocabulary.curate(100) == []
    assert vocabulary.undo("departure dates")
    assert not vocabulary.undo("departure dates")
    assert vocabulary.admit(["departure dates"]) == ["departure dates"]


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
