"""What structured texts tell of things, and what a memory recalled is known again."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doubles.golden import compare_phrases
from doubles.scoring import hit_of
from stitch.core import Step, ToolCall
from stitch.retrieve import fit_context
from stitch.retrieve.context.recalled import is_recalled, step_without_recalled, without_recalled
from stitch.retrieve.links.facts import MAX_FACTS, Fact, calls_in, facts_in, facts_of_arguments, named_by

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


READ: dict[str, Callable[[str, str], str]] = {
    "things": lambda _, text: "; ".join(
        f"{' '.join(each.thing)} {each.field}: {each.value}" for each in facts_in(text)
    ),
    "calls": lambda _, text: "; ".join(f"{call.name} {json.dumps(call.arguments)}" for call in calls_in(text)),
}


@pytest.mark.parametrize("kind", READ)
def test_what_is_told_by_each_text_is_what_was_looked_at(kind: str) -> None:
    compare_phrases(Path(__file__).parent / "facts" / f"{kind}.txt", READ[kind])


def test_arguments_name_things_and_set_their_fields() -> None:
    arguments = {"order_id": "W26", "address": {"city": "Rome"}, "user_id": "U7", "gift": True}

    assert named_by(arguments) == ("w26", "u7")
    assert Fact(("w26",), "address city", "Rome") in facts_of_arguments(arguments)
    assert named_by({"id": True, "number": ""}) == ()


def test_of_a_text_without_end_a_bounded_part_is_read() -> None:
    many = json.dumps([{"id": f"k{number}", "n": number} for number in range(2_000)])

    assert len(facts_in(many)) <= MAX_FACTS
    assert facts_in("[" * 100_000) == ()
    nested = "1"
    for _ in range(40):
        nested = f'{{"a": {nested}}}'
    assert facts_in(nested) == ()


@given(JSON)
def test_any_json_is_read_without_failing_and_each_field_once(value: object) -> None:
    told = facts_in(json.dumps(value))

    assert len({(one.thing, one.field) for one in told}) == len(told)
    assert all(one.field for one in told)


@given(st.text(max_size=200))
def test_any_text_is_read_without_failing(text: str) -> None:
    facts_in(text)
    calls_in(text)


def context(*texts: str) -> str:
    hits = [hit_of(text, position=at, recorded=1e9) for at, text in enumerate(texts)]
    return fit_context(hits, budget_tokens=100_000).text


@given(texts=st.lists(st.text(min_size=1), min_size=1, max_size=4), before=st.text("ab \n", max_size=9))
def test_a_context_is_cut_out_whatever_its_steps_say(texts, before):
    block = context(*texts)
    count = f"[recalled: {len(texts)} step{'s' if len(texts) > 1 else ''}]"
    assert without_recalled(before + block + before) == before + count + before
    in_json = json.dumps({"context": block}, ensure_ascii=False)
    assert json.loads(without_recalled(in_json)) == {"context": count}
    assert is_recalled(block)


def test_what_stands_around_contexts_stays():
    first, second = context("one", "two"), context("three")
    text = f"Known: {first} and {second}\nNow answer."
    assert without_recalled(text) == "Known: [recalled: 2 steps] and [recalled: 1 step]\nNow answer."
    assert not is_recalled(text)


def test_a_context_that_was_cut_off_ends_the_text():
    assert without_recalled(f"Known: {context('one', 'two')[:-20]}") == "Known: [recalled: 2 steps]"


def test_in_json_and_in_markup_it_is_known_too():
    block = context("one")
    assert without_recalled(block.replace("<", "\\u003c").replace(">", "\\u003e")) == "[recalled: 1 step]"
    assert without_recalled(block.replace("<", "&lt;").replace(">", "&gt;")) == "[recalled: 1 step]"


@pytest.mark.parametrize("text", ["", "my memory is bad", "<memory>", "<memory>16 GB</memory>", "a </memory> b"])
def test_other_texts_stay_as_they_are(text):
    assert without_recalled(text) == text
    assert not is_recalled(text)


def test_many_openings_without_an_end_are_read_in_one_pass():
    assert without_recalled("<memory>\n<step>" * 20_000) == "[recalled: 20000 steps]"


@pytest.mark.parametrize(
    "of", [lambda text: text, lambda text: {"a": [1, text]}, lambda text: [{"b": {"c": text}}, None]]
)
def test_what_a_step_gives_to_tools_is_without_what_was_recalled_wherever_it_stands(of):
    def step(text):
        call = ToolCall(name="note", arguments={"text": of(text), "more": 3})
        return Step(role="assistant", content=text, tool_calls=(call, ToolCall(name="go", arguments={})))

    assert step_without_recalled(step(f"Known: {context('one')}")) == step("Known: [recalled: 1 step]")
    plain = step("Known.")
    assert step_without_recalled(plain) is plain
