"""Objects that are written in other notations than JSON, of every prompt that asks for a list of them."""

from __future__ import annotations

from typing import Any

import pytest
from dspy.utils.exceptions import AdapterParseError
from hypothesis import given
from hypothesis import strategies as st

from stitch import signatures
from stitch.lm.notations import objects_written
from stitch.lm.reading import ReplyAdapter
from stitch.signatures.replies import Reference, StatementReading, StepReading, Synonym, ThemeName

PAIRS = [{"name": "query cost", "read_as": "ask price"}]


def read(name: str, said: str) -> dict[str, Any]:
    fields = ReplyAdapter().parse(getattr(signatures, name), said)
    return {
        key: [one.model_dump(exclude_defaults=True) if hasattr(one, "model_dump") else one for one in value]
        if isinstance(value, list)
        else value
        for key, value in fields.items()
    }


@pytest.mark.parametrize(
    "said",
    [
        "- name: query cost\n  read_as: ask price",
        "| name | read as |\n|---|---|\n| query cost | ask price |",
        "query cost -> ask price",
        "Name: query cost; Read as: ask price",
        "<synonym><name>query cost</name><read_as>ask price</read_as></synonym>",
        "[Synonym(name='query cost', read_as='ask price')]",
        "Here is one:\n\n```yaml\nsynonyms:\n- name: query cost\n  read_as: ask price\n```",
    ],
)
def test_pairs_are_read_in_each_notation(said: str) -> None:
    assert read("ConsolidateLabels", said) == {"synonyms": PAIRS}


@pytest.mark.parametrize("said", ["synonyms: []", "synonyms: none", "**Synonyms:** None"])
def test_none_is_said_in_each_notation(said: str) -> None:
    assert read("ConsolidateLabels", said) == {"synonyms": []}


@pytest.mark.parametrize(
    "said", ["There are no synonyms.", "I cannot do that: it is against my rules.", "1. No.", "<b>"]
)
def test_talk_is_no_reply(said: str) -> None:
    with pytest.raises(AdapterParseError):
        read("ConsolidateLabels", said)


def test_what_stands_beside_the_objects_is_read_too() -> None:
    assert read("ConsolidateLabels", "synonyms: []") == {"synonyms": []}


def test_what_heads_a_number_is_its_name() -> None:
    assert read("NameThemes", "1. Tea\n2. Moving house") == {
        "names": [{"n": 1, "name": "Tea"}, {"n": 2, "name": "Moving house"}]
    }
    assert objects_written("1. Ann likes tea. (steps: 1, 2)", StatementReading) == [
        {"text": "Ann likes tea.", "steps": ["1", "2"]}
    ]


def test_fields_in_marks_are_read() -> None:
    said = "<answer>The Ribeira House.</answer>"
    assert read("AnswerQuestion", f"<reasoning>Step 2 says so.</reasoning>{said}")["answer"] == "The Ribeira House."


def test_a_value_goes_on_over_lines_until_an_empty_one() -> None:
    said = "1.\nscope: hotel in\n  Porto\nevents:\n- ask price\n- 2\n\nThat is all."
    assert objects_written(said, StepReading) == [{"n": "1", "scope": "hotel in Porto", "events": ["ask price", "2"]}]


def test_a_heading_names_what_stands_under_it_but_talk_does_not() -> None:
    def under(head: str) -> Any:
        return objects_written(f"{head}\n- n: 1\n  events: [ask]\n- n: 2\n  events: [tell]", StepReading)[1].get(
            "scope"
        )

    assert under("hotel in Porto:") == under("## hotel in Porto") == "hotel in Porto"
    assert under("These are my readings of all steps:") is None
    assert under("I went through what you gave me and found the following to be right:") is None


def test_numbers_of_what_has_none_are_no_objects() -> None:
    assert objects_written("- name: a\n- read_as: b\n3\n- name: c\n- read_as: d", Synonym) == [
        {"name": "a", "read_as": "b 3"}, {"name": "c", "read_as": "d"},
    ]  # fmt: skip


def test_what_python_would_run_is_not_run() -> None:
    said = "[Synonym(name=print('a'), read_as=f'{1}'), Synonym(**{'name': 'a'}), Synonym(name='a', read_as='b')]"
    assert objects_written(said, Synonym) == [{"name": {}, "read_as": None}, {"name": "a", "read_as": "b"}]
    assert objects_written("Synonym(name='a', read_as=)", Synonym) == []


@pytest.mark.parametrize("item", [Reference, StatementReading, StepReading, Synonym, ThemeName])
@given(
    said=st.text(
        alphabet=st.one_of(st.sampled_from("\n\n :-|*#<>()[]=,;.1\tnıſ"), st.characters(codec="utf-8")), max_size=80
    ),
    words=st.lists(st.sampled_from(["n", "Step 2", "scope", "name", "text: a", "phrase =", "<n>", "->"]), max_size=6),
)
def test_no_text_breaks_it(item: Any, said: str, words: list[str]) -> None:
    assert isinstance(objects_written(said.join(["", *words, ""]), item), list)
