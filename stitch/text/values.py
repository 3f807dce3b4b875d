"""Values named in a step, each with a neutral class: *price* with "$76.22", *day* with "day 1".

Classes come from the shape of a value and from the words around it; keys of tool calls and JSON results name their own.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from stitch.core.text_cache import text_cache
from stitch.text.dates import MONTH, WEEKDAY, find_moments
from stitch.text.words import (
    FUNCTION_WORDS,
    MAX_READ_CHARS,
    NUMBER_WORDS,
    fold_case,
    is_verb,
    singular,
    table_lines,
    word_list,
    word_set,
)

MAX_MENTIONS = 48
"""The most values of one step that are kept."""
MAX_VALUE_CHARS = 80
SHAPES = word_set("url email error file function price identifier date time phone percentage")
"""The classes that a value has by its shape, whatever the language around it."""

PLACE_SUFFIX = word_list("places")
ORGANIZATION_SUFFIX = word_list("organizations")
_PLACE_BEFORE = re.compile(r"\b(?:in|to|from|near|around|at|leaving|visit|visiting|reach|toward|towards)\s(?:the\s)?$")
_PERSON_BEFORE = re.compile(
    r"\b(?:mr|mrs|ms|dr|prof|sir|i am|i'm|my name is|name is|this is|called|by|with|directed by|starring|friend|brother"
    r"|sister|wife|husband|boss|doctor)\.?\s$"
)
_CALENDAR = re.compile(rf"(?:{MONTH}|{WEEKDAY}s?)$")


_DIGIT = "a digit"
_SIGNS = {
    _DIGIT: re.compile("[0-9]"),
    "a joined digit": re.compile(r"\d(?:[^\W\d]|[^\w\s,.;:!?)]|[,.;:!?)][^\s,.;:!?)]|\d{6}|(?<=[^\s\d].))"),
    "an ending": re.compile(r"\.[a-z]"),
}
"""Signs of classes that are no words: a digit; one that is part of a word, a date or a long number; a letter behind a
period."""


class ValuePattern(NamedTuple):
    """The pattern by which values of a class are found, a line of `table/values.tsv`."""

    kind: str
    finder: re.Pattern[str]
    needs_digit: bool
    """Whether a text without a digit has no such value."""
    signs: tuple[str, ...]
    """Only a text that holds one of these, in lower case, has such a value; any text if there is none."""

    def may_be_in(self, lowered: str, *, signs: Collection[str]) -> bool:
        """Whether values of this class have to be looked for in a text, given in lower case and with `signs_in` it."""
        if self.needs_digit and _DIGIT not in signs:
            return False
        return not self.signs or self.signs[0] in signs or any(map(lowered.__contains__, self.signs))


def _value_patterns() -> Iterator[ValuePattern]:
    """The classes in the order in which they are looked for: where two meet, the earlier one has the value."""
    parts = {"month": MONTH, "weekday": WEEKDAY, "number": "|".join(NUMBER_WORDS)}

    def whole(pattern: str) -> str:
        return _PART.sub(lambda name: parts[name[1]], pattern)

    for line in table_lines("values.tsv"):
        kind, said, pattern = line.split("\t")
        if kind == "part":
            parts[said] = whole(pattern)
        else:
            first, _, others = said.partition(" and ")
            needs_digit = first == _DIGIT
            signs = whole(others if needs_digit else said).split("|")
            yield ValuePattern(kind, re.compile(whole(pattern)), needs_digit, tuple(filter(None, signs)))


_PART = re.compile(r"(?<!\?P)<([a-z]+)>")
VALUE_PATTERNS = tuple(_value_patterns())


def signs_in(text: str) -> Collection[str]:
    """The signs of values that a text has, but for words."""
    return [name for name, sign in _SIGNS.items() if sign.search(text)]


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
    signs = signs_in(text)
    for pattern in VALUE_PATTERNS:
        if not pattern.may_be_in(lowered, signs=signs):
            continue
        for match in pattern.finder.finditer(text):
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
        if value[:4].lower() == "one " and singular(unit) != unit:  # "one expects"
            return None
    value = value.strip(" \t\n.,")
    return FoundMention(kind, value, start, start + len(value)) if value else None


def _name(text: str, start: int, capitals: str) -> FoundMention | None:
    before = text[max(0, start - 24) : start]
    opens = _ends_sentence(before)
    words = _from_first_name(capitals.split(" "), opens=opens)
    name = " ".join(words)
    # The first word of a sentence is capitalized anyway: it belongs to a name only if it is no common word.
    alone = len(words) == 1 and name == capitals
    if not words or (opens and alone and not text.startswith(("'s", "’s"), start + len(name))):
        return None
    start += len(capitals) - len(name)
    value = name.removesuffix("'s").removesuffix("’s").strip("'’-& ")
    if len(value) < 2 or _CALENDAR.fullmatch(value.lower()):
        return None
    kind = _name_class(words[-1].lower().removesuffix("'s"), before.lower())
    return FoundMention(kind, value, start, start + len(value))


def _ends_sentence(before: str) -> bool:
    """Whether what follows begins a sentence: behind a sign or a dash, on a new line, or where nothing is before."""
    said = before.rstrip()
    if not said or said[-1] in '.!?:;"“' or "\n" in before[len(said) :]:
        return True
    return said[-1] == "-" and said[-2:-1].isspace()


def _from_first_name(words: list[str], *, opens: bool) -> list[str]:
    """The words from the first that may begin a name: no function word, and no verb that `opens` the sentence."""
    for first, written in enumerate(words):
        word = written.lower()
        if written[:1].islower() and first:  # between the words of a name
            continue
        if word.replace("’", "'") not in FUNCTION_WORDS and not (opens and is_verb(word)):
            return words[first:]
        opens = False
    return []


def _name_class(last: str, before: str) -> str:
    """The class of a name, by its last word and by what stands before it, both in lower case."""
    if last in PLACE_SUFFIX:
        return "place"
    if last in ORGANIZATION_SUFFIX:
        return "organization"
    if _PERSON_BEFORE.search(before):
        return "person"
    return "place" if _PLACE_BEFORE.search(before) else "name"


def value_keys(kind: str, value: str) -> tuple[str, ...]:
    """The forms under which a value is compared, the folded one first.

    Times and dates have those of `find_moments`, so that "8:30 am" equals "08:30"; prices have their number.
    """
    folded = value.lower().strip()
    if kind in ("time", "date"):
        return (folded, *find_moments(folded))
    if kind == "price" and (amount := _AMOUNT.search(folded)):
        return (folded, amount.group().replace(",", "").removesuffix(".00"))
    return (folded,)


_AMOUNT = re.compile(r"\d[\d,]*(?:\.\d+)?")
