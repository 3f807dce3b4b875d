"""Which phrases stand for the thing that is spoken of without naming it: "the place", "that hotel", "both"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from stitch.label.local.antecedents import Antecedents, Referent
from stitch.text.names import RELATIONAL_NOUN
from stitch.text.words import FUNCTION_WORDS, is_verb, word_set

_I = re.IGNORECASE
_DEFINITE = re.compile(
    r"\b(?P<which>the|that|this) (?P<noun>[a-z]{3,14})\b"
    r"(?! (?:of|that|which|where|who|whose|i|we|you|he|she|they|to)\b|-| [a-z]+(?:ed|ing) (?:in|on|at|by|near)\b)",
    _I,
)
_OTHER = re.compile(r"\b(?:an?|another|other|some|any|each|every) ((?:[\w-]+ ){0,2}[\w-]+)", _I)
"""What the text brings up beside what is spoken of."""
_NARROWED = re.compile(r" (?:in|on|at|near|with|from|by|across|behind|next|opposite)\b", _I)
_NEXT_WORDS = re.compile(r" ([A-Za-z][\w'-]*)(?: ([a-z]+))?")
_IDIOM = re.compile(r"\b(?:over|on|take|takes|took|taking|in|around|out of) $", _I)
_SEEKS_IN = re.compile(r"\b(?:(?:how|what) about|an?|any|some|other|others|another|more)\b[^.!?]*$", _I)
"""What is sought "there" is sought in the area, not at the thing."""
_BOTH = re.compile(
    r"(?:^|[.!?;:,] |\b(?:because|since|that|and|but|if|as|tried|like|liked|love|loved|know|keep|take|visit|do) )"
    r"(?P<both>both|neither)(?= [a-z]|[.,;?!]|$)"
    r"(?! (?:my|your|our|his|her|their|the|these|those|a|an|in|of|on|at|for|with)\b)"
    r"(?! (?:sides|ways|times|cases|hands|days)\b)",
    _I,
)
_PLURAL_VERBS = word_set("are were have do can could will would should may might must")
_MAX_READ_CHARS = 1_200


class Pointed(NamedTuple):
    """A phrase that points at what is spoken of."""

    start: int
    end: int
    replacement: str
    referent: Referent
    confidence: float


def resolve_definites(
    text: str, known: Antecedents, *, until: int, skip: Sequence[tuple[int, int]], since: str
) -> list[Pointed]:
    """Return the phrases that stand for the one thing, or the two, that is spoken of; the first of each kind.

    Args:
        text: What was said, as `straighten_quotes` reads it.
        known: What was named before.
        until: Where the first name of the text begins; behind it, the antecedent most likely stands in the text itself.
        skip: Spans that something else replaces.
        since: What was said after the topic was last named or pointed at.
    """
    text = text[: min(until, _MAX_READ_CHARS)]
    topic = known.current()
    if topic is None:
        return _together(text, known, skip)
    if topic.titled or topic.stands.get("person", 0) > topic.stands.get("thing", 0):
        return []
    nouns = known.called(topic)
    if not nouns:
        return []
    return _definite(text, topic, nouns, skip, since)


def seeks_there(text: str) -> bool:
    """Whether something is sought "there": then that is an area, and not the thing that is spoken of."""
    match = re.search(r"\bthere\b", text)
    return match is not None and _SEEKS_IN.search(text[: match.start()]) is not None


def _definite(
    text: str, topic: Referent, nouns: frozenset[str], skip: Sequence[tuple[int, int]], since: str
) -> list[Pointed]:
    for match in _DEFINITE.finditer(text):
        noun = match["noun"].lower()
        ahead = text[: match.start()]
        if noun not in nouns or _within(match.span(), skip) or _IDIOM.search(ahead[-12:]):
            continue
        following = _NEXT_WORDS.match(text, match.end())
        if following is not None and not _may_follow(following[1], following[2] or ""):
            continue
        if match["which"].lower() == "the" and _NARROWED.match(text, match.end()):
            continue
        if any(
            {noun, "one"} & set(other[1].lower().split()) for part in (ahead, since) for other in _OTHER.finditer(part)
        ):
            return []
        return [Pointed(match.start(), match.end(), topic.name, topic, 0.7)]
    return []


def _together(text: str, known: Antecedents, skip: Sequence[tuple[int, int]]) -> list[Pointed]:
    pair = known.pair()
    if len(pair) < 2:
        return []
    one, other = pair
    for match in _BOTH.finditer(text):
        start, end = match.span("both")
        if _within((start, end), skip):
            continue
        words = ("Neither", "nor") if match["both"].lower() == "neither" else ("Both", "and")
        opening = words[0] if match["both"][0].isupper() else words[0].lower()
        return [Pointed(start, end, f"{opening} {one.name} {words[1]} {other.name}", one, 0.7)]
    return []


def _may_follow(word: str, then: str) -> bool:
    """Whether the noun before these words is not the modifier of another one, unless that is an attribute of it."""
    if word in FUNCTION_WORDS or RELATIONAL_NOUN.match(word):
        return True
    if word.islower() and word.endswith("s"):
        # "the hotel boasts a pool", not "the hotel rooms are"
        return then != "" and then not in _PLURAL_VERBS and not is_verb(then)
    return is_verb(word) or (word.islower() and word.endswith(("ly", "ed")))


def _within(span: tuple[int, int], skip: Sequence[tuple[int, int]]) -> bool:
    return any(start < span[1] and span[0] < end for start, end in skip)
