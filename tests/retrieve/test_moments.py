"""Dates and times in one form."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stitch.text.moments import find_moments


@pytest.mark.parametrize(
    ("text", "moments"),
    [
        ("2019-03-01", {"03-01": True, "the 1.": False}),
        ("March 1st", {"03-01": True, "the 1.": False}),
        ("on the 1st of march", {"03-01": True, "the 1.": False}),
        ("Sept. 12", {"09-12": True, "the 12.": False}),
        ("the 8th", {"the 8.": False}),
        ("17:30", {"17:30": True, "5:30 o'clock": False}),
        ("5:30 pm", {"17:30": True, "5:30 o'clock": False}),
        ("8 am", {"08:00": True, "8:00 o'clock": False}),
        ("12 am", {"00:00": True, "12:00 o'clock": False}),
        ("half past 12", {"12:30": True, "12:30 o'clock": False}),
        ("quarter to three", {"02:45": True, "2:45 o'clock": False}),
        ("two o'clock", {"02:00": True, "2:00 o'clock": False}),
        ("March 99", {}),
        ("25:00", {}),
        ("12:75", {}),
        ("2019-13-01", {}),
        ("a room for two", {}),
    ],
)
def test_a_moment_has_one_form_however_it_is_said(text: str, moments: dict[str, bool]) -> None:
    found = find_moments(text)
    assert {moment: found.get(moment) for moment in moments} == moments
    assert bool(found) == bool(moments)


@settings(deadline=None, max_examples=100)
@given(st.text(alphabet="0123456789:/- apm.thMarchJun", max_size=40))
def test_any_text_is_read(text: str) -> None:
    assert all(moment.strip() == moment != "" for moment in find_moments(text))
