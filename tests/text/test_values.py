"""Values named in a step, and their classes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.core import Step, ToolCall
from stitch.text.structured import find_entity_mentions, in_words, structured
from stitch.text.values import MAX_MENTIONS, VALUE_PATTERNS, find_mentions, signs_in, value_keys
from stitch.text.words import fold_case


@given(st.text(max_size=300))
def test_mentions_stand_where_they_say_and_do_not_overlap(text):
    mentions = find_mentions(text)
    assert len(mentions) <= MAX_MENTIONS
    end = 0
    for mention in mentions:
        assert end <= mention.start < mention.end
        assert text[mention.start : mention.end] == mention.value
        end = mention.end


def test_a_long_list_of_values_is_cut():
    assert len(find_mentions(" ".join(f"${n}.50," for n in range(200)))) == MAX_MENTIONS


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        ("time", "8:30 am", "08:30"),
        ("time", "6 pm", "18:00"),
        ("date", "March 8th", "2019-03-08"),
        ("date", "the 8th", "March 8th"),
        ("date", "11th", "2019-03-11"),
        ("price", "$1,200.00", "1200 dollars"),
    ],
)
def test_the_same_value_is_found_in_another_form(kind, one, other):
    assert set(value_keys(kind, one)) & set(value_keys(kind, other))


def test_names_in_code_become_words():
    assert in_words("DepartureCity") == in_words("departure_city") == in_words("departure-city") == "departure city"


def test_tool_calls_name_themselves_and_their_arguments():
    call = ToolCall(
        name="search_flights", arguments={"fromCity": "Pittsburgh", "filters": {"stops": [0, 1]}, "x": None}
    )
    data = structured(Step(role="assistant", content="One moment.", tool_calls=(call,)))
    assert data.calls[0].name == "search flights"
    assert data.pairs == (("from city", "Pittsburgh"), ("x", ""), ("stops", "0"), ("stops", "1"))
    assert not data.results


def test_a_call_may_stand_in_the_text_as_json():
    text = json.dumps({"api": "weather", "constraints": [{"City": '"Chicago"'}]})
    data = structured(Step(role="api_call", content=text))
    assert data.calls[0].name == "weather"
    assert data.pairs == (("city", "Chicago"),)


def test_results_are_read_by_their_keys():
    step = Step(role="tool", content='{"City": "Chicago", "TemperatureCelsius": -1}', tool_name="get_weather")
    data = structured(step)
    assert data.tool == "get weather"
    assert dict(data.results) == {"city": "Chicago", "temperature celsius": "-1"}
    mentions = find_entity_mentions(step)
    assert [(m.entity_type, m.value) for m in mentions] == [("city", "Chicago"), ("temperature celsius", "-1")]


@pytest.mark.parametrize("text", ["{not json}", "[1, 2", "plain words", "[1, 2]"])
def test_what_is_no_data_has_no_keys(text):
    assert structured(Step(role="user", content=text)).pairs == ()


def test_words_beside_a_call_are_read_as_well():
    call = ToolCall(name="read_file", arguments={"path": "a.py"})
    step = Step(role="assistant", content="It costs $5.", tool_calls=(call,))
    assert {(m.entity_type, m.value) for m in find_entity_mentions(step)} == {("path", "a.py"), ("price", "$5")}


CUED = """
1 2 5 10 12 000000 1234567 2024 3rd 21st 555 0199 4.5 st nd th / - : . , # $ % ' ? out of stars star rated rating score
of is the jan January feb sept. september dec may March half past quarter noon midnight morning evening am p.m o'clock
id order no. ref case pr issue dollars bucks cents eur percent usr main.py a1b2c3d abcdef A17 x-2
"""
CUES = st.sampled_from(CUED.split()) | st.sampled_from([" ", " ", " ", "\n"])


# A name in camel case is looked for only in a text with other code.
SIGNED = [each for each in VALUE_PATTERNS if each.signs and each.kind != "function"]


@pytest.mark.parametrize("pattern", SIGNED, ids=lambda each: each.kind)
@given(parts=st.lists(CUES | st.characters(max_codepoint=0x7F), max_size=12))
def test_every_text_with_a_value_has_one_of_the_signs_of_its_class(pattern, parts):
    text = "".join(parts)
    if pattern.finder.search(text):
        assert pattern.may_be_in(fold_case(text), signs=signs_in(text))
