"""What structured texts tell of things: fields of JSON, arguments of calls, lines of "key: value"."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.retrieve.links.told import MAX_TOLD, Told, calls_in, named_by, told_by_arguments, told_in

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"order_id": "W26", "status": "sent"}', [("w26", "status", "sent")]),
        ('{"status": "sent", "id": 7}', [("7", "status", "sent")]),
        ('{"orderId": "W26", "shipTo": {"city": "Rome"}}', [("w26", "ship to city", "Rome")]),
        ('{"order": "ORD-12", "paid": true}', [("ord-12", "paid", "yes")]),
        ('Observation: {"sku": "A1", "stock": 3.0}', [("a1", "stock", "3")]),
        ('The record:\n[{"id": "a", "n": 1}, {"id": "b", "n": 2}]', [("a", "n", "1"), ("b", "n", "2")]),
        ("Order: ORD-12\n- **Status:** sent\nTotal: 12", [("ord-12", "status", "sent"), ("ord-12", "total", "12")]),
    ],
)
def test_fields_are_told_of_the_thing_that_an_identifier_names(text: str, told: list[tuple[str, str, str]]) -> None:
    assert told_in(text) == tuple(Told((thing,), field, value) for thing, field, value in told)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[oops\n{"id": "a", "n": 1}', [("a", "n", "1")]),
        ('Result: {oops}\n\n  Result: {"id": "a", "n": 1} and so on', [("a", "n", "1")]),
        ('{"id": "a", "n": 1}\n{"id": "b", "n": 2}', [("a", "n", "1"), ("b", "n", "2")]),
        ('[{"id": "a", "n": 1}, {"id": "b", ', []),
        ('x{"id": "a", "n": 1}', []),
    ],
)
def test_json_is_read_where_a_line_begins_with_it_or_announces_it(text: str, told: list[tuple[str, str, str]]) -> None:
    assert told_in(text) == tuple(Told((thing,), field, value) for thing, field, value in told)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Order id: 12\nStatus: sent", [("12", "status", "sent")]),
        ("Status: sent\nOrder: ORD-12", [("ord-12", "status", "sent")]),
        ("Order id: 12\nLine id: 7\nStatus: sent", []),
        ("Order id: the last\nStatus: sent", []),
        ("Status: sent\nWeather: fine", []),
        ("Order id: 12", []),
    ],
)
def test_lines_are_told_of_the_one_thing_that_they_name(text: str, told: list[tuple[str, str, str]]) -> None:
    assert told_in(text) == tuple(Told((thing,), field, value) for thing, field, value in told)


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ('put(id="W26", items=["a, b=1", "c"])', [("put", {"id": "W26", "items": ["a, b=1", "c"]})]),
        ('I look.\nget_order({"order_id": "W26"})', [("get_order", {"order_id": "W26"})]),
        ("list_orders()", [("list_orders", {})]),
        ("look(at)", []),
        ("f(a=b)", []),
        ('f({"a": )', []),
        ("f({1: 2})", []),
    ],
)  # fmt: skip
def test_calls_are_read_as_steps_write_them(text: str, calls: list[tuple[str, dict[str, object]]]) -> None:
    assert [(call.name, call.arguments) for call in calls_in(text)] == calls


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
