"""How likely each purpose of a plan is meant by the words around a thing: "the noon repast" is lunch, most likely.

What a thing is for is said in any words, and misspelled; lists of them end at the next speaker. So each word counts by
how near it is to words of a purpose, as vectors tell, and every purpose gets a share: who asks for "the second meal"
may mean three of them. What kind of thing a name says it is ("... Inn") speaks, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches
from functools import lru_cache
from math import exp
from typing import TYPE_CHECKING

from stitch.core.text_cache import text_cache
from stitch.label.local.purposes import own_word, said_purposes, taken_back
from stitch.label.local.replies import vectors
from stitch.text.words import FUNCTION_WORDS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MEALS = {"breakfast": "morning", "lunch": "noon", "dinner": "evening"}
_SEEDS = {
    "breakfast": "breakfast brunch",
    "lunch": "lunch luncheon",
    "dinner": "dinner supper dining dine",
    "meal": "meal food eat eating restaurant bistro cafe diner eatery grill tavern",
    "morning": "morning",
    "noon": "noon midday",
    "afternoon": "afternoon",
    "evening": "evening night tonight",
    "stay": "hotel inn lodge motel hostel accommodation lodging sleep bed overnight room manor residence cabin "
    "apartment",
    "outing": "sightseeing attraction outing excursion museum gallery tour park monument activity culture theater hike "
    "tourist entertainment",
}
"""Words that are near to others of the same meaning; their own purposes are `said_purposes`."""
_CLASSES = {"stay": "stay", "a.m": "morning", "am": "morning", "p.m": "evening", "pm": "evening"}
"""Words whose vectors are near to other words ("leave")."""
_LEAST_ALIKE, _ALIKE = 0.4, 0.8
_CONTRAST = 1.0
_LEAST_SPELLED = 0.85
_LEAST_MISSPELLED = 5
_OTHER_SENTENCE = 0.4
_OTHER_WORD = 0.25
_FAR_CHARS = 80
_FAR = 0.3
_ANY_MEAL = 0.55
_ANY_TIME = 0.5
_BY_NAME = 0.75
_OWN = 0.5
_NOT_LAST = 0.7
_DINING_ROOM = re.compile(r"\bdining rooms?\b", re.IGNORECASE)
_SHARP = 8.0
_LEAST = 0.05
_LEAST_SURE = 0.3
_OF_ANY_TIME = frozenset(("day", "days", "week", "time", "hour", "date"))
_WORD = re.compile(r"[^\W\d_][^\W\d_']{2,}|[ap]\.?m\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<!\b[ap]\.m)[.!?\n]+(?=\s|$)", re.IGNORECASE)


def purposes_meant(
    text: str, start: int = -1, end: int = -1, *, name: str = "", own: Collection[str] = (), raises: bool = False
) -> dict[str, float]:
    """How likely each purpose is, as the words around a place of a text tell; the shares add up to 1.

    Args:
        text: The text; what stands at the place itself is not read.
        start: Where the place begins; -1 if it is none.
        end: Where it ends.
        name: The name of the thing, whose last word may say what it is.
        own: Purposes by words of the speaker, of which things were raised before.
        raises: Whether a thing is put forward: then the speaker's own word may be what it is for.

    Returns:
        The likeliest first; empty if nothing tells.
    """
    bare = f"{text[:start]}{' ' * (end - start)}{text[end:]}" if start >= 0 else text
    bare = _DINING_ROOM.sub(" restaurant", bare)
    said = said_purposes(bare, own)
    last = said[-1][0] if said else 0
    weight = _weigher(bare, start, end) if start >= 0 else (lambda at: 1.0 if at >= last else _NOT_LAST)
    scores: dict[str, float] = {}
    for at, purpose in said:
        _raise(scores, purpose, weight(at))
    classes = _classes_near(bare, weight, passed={at for at, _ in said})
    for kind, alike in _kinds(name).items():
        _raise(classes, kind, _BY_NAME * alike)
    _raise_by_classes(scores, classes)
    most = max(scores.values())
    word = own_word(bare) if raises and most < _LEAST_SURE else ""
    if not word and most < (_LEAST if raises else _LEAST_SURE):
        return {}
    return _shares(scores, word)


def _classes_near(text: str, weight: Callable[[int], float], *, passed: Collection[int]) -> dict[str, float]:
    """What the words of a text mean, by class, but for those at places that are `passed` over."""
    classes: dict[str, float] = {}
    for match in _WORD.finditer(text):
        # Most words mean nothing of the kind, and it is remembered which: the rest is asked of the others alone.
        meaning = _meaning(match[0].lower())
        if meaning and match.start() not in passed and not taken_back(text, match.start()):
            by_place = weight(match.start())
            by_place = _OTHER_WORD if by_place == _OTHER_SENTENCE else by_place
            for name_of, alike in meaning.items():
                _raise(classes, name_of, alike * by_place)
    return classes


def _raise_by_classes(scores: dict[str, float], classes: Mapping[str, float]) -> None:
    """Take in what classes of words say of each purpose."""
    brunch, of_meals = scores.pop("brunch", 0.0), classes.get("meal", 0.0)
    for meal, time in _MEALS.items():
        at_time = classes.get(time, 0.0)
        told = max(at_time, classes.get("afternoon", 0.0) * (meal == "lunch"))
        any_time = max(_ANY_MEAL * of_meals, _ANY_TIME * at_time)
        score = max(classes.get(meal, 0.0), min(of_meals, told), any_time, brunch * (meal != "dinner"))
        _raise(scores, meal, score)
    for purpose in ("stay", "outing"):
        _raise(scores, purpose, classes.get(purpose, 0.0))


def _shares(scores: Mapping[str, float], word: str) -> dict[str, float]:
    """How likely each purpose is, the likeliest first; a speaker's own `word` may mean any of the others, too."""
    shares = {purpose: exp(_SHARP * score) for purpose, score in scores.items()}
    whole = sum(shares.values()) / (1.0 - _OWN * bool(word))
    if word:
        shares[word] = shares.get(word, 0.0) + _OWN * whole
    return {purpose: round(share / whole, 4) for purpose, share in sorted(shares.items(), key=lambda one: -one[1])}


def _raise(scores: dict[str, float], name: str, score: float) -> None:
    scores[name] = max(score, scores.get(name, 0.0))


def _weigher(text: str, start: int, end: int) -> Callable[[int], float]:
    """How much a word counts by where it stands: in the sentence of the place fully, and the nearer the more."""
    begins = max((match.end() for match in _SENTENCE.finditer(text, 0, start)), default=0)
    ending = _SENTENCE.search(text, end)
    ends = ending.start() if ending else len(text)

    def weight(at: int) -> float:
        if not begins <= at < ends:
            return _OTHER_SENTENCE
        away = start - at if at < start else max(0, at - end)
        return 1.0 - _FAR * min(1.0, away / _FAR_CHARS)

    return weight


@text_cache(maxsize=4_096)
def _meaning(word: str) -> Mapping[str, float]:
    """How near a word is to what each class of words means, from 0 to 1; classes it is not near to are left out."""
    if word in FUNCTION_WORDS or word in _OF_ANY_TIME:
        return {}
    if word in _CLASSES:
        return {_CLASSES[word]: 1.0}
    rows, owners, words = _seeds()
    spelled = [word] if word in words else []
    if len(word) >= _LEAST_MISSPELLED:
        spelled = spelled or get_close_matches(word, words, n=1, cutoff=_LEAST_SPELLED)
    if spelled:
        return {owners[words.index(spelled[0])]: 1.0}
    best: dict[str, float] = {}
    for owner, value in zip(owners, rows @ vectors([word])[0], strict=True):
        _raise(best, owner, float(value))
    most = max(best.values())
    nearer = {owner: value - _CONTRAST * (most - value) for owner, value in best.items()}
    found = {owner: (value - _LEAST_ALIKE) / (_ALIKE - _LEAST_ALIKE) for owner, value in nearer.items()}
    return {owner: round(min(1.0, value), 3) for owner, value in found.items() if value > 0}


@text_cache(maxsize=1_024)
def _kinds(name: str) -> Mapping[str, float]:
    found: dict[str, float] = {}
    for word in _DINING_ROOM.sub("restaurant", name.lower()).split()[-2:]:
        for kind, alike in _meaning(word).items():
            if kind in (*_MEALS, "meal", "stay", "outing"):
                _raise(found, "meal" if kind in _MEALS else kind, alike)
    return found


@lru_cache(maxsize=1)
def _seeds() -> tuple[NDArray[np.float32], list[str], list[str]]:
    told = [(owner, word) for owner, words in _SEEDS.items() for word in words.split()]
    words = [word for _, word in told]
    return vectors(words), [owner for owner, _ in told], words


def alike(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """How likely two things are for the same purpose."""
    return sum(share * other.get(purpose, 0.0) for purpose, share in one.items())


def likeliest(shares: Mapping[str, float]) -> str:
    """The likeliest purpose; empty if nothing is known."""
    return max(shares, key=shares.__getitem__, default="")
