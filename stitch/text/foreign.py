"""What values are read of texts that are not English: amounts, dates, weekdays and times.

Names of months and days are those of CLDR, by `babel`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import product

from stitch.core.text_cache import text_cache
from stitch.text.languages import is_foreign
from stitch.text.values import MAX_MENTIONS, FoundMention, find_mentions
from stitch.text.words import MAX_READ_CHARS, word_set

_SHAPES = word_set("url email error file function price identifier date time phone percentage")
"""Classes that `find_mentions` reads off the shape of a value, whatever the language around it."""

_NUMBER = r"(?:\d{1,3}(?:[ \u00a0\u202f]\d{3}){1,3}(?:[.,]\d{1,2})?|\d(?:[\d.,']{0,12}\d)?)"
"""With thousands apart by points, commas, apostrophes or spaces."""
_CURRENCIES = (
    r"[$€£¥₩₹₽₺]|R\$|US\$|Rp|EUR|USD|GBP|CHF|MXN|euroa?s?|francs?|franken|d[oó]lar(?:es)?|dollars?|pesos?|reais|real"
    r"|rublos?|z[łl](?:oty\w{0,4})?|kronor|kroner|kr\b|lei|lira|tl|forint|ft\b|kč|лв|руб\w{0,5}|грн|гривень|евро|ευρώ|đồng"
    r"|rupiah|रुपये|रुपए|บาท|(?:دولار|درهم|دينار|ريال|جنيه)(?:ا|ين|ات)?|ليرة|يورو"
)
_AMOUNT = re.compile(
    rf"(?:(?:{_CURRENCIES}) ?{_NUMBER}|\b{_NUMBER}(?: mil| ألف| آلاف)? ?(?:{_CURRENCIES}))(?!\w)",
    re.IGNORECASE,
)
_NUMERALS = "一二三四五六七八九十百千万億亿两〇"
_SIGN_AMOUNT = re.compile(
    rf"\d[\d.,]{{0,12}}[{_NUMERALS}萬\d]{{0,6}} ?(?:元|円|块|塊|₫)|[{_NUMERALS}]{{1,9}}[元円]|[{_NUMERALS}]{{2,9}}块"
    r"|\d[\d.,]{0,12}(?: ?[억만천백] ?\d{0,4}){0,4} ?원"
)
_CLOCK = re.compile(
    r"\b(?:[01]?\d|2[0-4])(?:[:.h]\d\d\b| ?(?:Uhr|hs?|heures?|horas?|ore|uur|giờ|час\w{0,3})\b(?: ?\d\d\b)?| ?बजे)"
    r"|\b(?:kl(?:ockan|okka|okken|o)?\.?|saat|pukul|jam|godz\w{0,5}\.?|الساعة) (?:[01]?\d|2[0-4])\b(?![.:]?\d)"
    r"|(?:[01]?\d|2[0-4]) ?[点點時时](?![間间])(?:半|\d{1,2}分)?"
    r"|(?:[上下]午|[晚早]上|中午|午[前後])(?:十[一二]?|[一二两三四五六七八九])[点點時时](?:半|[一二三四五十]{1,3}[分刻])?"
    r"|(?:十[一二]?|[一二三四五六七八九])[点點時]半|(?:十[一二]?|[二三四五六七八九])時(?![間点期代的])"
    r"|(?:\d{1,2}|열[한두]?|한|두|세|네|다섯|여섯|일곱|여덟|아홉) ?시(?![간민장스작험청])(?: ?(?:반|\d{1,2} ?분))?",
    re.IGNORECASE,
)
_SIGN_DATE = re.compile(
    r"(?:\d{4}年)?(?:1[0-2]|\d)月(?:[12]\d|3[01]|\d)[日号號]|(?:1[0-2]|\d)월 ?(?:[12]\d|3[01]|\d)일"
    r"|(?:十[一二]?|[一二三四五六七八九])月(?:[二三]?十[一二三四五六七八九]?|[一二三四五六七八九])[日号號]"
)
_SIGN_DAY = re.compile(
    r"(?:星期|周|週|礼拜)[一二三四五六日天]|[月火水木金土日]曜日?|[월화수목금토일]요일|今天|明天|昨天|明日|昨日|今日"
)
_PORTUGUESE_DAY = re.compile(
    r"\b(?:n[ao]|às?|até|toda|próxima) ((?:segunda|terça|quarta|quinta|sexta)s?)"
    r"(?=[,.;:!?)]|$| (?:às?|de manhã|à|dia|que vem|e|ou|pela)\b)",
    re.IGNORECASE,
)
"""Without "-feira", where they are no ordinals."""
_ENDINGS = {"ru": "[ауыею]|ам|ой|ей", "uk": "[аяуюиіе]|ам|ою", "pl": "[aąęyi]|zie", "cs": "[aeěiuy]|ou"}
"""Of weekdays that end in a vowel, in languages that inflect them; the calendar has the first form alone."""
_OTHER_CALENDARS = {"ar": ("ar", "ar_LB")}
"""Languages with other names of months in some countries."""


@text_cache(maxsize=64)
def _calendar(language: str) -> tuple[re.Pattern[str] | None, re.Pattern[str] | None]:
    """Patterns of a date and of a weekday in a language; None where none is known."""
    from babel import Locale, UnknownLocaleError

    try:
        locales = [Locale.parse(name) for name in _OTHER_CALENDARS.get(language, (language,))]
    except UnknownLocaleError:
        return None, None
    months: set[str] = set()
    days: set[str] = set()
    for locale, context, width in product(locales, ("format", "stand-alone"), ("wide", "abbreviated")):
        least = 3 if width == "wide" else 4  # short forms are other words too: "mar" is the sea
        months.update(_names(locale.months[context][width].values(), least))
        days.update(_names(locale.days[context][width].values(), least))
    month, day = _any_of(months), "|".join(_inflected(name, language) for name in sorted(days, key=_longest_first))
    if not month or not day:
        return None, None
    number = r"\b(?:[12]\d|3[01]|\d)(?:\.|er|º|°)?"
    dates = rf"{number}(?: (?:de|di))? ?(?:{month})\b\.?(?: (?:de )?(?:19|20)\d\d\b)?"
    dates += rf"|\b(?:{month})\.? (?:[12]\d|3[01]|\d)\b" if language == "hu" else ""
    return re.compile(dates, re.IGNORECASE), re.compile(rf"\b(?:{day})s?\b", re.IGNORECASE)


def _inflected(day: str, language: str) -> str:
    endings = _ENDINGS.get(language, "")
    return f"{re.escape(day[:-1])}(?:{endings})" if endings and day[-1] in "аяaeě" else re.escape(day)


def _names(names: Iterable[str], least: int) -> Iterator[str]:
    """Those that are long enough to be told from other words, and no signs with numbers."""
    folded = (name.lower().rstrip(".") for name in names)
    return (name for name in folded if len(name) >= least and not name[0].isdigit())


def _longest_first(name: str) -> tuple[int, str]:
    return -len(name), name


def _any_of(names: Iterable[str]) -> str:
    return "|".join(map(re.escape, sorted(names, key=_longest_first)))


@text_cache(maxsize=8)
def mentions_in(text: str, language: str | None) -> tuple[FoundMention, ...]:
    """The values named in a text, by place: as `find_mentions`; of other languages than English without names."""
    if not is_foreign(language):
        return find_mentions(text)
    text = text[:MAX_READ_CHARS]
    date, weekday = _calendar(language or "")
    ways = (
        ("price", _AMOUNT),
        ("price", _SIGN_AMOUNT),
        ("date", _SIGN_DATE),
        ("date", date),
        ("time", _CLOCK),
        ("day", _SIGN_DAY),
        ("day", weekday),
        ("day", _PORTUGUESE_DAY if language == "pt" else None),
    )
    found: list[FoundMention] = []
    taken = bytearray(len(text))
    for kind, pattern in ways:
        for match in pattern.finditer(text) if pattern is not None else ():
            start, end = match.span(match.lastindex or 0)
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
