"""What a memory recalled is known again, wherever a program put it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doubles.scoring import hit_of
from stitch.core import Step, ToolCall
from stitch.retrieve import PieceCounter, fit_context
from stitch.retrieve.context.recalled import is_recalled, step_without_recalled, without_recalled


def context(*texts: str) -> str:
    hits = [hit_of(text, position=at, recorded=1e9) for at, text in enumerate(texts)]
    return fit_context(hits, budget_tokens=100_000, counter=PieceCounter()).text


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
