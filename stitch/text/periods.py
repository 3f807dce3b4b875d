"""When a question says that something was: "two weeks ago", "last Saturday", "in March", "on 8 May 2023"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime, timezone
from functools import lru_cache
from typing import NamedTuple

from stitch.text.moments import COUNTS, MONTH, MONTHS

_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_NUMBER = rf"\d{{1,3}}|an?|{'|'.join(COUNTS)}|couple of|few|several"
_ISO = re.compile(r"\b(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})(?!\d)")
_WRITTEN = re.compile(
    rf"\b(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)?[ -](?P<month>{MONTH})\b"
    rf"|(?P<month_first>{MONTH})\.?[ -](?:the )?(?P<day_after>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:))"
    r"(?:,?[ -](?P<year>(?:19|20)\d\d)\b)?",
    re.IGNORECASE,
)
_MONTH_ALONE = re.compile(
    rf"\b(?:in|during|of|since|early|late|mid|by) (?P<month>(?:{MONTH}))\b(?! \d{{1,2}}\b)"
    r"(?:,? (?:of )?(?P<year>(?:19|20)\d\d))?",
    re.IGNORECASE,
)
_AGO = re.compile(rf"\b(?P<number>{_NUMBER}) (?P<unit>day|week|month|year)s? (?:ago|before|earlier)\b", re.IGNORECASE)
_PAST = re.compile(
    rf"\b(?:past|last|previous) (?:(?P<number>{_NUMBER}) )?(?P<unit>day|week|weekend|month|year)s?\b", re.IGNORECASE
)
_LAST_DAY = re.compile(
    r"\b(?:last|this past|on) (?P<day>(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b(?!s)", re.IGNORECASE
)
_NEAR = re.compile(r"\b(?P<word>yesterday|last night|the day before yesterday)\b", re.IGNORECASE)
_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
_SLACK = {"day": 1, "week": 3, "month": 12, "year": 90}
"""People round: what was "two months ago" was so give or take so many days."""
_TOLD_LATER_DAYS = 7
"""Things are told a few days after they happened."""


class Span(NamedTuple):
    """Days on which what is asked about may have been told, first and last included."""

    first: int
    last: int
    """Days as `date.toordinal` counts them; of a month without its year, months since year 0."""
    any_year: bool = False

    def holds(self, day: int) -> bool:
        """Whether the day is one of them."""
        if not self.any_year:
            return self.first <= day <= self.last
        told = date.fromordinal(day)
        return self.first <= told.month * 31 + told.day <= self.last


@lru_cache(maxsize=65_536)
def day_of(happened: float | str | None) -> int | None:
    """The day of a time as a source says it, counted as `date.toordinal` does; None if it does not tell one."""
    if happened is None:
        return None
    try:
        if not isinstance(happened, str):
            return datetime.fromtimestamp(happened, timezone.utc).date().toordinal()
        if match := _ISO.search(happened):
            return date(int(match["year"]), int(match["month"]), int(match["day"])).toordinal()
        match = _WRITTEN.search(happened)
        return _written(match).toordinal() if match and match["year"] else None
    except (ValueError, OverflowError, OSError):
        return None


def spans_of(question: str, *, asked: int | None) -> list[Span]:
    """When the question says that something was.

    Args:
        question: Its text.
        asked: The day on which it is asked; without it, only what names a month counts.
    """
    return list(dict.fromkeys(_spans(question, asked)))


def _spans(text: str, asked: int | None) -> Iterator[Span]:
    for match in _ISO.finditer(text):
        if (day := day_of(match.group())) is not None:
            yield Span(day, day + _TOLD_LATER_DAYS)
    for match in _WRITTEN.finditer(text):
        yield from _of_date(match)
    for match in _MONTH_ALONE.finditer(text):
        yield from _of_month(match)
    if asked is not None:
        yield from _relative(text, asked)


def _of_date(match: re.Match[str]) -> Iterator[Span]:
    try:
        if match["year"]:
            day = _written(match).toordinal()
            yield Span(day, day + _TOLD_LATER_DAYS)
            return
        month, day = _month(match["month"] or match["month_first"]), int(match["day"] or match["day_after"])
    except ValueError:
        return
    if 1 <= day <= 31:
        yield Span(month * 31 + day, month * 31 + day + _TOLD_LATER_DAYS, any_year=True)


def _of_month(match: re.Match[str]) -> Iterator[Span]:
    month = _month(match["month"])
    if match["year"]:
        first = date(int(match["year"]), month, 1).toordinal()
        yield Span(first, first + 30 + _TOLD_LATER_DAYS)
    else:
        yield Span(month * 31 + 1, month * 31 + 31 + _TOLD_LATER_DAYS, any_year=True)


def _relative(text: str, asked: int) -> Iterator[Span]:
    for match in _NEAR.finditer(text):
        back = 2 if match["word"].lower().startswith("the") else 1
        yield Span(asked - back - 1, asked - back + 1)
    for match in _AGO.finditer(text):
        unit = match["unit"].lower()
        back = _count(match["number"]) * _DAYS[unit]
        vague = 2 if match["number"].lower() in ("few", "several", "couple of") else 1
        yield Span(asked - back - vague * _SLACK[unit], asked - back + vague * _SLACK[unit])
    for match in _PAST.finditer(text):
        unit = match["unit"].lower()
        if match["number"]:
            yield Span(asked - _count(match["number"]) * _DAYS.get(unit, 7) - 1, asked)
        elif unit == "week":
            yield Span(asked - 14, asked - 5)
        elif unit == "weekend":
            yield Span(asked - 9, asked - 1)
        elif unit != "day":
            yield Span(asked - 2 * _DAYS[unit], asked - _DAYS[unit] // 3)
    for match in _LAST_DAY.finditer(text):
        back = (date.fromordinal(asked).weekday() - _WEEKDAYS.index(match["day"][:3].lower())) % 7 or 7
        yield Span(asked - back, asked - back + 1)


def _written(match: re.Match[str]) -> date:
    name, day = match["month"] or match["month_first"], match["day"] or match["day_after"]
    return date(int(match["year"]), _month(name), int(day))


def _month(name: str) -> int:
    return MONTHS.index(name[:3].lower()) + 1


def _count(said: str) -> int:
    folded = said.lower()
    if folded in COUNTS:
        return COUNTS.index(folded) + 1
    return {"a": 1, "an": 1, "couple of": 2, "few": 3, "several": 5}.get(folded) or int(folded)
