"""Data in steps: calls, their arguments, and keys with values."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stitch.core import Step, ToolCall
from stitch.text.structured import NamedCall, structured


def said(data: Any, **fields: Any) -> Any:
    return structured(Step(role="tool", content=f" {json.dumps(data)} ", **fields))


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


@pytest.mark.parametrize("count", [1, 64, 65, 200])
def test_at_most_sixty_four_values_are_read(count: int) -> None:
    flat = {f"k {number}": number for number in range(count)}
    nested = {"a": {f"k {number}": number for number in range(count // 2)}, "b": list(range(count - count // 2))}
    listed = [{"a": number} for number in range(count)]
    assert [len(said(data).results) for data in (flat, nested, listed)] == [min(count, 64)] * 3
