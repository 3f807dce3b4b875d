"""What has been spoken of: names as they are raised, how salient each is, and which lists were offered."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from pydantic import JsonValue

from stitch.label.local.language import FUNCTION_WORDS, MAX_READ_CHARS, is_verb, listed

_MAX_REFERENTS = 64
_MAX_RAISED = 400
_MAX_RAISED_PER_SCOPE = 60
_MAX_WORDS = 60
_DECAY = 0.7
_CAP = 2.0
_HEADING = 3.0
NAMED_FIRST = 2.0
"""Weight of a name that its step presents; lower weights are for names in passing and for what a pronoun stood for."""
NAMED = 0.7
STOOD_FOR = 1.6
IN_PASSING = 0.3
_GAIN = 0.3
# None of the weights matters much: halving or doubling any of them moves no dev set by more than 0.3 BLEU.

_OPENERS = listed(
    """absolutely additionally bummer certainly else ever finally free great however indeed instead likewise meanwhile
    moreover overall possibly soon today together tomorrow unfortunately yesterday"""
)
"""Words that open sentences with a capital and are no function words."""
NOT_NAMES = FUNCTION_WORDS | _OPENERS
_CALENDAR = listed(
    """monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december mon tue wed thu fri sat sun jan feb mar apr jun jul aug sep sept oct nov dec"""
)
_AUXILIARIES = listed("is was has had does did will would can could may might should")
_CAPITAL = r"[A-Z\u00c0-\u00de][\w&'-]*"
_JOIN = r"(?<=\b[A-Z])\. ?|(?<=Mr|Ms|Dr|St)\. |(?<=Mrs)\. | of the | of | de la | de | la | du | van | von | & | "
_NAME = re.compile(rf"{_CAPITAL}(?:(?:{_JOIN}){_CAPITAL})*")
# Names that are typed without capitals, where the sentence says what they are or that they are names.
_SUBJECT = re.compile(
    r"(?:^|[.!?;:\n] *|\band |\byes,? |\bsure,? )((?:the )?[a-zA-Z][a-z\d']+(?: [a-z\d']+){0,3}?) "
    r"(?:(?:is|was) (?:an?|in|at|on|located|situated|the)\b|serves|offers|has an?\b)",
)
_CALLED = re.compile(
    r"\b(?:called|named|recommend|suggest) ((?:the )?[a-z\d']+(?: [a-z\d']+){0,3}?)"
    r"(?=[,.?!;\n]|$| which\b| is\b| in\b| at\b| and\b| for\b)"
)
_PRESENTS = ("about", "is", "be", "try", "visit", "recommend", "suggest", "at", "found")
_UNIT = re.compile(r"\b([A-Za-z]{3,12}) ?#? ?(\d{1,4})\b")
_WORD = re.compile(r"[a-z\d]+")
_ORDINALS = {
    word: number + 1
    for number, word in enumerate(
        ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
    )
}
_RELATIONAL = (
    "address|phone|telephone|number|postcode|code|zip|zipcode|price|prices|pricing|cost|costs|rating|ratings|range|name|"
    "location|area|type|kind|hours|date|time|duration|length|size|distance|fare|fee|menu|website|email|url|phonenumber|"
    "contact|capacity|population|owner|author|color|colour|weight|height|age|status|details|information|info"
)
RELATIONAL_NOUN = re.compile(rf"(?:{_RELATIONAL})\b", re.IGNORECASE)
"""Nouns that name an attribute of something else: without an owner they ask for one."""


_STRAIGHT = str.maketrans("\u2018\u2019\u201c\u201d", "''\"\"")


def ordinal(word: str) -> int | None:
    """Return the number of "second", "2nd", "2th"; -1 for "last"; None if it is no ordinal."""
    word = word.lower()
    if word == "last":
        return -1
    if word in _ORDINALS:
        return _ORDINALS[word]
    digits = word.rstrip("stndrh")
    return int(digits) if digits.isdigit() and digits != word and len(digits) < 4 else None


def fold_words(text: str) -> list[str]:
    """Return the words in lower case, ordinals as numbers ("1st", "first" and "1th" are one word), plural s dropped."""
    words = []
    for word in _WORD.findall(text.lower()):
        number = ordinal(word)
        if number is not None and number > 0:
            words.append(f"{number}.")
        elif len(word) > 1 or word.isdigit():
            words.append(word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word)
    return words


def last_unit(text: str) -> str:
    """Return the last numbered unit that the text names ("day 2", "phase 3", "issue 41"), folded; empty if none."""
    found = ""
    for word, number in _UNIT.findall(text):
        if word.lower() not in NOT_NAMES and word.lower() not in _CALENDAR:
            found = f"{word.lower()} {number}"
    return found


def plain(text: str) -> str:
    """Return the readable part of a text, of the same length, with straight quotes."""
    return (
        text[:MAX_READ_CHARS]
        .replace("\u2019", "'")
        .replace("\u2018", "'")
        .replace("\u201c", '"')
        .replace("\u201d", '"')
    )


class NameMention(NamedTuple):
    """A name in a text."""

    start: int
    end: int
    text: str
    leads: bool
    """It opens its sentence or is what the sentence presents."""


def find_names(text: str) -> list[NameMention]:
    """Return the names in the text, by position; a capital that only opens a sentence is no name."""
    text = plain(text)
    found: list[NameMention] = []
    for match in _NAME.finditer(text):
        start, words = match.start(), match.group().split(" ")
        before = text[:start].rstrip()
        opens = not before or before[-1] in '.!?:;\n"“*-' or text[max(0, start - 1) : start] == "\n"
        while words and (words[0].lower().strip(".'") in NOT_NAMES or words[0].lower() in _CALENDAR):
            if words[0] == "The" and len(words) > 1 and words[1][:1].isupper() and words[1].lower() not in NOT_NAMES:
                break
            start += len(words[0]) + 1
            words = words[1:]
        if opens and len(words) > 1 and is_verb(words[0].lower(), base=True):
            start += len(words[0]) + 1
            words = words[1:]
        name = " ".join(words)
        name = name.removesuffix("'s").rstrip("'-.")
        if re.match(r" #?\d", text[start + len(name) : start + len(name) + 3]) and len(words) == 1:
            continue
        if len(name) < 2 or all(word.lower().rstrip(".") in _CALENDAR for word in words):
            continue
        after = text[start + len(name) : start + len(name) + 40]
        following = re.match(r" ([a-z][\w']*)", after)
        next_word = following.group(1) if following else ""
        if len(words) == 1:
            acts = is_verb(next_word) or next_word in _AUXILIARIES
            if opens and (not acts or name.endswith("ing")):
                continue
            if next_word and not acts and next_word not in NOT_NAMES and not next_word.endswith("ed"):
                continue
        leads = opens or before.lower().removesuffix(" the").endswith(_PRESENTS)
        found.append(NameMention(start, start + len(name), name, leads))
    if not found:
        for pattern in (_SUBJECT, _CALLED):
            for match in pattern.finditer(text):
                words = match.group(1).split()
                core = words[1:] if words[0].lower() == "the" else words
                if core and not any(word.lower() in NOT_NAMES for word in core) and not RELATIONAL_NOUN.match(core[-1]):
                    found.append(NameMention(match.start(1), match.end(1), match.group(1), True))
    return found


@dataclass(slots=True)
class Referent:
    """Something that was named, with how much it is in mind."""

    name: str
    step: str | None
    salience: float = 0.0
    last: int = 0
    heading: bool = False
    pronouns: dict[str, int] = field(default_factory=dict)
    """Which kinds of pronouns stood for it: `person`, `thing`, `group`."""


@dataclass(slots=True)
class Raised:
    """One raising of a name: by whom, for which goal, in which words."""

    name: str
    by: str
    scope: str
    unit: str
    step: str | None
    words: list[str]
    """Words of the step that raised it."""
    slot: str
    """What it was raised for ("breakfast"); empty if nothing was said."""
    about: list[str] = field(default_factory=list)
    """Words that others answered with."""


@dataclass(slots=True)
class Antecedents:
    """Everything that a reference may stand for, bounded in number."""

    clock: int = 0
    unit: str = ""
    referents: dict[str, Referent] = field(default_factory=dict)
    raised: list[Raised] = field(default_factory=list)
    followed: int = -1
    """The place in `raised` of the one thing that the last raising step raised; -1 if there were several."""
    listed: list[str] = field(default_factory=list)
    """The names of the last step that offered several."""

    def find(self, name: str) -> Referent | None:
        """Return the referent with this name, or the one whose longer or shorter name it is."""
        key = _key(name)
        if key in self.referents:
            return self.referents[key]
        parts = set(key.split())
        best: Referent | None = None
        for other_key, referent in self.referents.items():
            other = set(other_key.split())
            if (parts <= other or (len(other) > 1 and other <= parts)) and (
                best is None or referent.salience > best.salience
            ):
                best = referent
        return best

    def mention(self, name: str, weight: float, *, step: str | None, heading: bool = False) -> Referent:
        """Record that something was named or stood for, and return it."""
        referent = self.find(name)
        if referent is None:
            referent = Referent(name=name, step=step, last=self.clock, heading=heading)
            self.referents[_key(name)] = referent
            if len(self.referents) > _MAX_REFERENTS:
                weakest = min(self.referents, key=lambda key: (self.strength(self.referents[key]), key))
                del self.referents[weakest]
        elif len(name) > len(referent.name) and not referent.heading:
            self.referents.pop(_key(referent.name), None)
            referent.name = name
            self.referents[_key(name)] = referent
        faded = self.strength(referent) - (_HEADING if referent.heading else 0.0)
        referent.salience = max(weight, min(faded + _GAIN * weight, _CAP))
        referent.last = self.clock
        return referent

    def strength(self, referent: Referent) -> float:
        """How much the referent is in mind now: halved about every two steps since it was last spoken of."""
        faded: float = referent.salience * _DECAY ** (self.clock - referent.last)
        return faded + _HEADING if referent.heading else faded

    def rank(self) -> list[tuple[float, Referent]]:
        """Return the referents with their strength, strongest first."""
        ranked = [(self.strength(referent), referent) for referent in self.referents.values()]
        return sorted(ranked, key=lambda pair: (-pair[0], pair[1].name))

    def raise_name(self, name: str, *, by: str, scope: str, step: str | None, words: Sequence[str], slot: str) -> None:
        """Record that `by` brought the name up for this goal; if they did before, it keeps its place."""
        self.followed = -1
        same = [item for item in self.raised if item.scope == scope]
        for item in same:
            if item.by == by and item.unit == self.unit and _key(item.name) == _key(name):
                return
        self.raised.append(Raised(name, by, scope, self.unit, step, list(words)[:_MAX_WORDS], slot))
        dropped = -1
        if len(same) >= _MAX_RAISED_PER_SCOPE:
            dropped = self.raised.index(same[0])
        elif len(self.raised) > _MAX_RAISED:
            dropped = 0
        if dropped >= 0:
            del self.raised[dropped]

    def answer(self, words: Sequence[str], *, by: str) -> None:
        """Add the words of a step to the thing that somebody else has just raised alone."""
        if 0 <= self.followed < len(self.raised):
            item = self.raised[self.followed]
            if item.by != by:
                item.about = [*item.about, *words][:_MAX_WORDS]

    def save(self) -> dict[str, JsonValue]:
        """Return everything as JSON values."""
        return asdict(self)

    @classmethod
    def load(cls, data: dict[str, Any]) -> Antecedents:
        """Restore what `save` returned."""
        return cls(
            clock=data["clock"],
            unit=data["unit"],
            referents={key: Referent(**value) for key, value in data["referents"].items()},
            raised=[Raised(**value) for value in data["raised"]],
            followed=data["followed"],
            listed=list(data["listed"]),
        )


def _key(name: str) -> str:
    words = name.lower().replace(".", "").split()
    return " ".join(words[1:] if len(words) > 1 and words[0] == "the" else words)


def distinct(names: Iterable[str]) -> list[str]:
    """Return the names in order, each once."""
    seen: dict[str, str] = {}
    for name in names:
        seen.setdefault(_key(name), name)
    return list(seen.values())
