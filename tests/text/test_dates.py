"""Dates, times of day and periods, as sources write them and as people do."""

from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from stitch.text.dates import day_of, find_moments, seconds_of, spans_of


def test_times_of_one_source_are_compared_without_the_zone_of_the_machine() -> None:
    assert seconds_of("02:15") == 8_100
    assert seconds_of("02:15:30") == 8_130
    assert seconds_of("1970-01-02T00:00:01") == seconds_of("1970-01-02T00:00:01Z") == 86_401
    assert (day_of(0.0), day_of(None), day_of(1e30)) == (date(1970, 1, 1).toordinal(), None, None)
    assert (seconds_of(12.5), seconds_of("Friday"), seconds_of(None)) == (12.5, None, None)


@given(st.text(alphabet="0123456789:/- apm.thMarchJun", max_size=40))
def test_any_text_may_name_a_moment(text: str) -> None:
    assert all(moment.strip() == moment != "" for moment in find_moments(text))


def test_relative_times_say_nothing_where_nobody_knows_when_it_is_asked() -> None:
    assert spans_of("What did I plant two weeks ago, and what last Saturday?", asked=None) == []
    assert spans_of("What did I plant in March?", asked=None)


@given(st.text(alphabet="0123456789 /-adgosyMarchlstweek", max_size=40), st.none() | st.integers(1, 3_000_000))
def test_any_text_may_name_a_time(text: str, asked: int | None) -> None:
    assert isinstance(day_of(text), int | None)
    for span in spans_of(text, asked=asked):
        assert isinstance(span.holds(730_000), bool)
