"""What values are read of texts that are not English: amounts, dates, weekdays and times.

Names of months and days are those of CLDR, by `babel`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from stitch.core.text_cache import text_cache
from stitch.text.languages import is_foreign
from stitch.text.values import MAX_MENTIONS, FoundMention, find_mentions
from stitch.text.words import MAX_READ_CHARS, word_set

_SHAPES = word_set("url email error file function price identifier date time phone percentage")
"""Classes that `find_mentions` reads off the shape of a value, whatever the language around it."""

_CURRENCIES = (
    r"[$€£¥₩₹₽₺]|R\$|US\$|EUR|USD|GBP|CHF|MXN|euros?|francs?|franken|d[oó]lar(?:es)?|dollars?|pesos?|reais|real|rublos?"
    r"|z[łl](?:oty\w{0,4})?|kronor|kroner|kr\b|lei|lira|tl|forint|ft\b|kč|руб\w{0,5}|грн|гривень|евро|ευρώ|đồng|rupiah|रुपये|रुपए|دولار|درهم|ريال|يورو"
)
_SIGNS_OF_MONEY = "元|円|块|塊|원|₫"
_AMOUNT = re.compile(
    rf"(?:(?:{_CURRENCIES}) ?\d(?:[\d.,']{{0,12}}\d)?|\b\d(?:[\d.,']{{0,12}}\d)?(?: mil)? ?(?:{_CURRENCIES}))(?!\w)"
    rf"|\d(?:[\d.,]{{0,12}}\d)? ?[万億亿千만천]?(?:{_SIGNS_OF_MONEY})",
    re.IGNORECASE,
)
_CLOCK = re.compile(
    r"\b(?:[01]?\d|2[0-4])(?:[:.h]\d\d\b| ?(?:Uhr|hs?|heures?|horas?|ore|uur|час\w{0,3})\b(?: ?\d\d\b)?)"
    r"|(?:[01]?\d|2[0-4]) ?[点點時时](?:半|\d{1,2}分)?",
    re.IGNORECASE,
)
_SIGN_DATE = re.compile(
    r"(?:\d{4}年)?(?:1[0-2]|\d)月(?:[12]\d|3[01]|\d)[日号號]|(?:1[0-2]|\d)월 ?(?:[12]\d|3[01]|\d)일"
)
_SIGN_DAY = re.compile(
    r"(?:星期|周|週|礼拜)[一二三四五六日天]|[月火水木金土日]曜日?|[월화수목금토일]요일|今天|明天|昨天|明日|昨日|今日"
)


@text_cache(maxsize=64)
def _calendar(language: str) -> tuple[re.Pattern[str] | None, re.Pattern[str] | None]:
    """Patterns of a date and of a weekday in a language; None where none is known."""
    from babel import Locale, UnknownLocaleError

    try:
        locale = Locale(language)
    except UnknownLocaleError:
        return None, None
    months: set[str] = set()
    days: set[str] = set()
    for context in ("format", "stand-alone"):
        for width in ("wide", "abbreviated"):
            least = 3 if width == "wide" else 4  # short forms are other words too: "mar" is the sea
            months.update(_names(locale.months[context][width].values(), least))
            days.update(_names(locale.days[context][width].values(), least))
    month, day = (_any_of(names) for names in (months, days))
    if not month or not day:
        return None, None
    number = r"\b(?:[12]\d|3[01]|\d)(?:\.|er|º|°)?"
    dates = rf"{number}(?: (?:de|di))? ?(?:{month})\b\.?(?: (?:de )?(?:19|20)\d\d\b)?"
    return re.compile(dates, re.IGNORECASE), re.compile(rf"\b(?:{day})s?\b", re.IGNORECASE)


def _names(names: Iterable[str], least: int) -> Iterator[str]:
    """Those that are long enough to be told from other words, and no signs with numbers."""
    folded = (name.lower().rstrip(".") for name in names)
    return (name for name in folded if len(name) >= least and not name[0].isdigit())


def _any_of(names: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, names), key=lambda name: (-len(name), name)))


@text_cache(maxsize=8)
def mentions_in(text: str, language: str | None) -> tuple[FoundMention, ...]:
    """The values named in a text, by place: as `find_mentions`; of other languages than English without names."""
    if not is_foreign(language):
        return find_mentions(text)
    text = text[:MAX_READ_CHARS]
    date, weekday = _calendar(language or "")
    ways = (
        ("price", _AMOUNT),
        ("date", _SIGN_DATE),
        ("date", date),
        ("time", _CLOCK),
        ("day", _SIGN_DAY),
        ("day", weekday),
    )
    found: list[FoundMention] = []
    taken = bytearray(len(text))
    for kind, pattern in ways:
        for match in pattern.finditer(text) if pattern is not None else ():
            start, end = match.span()
            if end > start and not any(taken[start:end]):
                taken[start:end] = b"\x01" * (end - start)
                found.append(_mention(kind, text, start, end))
    found += [
        mention
        for mention in find_mentions(text)
        if mention.entity_type in _SHAPES and not any(taken[mention.start : mention.end])
    ]
    return tuple(sorted(found, key=lambda mention: mention.start)[:MAX_MENTIONS])


def _mention(kind: str, text: str, start: int, end: int) -> FoundMention:
    value = text[start:end].rstrip(" .,")
    return FoundMention(kind, value, start, start + len(value))
