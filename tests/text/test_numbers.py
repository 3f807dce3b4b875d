"""Numbers that are written as words."""

from __future__ import annotations

import pytest

from stitch.text.numbers import in_digits, number, ordinal


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("Three", 3), ("3", 3), ("twelve", 12), ("a", 1), ("an", 1), ("couple of", 2), ("few", 3), ("several", 5),
        ("0", 0), ("zero", None), ("3rd", None),
    ],
)  # fmt: skip
def test_a_number_is_read_in_digits_and_in_words(said: str, value: int | None) -> None:
    assert number(said) == value


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("Second", 2), ("tenth", 10), ("2nd", 2), ("2th", 2), ("113th", 113), ("last", -1), ("latest", -1),
        ("most recent", -1), ("most recently", -1), ("former", None), ("two", None), ("x2nd", None),
    ],
)  # fmt: skip
def test_an_ordinal_is_read_in_digits_and_in_words(said: str, value: int | None) -> None:
    assert ordinal(said) == value


def test_an_ordinal_is_written_with_its_ending() -> None:
    said = "1st 2nd 3rd 4th 10th 11th 12th 13th 14th 20th 21st 22nd 23rd 24th 100th 101st 111th 113th 114th"
    assert [in_digits(int(each[:-2])) for each in said.split()] == said.split()
