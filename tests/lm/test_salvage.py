"""JSON is found in replies, whatever stands around it, and nothing of it is made up."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.lm.salvage import json_in, whole_items

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
values = st.recursive(st.none() | st.booleans() | st.integers() | texts, lambda inner: st.lists(inner, max_size=3))
objects = st.dictionaries(texts, values, min_size=1, max_size=4)
talk = texts.filter(lambda text: not set(text) & set("{}[]<>"))


@given(objects, talk, talk)
def test_an_object_is_found_in_any_talk(said: dict[str, Any], before: str, after: str) -> None:
    assert json_in(f"{before} {json.dumps(said)} {after}") == said
    assert json_in(f"{before}\n```json\n{json.dumps(said, ensure_ascii=False)}\n```{after}") == said


@given(st.lists(objects, min_size=1, max_size=4))
def test_a_list_of_objects_is_found_whole(said: list[dict[str, Any]]) -> None:
    assert json_in(f"Here it is: {json.dumps(said)}") == said


@given(st.lists(objects, min_size=1, max_size=4), st.data())
def test_what_is_cut_is_not_whole_and_its_whole_items_are_those_that_were_said(
    items: list[dict[str, Any]], data: st.DataObject
) -> None:
    text = json.dumps({"readings": items})
    cut = text[: data.draw(st.integers(1, len(text) - 1))]
    assert json_in(cut) is None
    found = whole_items(cut)
    assert found == items[: len(found)]
    assert whole_items(text) == items


@pytest.mark.parametrize("text", ["", "sorry", "{", "[1, 2]", "{scope}", "[]", '"text"', "{" * 5000, "[" * 100_000])
def test_what_holds_no_object_gives_none(text: str) -> None:
    assert json_in(text) is None
    assert whole_items(text) == []


def test_the_longest_object_counts_and_thoughts_do_not() -> None:
    assert json_in('{"a": 1} and then {"a": 1, "b": 2} or {"c": 3}') == {"a": 1, "b": 2}
    assert json_in('<think>{"a": 1, "b": 2, "c": 3}</think>{"a": 2}') == {"a": 2}
    assert json_in('so {"a": 1, "b": 2, "c": 3}</think>{"a": 2}') == {"a": 2}
