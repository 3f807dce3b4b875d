"""Dates, times of day and periods: as sources write them, and as people do.

Everything that reads a date reads it here.

- A *timestamp* is what a source says of when a step was: `read_timestamp`, `seconds_of`, `day_of`.
- A *moment* is a date or a time of day that a text names, in one form, so that "March 1st" and "2019-03-01" are found
  to be the same: `find_moments`.
- A *span* is when a question says that something was ("two weeks ago", "in March"): `spans_of`.

By hand, because no library was good enough at what people write: see `docs/decisions/013-dates-by-hand.md`.

More than 400 lines because the forms of dates that sources write and those that people say share their parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timezone
from functools import lru_cache
from itertools import pairwise, zip_longest
from typing import NamedTuple

from stitch.core.text_cache import text_cache
from stitch.text.words import NUMBER_WORDS, number, plain_signs, table_lines

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
"""First letters of the name of each month."""
MONTH = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    "|nov(?:ember)?|dec(?:ember)?"
)
"""A pattern of the names of months."""
WEEKDAY = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
"""A pattern of the names of weekdays."""
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_YEAR_FIRST = re.compile(r"\b(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})(?!\d)")
_DAY_OF_MONTH = (
    rf"\b(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)?[ -](?P<month>{MONTH})\b"
    rf"|(?P<month_first>{MONTH})\.?[ -](?:the )?(?P<day_after>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:\d))"
)
_WRITTEN = re.compile(rf"{_DAY_OF_MONTH}(?:,?[ -](?P<year>(?:19|20)\d\d)\b)?", re.IGNORECASE)
_DOTTED = re.compile(r"(?<![\w.])(?P<day>\d{1,2})\. ?(?P<month>\d{1,2})\. ?(?:(?P<year>(?:19|20)\d\d)(?!\d)|(?!\d))")
_SLASHED = re.compile(
    r"(?:(?<![\w/.])|\b(?P<at>on|since|until|after|before|by|am|den|le|el|em|il) )(?P<day>\d{1,2})/(?P<month>\d{1,2})"
    r"(?:/(?P<year>(?:19|20)\d\d)|(?(at)|(?!)))(?![\w/])"
)
"""Without a year such a number is a date after such a word alone."""
_BY_SIGNS = re.compile(
    r"(?:(?P<year>(?:19|20)\d\d) ?[年년] ?)?(?<!\d)(?P<month>\d{1,2}) ?[月월](?: ?(?P<day>\d{1,2}) ?[日일号號])?"
)
_WEEKDAY_ALONE = re.compile(
    rf"\W*(?:{WEEKDAY}|mon|tue|wed|thu|fri|sat|sun|[^\x00-\x7f]{{1,3}}|day changed(?: to)?(?: \w{{3}})?)?\W*",
    re.IGNORECASE,
)
_FRACTION = re.compile(r"(?<=:\d\d)[.,](\d+)")
_WRITTEN_CLOCK = re.compile(
    r"\b(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,]\d+)?)?(?:\s?(?P<half>[ap])\.?m\b\.?)?"
    r"(?:\s?(?P<zone>Z\b|UTC\b|GMT\b|[+-]\d\d:?\d\d\b))?",
    re.IGNORECASE,
)
_DOTTED_DAY = re.compile(r"(?<![\d.])(?P<day>\d{1,2})\. ?(?P<month>\d{1,2})\. ?(?P<year>(?:20)?\d\d)(?!\d)")
_CLOCK = re.compile(r"(\d{1,2}):(\d\d)(?::(\d\d))?")


def read_timestamp(text: str) -> datetime | None:
    """The time that a program wrote in ISO 8601, with its zone if it says one; None if it is none."""
    text = _FRACTION.sub(lambda fraction: f".{fraction[1][:6]:0<6}", text.strip().replace("Z", "+00:00"))
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def iso_of(text: str) -> str:
    """A time in ISO 8601, if a day and a time of day are written out in any other form; else the text as it is."""
    clock = None if read_timestamp(text) else _WRITTEN_CLOCK.search(text)
    if clock is None:
        return text
    rest = " ".join(f"{text[: clock.start()]} {text[clock.end() :]}".split())
    dotted = _DOTTED_DAY.search(rest)
    day = day_of(f"20{dotted['year'][-2:]}-{dotted['month']}-{dotted['day']}" if dotted else rest)
    if day is None:
        return text
    hour, zone = int(clock["hour"]), clock["zone"] or ""
    hour = hour % 12 + 12 * (clock["half"] in "pP") if clock["half"] and hour <= 12 else hour
    zone = f"{zone[:3]}:{zone[-2:]}" if zone[:1] in ("+", "-") else zone and "+00:00"
    written = f"{date.fromordinal(day)}T{hour:02d}:{clock['minute']}:{clock['second'] or '00'}{zone}"
    return written if read_timestamp(written) else text


_SLASHED_STAMP = re.compile(r"(?P<one>\d{1,2})/(?P<other>\d{1,2})/(?P<year>(?:20)?\d\d)(?!\d)")
_MONTHS = 12
_AMERICAN = re.compile(r"\d\s?[AP]M\b")


def is_slashed(stamp: object) -> bool:
    """Whether a time begins with two numbers before a year, of which either may be the month."""
    return isinstance(stamp, str) and _SLASHED_STAMP.match(stamp) is not None


def month_leads(stamp: str) -> bool | None:
    """Whether the month comes first in such a time; None where both numbers may be one."""
    found = _SLASHED_STAMP.match(stamp)
    one, other = (int(found["one"]), int(found["other"])) if found else (0, 0)
    return None if max(one, other) <= _MONTHS else other > _MONTHS


def iso_of_slashed(stamp: str, *, month_first: bool) -> str:
    """Such a time in ISO 8601; as it is, if it is none."""
    found = _SLASHED_STAMP.match(stamp)
    if found is None:
        return stamp
    month, day = (found["one"], found["other"]) if month_first else (found["other"], found["one"])
    return iso_of(f"20{found['year'][-2:]}-{int(month)}-{int(day)}{stamp[found.end() :]}")


def probable_order(stamps: Sequence[str]) -> bool:
    """Whether the month comes first in such times of one text, of which none shows it.

    Times of a chat rise; where they do in both orders, the month is first where programs write it so, with AM and PM.
    """
    falls = dict[bool, int]()
    for month_first in (False, True):
        read = (seconds_of(iso_of_slashed(stamp, month_first=month_first)) for stamp in stamps)
        falls[month_first] = sum(later < earlier for earlier, later in pairwise(at for at in read if at is not None))
    return falls[True] < falls[False] or (falls[True] == falls[False] and bool(_AMERICAN.search(stamps[0])))


def date_alone(line: str) -> str | None:
    """The day that a line names which says nothing else, but for its weekday, as ISO 8601 writes it; else None."""
    found = next(filter(None, (form.search(line) for form in (_YEAR_FIRST, _WRITTEN))), None)
    if found is None or not found["year"] or not _WEEKDAY_ALONE.fullmatch(line[: found.start()] + line[found.end() :]):
        return None
    day = day_of(found.group())
    return None if day is None else date.fromordinal(day).isoformat()


def seconds_of(happened: float | str | None) -> float | None:
    """A time as a source says it, in seconds that can be compared with others of the same source; None if it is none.

    Times without a zone and times of day ("14:20") are only compared with each other: the zone of the machine and
    the day stay out.
    """
    if happened is None or isinstance(happened, int | float):
        return happened
    if clock := _CLOCK.fullmatch(happened.strip()):
        return int(clock[1]) * 3600.0 + int(clock[2]) * 60.0 + int(clock[3] or 0)
    time = read_timestamp(happened)
    return None if time is None else (time.replace(tzinfo=None) - datetime(1970, 1, 1)).total_seconds()


def iso_of_seconds(seconds: float, *, timespec: str = "seconds") -> str:
    """Unix seconds in ISO 8601, UTC; as the number that they are where no calendar has them."""
    try:
        return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec=timespec)
    except (ValueError, OverflowError, OSError):
        return str(seconds)


@text_cache(maxsize=65_536)
def day_of(happened: float | str | None) -> int | None:
    """The day of a time as a source says it, counted as `date.toordinal` does; None if it does not tell one."""
    if happened is None:
        return None
    try:
        if not isinstance(happened, str):
            return datetime.fromtimestamp(happened, timezone.utc).date().toordinal()
        if match := _YEAR_FIRST.search(happened):
            return date(int(match["year"]), int(match["month"]), int(match["day"])).toordinal()
        match = _WRITTEN.search(happened)
        return _written_date(match).toordinal() if match and match["year"] else None
    except (ValueError, OverflowError, OSError):
        return None


def _written_date(match: re.Match[str]) -> date:
    name, day = match["month"] or match["month_first"], match["day"] or match["day_after"]
    return date(int(match["year"]), _month_number(name), int(day))


def _month_number(name: str) -> int:
    return MONTHS.index(name[:3].lower()) + 1


_HOUR = rf"\d{{1,2}}|{'|'.join(NUMBER_WORDS)}"
_DATE = re.compile(
    rf"\b\d{{4}}-(?P<iso_month>\d\d)-(?P<iso_day>\d\d)\b|{_DAY_OF_MONTH}|\b(?P<day_alone>\d{{1,2}})(?:st|nd|rd|th)\b",
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


def find_moments(text: str) -> tuple[str, ...]:
    """The dates and times of a text in canonical form, each once.

    A date gives its month and day ("03-01"), and its day alone ("the 1st"). A time gives hour and minute ("17:30"), and
    the form that leaves the half of the day open ("5:30 o'clock"). Years are left out: chats rarely say them.
    """
    dates = _dates(text) if any(map(str.isdigit, text)) else ()
    return tuple(dict.fromkeys((*dates, *_times(text))))


def _dates(text: str) -> Iterator[str]:
    for match in _DATE.finditer(text):
        day = int(match["iso_day"] or match["day"] or match["day_after"] or match["day_alone"])
        name = match["month"] or match["month_first"]
        month = int(match["iso_month"] or 0) or (_month_number(name) if name else 0)
        if 1 <= day <= 31 and month <= 12:
            if month:
                yield f"{month:02d}-{day:02d}"
            yield f"the {day}."


def _times(text: str) -> Iterator[str]:
    for match in _TIME.finditer(text):
        hour = number(match["hour"] or match["hour_only"] or match["hour_said"] or match["hour_full"]) or 0
        minute = int(match["minute"] or 0)
        if hour > 23 or minute > 59:
            continue
        half = (match["half"] or match["half_only"] or "").lower()
        hour = hour % 12 + 12 * (half == "p") if half and hour <= 12 else hour
        hour, minute = divmod((60 * hour + minute + _MINUTES.get((match["part"] or "").lower(), 0)) % 1440, 60)
        yield f"{hour:02d}:{minute:02d}"
        yield f"{(hour - 1) % 12 + 1}:{minute:02d} o'clock"


_NUMBER = rf"\d{{1,3}}|an?|{'|'.join(NUMBER_WORDS)}|couple of|few|several"
_MONTH_ALONE = re.compile(
    rf"\b(?:in|during|of|since|after|before|until|early|late|mid|by) (?P<month>{MONTH})\b"
    r"(?! \d{1,2}(?:st|nd|rd|th)?\b)"
    r"(?:,? (?:of )?(?P<year>(?:19|20)\d\d))?",
    re.IGNORECASE,
)
_RELATIVE = re.compile(
    r"\b(?:(?P<day>the day before yesterday|yesterday|last night)"
    rf"|(?P<ago>{_NUMBER}) (?P<unit>day|week|month|year)s? (?:ago|before|earlier)"
    rf"|(?P<which>past|last|previous|this) (?:(?P<count>{_NUMBER}) )?(?P<last>day|week|weekend|month|year)s?"
    rf"|(?:last|this past|on) (?P<weekday>{WEEKDAY}))\b",
    re.IGNORECASE,
)
_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
_SLACK_DAYS = {"day": 1, "week": 3, "month": 12, "year": 90}
"""People round: what was "two months ago" was so give or take so many days."""
_LAST_WEEKEND = (9, 1)
"""So many days ago it may have begun at the earliest, and ended at the latest."""
_TOLD_LATER_DAYS = 7
"""Things are told a few days after they happened."""


_SIDE = re.compile(
    r"\b(?P<apart>(?:days?|nights?|weeks?|months?|years?) )?"
    r"(?:(?P<after>after|nach|après|después|depois)|(?P<since>since|seit|ab|depuis|desde)"
    r"|(?P<before>before|vor|avant|antes)|(?P<until>until|till|bis|jusqu['’]au|hasta))"
    r"(?: (?:the|de[lrmn]?|le))?\s+$",
    re.IGNORECASE,
)
"""What right before a date makes it the beginning or the end of a time, but for "the week after" one."""
_SIDE_CHARS = 24
_FIRST_DAY, _LAST_DAY = date.min.toordinal(), date.max.toordinal()


class Span(NamedTuple):
    """Days on which what is asked about may have been told, first and last included."""

    first: int
    last: int
    """Days as `date.toordinal` counts them; of a month without its year, months since year 0."""
    any_year: bool = False
    meant: int | None = None
    """The last of the days that the question names, if those behind it are only when it may have been told."""

    def share(self, day: int) -> float:
        """Match of a day: 1 if the question names it, a quarter if it may have been told then, or 0."""
        if self.any_year:
            told = date.fromordinal(day)
            day = told.month * 31 + told.day
        if not self.first <= day <= self.last:
            return 0.0
        return 1.0 if self.meant is None or day <= self.meant else 0.25


_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_TO = r"\s+(?:to|until|till|through)\s+(?:the )?|(?(and)\s+and\s+(?:the )?|(?!))"
"""What stands between two dates of which the first begins a time; behind "between", the group `and`, also "and"."""
_DAYS_OF_MONTH = re.compile(
    r"\b(?:(?P<and>between) )?(?:from )?(?:the )?"
    rf"(?:(?P<first>{_DAY})(?:{_TO}|\s*[-–]\s*)(?P<last>{_DAY})(?: of)? (?P<month>{MONTH})"
    rf"|(?P<leading>{MONTH}) (?P<from>{_DAY})(?:{_TO}|\s*[-–]\s*)(?P<to>{_DAY}))\b(?![:/.]\d)",
    re.IGNORECASE,
)
"""Two days of one month, which is said once: "between 3 and 8 May", "May 3-8"."""
_FROM_TO = re.compile(rf"\b(?:(?P<and>between)|from) (?P<first>[^,;?!]{{3,24}}?)(?:{_TO}|\s+[-–]\s+)", re.IGNORECASE)
"""What may be a time from one date to another: where no dates stand there, the words that it becomes mean nothing."""


def _with_sides(text: str) -> str:
    """A text in which a time from one date to another is said as one since the first, and one until the last."""

    def of_month(found: re.Match[str]) -> str:
        if found["month"]:
            return f"since {found['first']} {found['month']} until {found['last']} {found['month']}"
        return f"since {found['leading']} {found['from']} until {found['leading']} {found['to']}"

    return _FROM_TO.sub(r"since \g<first> until ", _DAYS_OF_MONTH.sub(of_month, text))


def spans_of(question: str, *, asked: int | None) -> list[Span]:
    """The spans of time of which a question speaks; from a date until another is one.

    Without the day on which it is asked, only what names a month counts.
    """
    spans = list(dict.fromkeys(_spans(question, asked)))
    begun, ended = ([one for one in spans if edge in one[:2]] for edge in (_LAST_DAY, _FIRST_DAY))
    if len(begun) == len(ended) == 1 and begun[0].any_year == ended[0].any_year and begun[0].first <= ended[0].last:
        return [begun[0]._replace(last=ended[0].last), *(one for one in spans if one not in (*begun, *ended))]
    return spans


def _spans(text: str, asked: int | None) -> Iterator[Span]:
    text = _with_sides(plain_signs(text))
    # To look for a hundred names takes longer than all the rest, and most questions have none of them.
    abroad = () if months_abroad().keys().isdisjoint(_LETTERS.findall(_lowered(text))) else (_abroad(),)
    for form in (_YEAR_FIRST, _WRITTEN, _DOTTED, _SLASHED, _BY_SIGNS, *abroad, _MONTH_ALONE):
        found = list(form.finditer(text))
        for match, following in zip_longest(found, found[1:]):
            named = match.groupdict()
            month = named["month"] or named.get("month_first") or ""
            day, side = named.get("day") or named.get("day_after"), _side_of(match)
            year = named["year"] or (following["year"] if following and side == "since" else None)
            yield from _of_date(year, month, day, side=side, asked=asked)
            if form is _SLASHED and day is not None:  # 10/03 is in March, or in October
                yield from _of_date(year, day, month, side=side, asked=asked)
    if asked is not None:
        yield from _relative(text, asked)


def _side_of(match: re.Match[str]) -> str | None:
    """The kind of word right before a date that makes it the beginning or the end of a time."""
    begins = min(match.start(name) for name, said in match.groupdict().items() if said and name != "at")
    side = _SIDE.search(match.string, max(0, begins - _SIDE_CHARS), begins)
    return side.lastgroup if side and not side["apart"] else None


@lru_cache(maxsize=1)
def months_abroad() -> dict[str, int]:
    """The numbers of months by their names in other languages; a Turkish "ı" may be written as "i" in them."""
    lines = enumerate(table_lines("months.txt"), start=1)
    named = ((name, number) for number, line in lines for name in line.split())
    return {written: number for name, number in named for written in (name, name.replace("ı", "i"))}


_LETTERS = re.compile(r"\w+")


def _lowered(text: str) -> str:
    """A text in lower case, the Turkish capital "İ" as one sign."""
    return text.replace("İ", "I").lower()


@lru_cache(maxsize=1)
def _abroad() -> re.Pattern[str]:
    """A date in another language than English: a month beside its day, its year or a word for "in"."""
    names = "|".join(sorted(months_abroad(), key=len, reverse=True))
    return re.compile(
        rf"(?:\b(?P<day>\d{{1,2}})(?:\.|er|º|°)? (?:de |di )?|(?P<at>\b(?:im|en|em|au|nel|w|we|в|v|i) ))?"
        rf"\b(?P<month>{names})\b(?:,? (?:de |del )?(?P<year>(?:19|20)\d\d)\b|(?(day)|(?(at)|(?!))))",
        re.IGNORECASE,
    )


def _of_date(year: str | None, month: str, day: str | None, *, side: str | None, asked: int | None) -> Iterator[Span]:
    """The span of a day or a month, with or without its year, or of what is on a side of it; nothing if there is none.

    What is on a side of one without a year is on that of the last one when it was asked.
    """
    number = _month_named(month)
    first, last = (int(day), int(day)) if day else (1, 31)
    if not (1 <= number <= 12 and 1 <= first <= 31):
        return
    if year is None and side and asked is not None:
        on = date.fromordinal(asked)
        year = str(on.year - ((number, first) > (on.month, on.day)))
    begins, ends = number * 31 + first, number * 31 + last
    if year is not None:
        try:
            begins = date(int(year), number, first).toordinal()
        except ValueError:
            return
        ends = begins if day else _began("month", begins + 31) - 1
    if side in ("after", "since"):
        yield Span(begins if side == "since" else ends + 1, _LAST_DAY, any_year=year is None)
    elif side:
        yield Span(_FIRST_DAY, ends if side == "until" else begins - 1, any_year=year is None)
    else:
        yield Span(begins, ends + _TOLD_LATER_DAYS, any_year=year is None, meant=ends)


def _month_named(month: str) -> int:
    """The number of a month by its digits or its name in any language."""
    return int(month) if month.isdigit() else months_abroad().get(_lowered(month)) or _month_number(month)


def _began(unit: str, day: int) -> int:
    """The first day of the week, the month or the year of a day."""
    of = date.fromordinal(day)
    return (
        day - of.weekday()
        if unit == "week"
        else of.replace(day=1, month=of.month if unit == "month" else 1).toordinal()
    )


def _last(unit: str, day: int) -> tuple[int, int]:
    """The first and the last day of the week, the month or the year before that of a day."""
    ends = max(_FIRST_DAY, _began(unit, day) - 1)
    return _began(unit, ends), ends


def without_relative_times(text: str) -> str:
    """The text without what tells when from the day on which it is said ("two weeks ago")."""
    return _RELATIVE.sub(" ", text)


def _relative(text: str, asked: int) -> Iterator[Span]:
    for match in _RELATIVE.finditer(text.lower()):
        if match["day"]:
            back = _NAMED_DAYS[match["day"]]
            yield Span(asked - back - 1, asked - back + 1)
        elif match["ago"]:
            back = (number(match["ago"]) or 0) * _DAYS[match["unit"]]
            slack = _SLACK_DAYS[match["unit"]] * (2 if match["ago"] in ("few", "several", "couple of") else 1)
            yield Span(asked - back - slack, asked - back + slack)
        elif match["weekday"]:
            back = _days_since(match["weekday"], asked)
            yield Span(asked - back, asked - back + 1)
        else:
            yield from _of_period(match["which"], match["count"], match["last"], asked)


def _of_period(which: str, count: str | None, unit: str, asked: int) -> Iterator[Span]:
    """The span of "the past two weeks", "this month" or "last year"."""
    if count or (which == "past" and unit in _DAYS):
        yield Span(asked - (number(count or "a") or 0) * _DAYS.get(unit, 7) - 1, asked)
    elif which == "this":
        if unit in ("week", "month", "year"):
            yield Span(_began(unit, asked), asked)
    elif unit == "weekend":
        first, last = _LAST_WEEKEND
        yield Span(asked - first, asked - last)
    elif unit != "day":
        first, last = _last(unit, asked)
        yield Span(first - (unit == "week"), asked, meant=last)  # some begin a week on Sunday


def _days_since(weekday: str, day: int) -> int:
    return (day - 1 - _WEEKDAYS.index(weekday[:3].lower())) % 7 or 7


_NAMED_DAYS = {"the day before yesterday": 2, "yesterday": 1, "last night": 1, "tomorrow": -1}
"""How many days ago."""
_YEAR = re.compile(r"\d{4}")
_MEANT = re.compile(
    r"\b(?:(?P<day>the day before yesterday|yesterday|last night|tomorrow|today|tonight"
    r"|this (?:morning|afternoon|evening))"
    rf"|(?P<number>\d{{1,3}}|an?|{'|'.join(NUMBER_WORDS)}) (?P<unit>day|week|month|year)s? ago"
    r"|last (?P<last>week|month|year)"
    rf"|(?:last|this past) (?P<weekday>{WEEKDAY}))\b"
)


def day_meant(text: str, *, said: float | str | None) -> str | None:
    """The day, month or year that a text says something was in, as ISO 8601 writes it; None if it names none.

    "2023-05-07" of "yesterday", "2023-04" of "last month", "2022" of "a year ago". What people round is not told finer
    than they do: "two weeks ago" is a day, give or take some.
    Without the time at which it was said, only what names a year counts.
    """
    if _YEAR.search(text):
        for pattern in (_YEAR_FIRST, _WRITTEN):
            match = pattern.search(text)
            if match and match["year"] and (day := day_of(match.group())) is not None:
                return date.fromordinal(day).isoformat()
        if (match := _MONTH_ALONE.search(text)) and match["year"]:
            return f"{match['year']}-{_month_number(match['month']):02d}"
    told, match = day_of(said), _MEANT.search(text.lower())
    return None if told is None or match is None else _meant(match, told)


def _meant(match: re.Match[str], told: int) -> str:
    if match["last"]:
        told = _last(match["last"], told)[0]
    unit, on = match["unit"] or match["last"], date.fromordinal(told)
    count = number(match["number"] or "") or 0
    if unit == "year":
        return f"{on.year - count:04d}"
    if unit == "month":
        year, month = divmod(on.year * 12 + on.month - 1 - count, 12)
        return f"{year:04d}-{month + 1:02d}"
    if match["weekday"]:
        back = _days_since(match["weekday"], told)
    else:
        back = count * _DAYS[unit] if unit else _NAMED_DAYS.get(match["day"], 0)
    return date.fromordinal(max(1, told - back)).isoformat()
