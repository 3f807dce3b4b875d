"""Phrases that count what was raised: "the second hotel I mentioned for day 1", "my first idea", "the latter"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from stitch.text.numbers import ORDINAL, ordinal
from stitch.text.words import FUNCTION_WORDS, is_verb

_I = re.IGNORECASE
_WHO = r"(?P<who>I|we|you|he|she|they)"
_RAISED = (
    rf"(?:that |which )?{_WHO} (?:have |had |just |already |previously )*"
    r"(?:raised|mentioned|proposed|suggested|said|named|listed|gave|recommended|discussed|offered|talked about|"
    r"brought up|put forward|came up with|introduced|presented|considered|asked about|looked at)"
    r"(?: (?:before|earlier|previously|above|already))*"
)
_OURS = r"(?P<who>my|our|your|his|her|their)"
_THINGS = (
    r"(?:list|ideas?|suggestions?|proposals?|options?|choices?|picks?|candidates?|entries|entry|points?|arguments?)"
)
_N = rf"(?P<ordinal>{ORDINAL})"
_NEXT = rf"(?<!\bas )(?<!\bfor )(?<!\bof )(?<!\bin )(?<!\bon )(?:the|my|your|our) (?:{ORDINAL})\b"
_FRAME = (
    rf"(?P<frame>(?: +(?:as|for|of|in|on|when)\b(?:(?!\b{_NEXT})[^,.?!;\n]){{0,70}}?(?=\b{_NEXT}|"
    r"\b(?:and|or|but|against|with|to|than|versus|vs\.?) (?:the|my|your|our)\b|[,.?!;\n]|$))?)"
)
_NO_TIME = r"(?! [a-z]+day\b| (?:night|week|month|year|time)\b)"
_RAISED_PHRASES = tuple(
    re.compile(rf"{core}{_FRAME}", _I)
    for core in (
        rf"\b(?:the )+{_N}(?: of the)?(?: (?P<head>[a-z]+))?(?: [a-z]+)? {_RAISED}",
        rf"\b(?:the )(?P<head>[a-z]+) {_RAISED} as the {_N}(?: one)?",
        rf"\b{_OURS} {_N} (?P<head>(?:[a-z]+ ){{0,2}}?){_THINGS}\b",
        rf"\bthe {_N} (?P<head>[a-z]+) (?:on|in|of|among|from) {_OURS} (?:own )?{_THINGS}\b",
        rf"\bthe (?P<head>[a-z]+) that came {_N} (?:on|in|of|among) {_OURS} {_THINGS}\b",
        rf"\b(?:the )(?P<head>[a-z]+) {_RAISED} (?P<ordinal>first|second|third|last|most recently)\b{_NO_TIME}",
    )
)
_BY_SPEAKER = r" (?:that |which )?(?:i|we)(?:'d|'ve| have| had)? (?:[a-z]+ed|put|said|gave)\b"
"""Behind "the second one": it is no list that counts, but what the speaker said at any time."""
_LISTED = re.compile(
    rf"\b(?:the )+(?:{_N} "
    r"(?:one|option|choice|step|item|point|suggestion|idea|method|result|of (?:the|your|our|my) two|of these|of them)"
    r"\b|"
    rf"(?P<side>latter|former)\b)(?! of the\b|{_BY_SPEAKER})",
    _I,
)
_BARE = re.compile(r"\bthe (?P<ordinal>first|second)\b(?: (?P<following>[a-z']+)|(?=[,.;:?!]|$))", _I)
"""Two things that were set side by side are told apart by nothing but their place: "the first has a garden"."""
_AS_ADJECTIVE = re.compile(r" (?P<noun>[a-z][\w-]+)")
_SAYS_OF = re.compile(r"\b(?:is|was|be|been|being|are|were|'s|not|n't|become|became) $", _I)
"""Before a phrase that says what something is: "it would not have been my first idea" points at no idea."""
_BY_PRICE = re.compile(
    r"\bthe (?:cheaper|cheapest|less expensive|least expensive|(?P<high>more expensive|most expensive|priciest))"
    r"(?: (?:one|option|choice)\b|(?=\s*(?:[.,?!;]|$)))",
    _I,
)
_OWNED = _RAISED_PHRASES[2]
_COUNTS = re.compile(rf"\b(?:{ORDINAL})\b|cheap|expensive|priciest")
_MINE = frozenset({"i", "my"})
_ANYBODY = frozenset({"we", "our"})


class Counting(NamedTuple):
    """A phrase that counts things."""

    start: int
    end: int
    number: int
    """From 1; -1 for the last."""
    mine: bool | None
    """Whether it counts what the speaker raised; False for somebody else's; None for anybody's."""
    head: str
    """What it calls them ("hotel")."""
    frame: str
    """What narrows them down ("for day 1")."""
    listed: bool
    """Whether it counts the last list, and not what was raised at any time."""
    dearest: bool | None = None
    """For a phrase that compares prices: whether it asks for the highest."""
    paired: bool = False
    """Whether it counts nothing but two things that were set side by side."""


def find_counting(text: str) -> Iterator[Counting]:
    """Yield the phrases of a text that count things, not overlapping."""
    if _COUNTS.search(text.lower()) is None:
        return
    taken: list[tuple[int, int]] = []
    for found in (*_raised_in(text), *_listed_in(text), *_paired_in(text), *_priced_in(text)):
        if not any(found.start < end and start < found.end for start, end in taken):
            taken.append((found.start, found.end))
            yield found


def _raised_in(text: str) -> Iterator[Counting]:
    for pattern in _RAISED_PHRASES:
        for match in pattern.finditer(text):
            if pattern is _OWNED and _SAYS_OF.search(text, max(0, match.start() - 12), match.start()):
                continue
            who = match["who"].lower()
            head = (match["head"] or "").strip()
            yield Counting(
                match.start(),
                match.start("frame"),
                _number(match["ordinal"]),
                None if who in _ANYBODY else who in _MINE,
                head,
                f"{head} {match['frame']}" if pattern is _OWNED else match["frame"],
                False,
            )


def _listed_in(text: str) -> Iterator[Counting]:
    for match in _LISTED.finditer(text):
        side = (match["side"] or "").lower()
        following = _AS_ADJECTIVE.match(text, match.end()) if side else None
        if following is not None and not _follows(following["noun"]):
            continue
        number = {"former": 1, "latter": 2}.get(side) or _number(match["ordinal"])
        yield Counting(match.start(), match.end(), number, None, "", "", True)


def _paired_in(text: str) -> Iterator[Counting]:
    bare = [match for match in _BARE.finditer(text) if not match["following"] or _follows(match["following"].lower())]
    if len({match["ordinal"].lower() for match in bare}) == 2:
        for match in bare:
            end = match.end("ordinal")
            yield Counting(match.start(), end, _number(match["ordinal"]), None, "", "", True, paired=True)


def _priced_in(text: str) -> Iterator[Counting]:
    for match in _BY_PRICE.finditer(text):
        yield Counting(match.start(), match.end(), 1, None, "", "", True, match["high"] is not None)


def _follows(word: str) -> bool:
    """Whether the word may follow "the former" where that stands alone: a verb or a small word, no noun."""
    return word in FUNCTION_WORDS or is_verb(word)


def _number(word: str) -> int:
    return {"latter": 2, "former": 1}.get(word.lower()) or ordinal(word) or 1
