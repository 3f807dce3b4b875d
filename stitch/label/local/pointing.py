"""Turns that speak of something raised before without naming it: "the third for lunch", "my other one", "that tower".

Every turn has at most two pointers (what counts, else the turn itself). Candidates are the things that its speaker
raised for the part of a plan that is spoken of, and nothing at all; a conditional logit over named features chooses
(`pointing_weights.json`, fitted by `python -m stitch.bench.fit_pointing`): place among things raised for the same
purpose, purpose, what was spoken of last, what was chosen, words in common with how a thing was raised and answered.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import lru_cache
from importlib.resources import files
from itertools import chain, repeat
from math import exp, log
from operator import mul
from typing import NamedTuple

import orjson

from stitch.core.text_cache import text_cache
from stitch.label.local.antecedents import Raised
from stitch.label.local.purposes import meant_in, purpose_near, said_purposes
from stitch.text.names import last_unit, name_key
from stitch.text.numbers import NUMBER_WORDS, ORDINAL_WORDS, fold_words, number, ordinal
from stitch.text.words import FUNCTION_WORDS, fold_case, whole_words

MOST_CHARS = 600
"""Longer turns tell of things rather than point at them."""
_MOST_POINTERS = 2
_MOST_CANDIDATES = 40
_MOST_IN_COMMON = 4.0
_DESCRIBING_CHARS = 30
_FIGURE_TELLS = 3.0

_NO_TIME = r"(?! (?:night|week|month|year|time|summer|evening|on)\b)"
_THE = "(?:(?<=the )|(?<=my )|(?<=our ))"
_COUNTED = re.compile(
    rf"\b(?P<ordinal>{ORDINAL_WORDS})\b(?! (?:thoughts?|things?|time|day|night|week|of all|impulse|class|name)\b)"
    rf"|(?:#|\b(?:number|numbered|no\.?|nr\.?|option) )(?P<number>\d{{1,2}}|{'|'.join(NUMBER_WORDS)})\b"
    r"|\b(?P<noun>[a-z]{3,}) (?P<after>\d{1,2})\b(?![.,:/]?\d|\. [a-z]| ?(?:%|[ap]m\b))"
    r"|\b(?P<dotted>\d{1,2})\.(?= [a-z])"
    rf"|\b(?P<last>last|latest|{_THE}later|newest|newer|(?:more|most) recent(?:ly)?|latter|alternative|final"
    rf"|subsequent)\b{_NO_TIME}|\b(?P<earlier>{_THE}earlier|earliest|older|oldest|original|former|initial|prior)\b{_NO_TIME}"
)
_OTHER = whole_words("other|another")
_CHOSE = whole_words(
    r"""book\w*|cho[os]\w*|pick\w*|decid\w*|settl\w*|reserv\w*|confirm\w*|lock\w* in|bagg\w*|resolv\w*|put down|took
    |taken|take|taking|go(?:ing)? with|went with|agreed|inked"""
)
_WORD = re.compile(r"[^\W_]+")
_STANDS_FOR_IT = whole_words("it|its|that one|this one|that|this|the same|that place|this place")
_ASKS = re.compile(r"\?|\b(?:how|what|which|price|cost|rat(?:ing|ed)|score|stars|reviews?)\b", re.IGNORECASE)


_BESIDE = re.compile(
    r"(?:/|\b(?:vs\b\.?|(?:versus|or|and|against|with|than|from|to|compared to|stands? (?:to|against))\b))"
    r"(?= *(?:the|my|our|that|whatever|option|number|no\.?|item|pick|#)(?:\b|\d))"
)
"""Where a second thing is set beside a first: "my first vs. the one that ..."."""
_SENTENCE_END = re.compile(r"[.!?\n]+(?=\s|$)")
_FIGURE = re.compile(r"\d+[.,]\d+|[$\u20ac\u00a3]\d+")


class Pointer(NamedTuple):
    """Something in a turn that may stand for a thing that was raised."""

    at: int
    """Where its name would be put in."""
    place: int | None
    """Which of several, from 1; -1 for the last; None if it does not count."""
    purpose: str
    """What the thing is for, as the words nearest to it say; empty if none do."""
    words: str
    """What is said of it: its clause, or the turn if it points at one thing."""


class Reading(NamedTuple):
    """What a pointer may stand for, with what speaks for it."""

    item: Raised | None
    """None if it stands for nothing."""
    numbers: Mapping[str, float]


def find_pointers(text: str, items: Sequence[Raised] = ()) -> list[Pointer]:
    """The pointers of a turn: what counts things, or what it sets side by side, at most two; else the whole turn."""
    own = {item.slot for item in items}
    counted = _counted(text, own, {item.part.split(" ")[0] for item in items})
    pair = _side_by_side(text, own, counted[0].at if counted else None) if len(counted) < _MOST_POINTERS else []
    if pair:
        halves = [Pointer(end, None, purpose, text[start:end]) for start, end, purpose in pair]
        within = [bool(counted) and start < counted[0].at <= end for start, end, _ in pair]
        return [counted[0] if counts else half for half, counts in zip(halves, within, strict=True)]
    return counted or [_whole(text, own)]


def _counted(text: str, own: Set[str], parts: Set[str]) -> list[Pointer]:
    places = [(match, count) for match in _COUNTED.finditer(fold_case(text)) if (count := _count(match, parts))]
    return [
        Pointer(match.end(), count, purpose_near(text, match.start(), match.end(), own) or meant_in(text), text)
        for match, count in places[:_MOST_POINTERS]
    ]


def _whole(text: str, own: Set[str]) -> Pointer:
    said, ending = said_purposes(text, own), _SENTENCE_END.search(text)
    at = ending.start() if ending else len(text)
    return Pointer(at, None, said[-1][1] if said else meant_in(text), text)


def _side_by_side(text: str, own: Set[str], at: int | None) -> list[tuple[int, int, str]]:
    """The two halves of a sentence that sets one thing beside another, each with what its thing is for.

    Args:
        text: The turn.
        own: Purposes by words of the speaker.
        at: Behind what is counted; None if nothing is.
    """
    for match in _BESIDE.finditer(fold_case(text)):
        start = max((end.end() for end in _SENTENCE_END.finditer(text, 0, match.start())), default=0)
        ends = _SENTENCE_END.search(text, match.end())
        halves = [(start, match.start()), (match.end(), ends.start() if ends else len(text))]
        if at is not None and not start < at <= halves[1][1]:
            continue
        told = [(*half, purpose_near(part := text[slice(*half)], 0, 0, own) or meant_in(part)) for half in halves]
        if all(purpose for *_, purpose in told):
            return told
    return []


def _count(match: re.Match[str], parts: Set[str]) -> int:
    """What is counted, from 1, -1 for the last; 0 if it counts parts of the plan, or nothing."""
    if match["last"] or match["earlier"]:
        return -1 if match["last"] else 1
    if match["noun"]:
        noun = match["noun"]
        return 0 if noun in FUNCTION_WORDS or noun in parts else int(match["after"])
    return (ordinal(match["ordinal"]) if match["ordinal"] else number(match["number"] or match["dotted"])) or 1


def readings(pointer: Pointer, text: str, items: Sequence[Raised]) -> list[Reading]:
    """What a pointer may stand for: the items, in the order in which they were raised, and nothing."""
    items = items[-_MOST_CANDIDATES:]
    places = _Places(items)
    folded = text.lower()
    cues = {
        "other": _OTHER.search(pointer.words.lower()) is not None,
        "chose": _CHOSE.search(folded) is not None,
        "it": _STANDS_FOR_IT.search(folded) is not None,
        "asks": _ASKS.search(text) is not None,
        "unit": bool(last_unit(text)),
    }
    said = {word for word in fold_words(pointer.words) if word not in FUNCTION_WORDS}
    told = _described(pointer.words, places)
    figures = _with_figures(pointer.words, places)
    raised = _in_common(said, places)
    found = [
        Reading(
            item, _of_item(pointer, places, place, cues, told=max(told[place], figures[place]), words=raised[place])
        )
        for place, item in enumerate(items)
    ]
    nothing = {
        "nothing": 1.0,
        "nothing: purpose": float(bool(pointer.purpose)),
        "nothing: counted": float(pointer.place is not None),
        "nothing: asks": float(cues["asks"]),
        "nothing: unit": float(cues["unit"]),
        "nothing: it": float(cues["it"]),
        "nothing: chose": float(cues["chose"]),
    }
    return [*found, Reading(None, nothing)]


class _Places:
    """Where each item stands among those raised for the same purpose."""

    def __init__(self, items: Sequence[Raised]) -> None:
        self.items = items
        self.groups: dict[str, list[int]] = {}
        for place, item in enumerate(items):
            self.groups.setdefault(item.slot, []).append(place)
        self.last = max(range(len(items)), key=lambda place: (items[place].spoken, place))
        self.spoken_last = {max(group, key=lambda at: (items[at].spoken, at)) for group in self.groups.values()}
        chosen = (max(group, key=lambda at: items[at].chosen) for group in self.groups.values())
        self.chosen_last = {place for place in chosen if items[place].chosen > 0}

    def group(self, place: int) -> list[int]:
        return self.groups[self.items[place].slot]

    def common(self, has: Sequence[Set[str]]) -> list[Mapping[str, int]]:
        """Of each place, how many of its group have each word, by the words that each place has."""
        by_slot: dict[str, Mapping[str, int]] = {}
        for slot, group in self.groups.items():
            words = list(filter(None, map(has.__getitem__, group)))
            by_slot[slot] = Counter(chain.from_iterable(words)) if words else {}
        return [by_slot[item.slot] for item in self.items]


_OF_ITEM = dict.fromkeys(
    (
        "counted", "counted for it", "counted otherwise", "purpose", "other purpose", "near", "only one",
        "last of these", "last of all", "it", "the other", "not the other", "chosen, asked of", "chosen, chosen again",
        "told", "words",
    ),
    0.0,
)  # fmt: skip


def _of_item(
    pointer: Pointer, places: _Places, place: int, cues: Mapping[str, bool], *, told: float, words: float
) -> Mapping[str, float]:
    # Complexity over 15 because each number is a condition of its own, side by side with its name.
    item, group = places.items[place], places.group(place)
    same, last, is_last = item.slot == pointer.purpose != "", place in places.spoken_last, place == places.last
    near = not pointer.purpose and item.slot == places.items[places.last].slot
    numbers = _OF_ITEM.copy()
    if (count := pointer.place) is not None:
        at = group.index(place) + 1
        counted = at == count or (count < 0 and at == len(group))
        numbers["counted"], numbers["counted otherwise"] = float(counted), float(not counted)
        numbers["counted for it"] = float(counted and (same or near))
    else:
        numbers["only one"] = float(len(group) == 1)
        if cues["other"]:
            numbers["the other"] = float(len(group) == 2 and not last)
            numbers["not the other"] = float(last)
        else:
            numbers["last of these"], numbers["last of all"] = float(last), float(is_last)
        numbers["it"] = float(is_last and cues["it"])
    numbers["purpose"], numbers["near"] = float(same), float(near)
    numbers["other purpose"] = float(bool(pointer.purpose and item.slot) and not same)
    if cues["chose"] and place in places.chosen_last:
        if not cues["asks"]:
            numbers["chosen, chosen again"] = 1.0
        elif count is None:
            numbers["chosen, asked of"] = 1.0
    numbers["told"], numbers["words"] = told, words
    return numbers


def _with_figures(text: str, places: _Places) -> list[float]:
    """Whether a price or another figure is said that was told of an item, and of no other one for its purpose."""
    figures = [" ".join(fold_words(match[0])) for match in _FIGURE.finditer(text)]
    if not figures:
        return [0.0] * len(places.items)
    has = [any(f" {figure} " in f" {' '.join(item.answers)} " for figure in figures) for item in places.items]
    return [_FIGURE_TELLS * (own and sum(has[other] for other in places.group(at)) == 1) for at, own in enumerate(has)]


def _described(text: str, places: _Places) -> list[float]:
    """How many words stand close together that were told of an item, and of no other one raised for its purpose.

    Words far apart are shared by chance: who asks for "the one with stuffed vine leaves" says them in a row.
    """
    words = [(match.start(), match.end(), _folded(match[0])) for match in _WORD.finditer(text)]
    said = {word for *_, word in words}
    own = [said.intersection(item.answers) for item in places.items]
    found = []
    for answers, common in zip(own, places.common(own), strict=True):
        alone = {word for word in answers if common[word] == 1}
        if len(alone) < 2:
            found.append(0.0)
            continue
        longest, run, last = 0, set[str](), -_DESCRIBING_CHARS
        for start, end, word in words:
            if word in alone:
                run = {*run, word} if start - last <= _DESCRIBING_CHARS else {word}
                longest, last = max(longest, len(run)), end
        found.append(min(_MOST_IN_COMMON, max(0.0, longest - 1.0)))
    return found


@text_cache(maxsize=4_096)
def _folded(word: str) -> str:
    folded = fold_words(word)
    return folded[0] if folded and folded[0] not in FUNCTION_WORDS and len(folded[0]) > 2 else ""


def _in_common(said: Set[str], places: _Places) -> list[float]:
    """How many words are said again that an item has and others raised for the same purpose have not."""
    own = [said & set(item.words) for item in places.items]
    weighed = []
    for place, (bag, common) in enumerate(zip(own, places.common(own), strict=True)):
        size = len(places.group(place)) + 1
        most = log(size)
        weighed.append(min(_MOST_IN_COMMON, sum([log(size / common[word]) / most for word in sorted(bag)])))
    return weighed


def choose(found: Sequence[Reading], weights: Mapping[str, float]) -> tuple[Raised | None, float]:
    """The likeliest reading, and how likely it is."""
    nothing = repeat(0.0)
    scores = [sum(map(mul, map(weights.get, reading.numbers, nothing), reading.numbers.values())) for reading in found]
    best = max(range(len(found)), key=scores.__getitem__)
    return found[best].item, 1 / sum(exp(score - scores[best]) for score in scores)


def pointed_at(
    text: str, items: Sequence[Raised], named: Sequence[str] = ()
) -> Iterator[tuple[Pointer, Raised, float]]:
    """The pointers of a turn that stand for an item, with it and how likely that is beside all others.

    Args:
        text: The turn.
        items: What its speaker raised for the part of a plan that is spoken of.
        named: What the turn names: beside that, only what counts points at something else.
    """
    if len(text) > MOST_CHARS or not any(item.part for item in items):
        return  # outside of plans hardly anything is raised to be pointed at again, and half of what is found is wrong
    keys = {name_key(name) for name in named}
    if keys and not keys <= {name_key(item.name) for item in items}:
        return  # something new is put forward
    taken: list[Raised] = []
    for pointer in find_pointers(text, items):
        if keys and pointer.place is None:
            continue
        item, share = choose(readings(pointer, text, items), shipped_weights())
        if item is not None and item not in taken and name_key(item.name) not in keys:
            taken.append(item)
            yield pointer, item, share


def chooses(text: str) -> bool:
    """Whether a turn settles on what it speaks of."""
    return _CHOSE.search(text.lower()) is not None and _ASKS.search(text) is None


@lru_cache(maxsize=1)
def shipped_weights() -> Mapping[str, float]:
    """The weights made by `stitch.bench.fit_pointing`."""
    weights: Mapping[str, float] = orjson.loads(
        files("stitch.label.local").joinpath("pointing_weights.json").read_bytes()
    )["weights"]
    return weights
