"""Typed values of fields: numbers, amounts of money, times, dates, durations, ranges of these, or words.

A value is an interval: "CAD 30-45" reaches from 30 to 45, "2026-06" from its first day to its last. An order holds of
an interval when it holds of all of it. Whatever is not surely one of the kinds is words.
"""

from __future__ import annotations

import math
import re
from calendar import monthrange
from collections.abc import Callable
from datetime import date, timezone
from operator import ge, gt, le, lt
from typing import Any, Literal, NamedTuple

from stitch.core.text_cache import text_cache
from stitch.text.dates import MONTH, MONTHS, read_timestamp

Kind = Literal["number", "money", "time", "date", "duration", "boolean", "words"]
Order = Literal["=", "!=", "<", "<=", ">", ">="]
MAX_TYPED_CHARS = 80
"""Longer fields are words."""


class Value(NamedTuple):
    """A value of a field as an interval; `low` and `high` are equal where one value is said.

    Numbers are themselves, times seconds of a day, dates seconds since 1970, durations seconds, booleans 0 and 1. The
    unit is the currency of an amount or what a number counts ("kcal"), empty where none is said.
    """

    kind: Kind
    low: float
    high: float
    unit: str
    text: str

    @property
    def start(self) -> Value:
        """The lower end, as a value of its own; of whole days, the first of them."""
        return self._replace(high=self.low + _DAY_SECONDS - 1 if self._in_days else self.low, text="")

    @property
    def end(self) -> Value:
        """The upper end, as a value of its own; of whole days, the last of them."""
        return self._replace(low=self.high - _DAY_SECONDS + 1 if self._in_days else self.high, text="")

    @property
    def _in_days(self) -> bool:
        return self.kind == "date" and self.low % _DAY_SECONDS == 0 and (self.high + 1) % _DAY_SECONDS == 0


_DAY_SECONDS = 86_400.0
_NUMBER = r"[-+−]?(?:\d{1,3}(?:[, ]\d{3})+|\d+)(?:\.\d+)?|[-+−]?\.\d+"
_TO = r"\s*(?:-|–|—|\bto\b|\.\.+)\s*"
_SYMBOLS = {
    "$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "₩": "KRW",
    "C$": "CAD", "CA$": "CAD", "US$": "USD", "A$": "AUD",
}  # fmt: skip
_CODES = "CAD|USD|EUR|GBP|JPY|CHF|AUD|NZD|SEK|NOK|DKK|INR|CNY|KRW|MXN|BRL|PLN|CZK|HUF|SGD|HKD|ZAR|TRY|ILS|THB"
_NAMES = {"dollar": "USD", "euro": "EUR", "pound": "GBP", "yen": "JPY"}
_CURRENCY = rf"(?:CA|US|C|A)?\$|[€£¥₹₩]|\b(?:{_CODES})\b"
_MONEY = re.compile(
    rf"(?:(?P<before>{_CURRENCY})\s*)(?P<low>{_NUMBER})(?P<k>k\b)?(?:{_TO}(?:{_CURRENCY})?\s*(?P<high>{_NUMBER})(?P<high_k>k\b)?|(?P<more>\+))?"
    rf"|(?P<low_after>{_NUMBER})(?:{_TO}(?P<high_after>{_NUMBER}))?\s*(?P<after>{_CURRENCY}|\b(?:{'|'.join(_NAMES)})s?\b)",
    re.IGNORECASE,
)
_PRICE_TAIL = re.compile(r"\s*(?:\(?(?:per|each|a|an|pp|p\.p\.|/)\b.{0,30}|/.{1,30})?", re.IGNORECASE)
_PLAIN = re.compile(
    rf"(?P<low>{_NUMBER})(?:{_TO}(?P<high>{_NUMBER}))?(?:\s*(?P<unit>%|(?!st\b|nd\b|rd\b|th\b)[^\W\d_][^\W\d_²³/]{{0,14}}(?:/[^\W\d_]{{1,8}})?[²³]?))?"
    r"|(?P<of>\d+(?:\.\d+)?)\s*/\s*(?P<most>5|10|100)(?P<stars>\s*stars?)?",
    re.IGNORECASE,
)
_CLOCK = r"\d{1,2}(?::\d\d(?::\d\d)?)?\s*(?:[ap]\.?m\.?)?|noon|midnight"
_TIMES = re.compile(rf"(?P<low>{_CLOCK})(?:{_TO}(?P<high>{_CLOCK}))?", re.IGNORECASE)
_ONE_CLOCK = re.compile(r"(\d{1,2})(?::(\d\d))?(?::(\d\d))?\s*([ap])?(?:\.?m\.?)?", re.IGNORECASE)
_UNITS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86_400.0),
    **dict.fromkeys(("w", "wk", "wks", "week", "weeks"), 604_800.0),
    **dict.fromkeys(("mo", "month", "months"), 2_629_746.0),
    **dict.fromkeys(("y", "yr", "yrs", "year", "years"), 31_556_952.0),
}
_UNIT = "|".join(sorted(_UNITS, key=len, reverse=True))
_PART = re.compile(rf"(\d+(?:\.\d+)?)\s*({_UNIT})\b\.?", re.IGNORECASE)
_TWO_DURATIONS = re.compile(rf"(\d+(?:\.\d+)?)(?:\s*({_UNIT})\b)?{_TO}(\d+(?:\.\d+)?)\s*({_UNIT})\b", re.IGNORECASE)
_ISO_DURATION = re.compile(r"P(?=.)(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?")
_SECONDS = (604_800, 86_400, 3600, 60, 1)
_ISO = re.compile(r"(\d{4})[-/](\d{1,2})(?:[-/](\d{1,2})([T ]\d\d:\d\d.*)?)?")
_WRITTEN = re.compile(
    rf"(?:\w+day,? )?(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? )?(?P<month>{MONTH})\.?,?"
    r"(?: (?P<after>\d{1,2})(?:st|nd|rd|th)?,?)? (?P<year>\d{4})",
    re.IGNORECASE,
)
_BETWEEN_DATES = re.compile(
    r"\s{1,8}(?:-|–|—|to|until)\s{1,8}|\s{0,8}(?:–|—|/|\.{2,3})\s{0,8}(?=\d{4}-)", re.IGNORECASE
)
_TRUTH = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}
_ABOUT = re.compile(r"(?:~|≈|about |around |approx\.? |ca\.? |circa )", re.IGNORECASE)
_YEAR = re.compile(r"[12]\d{3}")
_DIGIT = re.compile(r"\d")
_SAID_IN_WORDS = frozenset((*_TRUTH, "noon", "midnight"))


def surely_words(said: str) -> bool:
    """Whether what a field says is seen at once to be words: there is no digit in it, and none is said in words."""
    return len(said) > MAX_TYPED_CHARS or not (_DIGIT.search(said) or said.strip().lower() in _SAID_IN_WORDS)


@text_cache(maxsize=65_536)
def read_value(text: str) -> Value:
    """The value of a field or a literal.

    Args:
        text: As written. "about" before a number is passed over.

    Returns:
        The value; of kind `words` if it is none of the others.
    """
    said = text.strip()
    if not surely_words(said):
        bare = _ABOUT.sub("", said, count=1) if _ABOUT.match(said) else said
        for kind, read in _READERS:
            found = read(bare)
            if found is not None and all(map(math.isfinite, found[:1])):
                low, high, unit = found
                return Value(kind, low, high, unit, text)
    return Value("words", 0.0, 0.0, "", text)


_Read = tuple[float, float, str]


def _boolean(said: str) -> _Read | None:
    truth = _TRUTH.get(said.lower())
    return None if truth is None else (truth, truth, "")


def _amount(said: str) -> float:
    return float(said.replace(",", "").replace(" ", "").replace("−", "-"))


def _money(said: str) -> _Read | None:
    match = _MONEY.match(said)
    if match is None or not _PRICE_TAIL.fullmatch(said, match.end()):
        return None
    currency = match["before"] or match["after"]
    unit = _SYMBOLS.get(currency.upper()) or _NAMES.get(currency.lower().removesuffix("s")) or currency.upper()
    low = _amount(match["low"] or match["low_after"]) * (1000 if match["k"] else 1)
    written = match["high"] or match["high_after"]
    high = _amount(written) * (1000 if match["high_k"] else 1) if written else math.inf if match["more"] else low
    return (low, high, unit) if low <= high else None


def _number(said: str) -> _Read | None:
    match = _PLAIN.fullmatch(said)
    if match is None:
        return None
    if match["of"]:
        return float(match["of"]), float(match["of"]), f"of {match['most']}"
    low = _amount(match["low"])
    high = _amount(match["high"]) if match["high"] else low
    return (low, high, (match["unit"] or "").lower()) if low <= high else None


def _clock(said: str, half: str) -> float | None:
    if said.lower() in ("noon", "midnight"):
        return 43_200.0 if said.lower() == "noon" else 0.0
    match = _ONE_CLOCK.fullmatch(said)
    if match is None:
        return None
    hour, minute, second = int(match[1]), int(match[2] or 0), int(match[3] or 0)
    half = (match[4] or half).lower()
    if hour > (12 if half else 24) or minute > 59 or second > 59 or (half and not hour):
        return None
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    return hour * 3600.0 + minute * 60 + second


def _time(said: str) -> _Read | None:
    match = _TIMES.fullmatch(said)
    if match is None:
        return None
    first, last = match["low"].strip(), (match["high"] or match["low"]).strip()
    half, other_half = _half(first), _half(last)
    if not (half or other_half or ":" in first + last or first[-1:].isalpha()):
        return None  # a bare number
    low, end = _clock(first, half or other_half), _clock(last, "")
    if low is None or end is None:
        return None
    if low > end and other_half and not half:
        # "7-9 PM" says twice PM, "11-1 PM" does not
        low -= _DAY_SECONDS / 2
    return low, end if end >= low else end + _DAY_SECONDS, ""


def _half(clock: str) -> str:
    match = _ONE_CLOCK.fullmatch(clock)
    return match[4] or "" if match else ""


def _duration(said: str) -> _Read | None:
    if match := _ISO_DURATION.fullmatch(said):
        seconds = float(sum(int(match[place]) * unit for place, unit in enumerate(_SECONDS, start=1) if match[place]))
        return seconds, seconds, ""
    if match := _TWO_DURATIONS.fullmatch(said):
        low, high = float(match[1]) * _UNITS[(match[2] or match[4]).lower()], float(match[3]) * _UNITS[match[4].lower()]
        return (low, high, "") if low <= high else None
    total, place = 0.0, 0
    while part := _PART.match(said, place):
        total += float(part[1]) * _UNITS[part[2].lower()]
        place = part.end()
        while place < len(said) and said[place] in ", ":
            place += 1
        if said.startswith("and ", place):
            place += 4
    return (total, total, "") if place and place == len(said) else None


def _one_date(said: str) -> tuple[float, float] | None:
    try:
        if match := _ISO.fullmatch(said):
            low, high = _days(int(match[1]), int(match[2]), int(match[3]) if match[3] else None)
            return _moment(low, match[4]) if match[4] else (low, high)
        match = _WRITTEN.fullmatch(said)
        if match and not (match["day"] and match["after"]):
            day = match["day"] or match["after"]
            return _days(int(match["year"]), MONTHS.index(match["month"][:3].lower()) + 1, int(day) if day else None)
    except (ValueError, OverflowError):  # no such day: 2026-02-30
        return None
    return None


def _days(year: int, month: int, day: int | None) -> tuple[float, float]:
    low = date(year, month, 1 if day is None else day).toordinal()
    high = low if day else low + monthrange(year, month)[1] - 1
    first = date(1970, 1, 1).toordinal()
    return (low - first) * _DAY_SECONDS, (high + 1 - first) * _DAY_SECONDS - 1


def _moment(day: float, clock: str) -> tuple[float, float] | None:
    """A time of a day; those without a zone are compared as if all were in one."""
    read = read_timestamp(f"1970-01-01T{re.sub(r'[^0-9:.,+Z-]', '', clock)}")
    if read is None:
        return None
    at = day + (read if read.tzinfo else read.replace(tzinfo=timezone.utc)).timestamp()
    return at, at


def _date(said: str) -> _Read | None:
    if (one := _one_date(said)) is not None:
        return *one, ""
    ends = _BETWEEN_DATES.split(said)
    if len(ends) == 2 and (low := _one_date(ends[0])) and (high := _one_date(ends[1])) and low[0] <= high[1]:
        return low[0], high[1], ""
    return None


_READERS: tuple[tuple[Kind, Callable[[str], _Read | None]], ...] = (
    ("boolean", _boolean),
    ("date", _date),
    ("time", _time),
    ("duration", _duration),
    ("money", _money),
    ("number", _number),
)
_AMOUNTS = ("number", "money")


def comparable(value: Value, asked: Value) -> bool:
    """Whether two values have an order: of one kind, and in one unit if both say one.

    An amount of money and a plain number are amounts both. Words have the order of their characters.
    """
    if value.kind != asked.kind and not (value.kind in _AMOUNTS and asked.kind in _AMOUNTS):
        return False
    return not (value.unit and asked.unit and value.unit != asked.unit)


def holds(value: Value, order: Order, asked: Value) -> bool:
    """Whether all of a value stands in an order to what is asked; False if the two cannot be compared.

    `=` holds of equal texts, and of two values of a kind with the same ends; two numbers that are both written are
    equal if they are written alike. `!=` holds of two that are not equal, if they can be compared or both are written.
    """
    if order == "=":
        return _equal(value, asked)
    if order == "!=":
        return (comparable(value, asked) or bool(value.text and asked.text)) and not _equal(value, asked)
    if not comparable(value, asked):
        return False
    if value.kind == "words":
        return _ORDERS[order](value.text, asked.text)
    said, against = _ENDS[order]
    return _ORDERS[order](getattr(value, said), getattr(asked, against))


_ORDERS: dict[str, Callable[[Any, Any], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}
_ENDS = {"<": ("high", "low"), "<=": ("high", "high"), ">": ("low", "high"), ">=": ("low", "low")}
"""Which end of a value has to stand in an order to which end of what is asked, so that it holds of all of the value."""


def _equal(value: Value, asked: Value) -> bool:
    if value.text and asked.text and (value.text == asked.text or value.kind in ("number", "words")):
        return value.text == asked.text
    if value.kind == "words" or asked.kind == "words":
        return value.kind == asked.kind and value.text == asked.text
    return comparable(value, asked) and value[1:3] == asked[1:3]


def within(value: Value, asked: Value) -> bool:
    """Whether all of a value lies in what is asked: a day in "2026-06", "8:00 PM" in "7:00 PM - 9:00 PM"."""
    if value.kind == "date" and (year := _YEAR.fullmatch(asked.text.strip())):
        asked = read_value(f"{year[0]}-01-01 - {year[0]}-12-31")
    if value.kind == "words" or not comparable(value, asked):
        return value.text == asked.text
    return asked.low <= value.low and value.high <= asked.high


def straddles(value: Value, order: Order, asked: Value) -> bool:
    """Whether an order holds of a part of a value and not of all of it: "CAD 20-30" and `<= 25`."""
    if order in ("=", "!=") or value.low == value.high or holds(value, order, asked):
        return False
    ends = (value._replace(low=end, high=end, text="") for end in (value.low, value.high))
    return any(holds(end, order, asked) for end in ends)
