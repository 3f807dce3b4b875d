"""Data in steps: calls, their arguments, and keys with values."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stitch.core import Step, ToolCall
from stitch.text.structured import NamedCall, find_entity_mentions, in_words, structured


def said(data: Any, **fields: Any) -> Any:
    return structured(Step(role="tool", content=f" {json.dumps(data)} ", **fields))


def test_keys_are_read_from_the_outside_to_the_inside() -> None:
    data = said({"a": [1, {"firstB": "x' "}], "c": None, "d": {"e": '"y"'}})
    assert data.results == (("c", ""), ("a", "1"), ("e", "y"), ("first b", "x"))
    assert (data.calls, data.tool) == ((), None)


def test_a_call_in_the_text_follows_those_of_the_step() -> None:
    own = ToolCall(name="f_g", arguments={"p": 1})
    data = said({"Tool": "get_x", "args": [{"k_v": 1}]}, tool_calls=(own,))
    assert data.calls == (NamedCall("f g", (("p", "1"),)), NamedCall("get x", (("k v", "1"),)))
    assert data.results == ()
    assert data.pairs == (("p", "1"), ("k v", "1"))
    assert said({"x": 1}, tool_calls=(own,)).pairs == (("p", "1"), ("x", "1"))


@pytest.mark.parametrize(
    "data", [{"tool": 3, "args": {"x": 1}}, {"tool": "x", "args": 3}, {"args": {"x": 1}}, [{"x": 1}]]
)
def test_what_names_no_tool_or_has_no_arguments_is_a_result(data: Any) -> None:
    assert said(data).calls == ()
    assert said(data).results


def test_so_many_keys_are_read_and_no_more() -> None:
    for data in ([{"k": n} for n in range(100)], {f"k {n}": n for n in range(100)}, {"k": list(range(100))}):
        assert [value for _, value in said(data).results] == [str(n) for n in range(64)]


def test_a_long_content_is_not_read_as_data() -> None:
    assert said({"x": "y" * 199_990}).results[0][0] == "x"
    assert said({"x": "y" * 199_993}).results == ()
    assert structured(Step(role="tool", content='{"x": 1}, {"y": 2}]')).results == ()


def test_a_name_in_code_is_cut_at_humps_and_signs() -> None:
    assert in_words("_HTTPServer.get-itNow:9/x y") == "httpserver get it now 9 x y"


def test_the_text_beside_data_is_not_read_where_the_data_say_it() -> None:
    result, call = {"price": "$5", "x": "", "fare": "$7"}, {"api": "x", "args": {"price": "$5"}}
    mentions = [find_entity_mentions(Step(role="tool", content=f" {json.dumps(data)}")) for data in (result, call)]
    assert [[(one.entity_type, one.value) for one in each] for each in mentions] == [
        [("price", "$5"), ("fare", "$7")],
        [("price", "$5")],
    ]
    words = find_entity_mentions(Step(role="tool", content="{cut: it costs $5 or $5", tool_name="ls"))
    assert [(one.entity_type, one.value) for one in words] == [("price", "$5")]
    many = find_entity_mentions(Step(role="tool", content=json.dumps({f"k {n}": n for n in range(60)})))
    assert [one.value for one in many] == [str(n) for n in range(len(many))]


@pytest.mark.parametrize("count", [1, 64, 65, 200])
def test_at_most_sixty_four_values_are_read(count: int) -> None:
    flat = {f"k {number}": number for number in range(count)}
    nested = {"a": {f"k {number}": number for number in range(count // 2)}, "b": list(range(count - count // 2))}
    listed = [{"a": number} for number in range(count)]
    assert [len(said(data).results) for data in (flat, nested, listed)] == [min(count, 64)] * 3
