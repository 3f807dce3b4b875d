"""Names of scopes: short, readable, distinct, and stable; a name that the text gives explicitly wins."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from itertools import dropwhile, pairwise
from typing import NamedTuple

from stitch.core.intent import clean_label
from stitch.core.text_cache import text_cache
from stitch.label.local.reading import Reading
from stitch.text.forms import SentenceForm
from stitch.text.languages import carrying, content_stems, is_foreign, phrases_in, words_in
from stitch.text.numbers import NUMBER_WORDS, ORDINAL_WORDS, number, ordinal
from stitch.text.phrases import ADJECTIVES, NounPhrase
from stitch.text.words import FUNCTION_WORDS, fold_case, whole_words, word_set

MAX_NAME_WORDS = 6

_UNITS = (
    "day|week|phase|stage|part|chapter|section|milestone|sprint|task|issue|bug|ticket|pr|project|experiment|leg|module"
    "|episode|scenario|case|act"
)
_ANY_UNIT = r"(?:(?<=\bmy )|(?<=\bsome )|(?<=\bany )|(?<=\beach )|(?<=\bevery ))[a-z]+ [a-z]"
"""No number follows: "in my day one simply turned up"."""
_UNIT = re.compile(rf"\b(?!{_ANY_UNIT})({_UNITS}) ?#?(\d{{1,6}}|{'|'.join(NUMBER_WORDS)})\b")
_UNIT_WORDS = tuple(_UNITS.split("|"))
_PARTS = "day|week|phase|stage|leg|chapter|milestone|sprint"
"""Units that a plan is made of, one after the other."""
_PART_WORDS = tuple(_PARTS.split("|"))
_FRONT = re.compile(
    rf"""\W{{0,9}}(?:(?:ok(?:ay)?|and|so|now|then|next|oh|well|also|but|great|thanks|right|alright)\b\W{{1,9}}){{0,4}}
    (?:for\ (?:{_UNITS})\ ?\#?\w+\b|(?:{_UNITS})\ ?\#?\w+\ ?(?:[:,.!?;–—-]|$))""",
    re.VERBOSE,
)
"""A sentence that has its unit as its topic: "now day 2: the hotel", "for day 2, book ..."."""
_PART_COUNTED = re.compile(rf"\b(?:the|our|that|my|your) ({ORDINAL_WORDS}) ({_PARTS})\b")
_TURN = whole_words(
    """(?:let'?s|let us|we should|(?:i(?:'d| would) like|i want|i'll|i will)(?: us)? to|can we|shall we|time to
    |going to)[ ](?:now |also |first |then |just )?(?:focus on|work on|talk about|talk through|move on to|move to
    |discuss|address|(?:switch|turn|go|come|get) (?:back )?to|return to|look (?:at|into)|tackle|fix
    |(?:start|begin|continue|go on) with|plan|debug|investigate|review|consider|handle)
    |i (?:return|turn|come back|go back) to|(?:back|over|on|now) to|moving on to|turning to|switching (?:back )?to
    |focus(?:ing)? on|work(?:ing)? on|(?:now|next)(?:,| up:?| is| for| on to)|regarding|as for|on to
    |(?:first|second|third|then|next|finally),? (?:there (?:is|are)|comes?|the|to)"""
)
_TOPIC = re.compile(
    r"""\W{0,9}(?:(?:ok(?:ay)?|and|so|now|oh|well|also|but|hey|thanks|great|then|ah|hm+|yes|no|right|alright)\b\W{1,9}){0,4}
    (?:(?:(?:go|get|come|going|getting|coming)\ )?back\ to|return(?:ing)?\ to|about|re|regarding|concerning|as\ for
    |speaking\ of|with\ regard\ to)\b:?\ (?P<topic>[^,.;:?!\n()]{2,60}?)(?=[,.;:?!\n()]|\ [-–—]|$)""",
    re.VERBOSE,
)
"""What a sentence puts at its front as its topic: "about the voucher - ...", "back to taxes, ..."."""
_ACTS = word_set(
    "planning plan organizing organize discussing discuss fixing fix debugging debug finding find booking book working"
    " investigating looking checking check reviewing review scheduling schedule the a an our my your"
)
_VAGUE = word_set(
    "idea option options way ways help thing things stuff question questions lot bit kind sort type information info"
    " details detail moment minute second time day today tomorrow tonight morning afternoon evening number name list"
    " person people someone man guy guys something anything one two three pm am place places town looking going"
    " forward thats topic topics subject subjects matter often"
)
_ABOUT = word_set(
    "advice aspect aspects clarification con cons example examples explanation guidance guide guidelines handle ideas"
    " insight insights issues note overview pair piece problem problems pros recommendation recommendations resource"
    " resources sense source sources suggestion suggestions summary thoughts tip tips track trouble understanding"
)
"""Nouns that say no more than that something is wanted: their subject is what follows ("tips for my cat")."""
_PLAIN = ADJECTIVES | word_set(
    "additional basic clean common detailed general healthy online popular quick related relevant reliable reputable"
    " safe"
)
_LINK = re.compile(
    r"\s(to|from|in|for|of|at|with|near|about|between)\s(?:(?:the|a|an|my|our|your|this|that)\s)?", re.IGNORECASE
)

_OBJECT = re.compile(r" (?:the|an?|my|our|your|his|her|their|whether|why|how|what) ")
"""What follows a verb and no noun: "file my tax return", "tune the query"."""
_STATE = re.compile(
    r"""\b(?:(?:i|we|you|he|she|it|that|this|they)(?:'m|'re|'s|'ve|\ am|\ are|\ is|\ was|\ were)|have|has
    |(?:is|are|was|were|am)\ (?:i|we|you|he|she|it|that|this|they))
    (?:\ (?:a\ bit|been|not|also|just|still|so|too|very|kinda|really|currently|actually))*\ $""",
    re.VERBOSE,
)
"""What stands before a word for how somebody is or fares: "I'm struggling", "is it safe"."""
_STATE_CHARS = 40

_BRACKETS = re.compile(r"\[[^\]]*\]")
_WORD = re.compile(r"\w[\w.-]*")

EXPLICIT, ASKED, SPOKEN, MADE_UP = 3, 2, 1, 0
"""How good a name is: said in so many words, the object of a request, a phrase of the text, none of these."""


_FOREIGN_CHARS = 300
_FOREIGN_WORDS = 3

_REMEMBERED_NAMES = 1_024
"""So many scopes are looked at for a name: a trajectory may have any number of them, and its steps must not wait."""


class ScopeName(NamedTuple):
    """A proposed name with how good it is."""

    text: str
    quality: int


class InWords(NamedTuple):
    """What a step says in so many words of the scope that it belongs to; each decides before scopes are weighed."""

    unit: str = ""
    """The unit it turns to ("day 2")."""
    named: int | None = None
    """The number of the scope that it turns to by name."""
    topic: Sequence[str] = ()
    """Stems of what it puts at the front as its topic: that of an earlier scope if that spoke of it."""
    subject: str = ""
    """What it breaks off for, without a scope of that name: a new one if the current one did not speak of it."""


NOTHING_SAID = InWords()
_MOST_TURNING_CHARS = 600
_MOST_TOPIC_CHARS = 300
_NO_SUBJECT = frozenset(("day", "date", "time", "number", "quantity", "duration"))
"""Classes of values that a step may name beside the unit that it turns to."""


def turned_to(reading: Reading) -> str:
    """The unit a step turns to ("day 2"): the only one it names, in a request, question or cue; else empty."""
    if reading.answers_tool or reading.data.results or is_foreign(reading.language):
        return ""
    text = reading.folded[:_MOST_TURNING_CHARS]
    if not any(map(text.__contains__, _UNIT_WORDS)):
        return ""
    found = {unit for _, unit in _units_in(text)}
    if len(found) != 1:
        return ""
    directs = reading.switches or reading.returns or reading.form in (SentenceForm.REQUEST, SentenceForm.QUESTION)
    unit = found.pop()
    directs = directs or any(_FRONT.match(reading.folded, start, end) for start, end in _first(reading, 200))
    return unit if directs or (unit.startswith(_PART_WORDS) and _names_nothing(reading)) else ""


def _names_nothing(reading: Reading) -> bool:
    """Whether a short step by a person names nothing that it could be about but a unit."""
    short = len(reading.text) <= _MOST_TURNING_CHARS and not reading.data.calls
    return short and all(mention.entity_type in _NO_SUBJECT for mention in reading.found)


def turns(text: str) -> bool:
    """Whether a text has the words with which somebody turns to a subject."""
    return bool(text) and _TURN.search(fold_case(text)) is not None


def named_scope(reading: Reading, names: Sequence[str]) -> int | None:
    """The number of the scope that a step says it turns to, by name: "back to the login timeout"; None if none."""
    if reading.answers_tool or not (reading.switches or reading.returns or _TURN.search(reading.folded, 0, 300)):
        return None
    best: tuple[float, int] | None = None
    for start, end in _first(reading, 300):
        turn = _TURN.search(reading.folded, start, end)
        if turn is None:
            continue
        said = set(content_stems(reading.text[turn.end() : end]))
        first = max(0, len(names) - _REMEMBERED_NAMES)
        for place, name in enumerate(names[first:], first):
            wanted = _stems_of(name)
            shared = len(wanted & said)
            if shared < 2 and shared < len(wanted):
                continue
            share = shared / len(wanted) if wanted else 0.0
            if share > 0.5 and (best is None or share >= best[0]):
                best = (share, place)
    return best[1] if best else None


def topic_of(reading: Reading) -> list[str]:
    """Stems of what a sentence near the beginning of a step puts at its front as its topic; empty if none does."""
    if reading.answers_tool or reading.data.results or is_foreign(reading.language):
        return []
    for start, end in _first(reading, _MOST_TOPIC_CHARS):
        if match := _TOPIC.match(reading.folded, start, end):
            return content_stems(reading.text[match.start("topic") : match.end("topic")])
    return []


@text_cache(maxsize=_REMEMBERED_NAMES)
def _stems_of(name: str) -> frozenset[str]:
    return frozenset(content_stems(name))


def _units_in(folded: str) -> list[tuple[int, str]]:
    """The units that a text in lower case names, counted ones first, each with its place."""
    counted = [(match.start(), f"{match[2]} {ordinal(match[1])}") for match in _PART_COUNTED.finditer(folded)]
    return counted + [(match.start(), _unit(match)) for match in _UNIT.finditer(folded)]


def _unit(match: re.Match[str]) -> str:
    return f"{match[1]} {match[2] if match[2].isdecimal() else number(match[2])}"


def propose_name(reading: Reading, *, unit: str = "", siblings: Sequence[str] = ()) -> ScopeName:
    """The best name that a step gives the scope it opens.

    It begins with the unit to which the step turns; the name of an earlier scope for another unit of the same kind
    lends its other words.
    """
    if reading.is_notice:
        return ScopeName(" ".join(_WORD.findall(_BRACKETS.sub(" ", reading.text[:200]))[:3]), SPOKEN)
    if is_foreign(reading.language):
        return _foreign_name(reading)
    if unit:
        return ScopeName(_unit_name(reading, unit, siblings), EXPLICIT)
    for quality, phrase in _proposals(reading):
        name = _shorten(phrase)
        if name:
            return ScopeName(name, quality)
    for call in reading.data.calls:
        return ScopeName(_shorten(call.name), SPOKEN)
    return ScopeName("", MADE_UP)


def _foreign_name(reading: Reading) -> ScopeName:
    """The longest words that carry the first sentences, in order: no grammar of other languages is known."""
    values = {word for mention in reading.found for word in words_in(fold_case(mention.value))}
    opening = reading.folded[:_FOREIGN_CHARS]
    said = [
        word
        for word in carrying(phrases_in(opening, reading.language), reading.language)
        if word not in values and word not in reading.addressees and not word[0].isdigit()
    ]
    words = list(dict.fromkeys(said))
    longest = sorted(words, key=lambda word: (-len(word), words.index(word)))[:_FOREIGN_WORDS]
    name = " ".join(word for word in words if word in longest)
    asks = reading.form is SentenceForm.QUESTION
    return ScopeName(clean_label(name), (ASKED if asks else SPOKEN) if name else MADE_UP)


def _unit_name(reading: Reading, unit: str, siblings: Sequence[str]) -> str:
    kind = unit.split(" ")[0]
    for sibling in siblings[:_REMEMBERED_NAMES]:
        match = _UNIT.match(sibling.lower()) if sibling[: len(kind)].lower() == kind else None
        if match and match[1] == kind and sibling[match.end() :].strip():
            return unit + sibling[match.end() :]
    for start, end in _first(reading, 600):
        if not _UNIT.search(reading.folded, start, end):
            continue
        for phrase in reading.phrases:
            words = [word for word in phrase.text.split() if word not in _ACTS and word not in _VAGUE]
            if start <= phrase.start < end and words and kind not in words:
                return f"{unit} {' '.join(words[-2:])}"
        break
    return unit


def _proposals(reading: Reading) -> Iterator[tuple[int, str]]:
    if reading.data.results or (reading.data.calls and not reading.step.content.strip()):
        return
    later: list[tuple[int, str]] = []
    for (start, end), form in zip(_first(reading, 1_200), reading.forms, strict=False):
        turn = _TURN.search(reading.folded, start, end)
        if turn:
            for phrase in _chains(reading, turn.end(), end):
                yield EXPLICIT, phrase
                break
        if form in (SentenceForm.GREETING, SentenceForm.THANKS, SentenceForm.FAREWELL) and end - start < 30:
            continue
        asked = form in (SentenceForm.REQUEST, SentenceForm.QUESTION)
        for phrase in _chains(reading, start, end):
            is_value = phrase.lower() in reading.values
            later.append((MADE_UP if is_value else ASKED if asked else SPOKEN, phrase))
    yield from sorted(later, key=lambda item: -item[0])


def _first(reading: Reading, most: int) -> list[tuple[int, int]]:
    """The spans of the sentences that begin in the first `most` characters."""
    return [span for span in reading.spans if span[0] < most]


def _chains(reading: Reading, start: int, end: int) -> Iterator[str]:
    """Noun phrases of a stretch with what hangs on them: "flight from Pittsburgh to Chicago"."""
    phrases = [p for p in reading.phrases if start <= p.start < end and p.head not in reading.addressees]
    for index, phrase in enumerate(phrases):
        if words := _naming(reading.folded, phrase):
            parts = [_in_case(reading.text, phrase, words), *_linked(reading, phrases[index : index + 3])]
            yield " ".join(parts)


def _naming(folded: str, phrase: NounPhrase) -> list[str]:
    """The words of a phrase that can name a subject; none if it only says that something is wanted, done or felt."""
    words = list(dropwhile(str.isdigit, (word for word in phrase.text.split() if word not in _ACTS)))
    if phrase.head in _VAGUE or all(word in _VAGUE or word in _ABOUT or word in _PLAIN for word in words):
        return []
    return [] if len(words) == 1 and _is_no_thing(words[0], folded, phrase.start) else words


def _is_no_thing(word: str, folded: str, start: int) -> bool:
    """Whether a phrase of one word is a participle, a verb with its object, or says how somebody is."""
    if len(word) > 5 and word.endswith("ed") and not word.endswith("eed"):
        return True
    stated = _STATE.search(folded[max(0, start - _STATE_CHARS) : start])
    return stated is not None or _OBJECT.match(folded, start + len(word)) is not None


def _linked(reading: Reading, phrases: Sequence[NounPhrase]) -> Iterator[str]:
    """The phrases that hang on the first, each with what links it to the one before."""
    for before, phrase in pairwise(phrases):
        link = _LINK.match(reading.text, before.start + len(before.text))
        if not link or link.end() != phrase.start or not _naming(reading.folded, phrase):
            return
        yield from (link[1].lower(), _in_case(reading.text, phrase, phrase.text.split()))


def _in_case(text: str, phrase: NounPhrase, words: Sequence[str]) -> str:
    """The phrase in lower case, names in it as they are written."""
    written = text[phrase.start : phrase.start + len(phrase.text)].split()
    start = len(written) - len(words)
    if start < 0:
        return " ".join(words)
    opens = phrase.start == 0 or text[: phrase.start].rstrip()[-1:] in {".", "!", "?", "\n", ""}
    kept = []
    for place, word in enumerate(written[start:]):
        capital = word[:1].isupper() and not (opens and place + start == 0 and len(written) == 1)
        kept.append(word if capital else word.lower())
    return " ".join(kept)


def _shorten(phrase: str) -> str:
    words = [word for word in phrase.split() if word]
    while len(words) > MAX_NAME_WORDS or (words and words[-1].lower() in FUNCTION_WORDS):
        words.pop()
    return clean_label(" ".join(words))


def distinct_name(name: str, *, taken: Container[str], values: Sequence[str]) -> str:
    """`name`, made different from all names in `taken` by a value that tells it apart, or by a number.

    Names in use are folded; of values the most telling come first.
    """
    name = name or "conversation"
    if name.lower() not in taken:
        return name
    for value in values:
        longer = clean_label(f"{name}, {value}")
        if value.lower() not in name.lower() and len(value) <= 40 and longer.lower() not in taken:
            return longer
    number = 2
    while f"{name} {number}".lower() in taken:
        number += 1
    return f"{name} {number}"
