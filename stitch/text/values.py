"""Values named in a step, each with a neutral class: *price* with "$76.22", *day* with "day 1".

Classes come from the shape of a value and from the words around it; what the value is said to be ("the fare is $66")
is found by `slots`. Keys of tool calls and of JSON results name their own values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from stitch.core.text_cache import text_cache
from stitch.text.dates import MONTH, WEEKDAY, date_forms, time_forms
from stitch.text.value_patterns import DIGIT, PASSED, VALUE_PATTERNS
from stitch.text.words import FUNCTION_WORDS, MAX_READ_CHARS, fold_case, is_verb, singular, word_set

MAX_MENTIONS = 48
"""How many values of one step are kept."""
MAX_VALUE_CHARS = 80
VALUE_CLASSES = (
    "price", "rating", "date", "day", "time", "place", "person", "organization", "name", "quantity", "number",
    "identifier", "file", "function", "error", "citation", "url", "email", "phone", "percentage", "address",
)  # fmt: skip
"""The classes that `find_mentions` gives."""

PLACE_SUFFIX = word_set(
    """airport avenue bay beach bridge city county court district garden gardens hall harbor hill hills island lake
    lane market mountain museum park plaza port quarter river road square station street terminal tower town valley
    village"""
)
ORGANIZATION_SUFFIX = word_set(
    """agency airlines airways association bank bar bistro cafe center centre clinic club college committee company
    corp corporation council dining diner foundation grill group hospital hotel house inc inn institute kitchen lab
    labs llc lodge ltd office pub resort restaurant salon school services shop spa store studio theatre theater
    university"""
)
_PLACE_BEFORE = re.compile(
    r"\b(?:in|to|from|near|around|at|leaving|visit|visiting|reach|toward|towards)\s(?:the\s)?$", re.I
)
_PERSON_BEFORE = re.compile(
    r"\b(?:mr|mrs|ms|dr|prof|sir|i am|i'm|my name is|name is|this is|called|by|with|directed by|starring|friend|brother"
    r"|sister|wife|husband|boss|doctor)\.?\s$",
    re.IGNORECASE,
)
_POINTS_AT = re.compile(r"\b(?:th(?:at|is|e)|which|each|every|another|other|any|some|no) $", re.IGNORECASE)
"""Before "one": "that one sounds great" counts nothing, nor does "a cheaper one sounds great"."""
_SENTENCE_START = re.compile(r"(?:^|[.!?:;\n\"“]|\s-)\s*$")
_CALENDAR = re.compile(rf"(?:{MONTH}|{WEEKDAY}s?)$", re.I)

_SLOT = re.compile(
    r"\b(?:(?:the|your|my|its|their|his|her|our|an?|what|which) )?"
    r"(?P<slot>[a-z][a-z-]+(?: (?:of |for )?[a-z][a-z-]+){0,2}) "
    r"(?:is|are|was|were|will be|would be|of|should be|to be|=|:) (?:about |around |only |approximately )?$",
    re.IGNORECASE,
)
_SLOT_AFTER = re.compile(
    r"\.? (?:is|are|was|were|will be|would be) (?:the|your|my|its|their|his|her|our) "
    r"(?P<slot>[a-z][a-z-]+(?: [a-z][a-z-]+){0,3})"
)
_HAVE_CLASS = ("name", "person", "place", "organization", "quantity")
"""Of these, "is the ..." says what is special about them rather than what they are."""
_SLOT_ENDS = ("is ", "are ", "was ", "were ", "be ", "of ", "= ", ": ", "about ", "around ", "only ", "approximately ")


_WITHOUT_DIGITS = tuple(pattern for pattern in VALUE_PATTERNS if pattern.signs != (DIGIT,))
"""What may be found in a text without a digit."""


class FoundMention(NamedTuple):
    """A value with its class and place in the text."""

    entity_type: str
    value: str
    start: int
    end: int


@text_cache(maxsize=8)
def find_mentions(text: str) -> tuple[FoundMention, ...]:
    """The values named in a text, by place; where two patterns meet, the more telling one has it."""
    text = text[:MAX_READ_CHARS]
    taken = bytearray(len(text))
    found: list[FoundMention] = []
    lowered = fold_case(text)
    has_digit = any(map(lowered.__contains__, "0123456789"))
    for pattern in VALUE_PATTERNS if has_digit else _WITHOUT_DIGITS:
        if not pattern.may_be_in(text, lowered=lowered, has_digit=has_digit):
            continue
        for match in pattern.finder.finditer(text):
            if match.lastgroup == PASSED:
                continue
            start, end = match.span()
            if any(taken[start:end]):
                continue
            mention = _accept(text, pattern.kind, match)
            if mention is None:
                continue
            taken[mention.start : mention.end] = b"\x01" * (mention.end - mention.start)
            found.append(mention)
            if len(found) >= MAX_MENTIONS:
                break
    found.sort(key=lambda mention: mention.start)
    return tuple(found[:MAX_MENTIONS])


def _accept(text: str, kind: str, match: re.Match[str]) -> FoundMention | None:
    start = match.start()
    value = match.group()
    if kind == "name":
        return _name(text, start, value)
    if kind == "quantity":
        unit = match["unit"].lower()
        if unit in FUNCTION_WORDS or (is_verb(unit, base=True) and not unit.endswith("s")):
            return None
        if value[:4].lower() == "one " and (
            (unit.endswith("ed") and is_verb(unit))
            or singular(unit) != unit
            or _POINTS_AT.search(text, max(0, start - 12), start)
        ):
            return None
    value = value.strip(" \t\n.,")
    return FoundMention(kind, value, start, start + len(value)) if value else None


def _name(text: str, start: int, capitals: str) -> FoundMention | None:
    before = text[max(0, start - 24) : start]
    opens = _SENTENCE_START.search(before) is not None
    words = _from_first_name(capitals.split(" "), opens=opens)
    name = " ".join(words)
    # The first word of a sentence is capitalized anyway: it belongs to a name only if it is no common word.
    alone = len(words) == 1 and name == capitals
    if not words or (opens and alone and not text.startswith(("'s", "’s"), start + len(name))):
        return None
    start += len(capitals) - len(name)
    value = name.removesuffix("'s").removesuffix("’s").strip("'’-& ")
    if len(value) < 2 or _CALENDAR.fullmatch(value):
        return None
    kind = _name_class(words[-1].lower().removesuffix("'s"), before)
    return FoundMention(kind, value, start, start + len(value))


def _from_first_name(words: list[str], *, opens: bool) -> list[str]:
    """The words from the first that may begin a name: no function word, and no verb that `opens` the sentence."""
    first = 0
    while first < len(words):
        word = words[first].lower()
        if word.replace("’", "'") not in FUNCTION_WORDS and not (opens and is_verb(word)):
            break
        opens = False
        first += 1
        while first < len(words) and words[first][:1].islower():
            first += 1
    return words[first:]


def _name_class(last: str, before: str) -> str:
    """The class of a name, by its last word and by what stands before it."""
    if last in PLACE_SUFFIX:
        return "place"
    if last in ORGANIZATION_SUFFIX:
        return "organization"
    if _PERSON_BEFORE.search(before):
        return "person"
    return "place" if _PLACE_BEFORE.search(before) else "name"


_MEASURES = {
    unit: kind
    for kind, units in (
        ("duration", "second sec ms millisecond minute min hour hr night week month year"),
        ("size", "byte kb mb gb tb kilobyte megabyte gigabyte terabyte"),
        ("weight", "kg kilogram gram lb ounce ton"),
        ("distance", "km kilometer kilometre meter metre cm mm mile inch foot feet yard"),
    )
    for unit in units.split()
}
"""Units of measure, and the class of what is measured in them."""
_NO_CLASS = word_set(
    """idea thing way lot bit kind type sort option choice question one other first second third last next
    best cheapest cheaper earliest earlier latest later highest lowest closest nearest longest shortest fastest"""
)
_COUNTED = {"person": "people", "men": "man", "women": "woman", "children": "child"}
"""What is counted has one class however many there are; a `person` has a name."""


class Slot(NamedTuple):
    """A phrase that says what a value is: "number of stops" with "2"."""

    name: str
    value: str


def slots(text: str, found: Sequence[FoundMention]) -> list[Slot]:
    """Values of `found` that the text gives a name to: "the fare is $66", "$66 is the fare", "2 stops"."""
    named: list[Slot] = []
    for mention in found:
        if mention.entity_type == "quantity":
            unit = singular(re.split(r"[ -]", mention.value)[-1].lower())
            if not unit.endswith("ed"):
                named.append(Slot(_MEASURES.get(unit) or counted(unit), mention.value))
        before = text[max(0, mention.start - 48) : mention.start]
        may_end = not before.isascii() or before.endswith("\n") or before.lower().endswith(_SLOT_ENDS)
        match = _SLOT.search(before) if may_end else None
        if match and (name := slot_name(match["slot"])):
            named.append(Slot(name, mention.value))
        after = None if mention.entity_type in _HAVE_CLASS else _SLOT_AFTER.match(text, mention.end)
        if after and (name := slot_name(_noun(after["slot"]))):
            named.append(Slot(name, mention.value))
    return named


def counted(unit: str) -> str:
    """The class of things that are counted, from their singular: "people" of one person, too."""
    return _COUNTED.get(unit, unit)


def _noun(phrase: str) -> str:
    """The words of a phrase before what is said of it: "number of stops" of "number of stops you asked"."""
    kept: list[str] = []
    for word in phrase.lower().split():
        after_of = kept[-1:] == ["of"]
        if word in FUNCTION_WORDS and not (word == "of" and kept and not after_of):
            break
        if kept and not after_of and is_verb(word) and not word.endswith(("ing", "er", "ion")):
            break
        kept.append(word)
    return " ".join(kept)


def slot_name(phrase: str) -> str:
    """A phrase as the name of a class: singular head, no empty words at either end; empty if nothing is left."""
    parts = phrase.lower().split()
    while parts and (parts[-1] in FUNCTION_WORDS or parts[-1] in _NO_CLASS):
        parts.pop()
    while parts and (parts[0] in FUNCTION_WORDS or parts[0] in _NO_CLASS or (len(parts) > 1 and is_verb(parts[0]))):
        parts.pop(0)
    if not parts or any(part in FUNCTION_WORDS and part not in {"of", "for"} for part in parts):
        return ""
    parts[-1] = singular(parts[-1])
    return " ".join(parts)


def value_keys(kind: str, value: str) -> tuple[str, ...]:
    """The forms under which a value is compared: folded, and written in one way, so that "8:30 am" equals "08:30".

    Times become "08:30", dates "03-08" and "8th", prices their number.
    """
    folded = value.lower().strip()
    if kind in ("time", "date", "price"):
        return tuple(dict.fromkeys((folded, *_CANONICAL[kind](folded))))
    return (folded,)


def _prices(folded: str) -> Iterator[str]:
    if number := _AMOUNT.search(folded):
        yield number.group().replace(",", "").removesuffix(".00")


_CANONICAL: Mapping[str, Callable[[str], Iterator[str]]] = {"time": time_forms, "date": date_forms, "price": _prices}
_AMOUNT = re.compile(r"\d[\d,]*(?:\.\d+)?")
