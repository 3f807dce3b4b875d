"""What structured texts tell of things: fields of JSON, arguments of calls, lines of "key: value"."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doubles.golden import compare_phrases
from stitch.retrieve.links.told import MAX_TOLD, Told, calls_in, named_by, told_by_arguments, told_in

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


READ: dict[str, Callable[[str, str], str]] = {
    "things": lambda _, text: "; ".join(f"{' '.join(each.thing)} {each.field}: {each.value}" for each in told_in(text)),
    "calls": lambda _, text: "; ".join(f"{call.name} {json.dumps(call.arguments)}" for call in calls_in(text)),
}


@pytest.mark.parametrize("kind", READ)
def test_what_is_told_by_each_text_is_what_was_looked_at(kind: str) -> None:
    compare_phrases(Path(__file__).parent / "told" / f"{kind}.txt", READ[kind])


def test_arguments_name_things_and_set_their_fields() -> None:
    arguments = {"order_id": "W26", "address": {"city": "Rome"}, "user_id": "U7", "gift": True}

    assert named_by(arguments) == ("w26", "u7")
    assert Told(("w26",), "address city", "Rome") in told_by_arguments(arguments)
    assert named_by({"id": True, "number": ""}) == ()


def test_of_a_text_without_end_a_bounded_part_is_read() -> None:
    many = json.dumps([{"id": f"k{number}", "n": number} for number in range(2_000)])

    assert len(told_in(many)) <= MAX_TOLD
    assert told_in("[" * 100_000) == ()
    nested = "1"
    for _ in range(40):
        nested = f'{{"a": {nested}}}'
    assert told_in(nested) == ()


@given(JSON)
def test_any_json_is_read_without_failing_and_each_field_once(value: object) -> None:
    told = told_in(json.dumps(value))

    assert len({(one.thing, one.field) for one in told}) == len(told)
    assert all(one.field for one in told)


@given(st.text(max_size=200))
def test_any_text_is_read_without_failing(text: str) -> None:
    told_in(text)
    calls_in(text)
