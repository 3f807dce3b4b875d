"""Replaces references by what they stand for (§2.2.3), or leaves them where that is unsure.

More than 400 lines because one class takes in each step: what it replaces depends on what the steps before left behind.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import filterfalse, islice
from operator import attrgetter
from typing import Any, NamedTuple

from pydantic import JsonValue

from stitch.core import ReferenceRewrite, Step, apply_rewrites
from stitch.core.protocols import ErasedText, Forgotten
from stitch.label.local.antecedents import Antecedents, Raised, Referent, distinct
from stitch.label.local.counting import find_counting
from stitch.label.local.definites import Pointed, resolve_definites, seeks_there
from stitch.label.local.ellipsis import Ask, Said, answer, complete, read_ask, remember
from stitch.label.local.forgetting import unsaid_of
from stitch.label.local.naming import part_of
from stitch.label.local.pointing import pointed_at
from stitch.label.local.pronouns import Stood, choose, observe, resolve_pronouns
from stitch.text.names import NameMention, find_names, last_unit, name_key, straighten_quotes

MAX_CONTEXT_CHARS = 300
_MAX_COMPLETED_CHARS = 400
_MAX_RAISING_CHARS = 400
_MAX_TOLD_CHARS = 1_200
_MAX_TOPICS = 3
_MAX_RAISED_AT_ONCE = 8
_MAX_SPEAKERS = 64
_MAX_LISTED_AGO = 6
_LEAST_LISTED = 2

_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|\n")
_BRANCH = re.compile(r"\w [-\u2013] $")
"""Before a name that says more about the one before it: "Access Dental - Santa Rosa"."""
_SET_BESIDE = re.compile(r" (?:and|or|with|to|against|than|versus|vs\.?) (?:the )?")
_MAX_COMPARED = 2
_ANSWERED = 0.6
_HEADING_ROLES = frozenset({"system", "title", "topic", "heading"})


class Resolution(NamedTuple):
    """What the references of a step stand for."""

    references: tuple[ReferenceRewrite, ...]
    """Replacements in the step's content, by position, not overlapping; an insertion has no length."""
    context: str
    """Words of earlier steps without which this one cannot be found; at most `MAX_CONTEXT_CHARS` characters."""


class _Named(NamedTuple):
    """A phrase of the step that stands for one named thing."""

    start: int
    end: int
    name: str
    antecedent: str | None
    confidence: float
    listed: bool


class _Spoken(NamedTuple):
    """A name in the step, and what it names."""

    mention: NameMention
    name: str
    """Of the thing, as it was known then: a later mention may give the same thing a longer one."""
    referent: Referent
    leads: bool
    """Whether the step is about it."""

    @property
    def at(self) -> tuple[int, str]:
        return self.mention.start, self.name


class ReferenceResolver:
    """Reads the steps of one trajectory in order and resolves each against what came before.

    A replacement is made only where one antecedent clearly stands out; otherwise the text stays as it is.
    Deterministic; what it remembers is bounded.
    """

    def __init__(self) -> None:
        self._known = Antecedents()
        self._ask: Ask | None = None
        self._topics: list[str] = []
        self._said: list[Said] = []
        self._speakers: list[str] = []

    def resolve(self, step: Step, *, scope: str) -> Resolution:
        """Return what the step's references stand for, and remember the step.

        Args:
            step: The next step of the trajectory.
            scope: Its thematic scope.
        """
        text = straighten_quotes(step.content)
        known = self._known
        known.clock += 1
        known.part = part_of(text) or known.part
        if known.clock == 1 and _is_heading(step, text):
            known.head(re.split(r" [/|>–—-] | \(", text.strip())[0], step=step.id)
            return Resolution((), "")
        self._meet(step.role.lower())
        ask = self._asked_of(step.role)
        short = len(text) <= _MAX_COMPLETED_CHARS
        found = [mention for mention in find_names(text) if name_key(mention.text) not in self._speakers]
        names = list(filterfalse(self._is_common, found))
        # What is replaced by one way is kept from all later ways.
        first = min((mention.start for mention in found), default=len(text))
        pointers = self._pointers(step, text, names=names, until=first)
        counted = [] if pointers else sorted(self._count(text))
        answers = answer(text, ask) if short and not counted else []
        until = 0 if pointers else min([first, *(phrase.start for phrase in counted)])
        stood = self._stood(text, until=until, skip=_spans(answers))
        rewrites = [*map(_of_count, counted), *map(_of_pointer, pointers), *map(_of_phrase, stood), *answers]
        pointed = self._pointed(text, until=until, skip=_spans(rewrites))
        rewrites += map(_of_phrase, pointed)
        if short:
            rewrites += self._complete(step, text, ask, names=names, taken=rewrites)
        references = _in_order(rewrites)
        resolved = apply_rewrites(text, references)
        if not pointers and (answered := self._answers_for(step, text, names=names, resolved=resolved)):
            references = _in_order((*rewrites, *map(_of_pointer, answered)))
            resolved = apply_rewrites(text, references)
        context = self._context(step, ask, resolved)
        counted += pointers
        self._remember(
            step, text, scope=scope, names=names, counted=counted, stood=stood, pointed=pointed, resolved=resolved
        )
        return Resolution(references, context)

    def raised_by(self, role: str) -> Sequence[Raised]:
        """What somebody raised for the part of a plan that is spoken of, in order."""
        return self._known.raised_by(role)

    def forget(self, gone: Sequence[Forgotten], *, steps: int, left: Callable[[int], Step], erased: ErasedText) -> None:
        """Forget steps, and all that only they said.

        Args:
            gone: The steps.
            steps: How many there were with them.
            left: Gives a step that remains, by how many of those that remain stand before it.
            erased: What only the steps said.
        """
        places = sorted(each.place for each in gone)
        self._said = self._said_without(places, steps=steps, left=left, erased=erased)
        texts = [straighten_quotes(each.step.content) for each in gone]
        ask = self._ask
        if ask is not None and (erased.quoted_in("\n".join(ask)) or any(ask.text in text for text in texts)):
            self._ask = None
        self._topics = [name for name in self._topics if not erased.quoted_in(name)]
        self._speakers = unsaid_of(self._speakers, erased)
        self._known.forget([place + 1 for place in places], ids={each.step.id for each in gone}, erased=erased)

    def _said_without(
        self, gone: Sequence[int], *, steps: int, left: Callable[[int], Step], erased: ErasedText
    ) -> list[Said]:
        said: list[Said] = []
        for place, before in enumerate(self._said, start=steps - len(self._said)):
            if place in gone:
                continue
            if erased.quoted_in("\n".join(before)):  # in a replacement
                step = left(place - bisect_left(gone, place))
                said = remember(said, straighten_quotes(step.content), role=step.role)
            else:
                said.append(before)
        return said

    def save(self) -> dict[str, JsonValue]:
        """Return everything remembered, as JSON values."""
        return {
            "known": self._known.save(),
            "ask": list(self._ask) if self._ask else None,
            "topics": list(self._topics),
            "said": [list(said) for said in self._said],
            "speakers": list(self._speakers),
        }

    @classmethod
    def load(cls, data: dict[str, Any]) -> ReferenceResolver:
        """Continue from what `save` returned."""
        resolver = cls()
        resolver._known = Antecedents.load(data["known"])
        resolver._ask = Ask(*data["ask"]) if data["ask"] else None
        resolver._topics = list(data["topics"])
        resolver._said = [Said(*said) for said in data["said"]]
        resolver._speakers = list(data["speakers"])
        return resolver

    @property
    def _before(self) -> str:
        """What the step before said."""
        return self._said[-1].text if self._said else ""

    def _meet(self, role: str) -> None:
        if role not in self._speakers and len(self._speakers) < _MAX_SPEAKERS:
            self._speakers.append(role)

    def _asked_of(self, role: str) -> Ask | None:
        """The question of somebody else that a step may answer."""
        return self._ask if self._ask is not None and self._ask.role != role else None

    def _since(self, clock: int) -> str:
        """What the steps after this one said."""
        missing = min(self._known.clock - 1 - clock, len(self._said))
        return " ".join(said.text for said in self._said[len(self._said) - missing :]) if missing > 0 else ""

    def _is_common(self, mention: NameMention) -> bool:
        """Whether it opens its sentence and is a word that was just used without its capital."""
        if not mention.leads or " " in mention.text or mention.text.islower():
            return False
        return any(f" {mention.text.lower()} " in said.text for said in self._said)

    def _count(self, text: str) -> Iterator[_Named]:
        """The phrases that count what was listed lately, with the thing each comes to."""
        known = self._known
        if known.clock - known.listed_at > _MAX_LISTED_AGO or len(known.listed) < _LEAST_LISTED:
            return
        for phrase in find_counting(text[:_MAX_COMPLETED_CHARS]):
            name = _nth(known.listed, phrase.number)
            if name is not None:
                found = known.find(name)
                yield _Named(phrase.start, phrase.end, name, found.step if found else None, 0.8, True)

    def _pointers(self, step: Step, text: str, *, names: Sequence[NameMention], until: int) -> list[_Named]:
        """What the turn points at of the things that its speaker raised, each to be put in where it is pointed at."""
        named = [name.text for name in names if " " in name.text]
        found = list[_Named]()
        for pointer, item, share in pointed_at(text, self.raised_by(step.role), named=named):
            self._known.speak_of(item)
            found.append(_Named(pointer.at, pointer.at, item.name, item.step, round(share, 3), False))
        # "it" and "the place" give way to the name: it need not stand beside them
        return [] if len(found) == 1 and self._stands_for(found[0].name, text, until=until) else found

    def _stands_for(self, name: str, text: str, *, until: int) -> bool:
        """Whether a pronoun or a phrase of the text stands for the thing with this name."""
        found: list[Stood | Pointed] = [*self._stood(text, until=until, skip=[])]
        found += self._pointed(text, until=until, skip=[])
        return name_key(name) in (name_key(each.referent.name) for each in found)

    def _stood(self, text: str, *, until: int, skip: Sequence[tuple[int, int]]) -> list[Stood]:
        return list(
            resolve_pronouns(text, self._known, until=until, skip=skip, speakers=self._speakers, before=self._before)
        )

    def _pointed(self, text: str, *, until: int, skip: Sequence[tuple[int, int]]) -> list[Pointed]:
        known = self._known
        return resolve_definites(text, known, until=until, skip=skip, since=self._since(known.topic_at))

    def _complete(
        self,
        step: Step,
        text: str,
        ask: Ask | None,
        *,
        names: Sequence[NameMention],
        taken: Sequence[ReferenceRewrite],
    ) -> list[ReferenceRewrite]:
        """What a short step leaves out."""
        known = self._known
        best = choose(known.rank(), known, kind="thing", speakers=self._speakers)
        focus = best[0] if best is not None and best[1] >= 0.5 else None
        area = " there" in text and (not known.is_placelike() or seeks_there(text))
        return complete(text, step.role, ask=ask, said=self._said, names=names, focus=focus, taken=taken, area=area)

    def _context(self, step: Step, ask: Ask | None, resolved: str) -> str:
        """What is spoken of where the step does not name it, the question it answers, and how the step before ended."""
        before = self._said[-1] if self._said else None
        tail = before.tail if before is not None and before.role != step.role else ""
        question = ask.text if ask is not None and ask.text not in tail else ""
        present = " ".join((resolved, question, tail)).lower()
        topics = [name for name in self._topics if name.lower() not in present]
        # Who asks later may count again: the ordinal is found beside the name that it was resolved to.
        counted = before.counted if before is not None and tail else ""
        return " ".join(filter(None, (*topics, question, tail, counted)))[:MAX_CONTEXT_CHARS]

    def _remember(
        self,
        step: Step,
        text: str,
        *,
        scope: str,
        names: Sequence[NameMention],
        counted: Sequence[_Named],
        stood: Sequence[Stood],
        pointed: Sequence[Pointed],
        resolved: str,
    ) -> None:
        # The next step depends on the order in which all this is taken in.
        self._turn_to_unit(text, speaks_of_nothing=not names and not counted)
        self._stand_for(stood, counted, pointed)
        beside = bool(stood or counted)
        alone = len({mention.text for mention in names}) == 1
        spoken = self._mention(step, names, alone=alone, beside=beside)
        goes_on = bool(self._said) and self._said[-1].role == step.role
        observe(text, [(one.mention, one.referent) for one in spoken], asked="" if goes_on else self._before)
        self._raise(step, text, scope, spoken)
        self._follow(step, text, counted, spoken, alone=alone and not beside)
        about = [(phrase.start, phrase.name) for phrase in counted]
        about += [(found.start, found.referent.name) for found in stood]
        self._offer(text, spoken, counted=counted, about=about)
        self._settle(text, spoken, about=about, pointed=pointed, goes_on=goes_on)
        self._hear(step, resolved)
        spans = " ".join(text[phrase.start : phrase.end] for phrase in counted)
        self._said = remember(self._said, resolved, role=step.role, counted=spans)

    def _settle(
        self,
        text: str,
        spoken: Sequence[_Spoken],
        *,
        about: Sequence[tuple[int, str]],
        pointed: Sequence[Pointed],
        goes_on: bool,
    ) -> None:
        """Take in what a step is about."""
        led = _led(text, spoken, goes_on=goes_on) or _compared(text, spoken)
        names = [*led, *[name for _, name in about], *[phrase.referent.name for phrase in pointed]]
        self._known.settle(distinct(names), passing=len(spoken) > len(led) and not goes_on)
        led_by = sorted([*about, *[one.at for one in spoken if one.leads]])
        self._topics = distinct([name for _, name in led_by])[:_MAX_TOPICS] or self._topics

    def _mention(self, step: Step, names: Sequence[NameMention], *, alone: bool, beside: bool) -> list[_Spoken]:
        """Take in what a step names."""
        spoken = list[_Spoken]()
        for mention in names:
            referent = self._known.mention(mention, step=step.id, alone=alone, beside=beside)
            spoken.append(_Spoken(mention, referent.name, referent, mention.leads or alone))
        return spoken

    def _raise(self, step: Step, text: str, scope: str, spoken: Sequence[_Spoken]) -> None:
        """Take in what a step brings up; in a plan, what people put forward and not who does: "Aunt Peg wants X"."""
        long = [one for one in spoken if " " in one.mention.text] if self._known.part else []
        put_forward = [one for one in long if not one.mention.acts] or long
        beside_people = put_forward if len(put_forward) == 1 else []
        raised = [
            (one.name, _around(text, one.mention), one.mention.placed)
            for one in spoken
            if (one.leads and (one in put_forward or one not in long)) or one in beside_people
        ]
        self._known.raise_names(raised[:_MAX_RAISED_AT_ONCE], by=step.role, scope=scope, step=step.id)

    def _follow(
        self, step: Step, text: str, counted: Sequence[_Named], spoken: Sequence[_Spoken], *, alone: bool
    ) -> None:
        """Take in what a step answers to what was raised before, or that it raised one thing `alone`."""
        known = self._known
        raised_alone = alone and bool(known.raised) and known.raised[-1].step == step.id
        pointed_at = self._pointed_at(step, counted, spoken)
        known.follow(text[:_MAX_TOLD_CHARS], by=step.role, raised_alone=raised_alone, pointed_at=pointed_at)

    def _pointed_at(self, step: Step, counted: Sequence[_Named], spoken: Sequence[_Spoken]) -> Sequence[Raised]:
        """The one or two things raised for the part of a plan that the step points at or names."""
        known = self._known
        names = {phrase.name for phrase in counted} | {one.name for one in spoken}
        if not known.part or not 0 < len(names) <= _MAX_COMPARED:
            return ()
        own = [item for item in known.raised_here(step.role) if item.name in names]
        last = {item.name: item for item in sorted(own, key=lambda item: item.spoken)}
        return list(last.values()) if len(last) == len(names) else ()

    def _answers_for(self, step: Step, text: str, *, names: Sequence[NameMention], resolved: str) -> list[_Named]:
        """What the step before spoke of in a plan, where this step answers and names nothing."""
        if any(" " in name.text for name in names):
            return []
        ending = _SENTENCE_END.search(text)
        if ending is not None and ending[0] == "?":
            return []  # it asks something of its own
        at = ending.start() if ending else len(text)
        # Of two insertions at one place the later one comes to stand first.
        said = resolved.lower()
        answered = [item for item in reversed(self._known.answered(step.role)) if name_key(item.name) not in said]
        return [_Named(at, at, item.name, item.step, _ANSWERED, False) for item in answered]

    def _turn_to_unit(self, text: str, *, speaks_of_nothing: bool) -> None:
        if speaks_of_nothing and last_unit(text[:_MAX_RAISING_CHARS]):
            self._known.turn()

    def _stand_for(self, stood: Sequence[Stood], counted: Sequence[_Named], pointed: Sequence[Pointed]) -> None:
        """Take in what pronouns, ordinals and pointers stood for."""
        known = self._known
        for found in stood:
            known.stand_for(found.referent, kind=found.kind)
            if found.gender:
                found.referent.stands[found.gender] = found.referent.stands.get(found.gender, 0) + 1
        for phrase in counted:
            referent = known.find(phrase.name)
            if referent is not None:
                known.stand_for(referent, kind="thing")
                referent.presented, referent.placed, referent.named = True, False, known.clock
        for point in pointed:
            known.stand_for(point.referent, kind="thing")

    def _offer(
        self,
        text: str,
        spoken: Sequence[_Spoken],
        *,
        counted: Sequence[_Named],
        about: Sequence[tuple[int, str]],
    ) -> None:
        """Take in between which things a choice is left."""
        known = self._known
        if not spoken and any(phrase.listed for phrase in counted):
            known.listed_at = known.clock
            return
        compared = [(phrase.start, phrase.name) for phrase in counted]
        known.offer(text, sorted([*(compared if len(compared) > 1 else about), *[one.at for one in spoken]]))

    def _hear(self, step: Step, resolved: str) -> None:
        """Note a question that waits for its answer; what somebody else answers waits no more."""
        ask = read_ask(resolved, role=step.role)
        if ask is not None:
            self._ask = ask
        elif self._ask is not None and self._ask.role == step.role and self._said[-1].role != step.role:
            self._ask = None


def _led(text: str, spoken: Sequence[_Spoken], *, goes_on: bool) -> list[str]:
    """The names of what a step is about."""
    return [
        name
        for mention, name, _, leads in spoken
        if leads and not mention.titled
        if not _BRANCH.search(text, max(0, mention.start - 5), mention.start)
        if mention.presented or not goes_on or " " in name
    ]


def rewrite_utterance(history: Sequence[Step], utterance: Step | str) -> str:
    """Return the utterance with its references replaced, as read after the history."""
    resolver = ReferenceResolver()
    for step in history:
        resolver.resolve(step, scope="")
    step = utterance if isinstance(utterance, Step) else Step(role="user", content=utterance)
    return apply_rewrites(step.content, resolver.resolve(step, scope="").references)


def _is_heading(step: Step, text: str) -> bool:
    if step.role.lower() not in _HEADING_ROLES:
        return False
    return len(text) < 200 and "\n" not in text.strip() and not text.rstrip().endswith((".", "?", "!"))


def _compared(text: str, spoken: Sequence[_Spoken]) -> list[str]:
    """The two things that are set side by side, and nothing else is named: "compare X with Y", "X or Y"."""
    if len(spoken) != _MAX_COMPARED:
        return []
    one, other = (each.mention for each in spoken)
    joined = _SET_BESIDE.search(text, one.end, other.start)
    return [each.name for each in spoken] if joined is not None and joined.end() == other.start else []


def _around(text: str, mention: NameMention) -> list[str]:
    """The sentence that has the name, the next one, and the one before."""
    first = max(0, mention.start - _MAX_RAISING_CHARS)
    begins = [first, *(match.end() for match in _SENTENCE_END.finditer(text, first, mention.start))]
    ends = [match.end() for match in islice(_SENTENCE_END.finditer(text, mention.end), 2)]
    own_end = ends[0] if ends else len(text)
    next_end = ends[1] if len(ends) > 1 else len(text)
    parts = [text[begins[-1] : own_end], text[own_end:next_end]]
    if len(begins) > 1:
        parts.append(text[begins[-2] : begins[-1]])
    return [part[:_MAX_RAISING_CHARS] for part in parts]


def _nth(items: Sequence[Any], number: int) -> Any:
    index = number - 1 if number > 0 else len(items) - 1
    return items[index] if 0 <= index < len(items) else None


def _spans(rewrites: Iterable[ReferenceRewrite]) -> list[tuple[int, int]]:
    return [(rewrite.start, rewrite.end) for rewrite in rewrites]


def _in_order(rewrites: Iterable[ReferenceRewrite]) -> tuple[ReferenceRewrite, ...]:
    return tuple(sorted(rewrites, key=attrgetter("start")))


def _of_count(found: _Named) -> ReferenceRewrite:
    return ReferenceRewrite(
        start=found.start,
        end=found.end,
        replacement=found.name,
        antecedent=found.antecedent,
        confidence=found.confidence,
    )


def _of_pointer(found: _Named) -> ReferenceRewrite:
    return _of_count(found._replace(name=f" ({found.name})"))


def _of_phrase(found: Stood | Pointed) -> ReferenceRewrite:
    return ReferenceRewrite(
        start=found.start,
        end=found.end,
        replacement=found.replacement,
        antecedent=found.referent.step,
        confidence=found.confidence,
    )
