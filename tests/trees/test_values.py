"""What a field says, and how it compares."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doubles.golden import compare_phrases
from stitch.trees.core.values import Order, comparable, holds, read_value, straddles, within

HOUR = 3600.0

SAME_DAY = ("2026-03-03", "3 March 2026", "March 3, 2026", "Mar 3rd, 2026", "Tuesday, 3 March 2026", "2026/3/3")


def test_fields_are_read_as_what_they_say_and_whatever_is_not_surely_a_value_is_words():
    def read(_, text):
        value = read_value(text)
        return "words" if value.kind == "words" else f"{value.kind} {value.low:g} {value.high:g} {value.unit}"

    compare_phrases(Path(__file__).parent / "values.txt", read)
    assert {read_value(text).kind for text in ("", "x" * 200)} == {"words"}


def test_a_date_is_a_day_however_it_is_written():
    assert len({read_value(text)[:3] for text in SAME_DAY}) == 1
    assert within(read_value("2026-03-03"), read_value("2026-03"))
    assert within(read_value("2026-03-03"), read_value("2026"))
    assert within(read_value("2026-03-03T09:00"), read_value("2026-03-03"))
    assert within(read_value("2026-03-03"), read_value("2026-03-01 - 2026-03-05"))
    assert not within(read_value("2026-04-01"), read_value("2026-03"))
    assert read_value("2026-03-03T09:00:00+02:00").low == read_value("2026-03-03T07:00:00Z").low


ORDERS: tuple[Order, ...] = ("=", "!=", "<", "<=", ">", ">=")


@pytest.mark.parametrize(
    ("value", "holding", "asked"),
    [
        ("CAD 20-25", ("<=", "!="), "25"), ("CAD 20-30", ("!=",), "25"), ("6h", ("<", "<=", "!="), "1d"),
        ("7:30 AM - 8:30 AM", ("<", "<=", "!="), "10:00 AM"), ("8:00 PM - 9:00 PM", (">", ">=", "!="), "6:00 PM"),
        ("2026-03-01", ("<", "<=", "!="), "2026-03-02"), ("2026-03-01", ("<=", ">=", "!="), "2026-03"),
        ("apple", ("<", "<=", "!="), "banana"), ("banana", ("=", "<=", ">="), "banana"),
        # what cannot be compared has no order
        ("Free", ("!=",), "25"), ("CAD 5", ("!=",), "EUR 9"), ("3 km", ("!=",), "5 kg"), ("7 PM", ("!=",), "25"),
        # numbers that are written are equal if they are written alike, and times if they are the same
        ("19:30", ("=", "<=", ">="), "7:30 PM"), ("2.0", ("<=", ">=", "!="), "2"), ("5", ("!=",), "open"),
    ],
)  # fmt: skip
def test_an_order_holds_of_a_range_when_it_holds_of_all_of_it(value, holding, asked):
    said, against = read_value(value), read_value(asked)
    assert {order for order in ORDERS if holds(said, order, against)} == set(holding)


def test_an_order_may_hold_of_a_part_and_amounts_are_compared_with_numbers():
    assert straddles(read_value("CAD 20-30"), "<=", read_value("25"))
    assert not straddles(read_value("CAD 30-40"), "<=", read_value("25"))
    assert comparable(read_value("€5"), read_value("9"))
    assert within(read_value("open"), read_value("open"))


def test_the_ends_of_a_range_are_values():
    value = read_value("7:30 AM - 8:30 AM")
    assert (value.start.low, value.end.high) == (7.5 * HOUR, 8.5 * HOUR)
    assert value.start.low == value.start.high
    assert holds(value.end, "=", read_value("8:30"))


@given(st.text(max_size=90))
def test_any_text_is_some_value_with_its_ends_in_order(text):
    value = read_value(text)
    assert value.low <= value.high
    assert value.text == text
