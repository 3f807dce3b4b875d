"""Event types and entity types, and the vocabularies that hold them."""

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
