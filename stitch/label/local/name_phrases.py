"""Phrases of a step that may name its scope: noun phrases, two of them joined by a preposition, names, files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, pairwise

from stitch.core.intent import clean_label
from stitch.core.text_cache import text_cache
from stitch.label.local.reading import StepFeatures
from stitch.text.dates import months_abroad
from stitch.text.kinds import kinds_of
from stitch.text.languages import carrying, is_foreign, phrases_in
from stitch.text.phrases import ADJECTIVES, noun_phrases
from stitch.text.words import FUNCTION_WORDS, NUMBER_WORDS, is_verb, singular, word_set

MOST_CHARS = 40
"""A phrase is no longer."""
WORD = re.compile(r"[^\W_]+(?:[-.'’/&][^\W_]+)*")
_MOST_WORDS = 6
_A_STEP = 24
"""So many phrases of a step are looked at."""
_CALENDAR = word_set(
    """january february march april may june july august september october november december jan feb mar apr jun jul aug
    sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thurs fri sat sun
    spring summer autumn winter today tonight tomorrow yesterday montag dienstag mittwoch donnerstag freitag samstag
    sonntag lunes martes miércoles jueves viernes sábado domingo lundi mardi mercredi jeudi vendredi samedi dimanche
    lunedì martedì mercoledì giovedì venerdì sabato domenica"""
) | set(months_abroad())  # fmt: skip
_JOINS = word_set("of for in to from with under on at about against without by")
_DETERMINERS = word_set("the a an our my your his her its their this that these those")
_GENERAL = word_set(
    """time day week month year hour minute morning afternoon evening night weekend
    meanwhile thing stuff way lot bit kind sort type part place one people person guy man everybody somebody outside
    inside behind question answer problem issue idea option example case point fact reason help thanks hello regards
    course sense moment second while number name word line step end side rest half couple pair total amount value item
    detail information info message email mail call note list news hand head eye face life world home house work job
    money price cost user assistant agent customer tool function result output input error file code text data okay fun
    luck mind matter change plan request level plenty ok btw pm am etc mr mrs ms dr sir madam dear love friend family
    mom dad mum kid euro dollar eur usd percent hallo hola bonjour salut ciao"""
) | _CALENDAR  # fmt: skip
"""Nouns, in the singular, that name no scope by themselves, and dates."""
_NUMBERS = word_set("twenty thirty forty fifty sixty seventy eighty ninety hundred thousand dozen") | set(NUMBER_WORDS)
_LIGHT = ADJECTIVES | _NUMBERS | word_set("uh huh hm mm mmm")
_SAYS_NOTHING = FUNCTION_WORDS | _LIGHT | _GENERAL
_COLOR = "chromat"
_CAPITALIZING = "de"
"""A language that tells nouns by a capital."""
_ROMANCE = ("es", "fr", "it", "pt")
_ARTICLES = word_set(
    "el la los las un una al del mi tu su le les une du des mon ma il lo gli dei della o os as um uma do da"
)
"""Articles of Romance languages, and words that stand as they do: a noun follows."""
_OF = word_set("de del du des di della do da")
"""What joins two nouns of a Romance language."""
_PARTICIPLE = re.compile(r"\w{2,}(?:ing|ed|ly)$")
_FENCED = re.compile(r"```[\s\S]*?(?:```|$)")
"""Code in a text, of which no phrase is a name."""
_FILE_KINDS = ("file", "path")
_NAMING = ("name", "place", "organization", "day")
"""Classes of values that may name a scope; a day is "day 2"."""


def phrases_of(reading: StepFeatures) -> list[str]:
    """Phrases that may name the scope of a step, as they are written."""
    return list(islice(dict.fromkeys(filter(None, map(clean_label, _phrases(reading)))), _A_STEP))


def _phrases(reading: StepFeatures) -> Iterator[str]:
    if reading.said:
        for each in reading.mentions:
            if each.entity_type in _NAMING and each.value.casefold() not in reading.speakers and _is_name(each.value):
                yield each.value
        yield from _foreign_phrases(reading) if is_foreign(reading.language) else _english_phrases(reading)
    for identifier in reading.identifiers:
        if identifier.kind in _FILE_KINDS and len(identifier.value) <= MOST_CHARS:
            yield identifier.value.rstrip("/").rpartition("/")[2]


def any_words(reading: StepFeatures) -> str:
    """Name of a scope where nothing better tells it: two words in a row that carry matter, or a tool; else empty."""
    said = phrases_in(reading.said, reading.language)
    carry = set(carrying([each.lower() for each in said], reading.language)) - _GENERAL
    pairs = (f"{one} {other}" for one, other in pairwise(said) if {one.lower(), other.lower()} <= carry)
    tools = (" ".join(re.split(r"[\W_]+", call.name)) for call in reading.calls)
    found = (*(pair for pair in pairs if pair.replace(" ", "").isalpha()), *(tool for tool in tools if " " in tool))
    return next(map(clean_label, found), "")


def _is_name(value: str) -> bool:
    """Whether a value is more than a word of everyday or a date; "day 2" is."""
    parts = [part.lower() for part in WORD.findall(value)]
    dated = any(part in _CALENDAR or not part.isalnum() for part in parts)
    telling = [part for part in parts if part not in _SAYS_NOTHING]
    return len(value) > 2 and any(part[0].isalpha() or not dated for part in telling)


def _english_phrases(reading: StepFeatures) -> Iterator[str]:
    """Noun phrases of a text, also with the adjective before them, and pairs that a preposition joins."""
    text, before = _FENCED.sub(lambda code: "." * len(code.group()), reading.said), ("", 0)
    for phrase in noun_phrases(text):
        end = phrase.start + len(phrase.text)
        whole = text[phrase.start : end]
        written = _trimmed(whole)
        if not written or not _may_name(written):
            before = ("", end)
            continue
        lead = whole[: whole.find(written)].split()
        if not lead and before[0] and (between := _joining(text[before[1] : phrase.start])):
            pair = f"{before[0]} {between} {written}"
            if len(pair.split()) <= _MOST_WORDS and len(pair) <= MOST_CHARS:
                yield pair
        if written.casefold() not in reading.speakers:
            yield written
            if lead and lead[-1].lower() in ADJECTIVES:
                yield f"{lead[-1]} {written}"
        before = (written, end)


def _joining(between: str) -> str:
    """A preposition, with a determiner, that stands alone between two phrases; empty if anything else does."""
    parts = between.split()
    folded = [part.lower() for part in parts]
    joins = folded[:1] and folded[0] in _JOINS and "\n" not in between
    return " ".join(parts) if joins and all(part in _DETERMINERS for part in folded[1:]) else ""


def _trimmed(phrase: str) -> str:
    """A phrase up to a number within it, without adjectives, numbers and letters in front, that ends in a noun."""
    parts = phrase.split()
    while parts and (_qualifies(parts[0], *parts[1:2]) or not parts[0][:1].isalpha() or len(parts[0]) == 1):
        del parts[0]
    del parts[next((place for place, part in enumerate(parts[:-1]) if part.isdigit()), len(parts)) :]
    while parts and parts[-1].islower() and parts[-1].isalpha() and (not kinds_of(parts[-1]) or parts[-1] in _CALENDAR):
        del parts[-1]
    return " ".join(parts[-_MOST_WORDS:])


def _qualifies(word: str, following: str = "") -> bool:
    """Whether a word is a mere adjective or number, and does not begin a name: "great idea", but "New York"."""
    return word.lower() in _LIGHT and (word.islower() or following.islower())


def _may_name(phrase: str) -> bool:
    """Whether a phrase tells something by itself: never one word of grammar, adjective, participle or date alone."""
    parts = [part.lower() for part in WORD.findall(phrase)]
    telling = [part for part in parts if part not in _SAYS_NOTHING and singular(part) not in _SAYS_NOTHING]
    return any(len(part) > 2 and part[0].isalpha() for part in telling) and (
        len(parts) > 1 or _is_noun(parts[0]) or not (phrase.islower() or is_verb(parts[0]))
    )


def _is_noun(word: str) -> bool:
    """Whether a word alone names a thing and no quality or deed."""
    kinds = () if is_verb(word) or _PARTICIPLE.match(word) else kinds_of(word)
    return bool(kinds) and _COLOR not in kinds


def _foreign_phrases(reading: StepFeatures) -> Iterator[str]:
    """Words of another language that carry matter, as they are written.

    Nouns where capitals or articles tell them; in a Romance language also two that a preposition joins.
    """
    said, language = WORD.findall(reading.said), reading.language
    carry = set(carrying([each.lower() for each in said], language))
    joined, before = "", ""
    for word in said:
        if not (word.lower() in carry and len(word) > 3 and word.isalpha() and _tells(word)):
            joined = _joined(joined, word) if language in _ROMANCE else ""
        else:
            if " " in joined:
                yield f"{joined} {word}"
            joined = word if _is_foreign_noun(word, before, language) else ""
            if joined:
                yield word
        before = word


def _joined(joined: str, word: str) -> str:
    """A noun with the preposition, and the article behind it, that may join it to another; else empty."""
    joins = word.lower() in _OF or (" " in joined and word.lower() in _ARTICLES)
    return f"{joined} {word}" if joined and joins else ""


def _is_foreign_noun(word: str, before: str, language: str | None) -> bool:
    """Whether a capital or the article before a word tells a noun, or the language tells none so."""
    if language not in (_CAPITALIZING, *_ROMANCE):
        return True
    return word[0].isupper() or (language in _ROMANCE and before.lower() in _ARTICLES)


@text_cache(maxsize=65_536)
def telling_share(phrase: str) -> float:
    """The share of the words of a phrase that say something."""
    parts = [part for part in WORD.findall(phrase) if part.lower() not in FUNCTION_WORDS]
    return sum(map(_tells, parts)) / (len(parts) or 1)


def _tells(part: str) -> bool:
    """Whether a word is no number, date, mere adjective or noun so general that it names no scope."""
    word = part.lower()
    is_light = {word, singular(word)} & _GENERAL or (part.islower() and word in _LIGHT)
    return part[0].isalpha() and not is_light
