"""What has been spoken of: names as they are raised, how much each is in mind, and how phrases count them.

More than 400 lines because all of it is one state, bounded and saved together.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

import orjson
from pydantic import JsonValue

from stitch.core.protocols import ErasedText
from stitch.label.local.forgetting import unsaid, unsaid_of
from stitch.label.local.hypernyms import nouns_for, told_kinds
from stitch.label.local.meant import alike, likeliest, purposes_meant
from stitch.label.local.purposes import said_purposes
from stitch.text.names import NameMention, name_key
from stitch.text.numbers import figures, fold_words
from stitch.text.words import FUNCTION_WORDS

_MAX_REFERENTS = 64
_MAX_RAISED = 400
_MAX_RAISED_PER_SCOPE = 60
_MAX_TOLD_OF = 200
_MAX_TOLD = 12
_CAPITAL = re.compile(r"[A-Z][a-z]+\b")
_LEAST_ALIKE = 0.25
_SURE = 0.5

# How much a mention brings a thing to mind, and how that fades with every step. None of these matters much:
# halving or doubling any of them moves no development set by more than 0.3 BLEU.
_LEADING = 2.0
_MENTIONED = 0.7
_STOOD_FOR = 1.6
_BESIDE = 0.3
_MORE = 0.3
_MOST = 2.0
_FADE = 0.7
_HEADING = 3.0
_CENTRAL = 0.4
_OFTEN = 5

_MAX_LISTED = 12
_MAX_TOPIC_AGE = 6
_MAX_TOPICS = 2
_MAY_LIST = re.compile(r"[\d*\u2022-](?:(?<=\d)[.)]|(?<!\d))\s")
"""Stands in all that `_ITEM` finds, and is found far quicker."""
_ITEM = re.compile(r"(?:(?:^|[\s(])\d{1,2}[.)]|(?:^|\n) *[-*\u2022])\s+\**([^:.;,*\n(]{2,60})")


@dataclass(slots=True)
class Referent:
    """Something that was named, with how much it is in mind."""

    name: str
    step: str | None
    """The step that named it first."""
    salience: float = 0.0
    last: int = 0
    """When it was last spoken of, in steps."""
    heading: bool = False
    """A heading names it: everything that follows is about it."""
    presented: bool = False
    """Somebody said what it is, or put it forward."""
    placed: bool = False
    """It was named only as where something is."""
    since: int = 0
    """When it was first named, in steps."""
    named: int = 0
    """When it was last named or counted, in steps."""
    proposed: bool = False
    """Somebody put it forward in so many words: "one idea is X", "X is a bistro"."""
    sure: bool = False
    """A capital inside a sentence shows that it is a name."""
    acted: int = 0
    """How often it did something: "X left"."""
    titled: bool = False
    """It stood in quotation marks."""
    told: list[str] = field(default_factory=list)
    """What it was said to be ("bistro") and to be for ("dinner")."""
    stands: dict[str, int] = field(default_factory=dict)
    """How often each kind of pronoun stood for it: `person` (and `he` or `she`), `thing`, `group`."""

    def is_only_in(self, ids: Set[str | None], erased: ErasedText) -> bool:
        """Whether nobody named it but these steps, which are erased."""
        return (self.step in ids and self.since == self.named) or erased.quoted_in(self.name)

    def forget(self, ids: Set[str | None], *, erased: ErasedText, moved: Callable[[int], int]) -> None:
        """Forget that steps spoke of it; `moved` gives the new time for an old one."""
        self.step = None if self.step in ids else self.step
        self.told = unsaid_of(self.told, erased)
        self.last, self.since, self.named = map(moved, (self.last, self.since, self.named))


@dataclass(slots=True)
class Raised:
    """One raising of a name: by whom, for which goal, in which words."""

    name: str
    by: str
    scope: str
    step: str | None
    slot: str
    """What it was raised for ("breakfast"); empty if nothing was said."""
    answers: list[str] = field(default_factory=list)
    """Words and figures that others answered with."""
    part: str = ""
    """The part of a plan that was being spoken of ("day 2")."""
    spoken: int = 0
    """When its speaker last spoke of it, in steps."""
    meant: dict[str, float] = field(default_factory=dict)
    """In a plan, how likely each purpose is; empty if nothing tells."""
    whose: str = ""
    """Whose idea it was, as who raised it told: the name nearest to it, folded; empty if nobody is named."""

    def forget(self, erased: ErasedText) -> None:
        """Forget words that only erased steps said."""
        self.answers = unsaid_of(self.answers, erased)
        told = (self.by, self.slot, self.part, self.whose)
        self.by, self.slot, self.part, self.whose = (unsaid(text, erased) for text in told)
        self.scope = erased.renamed(self.scope)


@dataclass(slots=True)
class Antecedents:
    """Everything that a reference may stand for, bounded in number."""

    clock: int = 0
    part: str = ""
    """The part of a plan that was named last ("day 2")."""
    referents: dict[str, Referent] = field(default_factory=dict)
    raised: list[Raised] = field(default_factory=list)
    followed: int = -1
    """The place in `raised` of the one thing that the last raising step raised; -1 if there were several."""
    beside: int = -1
    """The place in `raised` of a second thing that the step set beside it; -1 if it did not."""
    listed: list[str] = field(default_factory=list)
    """What the last step that offered several things offered."""
    listed_at: int = -1
    """When that was, in steps."""
    topics: list[str] = field(default_factory=list)
    """The one thing that is spoken of, or the two; empty if there are more, or none."""
    topic_at: int = -1
    """When they were last named or pointed at, in steps."""
    turned: int = -1
    """When a step last turned to a numbered unit and named nothing, in steps: what was spoken of before is not "it"."""
    unbound: dict[str, int] = field(default_factory=dict)
    """When `he` and `she` first stood for somebody whom nothing had named, in steps."""
    _by_scope: dict[str, list[Raised]] = field(default_factory=dict)
    """What was raised, by scope; fields that begin so are not saved."""
    _by_part: dict[str, list[Raised]] = field(default_factory=dict)
    """The same by the part of a plan that was spoken of."""
    _by_name: dict[str, list[Raised]] = field(default_factory=dict)
    """The same by name, see `name_key`."""
    _ranked: list[tuple[float, Referent]] = field(default_factory=list)
    _ranked_at: int = -1
    """When `_ranked` was made, in steps."""

    def __post_init__(self) -> None:
        """Sort what was raised."""
        self._by_scope, self._by_part, self._by_name = {}, {}, {}
        for item in self.raised:
            self._sort(item)

    def _sorted_by(self, item: Raised) -> tuple[tuple[dict[str, list[Raised]], str], ...]:
        """Where a thing is sorted in, and under what."""
        return (self._by_scope, item.scope), (self._by_part, item.part), (self._by_name, name_key(item.name))

    def _sort(self, item: Raised) -> None:
        for sorted_by, key in self._sorted_by(item):
            sorted_by.setdefault(key, []).append(item)

    def _drop(self, item: Raised) -> None:
        """Forget that something was raised: of all that is remembered, most likely the oldest."""
        groups = self._sorted_by(item)
        for items in (self.raised, *(sorted_by[key] for sorted_by, key in groups)):
            del items[next(place for place, other in enumerate(items) if other is item)]
        for sorted_by, key in groups:
            if not sorted_by[key]:
                del sorted_by[key]

    def find(self, name: str) -> Referent | None:
        """Return the referent with this name, or the strongest whose longer or shorter name it is."""
        key = name_key(name)
        known = self.referents.get(key)
        if known is not None:
            return known
        parts = set(key.split())
        best: Referent | None = None
        for other, referent in self.referents.items():
            if (key in other and not referent.titled) or other in key:
                others = set(other.split())
                related = parts <= others or (len(others) > 1 and others <= parts)
                if related and (best is None or referent.salience > best.salience):
                    best = referent
        return best

    def head(self, name: str, *, step: str | None) -> None:
        """Record the heading under which everything that follows stands."""
        self.referents[name_key(name)] = Referent(name, step, salience=1.5, last=self.clock, heading=True)

    def mention(self, found: NameMention, *, step: str | None, alone: bool, beside: bool) -> Referent:
        """Record that a step names something, and return it.

        Args:
            found: The name as it stands in the step.
            step: The step's id.
            alone: It is the only name in the step.
            beside: The step is about something else that a reference stands for.
        """
        weight = _LEADING if found.leads or alone else _MENTIONED
        referent = self.find(found.text)
        if referent is None:
            referent = Referent(found.text, step, last=self.clock, placed=True, since=self.clock)
            self.referents[name_key(found.text)] = referent
            if len(self.referents) > _MAX_REFERENTS:
                self._forget()
        elif len(found.text) > len(referent.name) and not referent.heading:
            self.referents.pop(name_key(referent.name), None)
            referent.name = found.text
            self.referents[name_key(found.text)] = referent
        referent.named = self.clock
        referent.presented |= found.presented or (alone and not found.placed and " " in found.text)
        referent.placed &= found.placed
        referent.acted += found.acts
        referent.titled |= found.titled
        referent.sure |= found.sure
        referent.proposed |= found.presented and " " in found.text and not found.placed
        self._strengthen(referent, weight * (_BESIDE if beside else 1.0))
        return referent

    def _forget(self) -> None:
        """Drop the referent that was not spoken of for the longest time."""
        _, _, oldest = min(
            (item.last, place, key) for place, (key, item) in enumerate(self.referents.items()) if not item.heading
        )
        del self.referents[oldest]

    def stand_for(self, referent: Referent, *, kind: str) -> None:
        """Record that a pronoun of this kind stood for the referent."""
        referent.stands[kind] = referent.stands.get(kind, 0) + 1
        self._strengthen(referent, _STOOD_FOR)

    def settle(self, names: Sequence[str], *, passing: bool) -> None:
        """Take in what a step is about: one thing or two become the topic, more end it, none leave it as it is.

        Args:
            names: What it leads with, counts or points at.
            passing: Whether it names more in passing: then it is about one thing at most.
        """
        most = 1 if passing else _MAX_TOPICS
        if names or passing:
            self.topics, self.topic_at = (list(names) if len(names) <= most else []), self.clock

    def turn(self) -> None:
        """Take in that a step turned to a numbered unit and named nothing."""
        self.topics, self.turned = [], self.clock

    def current(self) -> Referent | None:
        """Return the one thing that has been spoken of since it was named, if that is not long ago."""
        recent = len(self.topics) == 1 and self.clock - self.topic_at <= _MAX_TOPIC_AGE
        return self.find(self.topics[0]) if recent else None

    def is_placelike(self) -> bool:
        """Whether the one thing that is spoken of is a place where people go: somebody is there, too ("they")."""
        topic = self.current()
        return topic is not None and "place" in self.called(topic)

    def pair(self) -> list[Referent]:
        """Return the two things that are being spoken of together; empty if there is one, or more, or none lately."""
        recent = len(self.topics) == _MAX_TOPICS and self.clock - self.topic_at <= _MAX_TOPIC_AGE
        return [found for found in map(self.find, self.topics) if found is not None] if recent else []

    def called(self, referent: Referent) -> frozenset[str]:
        """Return the nouns that may stand for the thing, as its name and what was said of it show."""
        return nouns_for(referent.name, tuple(referent.told))

    def _strengthen(self, referent: Referent, weight: float) -> None:
        faded = referent.salience * _FADE ** (self.clock - referent.last)
        referent.salience = max(weight, min(faded + _MORE * weight, _MOST))
        referent.last = self.clock

    def strength(self, referent: Referent) -> float:
        """How much the referent is in mind now."""
        faded: float = referent.salience * _FADE ** (self.clock - referent.last)
        if referent.heading:
            return faded + _HEADING
        stood = referent.stands.get("person", 0)
        return faded + _CENTRAL * (min(referent.acted + stood, _OFTEN) - 1) if stood else faded

    def rank(self) -> list[tuple[float, Referent]]:
        """Return the referents with their strength before this step, strongest first."""
        if self._ranked_at != self.clock:
            ranked = [(self.strength(referent), referent) for referent in self.referents.values()]
            self._ranked = sorted(ranked, key=lambda pair: (-pair[0], pair[1].name))
            self._ranked_at = self.clock
        return self._ranked

    def raise_names(
        self, names: Sequence[tuple[str, Sequence[str], bool]], *, by: str, scope: str, step: str | None
    ) -> None:
        """Record what names were said to be and, in a plan, that `by` brought them up: again for the same, or anew.

        Args:
            names: Each with the sentences around it, the telling ones first, and whether it is only where something is.
            by: The speaker.
            scope: The scope of the step.
            step: The id of the step.
        """
        same = self._by_scope.setdefault(scope, []) if self.part and names else []
        for name, sentences, placed in names:
            meant = _meant(sentences, name) if self.part else {}
            slot = likeliest(meant)
            if (referent := self.find(name)) is not None:
                kinds = () if placed else told_kinds(name, sentences[0])
                referent.told = sorted({*referent.told, *kinds, *filter(None, (slot,))})[:_MAX_TOLD]
            if self.part:
                raised = Raised(name, by, scope, step, slot, part=self.part, spoken=self.clock, meant=meant)
                raised.whose = next(filter(None, (_whose(one.replace(name, " ")) for one in sentences[:2])), "")
                self._raise(
                    raised, same, sure=slot in (purpose for one in sentences for _, purpose in said_purposes(one))
                )
        for item in same[: max(0, len(same) - _MAX_RAISED_PER_SCOPE)]:
            self._drop(item)
        for item in self.raised[: max(0, len(self.raised) - _MAX_RAISED)]:
            self._drop(item)

    def _raise(self, item: Raised, same: Sequence[Raised], *, sure: bool) -> None:
        """Remember that something was raised, unless it was among `same` for the same; then it is spoken of again.

        `sure` tells whether its purpose was said in so many words.
        """
        key = name_key(item.name)
        before = [one for one in same if one.by == item.by and one.part == item.part and name_key(one.name) == key]
        if before and (not item.slot or any(_for_the_same(one, item.slot, item.meant, sure=sure) for one in before)):
            self.speak_of(before[-1])
            return
        told = self._by_name.get(key)
        item.answers = told[-1].answers if told else []
        self.raised.append(item)
        self._sort(item)

    def speak_of(self, item: Raised) -> None:
        """Record that who raised something speaks of it again."""
        item.spoken = self.clock

    def raised_here(self, by: str) -> list[Raised]:
        """Return all that somebody raised for the part of a plan that is spoken of, in order."""
        return [item for item in self._by_part.get(self.part, ()) if item.by == by]

    def raised_by(self, by: str) -> list[Raised]:
        """Return what somebody raised for the part of a plan that is spoken of, in order.

        Names of one word are most likely none. Who raises little beside what others raise points at nothing of it.
        """
        here = [item for item in self._by_part.get(self.part, ()) if " " in item.name]
        own = [item for item in here if item.by == by]
        return own if 2 * len(own) >= len(here) else []

    def offer(self, text: str, spoken: Sequence[tuple[int, str]]) -> None:
        """Remember what a step lists; `spoken` are the names in it with their places."""
        listed = [item.strip() for item in _ITEM.findall(text)] if _MAY_LIST.search(text) else []
        if len(listed) < 2:
            listed = distinct(name for _, name in spoken)
        if len(listed) > 1:
            self.listed, self.listed_at = listed[:_MAX_LISTED], self.clock

    def answered(self, by: str) -> list[Raised]:
        """The one thing, or the two set side by side, that the step before spoke of in a plan, if somebody else did."""
        places = [place for place in (self.followed, self.beside) if 0 <= place < len(self.raised)]
        return [item for item in map(self.raised.__getitem__, places) if item.by != by]

    def follow(self, text: str, *, by: str, raised_alone: bool, pointed_at: Sequence[Raised] = ()) -> None:
        """Remember what others answer to a step that raised one thing alone, or pointed at one or two raised before."""
        item = self.raised[self.followed] if 0 <= self.followed < len(self.raised) else None
        if item is not None and item.by != by and self.beside < 0:  # what answers two things tells of neither alone
            self._tell(item, text, named=self.raised[-1:] if raised_alone else pointed_at)
        if raised_alone:
            self.followed, self.beside = len(self.raised) - 1, -1
        elif pointed_at:
            these = set(map(id, pointed_at))
            places = [at for at, one in enumerate(self.raised) if id(one) in these]
            self.followed, self.beside = (*places, -1)[:2]
        elif item is not None and item.by == by:
            self.followed = self.beside = -1

    def _tell(self, item: Raised, text: str, *, named: Sequence[Raised]) -> None:
        """Remember what is told of a thing, unless others are `named`: it is told of it wherever it is raised."""
        if [name_key(one.name) for one in named] not in ([], [name_key(item.name)]):
            return
        item.answers = list(dict.fromkeys((*figures(text), *item.answers, *_words(text))))[:_MAX_TOLD_OF]
        for other in self._by_name[name_key(item.name)]:
            other.answers = item.answers

    def forget(self, gone: Sequence[int], *, ids: Set[str | None], erased: ErasedText) -> None:
        """Forget what steps named, raised and listed, and what only they said.

        Args:
            gone: When they were heard (`clock`), in order.
            ids: Their ids.
            erased: What only they said.
        """

        def moved(clock: int) -> int:
            return clock - bisect_left(gone, clock)

        self.referents = {key: one for key, one in self.referents.items() if not one.is_only_in(ids, erased)}
        for referent in self.referents.values():
            referent.forget(ids, erased=erased, moved=moved)
        self._forget_raised(ids, erased=erased, moved=moved)
        self._ranked, self._ranked_at = [], -1
        self.listed = [] if self.listed_at in gone else _remaining(self.listed, erased)
        self.topics = [] if self.topic_at in gone else _remaining(self.topics, erased)
        self.part = unsaid(self.part, erased)
        self.clock, self.listed_at, self.topic_at, self.turned = map(
            moved, (self.clock, self.listed_at, self.topic_at, self.turned)
        )
        self.unbound = {word: moved(clock) for word, clock in self.unbound.items()}

    def _forget_raised(self, ids: Set[str | None], *, erased: ErasedText, moved: Callable[[int], int]) -> None:
        """Forget what was raised in steps, and in which place what remains of it stands."""
        answered = [self.raised[at] if 0 <= at < len(self.raised) else None for at in (self.followed, self.beside)]
        self.raised = [item for item in self.raised if item.step not in ids and not erased.quoted_in(item.name)]
        for item in self.raised:
            item.forget(erased)
            item.spoken = moved(item.spoken)
        self.followed, self.beside = (
            next((place for place, item in enumerate(self.raised) if item is one), -1) for one in answered
        )
        if self.followed < 0:
            self.followed, self.beside = self.beside, -1
        self.__post_init__()

    def save(self) -> dict[str, JsonValue]:
        """Return everything as JSON values."""
        saved: dict[str, JsonValue] = orjson.loads(orjson.dumps(self))  # many times faster than `asdict`
        return saved

    @classmethod
    def load(cls, data: dict[str, Any]) -> Antecedents:
        """Restore what `save` returned."""
        return cls(
            clock=data["clock"],
            part=data.get("part", ""),
            referents={key: Referent(**value) for key, value in data["referents"].items()},
            raised=[Raised(**value) for value in data["raised"]],
            followed=data["followed"],
            beside=data.get("beside", -1),
            listed=list(data["listed"]),
            listed_at=data["listed_at"],
            topics=list(data.get("topics", ())),
            topic_at=data.get("topic_at", -1),
            turned=data.get("turned", -1),
            unbound=data.get("unbound", {}),
        )


def _for_the_same(item: Raised, slot: str, meant: Mapping[str, float], *, sure: bool) -> bool:
    """Whether a name raised again is no new proposal: where either purpose is unsure, the same one is assumed.

    Where one eats is no sight later on, unless it is said to be: "how many visitors ..." is about something else.
    """
    if not sure and item.slot and _kind(item.slot) != _kind(slot):
        return True
    if item.slot in ("", slot) and max(item.meant.values(), default=1.0) >= _SURE:
        return True
    return alike(item.meant, meant) >= _LEAST_ALIKE and max(meant.values(), default=0.0) < _SURE


def _kind(slot: str) -> str:
    """What kind of thing is for this: one has a bed, is looked at, or serves meals."""
    return slot if slot in ("stay", "outing") else "meal"


def _meant(sentences: Sequence[str], name: str) -> dict[str, float]:
    """How likely each purpose is, as the sentences around a name tell, its own first."""
    text = "\n".join(sentences)
    place = max(0, text.find(name))
    return purposes_meant(text, place, place + len(name), name=name, raises=True)


def _whose(text: str) -> str:
    """The first word that may name somebody."""
    return next(iter(_words(" ".join(_CAPITAL.findall(text)))), "")


def _words(text: str) -> list[str]:
    return [word for word in fold_words(text) if word not in FUNCTION_WORDS]


def _remaining(names: Iterable[str], erased: ErasedText) -> list[str]:
    return [name for name in names if not erased.quoted_in(name)]


def distinct(names: Iterable[str]) -> list[str]:
    """Return the names in order, each once."""
    seen: dict[str, str] = {}
    for name in names:
        seen.setdefault(name_key(name), name)
    return list(seen.values())
