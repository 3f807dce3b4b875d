"""Turns that speak of something raised before without naming it: "the third for lunch", "my other one", "that tower".

Every turn has at most two pointers (what counts, else the turn itself). Candidates are the things that its speaker
raised for the part of a plan that is spoken of, and nothing at all; a conditional logit over named features chooses
(`pointing_weights.json`, fitted by `python -m stitch.bench.fit_pointing`): place among things raised for the same
purpose, purpose, name, price, whose idea it was, what was spoken of last, what was told of a thing.

More than 400 lines because finding pointers and weighing them read the same words by the same patterns.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import lru_cache
from importlib.resources import files
from itertools import chain, pairwise, repeat
from math import exp, fsum, log
from operator import mul
from typing import NamedTuple

import orjson

from stitch.core.text_cache import text_cache
from stitch.label.local.antecedents import Raised
from stitch.label.local.meant import alike, likeliest, purposes_meant
from stitch.text.names import last_unit, name_key
from stitch.text.numbers import NUMBER_WORDS, ORDINAL_WORDS, figures, fold_words, number, ordinal
from stitch.text.words import FUNCTION_WORDS, fold_case, whole_words

MOST_CHARS = 600
"""Longer turns tell of things rather than point at them."""
_MOST_POINTERS = 2
_MOST_CANDIDATES = 40
_MOST_IN_COMMON = 4.0
_CURRENCIES = "$\u20ac\u00a3"
_DESCRIBING_CHARS = 30
_SLIGHT = 0.05

_NO_TIME = r"(?! (?:night|week|month|year|time|spring|summer|autumn|fall|winter|evening|on)\b)"
_THE = "(?:(?<=the )|(?<=my )|(?<=our ))"
_COUNTED = re.compile(
    rf"\b(?<!on )(?P<ordinal>{ORDINAL_WORDS})\b(?! (?:thoughts|things?|time|day|night|week|of all|impulse|class|name"
    r"|importance|[a-z]+ of the (?:day|morning|evening))\b)"
    rf"|(?:#|\b(?:number|numbered|no\.?|nr\.?|option) )(?P<number>\d{{1,2}}|{'|'.join(NUMBER_WORDS)})\b"
    rf"|\b(?:candidate|choice|entry|idea|item|option|pick|proposal|suggestion) (?P<word>{'|'.join(NUMBER_WORDS)})\b"
    r"|\b(?P<noun>[a-z]{3,}) (?P<after>\d{1,2})\b(?![.,:/]?\d|\. [a-z]| ?(?:%|[ap]m\b))"
    r"|\b(?P<dotted>\d{1,2})\.(?= [a-z])"
    rf"|\b(?P<last>(?<!at )last|latest|{_THE}later|newest|newer|(?:more|most) recent(?:ly)?|(?<=the )latter|alternative"
    rf"|final|subsequent)\b{_NO_TIME}"
    rf"|\b(?P<earlier>{_THE}earlier|earliest|older|oldest|original|(?<=the )former|initial|prior)\b{_NO_TIME}"
)
_FOR_WORDS = (2, 4)
"""Digits that stand for "to" and "for" where people type in haste."""
_PART_BEFORE = re.compile(r"\b(?:day|week|part|phase|stage) ?$", re.IGNORECASE)
_OTHER = whole_words("other|another")
_CHOSE = whole_words(
    r"""book\w*|cho[os]\w*|pick\w*|decid\w*|settl\w*|reserv\w*|confirm\w*|lock\w* in|bagg\w*|resolv\w*|put down|took
    |taken|take|taking|go(?:ing)? with|went with|agreed|inked"""
)
_WORD = re.compile(r"[^\W_]+")
_EARLY = whole_words(
    r"""early|earlier|earliest|elder|eldest|old|older|oldest|former|prior|before|ahead|preced\w+|initial\w*|origin\w+
    |open(?:er|ing|ed)|beg[aiu]n\w*|start\w*|1st"""
)
_LATE = whole_words(
    r"""late|later|latest|lately|latter|last|new|newer|newest|newcomer|younger|youngest|recent\w*|final|after\w*(?! all)
    |thereafter|behind|succe\w+|follow\w+|conclud\w+|subsequent\w*|ended|added|just|2nd"""
)
_ASKS = re.compile(r"\?|\b(?:how|what|which|price|cost|rat(?:ing|ed)|score|stars|reviews?)\b", re.IGNORECASE)


_BESIDE = re.compile(
    r"\bv(?:s\b\.?|ersus\b)"
    r"|(?:[/;]|\b(?:or|and|against|beside|next to|with|than|from|to|compared to|stands? (?:to|against))\b)"
    r"(?= *(?:the|my|our|that|this|whatever|whichever|what|one|out|of|#|no\.?|[a-z]+ \d|(?:[a-z]+ )?[a-z]+'s)(?:\b|\d))"
)
"""Where a second thing is set beside a first: "my first vs. the one that ..."."""
_SENTENCE_END = re.compile(r"[.!?\n]+(?=\s|$)")
_PRICED = re.compile(
    r"\b(?:the|that|this|our|my) (?:(?P<less>less|least) |(?:more|most) )?"
    r"(?:(?P<dear>expensive|pric[ei]\w+|costl\w+|dear\w*|upscale|premium|luxur\w+|splurge)"
    r"|(?P<cheap>cheap\w*|inexpensive|affordable|economical|thrift\w+|budget|modest))\b"
)
"""Which of two it is by their prices."""


class Pointer(NamedTuple):
    """Something in a turn that may stand for a thing that was raised."""

    at: int
    """Where its name would be put in."""
    place: int | None
    """Which of several, from 1; -1 for the last; None if it does not count."""
    meant: Mapping[str, float]
    """How likely the thing is for each purpose, as the words nearest to it tell; empty if nothing does."""
    words: str
    """What is said of it: its clause, or the turn if it points at one thing."""


class Reading(NamedTuple):
    """What a pointer may stand for, with what speaks for it."""

    item: Raised | None
    """None if it stands for nothing."""
    numbers: Mapping[str, float]


def find_pointers(text: str, items: Sequence[Raised] = (), *, counting: bool = False) -> list[Pointer]:
    """The pointers of a turn: what counts things, or what it sets side by side, at most two; else the whole turn.

    With `counting`, none of a turn that counts nothing.
    """
    own = {item.slot for item in items}
    parts = {item.part.split(" ")[0] for item in items}
    counted = _counted(text, own, parts, max(Counter(item.slot for item in items).values(), default=_MOST_CANDIDATES))
    if counting and not counted:
        return []
    pair = _side_by_side(text, own, counted[0].at if counted else None) if len(counted) < _MOST_POINTERS else []
    if pair:
        halves = [Pointer(end, None, meant, text[start:end]) for start, end, meant in pair]
        within = [bool(counted) and start < counted[0].at <= end for start, end, _ in pair]
        return [
            half._replace(at=counted[0].at, place=counted[0].place) if counts else half
            for half, counts in zip(halves, within, strict=True)
        ]
    return counted or [_whole(text, own)]


def _counted(text: str, own: Set[str], parts: Set[str], most: int) -> list[Pointer]:
    places = [(match, count) for match in _COUNTED.finditer(fold_case(text)) if (count := _count(match, parts, most))]
    return [
        Pointer(match.end(), count, purposes_meant(text, match.start(), match.end(), own=own), text)
        for match, count in places[:_MOST_POINTERS]
    ]


def _whole(text: str, own: Set[str]) -> Pointer:
    """The turn, or of several sentences the one that tells best what its thing is for: the others say other things."""
    starts = [0, *(end.end() for end in _SENTENCE_END.finditer(text))]
    told = [(start, end, purposes_meant(text[start:end], own=own)) for start, end in pairwise([*starts, len(text)])]
    told.sort(key=lambda one: -max(one[2].values(), default=0.0))
    (start, end, meant), *others = told or [(0, 0, {})]
    if meant and others and max(meant.values()) > max(others[0][2].values(), default=0.0):
        return Pointer(start + len(text[start:end].rstrip(" .!?\n")), None, meant, text[start:end])
    ending = _SENTENCE_END.search(text)
    return Pointer(ending.start() if ending else len(text), None, purposes_meant(text, own=own), text)


def _side_by_side(text: str, own: Set[str], at: int | None) -> list[tuple[int, int, dict[str, float]]]:
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
        told = [(*half, purposes_meant(text[slice(*half)], own=own)) for half in halves]
        if all(meant for *_, meant in told):
            return told
    return []


def _count(match: re.Match[str], parts: Set[str], most: int) -> int:
    """What is counted, from 1, -1 for the last; 0 if it counts parts of the plan, nothing, or more than there are."""
    if match["last"] or match["earlier"]:
        return -1 if match["last"] else 1
    if match["dotted"] and _PART_BEFORE.search(match.string, 0, match.start()):
        return 0
    if match["noun"]:
        noun = match["noun"]
        count = int(match["after"])
        for_a_word = count > most and count in _FOR_WORDS
        return 0 if noun in FUNCTION_WORDS or noun in parts or for_a_word else count
    return (
        ordinal(match["ordinal"]) if match["ordinal"] else number(match["number"] or match["word"] or match["dotted"])
    ) or 1


def readings(pointer: Pointer, text: str, items: Sequence[Raised]) -> list[Reading]:
    """What a pointer may stand for: the items, in the order in which they were raised, and nothing."""
    items = items[-_MOST_CANDIDATES:]
    places = _Places(items)
    folded = text.lower()
    cues = {
        "other": _OTHER.search(pointer.words.lower()) is not None,
        "chose": _CHOSE.search(folded) is not None,
        "asks": _ASKS.search(text) is not None,
        "unit": bool(last_unit(text)),
        "early": _EARLY.search(pointer.words.lower()) is not None,
        "late": _LATE.search(pointer.words.lower()) is not None,
    }
    told = _described(pointer.words, places)
    figure, alone = _with_figures(pointer.words, places)
    counts = pointer.place is not None
    words = set() if counts else {_folded(match[0]) for match in _WORD.finditer(pointer.words)} - {""}
    named = _alone(words, [set(map(_folded, item.name.split())) for item in items], places)
    whose = _alone(words, [{item.whose} for item in items], places)
    priced = _by_price("" if counts else pointer.words, places)
    found = [
        Reading(
            item,
            {
                **_of_item(pointer, places, place, cues),
                "told": told[place] * (not counts),
                "told, beside a count": told[place] * counts,
                "figure": figure[place],
                "figure of none else": alone[place],
                "named": named[place],
                "whose": whose[place],
                "by price": priced[place],
            },
        )
        for place, item in enumerate(items)
    ]
    nothing = {
        "nothing": 1.0,
        "nothing: purpose": max(pointer.meant.values(), default=0.0),
        "nothing: counted": float(pointer.place is not None),
        "nothing: asks": float(cues["asks"]),
        "nothing: unit": float(cues["unit"]),
        "nothing: chose": float(cues["chose"]),
    }
    return [*found, Reading(None, nothing)]


class _Places:
    """Where each item stands among those raised for the same purpose."""

    def __init__(self, items: Sequence[Raised]) -> None:
        self.items = items
        self.meant = [item.meant or {item.slot: 1.0} for item in items]
        self.groups: dict[str, list[int]] = {}
        for place, meant in enumerate(self.meant):
            self.groups.setdefault(likeliest(meant), []).append(place)
        self.last = max(range(len(items)), key=lambda place: (items[place].spoken, place))
        self.spoken_last = {max(group, key=lambda at: (items[at].spoken, at)) for group in self.groups.values()}
        # How many come before and after each, by purpose: a thing that may be for lunch counts in part.
        self.before: list[Mapping[str, float]] = []
        self.behind: list[Mapping[str, float]] = []
        so_far = dict[str, float]()
        for meant in self.meant:
            self.before.append(dict(so_far))
            for purpose, share in meant.items():
                so_far[purpose] = so_far.get(purpose, 0.0) + share
        for meant, before in zip(self.meant, self.before, strict=True):
            self.behind.append({name: so_far[name] - before.get(name, 0.0) - share for name, share in meant.items()})

    def group(self, place: int) -> list[int]:
        return self.groups[likeliest(self.meant[place])]

    def stands(self, place: int, count: int, meant: Mapping[str, float]) -> float:
        """How likely it is the one that is counted, from 1, or from the end below 0, if it is for what is meant."""
        total = found = 0.0
        others, wanted = (self.before[place], count - 1) if count > 0 else (self.behind[place], -count - 1)
        for purpose, share in self.meant[place].items():
            both = share * meant.get(purpose, 0.0)
            total += both
            away = abs(others.get(purpose, 0.0) - wanted)
            if away < 1.0:
                found += both * (1.0 - away)
        return found / total if total else 0.0


def _of_item(pointer: Pointer, places: _Places, place: int, cues: Mapping[str, bool]) -> Mapping[str, float]:
    count, own = pointer.place, places.meant[place]
    meant = pointer.meant or places.meant[places.last]
    last = place in places.spoken_last
    truths = {
        "counted": 0.0 if count is None else places.stands(place, count, meant),
        "purpose": log(_SLIGHT + alike(pointer.meant, own)) - log(_SLIGHT),
        "near": 0.0 if pointer.meant else alike(places.meant[places.last], own),
        "the other": cues["other"] and count is None and len(places.group(place)) == 2 and not last,
        "said early": places.stands(place, 1, meant) if cues["early"] and count is None else 0.0,
        "said late": places.stands(place, -1, meant) if cues["late"] and count is None else 0.0,
    }
    return {name: float(true) for name, true in truths.items()}


def _with_figures(text: str, places: _Places) -> tuple[list[float], list[float]]:
    """Whether a figure is said that was told of an item and of no other one for its purpose, and of no other at all."""
    said = {_bare(figure) for figure in figures(text)}
    if not said:
        return [0.0] * len(places.items), [0.0] * len(places.items)
    has = [any(_bare(word) in said for word in item.answers) for item in places.items]
    of_these = [own and sum(has[other] for other in places.group(at)) == 1 for at, own in enumerate(has)]
    return [float(one) for one in of_these], [float(own and sum(has) == 1) for own in has]


def _bare(figure: str) -> str:
    return figure.lstrip(_CURRENCIES)


def _by_price(text: str, places: _Places) -> list[float]:
    """Whether an item is the dearest, or the cheapest, of those of a purpose with prices, if that is said."""
    found = [0.0] * len(places.items)
    said = _PRICED.search(text.lower())
    if said is None:
        return found
    sign = 1.0 if bool(said["dear"]) != bool(said["less"]) else -1.0
    for group in places.groups.values():
        prices = {at: sign * price for at in group if (price := _price(places.items[at])) is not None}
        if len({name_key(places.items[at].name) for at in prices}) > 1:
            highest = max(prices.values())
            for at, price in prices.items():
                found[at] = float(price == highest)
    return found


def _price(item: Raised) -> float | None:
    told = (_bare(word).replace(",", "") for word in item.answers if word[0] in _CURRENCIES)
    return next((float(amount) for amount in told if amount.count(".") < 2), None)


def _alone(said: Set[str], own: Sequence[Set[str]], places: _Places) -> list[float]:
    """How many words are said that are an item's own, and of no other one for its purpose; common ones count less."""
    shared = [said & words for words in own]
    of_how_many = Counter(chain.from_iterable(shared))
    found = [0.0] * len(own)
    for group in places.groups.values():
        by_name = {name_key(places.items[at].name): shared[at] for at in group}
        here = Counter(chain.from_iterable(by_name.values()))
        for at in group:
            found[at] = fsum(of_how_many[word] ** -0.5 for word in shared[at] if here[word] == 1)
    return found


def _described(text: str, places: _Places) -> list[float]:
    """How many words stand close together that were told of an item, and of no other one raised for its purpose.

    Words far apart are shared by chance: who asks for "the one with stuffed vine leaves" says them in a row. A word
    that was told of other things as well, whatever they are for, counts the less.
    """
    words = [(match.start(), match.end(), _folded(match[0])) for match in _WORD.finditer(text)]
    said = {word for *_, word in words}
    told = {name_key(item.name): said.intersection(item.answers) for item in places.items}
    of_how_many = Counter(word for answers in told.values() for word in answers)
    own = [name_key(item.name) for item in places.items]
    found = [0.0] * len(own)
    for group in places.groups.values():
        names = {own[place] for place in group}
        here = Counter(word for name in names for word in told[name])
        longest = {name: _longest(words, told[name], here, of_how_many) for name in names}
        for place in group:
            found[place] = min(_MOST_IN_COMMON, max(0.0, longest[own[place]] - 1.0))
    return found


def _longest(
    words: Sequence[tuple[int, int, str]], told: Set[str], here: Mapping[str, int], of_how_many: Mapping[str, int]
) -> float:
    """How much the words count that stand closest together of those told of one thing alone `here`, for its purpose.

    Each counts by how few things it was told of, whatever they are for.
    """
    longest, run, last = 0.0, set[str](), -_DESCRIBING_CHARS
    for start, end, word in words if told else ():
        if word in told and here[word] == 1:
            run = {*run, word} if start - last <= _DESCRIBING_CHARS else {word}
            longest, last = max(longest, fsum(1 / of_how_many[one] for one in run)), end
    return longest


@text_cache(maxsize=4_096)
def _folded(word: str) -> str:
    folded = fold_words(word)
    return folded[0] if folded and folded[0] not in FUNCTION_WORDS and len(folded[0]) > 2 else ""


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
    spent = set(keys)
    for pointer in find_pointers(text, items, counting=bool(keys)):
        if keys and pointer.place is None:
            continue
        found = readings(pointer, text, items)
        left = [one for one in found if one.item is None or name_key(one.item.name) not in spent]
        item, share = choose(left, shipped_weights())
        if item is not None:
            spent.add(name_key(item.name))
            yield pointer, item, share


@lru_cache(maxsize=1)
def shipped_weights() -> Mapping[str, float]:
    """The weights made by `stitch.bench.fit_pointing`."""
    weights: Mapping[str, float] = orjson.loads(
        files("stitch.label.local").joinpath("pointing_weights.json").read_bytes()
    )["weights"]
    return weights
