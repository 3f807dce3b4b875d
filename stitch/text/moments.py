"""Dates and times of day in one form, so that "March 1st" and "2019-03-01" are found to be the same."""

from __future__ import annotations

import re
from collections.abc import Iterator

MONTH = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    "|nov(?:ember)?|dec(?:ember)?"
)
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
COUNTS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_HOUR = rf"\d{{1,2}}|{'|'.join(COUNTS)}"
_DATE = re.compile(
    r"\b\d{4}-(?P<iso_month>\d\d)-(?P<iso_day>\d\d)\b"
    rf"|\b(?P<month>{MONTH})\.? (?:the )?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b"
    rf"|\b(?P<day_before>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month_after>{MONTH})\b"
    r"|\b(?P<day_alone>\d{1,2})(?:st|nd|rd|th)\b",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"\b(?P<hour>\d{1,2}):(?P<minute>\d\d)(?: ?(?P<half>[ap])\.?m\b)?"
    r"|\b(?P<hour_only>\d{1,2}) ?(?P<half_only>[ap])\.?m\b"
    rf"|\b(?P<part>half past|quarter past|quarter to) (?P<hour_said>{_HOUR})\b"
    rf"|\b(?P<hour_full>{_HOUR}) (?:o'?clock\b|in the (?:morning|afternoon|evening)\b)",
    re.IGNORECASE,
)
_MINUTES = {"half past": 30, "quarter past": 15, "quarter to": -15}


def find_moments(text: str) -> dict[str, bool]:
    """The dates and times of a text in canonical form, each with whether it is fully said.

    A date gives its month and day ("03-01"); its day alone ("the 1st") is there as well, as a form that is not fully
    said. A time gives hour and minute ("17:30"), and the form that leaves the half of the day open ("5:30 o'clock").
    Years are left out: chats rarely say them.
    """
    found: dict[str, bool] = {}
    if any(map(str.isdigit, text)):
        found.update(_dates(text))
    found.update(_times(text))
    return found


def _dates(text: str) -> Iterator[tuple[str, bool]]:
    for match in _DATE.finditer(text):
        day = int(match["iso_day"] or match["day"] or match["day_before"] or match["day_alone"])
        name = match["month"] or match["month_after"]
        month = int(match["iso_month"] or 0) or (MONTHS.index(name[:3].lower()) + 1 if name else 0)
        if 1 <= day <= 31 and month <= 12:
            if month:
                yield f"{month:02d}-{day:02d}", True
            yield f"the {day}.", False


def _times(text: str) -> Iterator[tuple[str, bool]]:
    for match in _TIME.finditer(text):
        said = (match["hour"] or match["hour_only"] or match["hour_said"] or match["hour_full"]).lower()
        hour = COUNTS.index(said) + 1 if said in COUNTS else int(said)
        minute = int(match["minute"] or 0)
        if hour > 23 or minute > 59:
            continue
        half = (match["half"] or match["half_only"] or "").lower()
        hour = hour % 12 + 12 * (half == "p") if half and hour <= 12 else hour
        hour, minute = divmod((60 * hour + minute + _MINUTES.get((match["part"] or "").lower(), 0)) % 1440, 60)
        yield f"{hour:02d}:{minute:02d}", True
        yield f"{(hour - 1) % 12 + 1}:{minute:02d} o'clock", False
