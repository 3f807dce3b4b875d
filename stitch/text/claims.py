"""What people say of themselves and their matters that may be said otherwise later: "my budget is 500", "make it 700".

Read are sentences of closed forms alone, for a wrong mark on what somebody said is worse than none: what a thing of
theirs comes to or when it is, what they prefer, and how any of these was changed. Questions, conditions and what
others are told to do say nothing of what holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import NamedTuple

from stitch.core.text_cache import text_cache
from stitch.text.sentences import sentences
from stitch.text.values import FoundMention, find_mentions
from stitch.text.words import FUNCTION_WORDS, MAX_READ_CHARS, fold_case, stem, words

_MOST_CLAIMS = 32
_MOST_VALUE_WORDS = 6
_MOST_CHARS = 700
"""Of longer sentences nothing is read: they are lists or pasted."""

_KINDS = {
    "price": "amount", "number": "amount", "quantity": "amount", "percentage": "amount", "date": "day", "day": "day",
    "time": "time", "phone": "phone", "email": "email", "address": "address",
}  # fmt: skip
"""Classes of values by those of `find_mentions`: a day takes the place of a date, and no time of a day does."""
_NOT_SO = re.compile(
    r"\b(?:if|unless|whether|would|could|might|wish|hope|should|imagine|suppose|maybe|perhaps|what if|let's say"
    r"|for example|e\.g|used to|when i was|back then|thinking (?:of|about)|planning|want to|going to|considering)\b",
    re.IGNORECASE,
)
"""What makes a sentence say less than that something holds; plans of doing something are none of its values."""
_NOT_SO_SIGNS = (
    "if", "unless", "whe", "ould", "might", "wish", "hope", "imagine", "suppose", "maybe", "perhaps", "let's", "for ex",
    "e.g", "used to", "back then", "thinking", "planning", "want to", "going to", "considering",
)  # fmt: skip
"""A part of each of these, and so below."""
_NUMBER_WORD = re.compile(
    r"(?:day|noon|midnight)\b|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand)\b",
    re.I,
)
_NUMBER_SIGNS = (
    "day", "noon", "midnight", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "dozen", "hundred", "thousand",
)  # fmt: skip
_UNIT_ENDS = re.compile(r"[,.;!?()]| (?:this|last|since|so far|already|now|and|but|so|which|who|that)\b", re.I)
_NO_MATTER = frozenset(
    ("it", "it's", "this", "that", "there", "he", "she", "they", "i", "i'm", "we", "you", "what", "who", "one")
)
_NEWNESS = frozenset(("new", "current", "latest", "updated", "old"))
"""What tells the value of a matter from an earlier one, and not one matter from another."""
_PARTS = re.compile(
    r" [-–—] |; |,? (?=(?:but|so|because|and (?:i|so|it|we)|do you|can you|could you|would you)\b)"
    r"|, (?=(?:which|what|how|any|should|is|are)\b)",
    re.IGNORECASE,
)
"""Where a sentence goes on with something else: "..., do you have any tips?" asks, and what stands before tells."""
_QUOTED = re.compile(r"[\"“][^\"“”]*[\"”]")
_MARKS = re.compile(
    r"\b(?:now|actually|instead|after all|anymore|any more|no longer|these days|nowadays|turns? out|turned out"
    r"|correction|changed my mind|new|already|so far|up to|currently|rather|in the end|as it happens|sorry)\b",
    re.IGNORECASE,
)
"""What shows that a sentence corrects, or brings up to date, what was said before."""
_MARK_SIGNS = (
    "now", "actually", "instead", "after all", "anymore", "any more", "no longer", "these days", "turn out",
    "turns out", "turned out", "correction", "changed", "new", "already", "so far", "up to", "currently", "rather",
    "in the end", "as it happens", "sorry",
)  # fmt: skip
_OWN = r"(?:(?:(?:my|our|the) |^(?!(?:it|that|this)\b))(?P<about>[a-z][\w'’-]*(?: [a-z][\w'’-]*){0,4}?))"
_IS = r"(?: is|'s|’s| are| was| has to be| will be| should be|:)"
_HEDGE = (
    r"(?: (?:now|actually|really|currently|only|about|around|roughly|up to|still|already|at|on|in|for|by|to|just))*"
)
_IS_BEFORE = re.compile(rf"\b{_OWN}{_IS}{_HEDGE} $", re.IGNORECASE)
_CHANGED = (
    r"(?:moving|moved|rescheduled|postponed|changed|switched|bumped|extended|shifted|raised|lowered|increased|decreased|reduced"
    r"|pushed(?: back| forward| up| out)?|brought forward|delayed|upped|cut|updated)"
)
_MOVED_BEFORE = re.compile(
    rf"\b(?:{_OWN}|(?:it|that)(?='s|’s| ))(?:'s|’s)? ?"
    rf"(?:(?:has|have|had|was|were|got|gets|is|are|been|being|just|now|actually) )*{_CHANGED}"
    rf"(?: from [^,;]{{1,40}}?)?(?: back| forward)? to(?: about| around)? $",
    re.IGNORECASE,
)
_MOVING_BEFORE = re.compile(
    rf"\b(?:i|we|they|he|she|boss|manager|about)(?:'ve|’ve)? (?:(?:have|had|just|also|actually) )*"
    rf"(?:{_CHANGED}|set) (?:it|that|this|{_OWN})(?: from [^,;]{{1,40}}?)?"
    rf"(?: back| forward| up| down)? to(?: about| around)? $",
    re.IGNORECASE,
)
_SETTING_BEFORE = re.compile(
    r"(?:^|[,;:.!-] |\b(?:please|let's|let us|so|no|ok|okay|actually|and|but|can you|could you) )"
    r"(?:make (?:it|that)(?: to)?"
    r"|(?:change|set|raise|lower|move|push|switch|update|increase|reduce|extend|bump)"
    rf" (?:it|that|this|{_OWN})(?: from [^,;]{{1,40}}?)?(?: (?:back|up|down))? (?:to|at)) $",
    re.IGNORECASE,
)
_COUNTS_BEFORE = re.compile(
    r"\b(?:i|we)(?:'ve|’ve)?(?: (?:now|already|actually|currently|have|just))*"
    r" (?P<verb>have|had|own|got|read|watched|finished|completed|collected|visited|tried|seen|run|written|made|earned"
    r"|saved)"
    r"(?: (?:now|already|about|around|a total of|up to|like|only))* $",
    re.IGNORECASE,
)
_RENEWED_BEFORE = re.compile(
    r"\b(?:my|our|the) (?:new|updated|adjusted|revised) (?P<about>[a-z][\w'’-]*(?: [a-z][\w'’-]*){0,3}?) of $",
    re.IGNORECASE,
)
_LASTED = re.compile(
    r"\b(?:i|we)(?:'ve|’ve| have) (?:now |already |actually )?"
    r"(?P<what>(?:been [a-z]+ing|had|lived|worked|known|owned|used)\b[^.;!?]{0,80}?)"
    r" for (?:about |around |almost |nearly |over |roughly )?$",
    re.IGNORECASE,
)
"""Before how long something has lasted: what is said last holds, without a word that corrects."""
_FAVORITE = re.compile(
    r"(?<!one of )\b(?:my|My) (?P<new>new |current )?"
    r"(?P<about>(?:favou?rite|preferred|go-to) (?:[\w'’-]+ ?){1,3}?)(?:is|are|'s|’s) "
    r"(?P<value>[^,.;!?()]{2,60})"
)
_PREFERS = re.compile(r"\b[Ii](?:'d)? (?:(?:now|actually|usually|generally|much) )*prefer (?P<about>[^,.;!?()]{2,60})")
_ENDS = re.compile(
    r" (?:and|but|so|because|since|as|which|that|who|when|while|though|although|if|after all|any ?more|now|lately"
    r"|right now|these days|too|either|anyway|instead|last (?:week|month|year)|yesterday|today"
    r"|recently|(?:a|two) \w+ ago)\b.*$",
    re.IGNORECASE,
)
"""Where what is said of somebody ends, inside a sentence."""
_CHANGE_SIGNS = (
    *_MARK_SIGNS, "make it", "make that", "change", "set ", "rais", "lower", "mov", "push", "switch", "updat",
    "increas", "reduc", "extend", "bump", "schedul", "postpon", "shift", "decreas", "forward", "delay", "upped",
    "cut ", "adjust", "revis", "current ", "i've ", "we've ", "i have ", "we have ", '"', "“", "”", "ſ", "ı",
)  # fmt: skip
"""One of these stands wherever a claim says that something was otherwise: a part of each pattern above that tells so,
quotes, which are taken out of what is read, and letters that are read as others where capitals make no difference."""


class Form(Enum):
    """What kind of thing a claim says."""

    VALUE = "value"
    """What something comes to, or when it is."""
    PREFERENCE = "preference"
    """What is preferred; another of the same kind takes its place."""
    MENTION = "mention"
    """A day or time, with what its sentence says beside it: what names the matter may change it."""


class Claim(NamedTuple):
    """Something that somebody said, which may be said otherwise later."""

    form: Form
    about: frozenset[str]
    """Stems of what it says it of; empty where it points at what was said last ("make it 700")."""
    field: str
    """The same in words."""
    value: str
    kind: str
    """The class of the value; claims of two classes are not compared."""
    changes: bool
    """Whether its words say that it was otherwise before."""


@text_cache(maxsize=4096)
def claims_in(text: str) -> tuple[Claim, ...]:
    """What a text says of who says it that may change, in order, at most `_MOST_CLAIMS`."""
    found: list[Claim] = []
    for sentence in sentences(text[:MAX_READ_CHARS]):
        if len(sentence) <= _MOST_CHARS and len(found) < _MOST_CLAIMS:
            for part in _PARTS.split(_QUOTED.sub("", sentence)):
                found += _of_sentence(part)
    return tuple(found[:_MOST_CLAIMS])


def may_say_change(text: str) -> bool:
    """Whether a claim of a text may be one that changes something: to read its claims takes far longer."""
    read = fold_case(text[:MAX_READ_CHARS]).replace("know", "|")  # which is said often, and is no "now"
    return any(map(read.__contains__, _CHANGE_SIGNS))


def _of_sentence(sentence: str) -> Iterator[Claim]:
    """What one sentence claims; one that asks or supposes claims nothing, but may ask to set something."""
    claims = not (sentence.endswith("?") or _says(_NOT_SO, sentence, by=_NOT_SO_SIGNS))
    marked = claims and _says(_MARKS, sentence, by=_MARK_SIGNS)
    for mention in find_mentions(sentence) if _has_value(sentence) else ():
        kind = _KINDS.get(mention.entity_type)
        before = sentence[: mention.start].rstrip("$€£")
        if kind is None:
            continue
        if setting := _SETTING_BEFORE.search(before) or (claims and _changing(before)):
            yield from _changed(setting, mention.value, kind)
        else:
            told = list(_told(sentence, mention, kind, marked=marked)) if claims else []
            yield from told or _said_beside(sentence, mention, kind)
    if claims:
        yield from _favorites(sentence, marked=marked)
        yield from _preferences(sentence, marked=marked)


def _says(pattern: re.Pattern[str], sentence: str, *, by: Sequence[str]) -> bool:
    """Whether a sentence has a pattern. In ASCII one of these signs stands in it then: to look for them is quicker."""
    if sentence.isascii() and not any(map(sentence.lower().__contains__, by)):
        return False
    return pattern.search(sentence) is not None


def _has_value(sentence: str) -> bool:
    """Whether there may be a number or moment: to look for one takes far longer."""
    return any(map(sentence.__contains__, "0123456789")) or _says(_NUMBER_WORD, sentence, by=_NUMBER_SIGNS)


def _changing(before: str) -> re.Match[str] | None:
    return _MOVED_BEFORE.search(before) or _RENEWED_BEFORE.search(before) or _MOVING_BEFORE.search(before)


def _changed(change: re.Match[str], value: str, kind: str) -> Iterator[Claim]:
    """The claim of a sentence that says what something was changed to."""
    groups = change.groupdict()
    about = groups["about"] or ""
    if not about or _about(about):
        yield Claim(Form.VALUE, _about(about), about, value, kind, True)


def _told(sentence: str, mention: FoundMention, kind: str, *, marked: bool) -> Iterator[Claim]:
    """The claim that a sentence makes of a value: what comes to it, or what there are so many of."""
    before = sentence[: mention.start].rstrip("$€£")
    if (told := _IS_BEFORE.search(before)) is not None:
        if about := _about(told["about"]):
            yield Claim(Form.VALUE, about, told["about"], mention.value, kind, marked)
        return
    number, _, unit = mention.value.partition(" ")
    if kind == "amount" and unit and (lasted := _LASTED.search(before)) is not None:
        about = _stems(lasted["what"])
        if about:
            yield Claim(Form.VALUE, about, lasted["what"], mention.value, "lasting", True)
        return
    counted = _COUNTS_BEFORE.search(before) if kind == "amount" else None
    if counted is not None:
        rest = _UNIT_ENDS.split(sentence[mention.end :], maxsplit=1)[0]
        things = _cut(f"{unit}{rest}")
        if about := _stems(things):
            verb = counted["verb"].lower()
            had = "have" if verb in ("got", "own", "had") else verb
            yield Claim(Form.VALUE, about | {stem(had)}, things, number, kind, marked)


def _said_beside(sentence: str, mention: FoundMention, kind: str) -> Iterator[Claim]:
    """A day or time with all that its sentence says: a later change that names the matter is one of it."""
    about = _stems(sentence[: mention.start] + sentence[mention.end :])
    if about and kind in ("day", "time"):
        yield Claim(Form.MENTION, about, "", mention.value, kind, False)


def _favorites(sentence: str, *, marked: bool) -> Iterator[Claim]:
    for match in _FAVORITE.finditer(sentence):
        value, about = _cut(match["value"]), match["about"].strip()
        if value:
            yield Claim(Form.VALUE, _stems(about), about, value, "favorite", marked or match["new"] is not None)


def _preferences(sentence: str, *, marked: bool) -> Iterator[Claim]:
    for match in _PREFERS.finditer(sentence):
        if about := _cut(match["about"]):
            yield Claim(Form.PREFERENCE, _stems(about), f"prefer {about}", about, "preference", marked)


def _cut(about: str) -> str:
    """What is said of somebody, to where it ends."""
    return " ".join(_ENDS.sub("", f" {about.strip()}").split()[:_MOST_VALUE_WORDS])


def _about(matter: str) -> frozenset[str]:
    """The stems of the words that name a matter; none of what does not name one ("given that it")."""
    return frozenset() if not _NO_MATTER.isdisjoint(words(matter)) else _stems(matter)


def _stems(about: str) -> frozenset[str]:
    """The stems of the words that carry matter."""
    return frozenset(stem(word) for word in words(about) if word not in FUNCTION_WORDS and word not in _NEWNESS)
