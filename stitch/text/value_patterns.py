"""The patterns of values: what each class looks like, and what tells without looking that a text has none of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from stitch.text.dates import MONTH, MONTHS, WEEKDAY
from stitch.text.numbers import NUMBER_WORDS

_MONTHS = "|".join(MONTHS)
_ENDS_OF_MONTHS = f"ary|rch|ril|may|une|uly|ust|ber|ept|{_MONTHS}"
"""The last three letters of a month, written out or cut short."""
_COUNTS = "|".join((*NUMBER_WORDS, "a dozen"))
_ORDINAL = r"\d{1,2}(?:st|nd|rd|th)"
_YEAR = r"(?:,? (?:19|20)\d\d)?"
_CAP = r"[A-Z\u00c0-\u00de][\w&'’-]*"
_AUTHORS = rf"{_CAP}(?: (?:and|&) {_CAP}| et al\.?)?,?"
_CURRENCY = "dollars?|bucks?|euros?|pounds?|cents?|credits?|usd|eur|gbp|yen|yuan|rupees?"
_EXTENSIONS = (
    "py|js|ts|tsx|jsx|java|go|rs|rb|php|cpp|cc|hpp|cs|sh|sql|html?|css|json|ya?ml|toml|ini|cfg|conf|lock|log|md|txt|csv"
    "|tsv|pdf|docx?|xlsx?|ipynb|xml|png|jpe?g|zip|gz|tar|deb|rpm|exe|so|db"
)
_STREET = (
    "Street|St|Avenue|Ave|Road|Rd|Boulevard|Blvd|Lane|Ln|Drive|Dr|Way|Court|Ct|Place|Pl|Square|Sq|Highway|Hwy|Parkway|Pkwy"
    "|Mall|Plaza|Terrace|Circle|Crescent|Alley|Loop|Row|Quay|Trail|Promenade|Esplanade|Freeway|Expressway|Turnpike"
)
_JOINS = "of|of the|de|la|del|du|van|von|the|and|&|at|for|on|in"
_PATTERNS: tuple[tuple[str, str], ...] = (
    ("url", r"(?i:https?://|www\.)[^\s<>\"')\]]+"),
    ("email", r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
    ("citation", rf"{_AUTHORS} \((?:19|20)\d\d[a-z]?\)|\({_AUTHORS} (?:19|20)\d\d[a-z]?\)"),
    (
        "error",
        (
            r"\b[A-Z]\w*(?:Error|Exception|Warning|Failure)\b|\b(?i:error|exit) (?:code|status) \d+|\bHTTP [45]\d\d\b"
            r"|\bE[A-Z]{4,10}\b"
        ),
    ),
    (
        "file",
        (
            r"(?:(?<=[\s`'\"(=:])|^)(?:~?/|\.{1,2}/)[\w.+-]+(?:/[\w.+-]+)*/?"
            rf"|\b[\w-]+(?:/[\w.-]+)*\.(?:{_EXTENSIONS})\b(?!\()"
        ),
    ),
    ("function", r"\b[A-Za-z_][\w.]*\w\(\)|\b[a-z]+(?:_[a-z\d]+)+\b"),
    ("function", r"\b[a-z]+(?:[A-Z][a-z\d]+)+\b"),
    (
        "price",
        (
            r"(?:[$€£¥]|(?:USD|EUR|GBP) ?)\d[\d,]*(?:\.\d+)?(?: ?(?i:k|m|million|billion))?\b"
            rf"|\b\d[\d,]*(?:\.\d+)? ?(?i:{_CURRENCY})\b"
        ),
    ),
    (
        "rating",
        (
            r"(?i)(?<![\w.])\d(?:\.\d)? ?(?:/ ?(?:5|10)\b|out of (?:5|10|five|ten)\b|-? ?stars?\b)"
            r"(?: ?(?:rating|rated))?|\b(?:rat(?:ed|ing)(?: of| is| at)?|scored?) \d(?:\.\d+)?\b"
        ),
    ),
    ("day", rf"(?i)\bday (?:\d{{1,3}}|{_COUNTS})\b"),
    (
        "identifier",
        (
            r"#\d+\b|\b(?=[A-Z\d-]*\d)(?=[A-Z\d-]*[A-Z])[A-Z\d]{2,}(?:-[A-Z\d]+)*\b|\b(?=[a-f]*\d)[a-f\d]{7,40}\b"
            r"|\b[a-z][a-z-]*\d+(?:\.\d+)+[\w.-]*\w"
            r"|\b(?i:id|number|no\.|order|ticket|issue|pr|case|ref(?:erence)?) ?#? ?\d{2,}\b"
        ),
    ),
    ("address", rf"\b\d{{1,5}} (?:(?:{_CAP}|{_ORDINAL}) ){{1,4}}(?:#\s?\d+|(?:{_STREET})\b)\.?"),
    (
        "date",
        (
            r"(?i)\b\d{4}-\d\d-\d\d\b|\b\d{1,2}[/.]\d{1,2}[/.]\d{2,4}\b"
            rf"|\b{_ORDINAL}(?: of)? (?:{MONTH})\b{_YEAR}"
            rf"|\b(?:{MONTH})\.? (?:the )?\d{{1,2}}(?:st|nd|rd|th)?\b{_YEAR}"
            rf"|\b\d{{1,2}} (?:{MONTH})\b{_YEAR}|\b(?:{MONTH}) (?:19|20)\d\d\b"
            rf"|\b{_ORDINAL}(?: of (?:this|next) month)?\b(?! \w+ (?:street|avenue|ave|st)\b)"
        ),
    ),
    (
        "day",
        (
            rf"(?i)\b(?:(?:this|next|last|coming) )?{WEEKDAY}s?\b|\b(?:the day after tomorrow|today|tomorrow|tonight"
            r"|yesterday|this weekend|next week)\b"
        ),
    ),
    (
        "time",
        (
            r"(?i)\b\d{1,2}:\d\d(?::\d\d)?(?: ?[ap]\.?m\b\.?)?|\b\d{1,2} ?[ap]\.?m\b\.?|\b\d{1,2} o'?clock\b"
            r"|\b(?:half past|quarter (?:past|to)) \w+|\b(?:noon|midnight|morning|afternoon|evening)\b"
        ),
    ),
    ("phone", r"\+?\(?\d{2,4}\)?[ -]\d{3}[ -]\d{3,5}\b|\b\d{10,12}\b"),
    ("percentage", r"\b\d+(?:\.\d+)? ?(?:%|percent\b)"),
    ("quantity", rf"(?i)\b(?:\d+(?:,\d+)*(?:\.\d+)?|{_COUNTS})[ -](?:more |other |direct )?(?P<unit>[a-z]{{2,14}})\b"),
    # A capital is looked for far quicker than a place before one.
    ("name", rf"[A-Z\u00c0-\u00de](?<=\b.)[\w&'’-]*(?:(?: (?:{_JOINS})(?= [A-Z]))? (?!I\b){_CAP})*"),
    ("number", r"\b\d[\d,]*(?:\.\d+)?\b"),
)
DIGIT = "a digit"
"""The sign of a class whose values have one."""
_SIGNS: Mapping[str, tuple[str, ...]] = {
    "url": ("://", "www."),
    "email": ("@",),
    "citation": ("(1", "(2", " 19", " 20"),
    "error": ("error", "exception", "warning", "failure", "exit", "http"),
    "file": ("/", "."),
    "function": ("()", "_"),
    "price": (DIGIT,),
    "rating": (DIGIT,),
    "day": ("day", "tomorrow", "tonight", "week"),
    "date": (DIGIT,),
    "time": (DIGIT, "noon", "midnight", "morning", "evening", "half past", "quarter"),
    "phone": (DIGIT,),
    "percentage": (DIGIT,),
    "identifier": (DIGIT,),
    "address": (DIGIT,),
    "quantity": (DIGIT, *NUMBER_WORDS),
    "number": (DIGIT,),
}
"""Signs that a text must hold for a class to be looked for; names are looked for always."""
_ERROR_CODE = re.compile("E[A-Z]{4}")
"""The one sign that is not the same in lower case: "ENOENT"."""

_TRACES: Mapping[str, tuple[tuple[str, ...], str]] = {
    "price": (("$", "usd", "eur", "gbp", "dollar", "buck", "pound", "cent", "credit", "yen", "yuan", "rupee"), ""),
    "rating": (("rated", "rating", "score"), r"\d ?(?:/ ?[15]|out of|-? ?star)"),
    "date": (
        (),
        (
            rf"\d(?:st|nd|rd|th|[/.]\d\d?[/.]\d\d|-\d\d-\d\d| (?:{_MONTHS})"
            rf"|(?<=(?:{_ENDS_OF_MONTHS}) \d)|(?<=(?:{_ENDS_OF_MONTHS})\. \d)|(?<=the \d))"
        ),
    ),
    "time": (("half past", "quarter", "noon", "midnight", "morning", "evening"), r"\d(?::\d| ?[ap]\.?m| o'?c)"),
    "identifier": (
        (),
        r"\d(?:(?<=[a-z#-]\d)|(?<=no\.\d)|(?<=[# ] \d)|(?<=(?:id|er|o\.|et|ue|pr|se|ef|ce) \d)|(?=[a-z-]|\d{6}))",
    ),
    "phone": ((), r"\d\d\d(?:[ -]\d{3}|\d{7})"),
    "percentage": (("%", "percent"), ""),
    "quantity": ((*NUMBER_WORDS, "a dozen"), r"\d[ -][a-z]"),
    "file": (("/",), r"\.[a-z]"),
}
"""Words in lower case in every match of a pattern, which take less time to look for: one of some words, or what
another pattern finds that begins with one sign; for ASCII texts alone."""


class ValuePattern(NamedTuple):
    """The pattern by which values of a class are found."""

    kind: str
    finder: re.Pattern[str]
    """The form of a value."""
    signs: tuple[str, ...]
    by_digit: bool
    """Whether a digit is one of the signs."""
    words: tuple[str, ...]
    """One of these stands in each ASCII text that has such a value, or what `trace` finds does; see `_TRACES`."""
    trace: re.Pattern[str] | None

    def may_be_in(self, text: str, *, lowered: str, has_digit: bool) -> bool:
        """Whether values of this class have to be looked for in a text; `lowered` is the text with its case folded."""
        if self.signs and not (self.by_digit and has_digit) and not any(map(lowered.__contains__, self.signs)):
            return self.kind == "error" and _ERROR_CODE.search(text) is not None
        if not (self.words or self.trace) or not text.isascii() or any(map(lowered.__contains__, self.words)):
            return True
        return self.trace is not None and self.trace.search(lowered) is not None


def _value_pattern(kind: str, pattern: str) -> ValuePattern:
    signs = _SIGNS.get(kind, ())
    words, trace = _TRACES.get(kind, ((), ""))
    return ValuePattern(kind, re.compile(pattern), signs, DIGIT in signs, words, re.compile(trace) if trace else None)


VALUE_PATTERNS = tuple(_value_pattern(kind, pattern) for kind, pattern in _PATTERNS)
"""The classes in the order in which they are looked for: where two meet, the earlier one has the value."""
