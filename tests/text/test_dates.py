"""Dates, times of day and periods, as sources write them and as people do."""

from datetime import date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.text.dates import (
    day_meant,
    day_of,
    find_moments,
    read_timestamp,
    seconds_of,
    spans_of,
)

ASKED = date(2023, 5, 10).toordinal()
"""A Wednesday."""


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-03-01T12:00:05Z", datetime(2026, 3, 1, 12, 0, 5, tzinfo=timezone.utc)),
        (" 2026-03-01 12:00 ", datetime(2026, 3, 1, 12)),
        ("2026-03-01T12:00:05.5+02:00", datetime(2026, 3, 1, 12, 0, 5, 500_000, tzinfo=timezone(timedelta(hours=2)))),
        ("2026-03-01T12:00:05.123456789Z", datetime(2026, 3, 1, 12, 0, 5, 123_456, tzinfo=timezone.utc)),
        ("2026-03-01", datetime(2026, 3, 1)),
        ("2026-13-01", None),
        ("tomorrow", None),
        ("", None),
    ],
)
def test_a_timestamp_is_read_with_its_zone_and_any_number_of_digits(text: str, time: datetime | None) -> None:
    assert read_timestamp(text) == time


def test_times_of_one_source_are_compared_without_the_zone_of_the_machine() -> None:
    assert seconds_of("02:15") == 8_100
    assert seconds_of("02:15:30") == 8_130
    assert seconds_of("1970-01-02T00:00:01") == seconds_of("1970-01-02T00:00:01Z") == 86_401
    assert (seconds_of(12.5), seconds_of("Friday"), seconds_of(None)) == (12.5, None, None)


@pytest.mark.parametrize(
    ("text", "moments"),
    [
        ("2019-03-01", ("03-01", "the 1.")),
        ("March 1st", ("03-01", "the 1.")),
        ("on the 1st of march", ("03-01", "the 1.")),
        ("Sept. 12", ("09-12", "the 12.")),
        ("the 8th", ("the 8.",)),
        ("17:30", ("17:30", "5:30 o'clock")),
        ("5:30 pm", ("17:30", "5:30 o'clock")),
        ("8 am", ("08:00", "8:00 o'clock")),
        ("12 am", ("00:00", "12:00 o'clock")),
        ("half past 12", ("12:30", "12:30 o'clock")),
        ("quarter to three", ("02:45", "2:45 o'clock")),
        ("two o'clock", ("02:00", "2:00 o'clock")),
        ("March 99", ()),
        ("25:00", ()),
        ("12:75", ()),
        ("2019-13-01", ()),
        ("a room for two", ()),
    ],
)
def test_a_moment_has_one_form_however_it_is_said(text: str, moments: tuple[str, ...]) -> None:
    assert find_moments(text) == moments


@given(st.text(alphabet="0123456789:/- apm.thMarchJun", max_size=40))
def test_any_text_may_name_a_moment(text: str) -> None:
    assert all(moment.strip() == moment != "" for moment in find_moments(text))


@pytest.mark.parametrize(
    ("happened", "day"),
    [
        ("2023/05/08 (Mon) 23:40", date(2023, 5, 8)),
        ("2023-05-08T08:00", date(2023, 5, 8)),
        ("1:56 pm on 8 May, 2023", date(2023, 5, 8)),
        ("March-15-2024", date(2024, 3, 15)),
        (0.0, date(1970, 1, 1)),
        ("on the 8th of May", None),
        ("yesterday", None),
        ("2023-02-31", None),
        (1e30, None),
        (None, None),
    ],
)
def test_a_time_is_read_in_the_form_of_its_source(happened: float | str | None, day: date | None) -> None:
    assert day_of(happened) == (day and day.toordinal())


@pytest.mark.parametrize(
    ("question", "inside", "outside"),
    [
        ("What did I buy yesterday?", date(2023, 5, 9), date(2023, 5, 6)),
        ("What did I plant two weeks ago?", date(2023, 4, 26), date(2023, 5, 9)),
        ("Which museum was it two months ago?", date(2023, 3, 11), date(2023, 5, 1)),
        ("Who came a few days ago?", date(2023, 5, 7), date(2023, 4, 1)),
        ("What did I get last Saturday?", date(2023, 5, 6), date(2023, 5, 3)),
        ("What did I do last Wednesday?", date(2023, 5, 3), date(2023, 5, 10)),
        ("Where did I eat last week?", date(2023, 5, 3), date(2023, 5, 10)),
        ("Where was I last weekend?", date(2023, 5, 6), date(2023, 4, 20)),
        ("What did I read last year?", date(2022, 6, 1), date(2023, 5, 9)),
        ("How many weddings in the past three months?", date(2023, 3, 1), date(2022, 12, 1)),
        ("What happened in March?", date(2021, 3, 20), date(2023, 5, 1)),
        ("What happened in March 2022?", date(2022, 3, 20), date(2023, 3, 20)),
        ("What did she say on 3 May, 2023?", date(2023, 5, 4), date(2023, 5, 2)),
        ("What did she say on May 3rd?", date(2020, 5, 3), date(2020, 5, 2)),
        ("What did she say on 2023-05-03?", date(2023, 5, 3), date(2023, 6, 3)),
    ],
)
def test_a_time_in_the_question_holds_the_days_it_speaks_of(question: str, inside: date, outside: date) -> None:
    spans = spans_of(question, asked=ASKED)
    assert any(span.holds(inside.toordinal()) for span in spans)
    assert not any(span.holds(outside.toordinal()) for span in spans)


def test_relative_times_say_nothing_where_nobody_knows_when_it_is_asked() -> None:
    assert spans_of("What did I plant two weeks ago, and what last Saturday?", asked=None) == []
    assert spans_of("What did I plant in March?", asked=None)


def test_a_day_that_no_calendar_has_is_no_time() -> None:
    assert spans_of("Who came on February 30, 2023, and who on 2023-02-31?", asked=ASKED) == []
    assert spans_of("What happened on the last day of 2022?", asked=None) == []


@given(st.text(alphabet="0123456789 /-adgosyMarchlstweek", max_size=40), st.none() | st.integers(1, 3_000_000))
def test_any_text_may_name_a_time(text: str, asked: int | None) -> None:
    assert isinstance(day_of(text), int | None)
    for span in spans_of(text, asked=asked):
        assert isinstance(span.holds(730_000), bool)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("the day before yesterday", "2023-05-08"),
        ("it was last night", "2023-05-09"),
        ("this morning", "2023-05-10"),
        ("tonight", "2023-05-10"),
        ("we leave tomorrow", "2023-05-11"),
        ("Two weeks ago", "2023-04-26"),
        ("3 days ago", "2023-05-07"),
        ("a year ago", "2022"),
        ("two months ago", "2023-03"),
        ("5 months ago", "2022-12"),
        ("4 months ago", "2023-01"),
        ("last week", "2023-05-03"),
        ("last month", "2023-04"),
        ("last year", "2022"),
        ("last Saturday", "2023-05-06"),
        ("last Tuesday", "2023-05-09"),
        ("this past Wednesday", "2023-05-03"),
        ("2023-02-31 or yesterday", "2023-05-09"),
        ("for 1000 days", None),
        ("at last somebody came", None),
        ("in March", None),
    ],
)
def test_a_day_is_meant_as_seen_from_when_it_was_said(text: str, day: str | None) -> None:
    assert day_meant(text, said="2023-05-10") == day
    assert day_meant(text, said=None) is None


def test_nothing_is_meant_before_the_first_day() -> None:
    assert day_meant("900 weeks ago", said="0003-01-01") == "0001-01-01"
