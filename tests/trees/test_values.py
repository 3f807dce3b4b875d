"""What a field says, and how it compares."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.trees.core.values import comparable, holds, read_value, straddles, within

HOUR = 3600.0
DAY = 24 * HOUR

READ = [
    ("12", "number", 12, 12, ""), ("1,234.5", "number", 1234.5, 1234.5, ""), ("10-20", "number", 10, 20, ""),
    ("45%", "number", 45, 45, "%"), ("4.5/5", "number", 4.5, 4.5, "of 5"), ("5 km", "number", 5, 5, "km"),
    ("-3", "number", -3, -3, ""), ("CAD 30-45", "money", 30, 45, "CAD"), ("€2.80", "money", 2.8, 2.8, "EUR"),
    ("$1.2k", "money", 1200, 1200, "USD"), ("10 dollars", "money", 10, 10, "USD"),
    ("~$20 per person", "money", 20, 20, "USD"), ("$20+", "money", 20, float("inf"), "USD"),
    ("7:30 AM - 8:30 AM", "time", 7.5 * HOUR, 8.5 * HOUR, ""), ("7-9 PM", "time", 19 * HOUR, 21 * HOUR, ""),
    ("11-1 PM", "time", 11 * HOUR, 13 * HOUR, ""), ("10 PM - 1 AM", "time", 22 * HOUR, 25 * HOUR, ""),
    ("19:30", "time", 19.5 * HOUR, 19.5 * HOUR, ""), ("noon", "time", 12 * HOUR, 12 * HOUR, ""),
    ("12 AM", "time", 0, 0, ""), ("6h", "duration", 6 * HOUR, 6 * HOUR, ""), ("3d", "duration", 3 * DAY, 3 * DAY, ""),
    ("1h 30m", "duration", 1.5 * HOUR, 1.5 * HOUR, ""), ("PT1H30M", "duration", 1.5 * HOUR, 1.5 * HOUR, ""),
    ("2 hours and 5 minutes", "duration", 2 * HOUR + 300, 2 * HOUR + 300, ""),
    ("30-45 minutes", "duration", HOUR / 2, HOUR * 0.75, ""), ("yes", "boolean", 1, 1, ""),
    ("False", "boolean", 0, 0, ""),
]  # fmt: skip
WORDS = (
    "",
    "Free",
    "Daily",
    "T-10",
    "v1",
    "3 x 4",
    "2026-02-30",
    "25:00",
    "1.2.3",
    "P",
    "30-20",
    "9 - 5 - 3",
    "x" * 200,
)
SAME_DAY = ("2026-03-03", "3 March 2026", "March 3, 2026", "Mar 3rd, 2026", "Tuesday, 3 March 2026", "2026/3/3")


def test_fields_are_read_as_what_they_say():
    for text, kind, low, high, unit in READ:
        value = read_value(text)
        assert (text, value.kind, value.unit) == (text, kind, unit)
        assert [value.low, value.high] == pytest.approx([low, high])


def test_whatever_is_not_surely_a_value_is_words():
    assert [text for text in (*WORDS, "x" * 200) if read_value(text).kind != "words"] == []


def test_a_date_is_a_day_however_it_is_written():
    assert len({read_value(text)[:3] for text in SAME_DAY}) == 1
    assert within(read_value("2026-03-03"), read_value("2026-03"))
    assert within(read_value("2026-03-03"), read_value("2026"))
    assert within(read_value("2026-03-03T09:00"), read_value("2026-03-03"))
    assert within(read_value("2026-03-03"), read_value("2026-03-01 - 2026-03-05"))
    assert not within(read_value("2026-04-01"), read_value("2026-03"))
    assert read_value("2026-03-03T09:00:00+02:00").low == read_value("2026-03-03T07:00:00Z").low


ANY_ORDER = ("<", "<=", ">", ">=")


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
    assert {order for order in ("=", "!=", *ANY_ORDER) if holds(said, order, against)} == set(holding)


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
