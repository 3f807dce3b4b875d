"""Thematic scopes (§2.2.1) as online clustering with memory: each step continues, returns, or opens a scope.

The current scope, earlier ones and a new one are candidates; what speaks for each is in `evidence`, and a linear model
weighs it. Its weights stand in `scope_weights.json`, made by `python -m stitch.bench.fit scopes`. What the text says
in so many words ("back to day 1") decides alone. A scope that turns out to continue an earlier one is joined to it
soon, or when it is left (`threads`). More than 400 lines because choosing, assigning and joining share one
memory of the trajectory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat
from operator import add, mul
from typing import Any

import orjson

from stitch.label.local import chains
from stitch.label.local.candidates import Candidate, Decision, Weighing, shipped_weights
from stitch.label.local.evidence import (
    Rival,
    Scope,
    Stream,
    known_weight,
    scope_evidence,
    step_evidence,
)
from stitch.label.local.moves import AWAITED
from stitch.label.local.naming import NOTHING_SAID, InWords
from stitch.label.local.reading import AGENTS, Reading
from stitch.label.local.replies import Heard, Replies, blend, fit, shipped_replies, vector, vectors
from stitch.label.local.scope_counts import bounded, counted, restored, saved, uncount, without_place
from stitch.label.local.threads import (
    JOIN_FEATURES,
    JOIN_MARGIN,
    LOOK_STEPS,
    MAX_HOMES,
    MAX_JOINED_STEPS,
    Home,
    join_evidence,
    merged,
    take_over,
)
from stitch.text.forms import SentenceForm
from stitch.text.languages import content_stems

MAX_CANDIDATES = 10
"""With how many scopes a step is compared."""

_MAX_TERMS = 160
_MAX_VALUES = 120
_RECENT_STEPS = 3
_MAX_RIVALS = 6
_TOPIC_SHARE = 0.5  # So much of a topic's weight was said where it was spoken of.


class ScopeTracker:
    """Assigns each step of one trajectory to a scope, knowing only what came before. Deterministic.

    Args:
        weights: By name: those of `FEATURES`, "now: WORD", and "join: NAME" and "look: NAME" for those of
            `JOIN_FEATURES`. The shipped ones if None.
        chats: The same in chats (`Stream.is_chat`). `weights` if None, the shipped ones if both are.
        replies: What tells how well a step follows another. The shipped matrices if None.
    """

    def __init__(
        self,
        weights: Mapping[str, float] | None = None,
        *,
        chats: Mapping[str, float] | None = None,
        replies: Replies | None = None,
    ) -> None:
        self._replies = shipped_replies() if replies is None else replies
        by_name = shipped_weights() if weights is None else weights
        self._in_talk = Weighing.of(by_name)
        self._in_chats = Weighing.of(chats or (shipped_weights(of_chats=True) if weights is None else by_name))
        self._joining = [by_name.get(f"join: {name}", 0.0) for name in JOIN_FEATURES]
        self._looking = [by_name.get(f"look: {name}", 0.0) for name in JOIN_FEATURES]
        self.scopes: list[Scope] = []
        self._stream = Stream()
        self._holders: dict[str, list[int]] = {}
        self._parents: dict[str, int] = {}
        self._rivals: dict[str, Rival] = {}
        self._left: int | None = None
        self._ahead: dict[str, Any] = {}
        self._heard: tuple[str, Heard] | None = None

    @property
    def current(self) -> Scope | None:
        """The scope of the last step."""
        number = self._stream.current
        return None if number is None else self.scope(number)

    @property
    def speakers(self) -> Mapping[str, object]:
        """The roles seen so far, folded."""
        return self._stream.turns

    def scope(self, number: int) -> Scope:
        """The scope that holds the steps of scope `number` by now."""
        scope = self.scopes[number]
        return scope if scope.into is None else self.scope(scope.into)

    def is_opener(self, role: str) -> bool:
        """Whether this role, folded, spoke first, after instructions; so does the first to speak."""
        return self._stream.leads(role)

    def choose(self, reading: Reading, said: InWords = NOTHING_SAID) -> Scope | None:
        """The scope of a step; None if it opens a new one."""
        decision = self.decide(reading, said)
        if decision is not None:
            return decision.scope
        # The first of equals: the current scope before earlier ones before a new one.
        return max(self.candidates(reading), key=lambda candidate: candidate.score).scope

    def decide(self, reading: Reading, said: InWords = NOTHING_SAID) -> Decision | None:
        """The scope of a step where the text or the source says it; None where it must be weighed."""
        self._rivals = {}
        if not self.scopes or reading.is_notice:
            return Decision(None)
        number = chains.followed_by(self._parents, reading.step)
        number = said.named if number is None else number
        if number is not None:
            return Decision(self.scope(number))
        if said.unit:
            same = (scope for scope in reversed(self.scopes) if scope.unit == said.unit and scope.into is None)
            return Decision(next(same, None))
        current = self.current
        if current is None:
            return None
        if self._must_stay(reading, current):
            return Decision(current)
        return None if current.unit else self._by_topic(said, current)

    def _must_stay(self, reading: Reading, current: Scope) -> bool:
        """Whether a step is a result of the call before it, a long answer, or of the unit that is spoken of."""
        is_result = reading.answers_tool and self._stream.last_called
        is_of_unit = bool(current.unit) and not reading.breaks_off
        return is_result or is_of_unit or self._stream.is_answered_at_length(reading)

    def _by_topic(self, said: InWords, current: Scope) -> Decision | None:
        """The scope of a step that puts a topic at its front, or breaks off for a subject; None if it does not tell."""
        if (back := self._spoken_of(said.topic, current)) is not None:
            return Decision(back)
        stems = content_stems(said.subject) if said.subject else []
        if not said.subject or any(stem in current.terms for stem in stems):
            return None
        return Decision(self._spoken_of(stems, current))

    def _spoken_of(self, topic: Sequence[str], current: Scope) -> Scope | None:
        """The earlier scope in which a topic was spoken of most, if it is spoken of little in the current one."""
        weights = self._stream.weigh(dict.fromkeys(topic))
        least = _TOPIC_SHARE * sum(weights.values())
        if not topic or known_weight(weights, current.terms) >= least:
            return None
        earlier = [scope for scope in self._recent() if scope is not current]
        known = [known_weight(weights, scope.terms) for scope in reversed(earlier)]
        most = max(known, default=0.0)
        return earlier[-1 - known.index(most)] if known and most >= least else None

    def candidates(self, reading: Reading) -> list[Candidate]:
        """What the step may belong to: the current scope first, earlier ones, a new one last."""
        stream, current = self._stream, self.current
        weights = stream.weigh(sorted(reading.stem_set))
        shortlist = self._shortlist(reading)
        total = sum(weights.values()) or 1.0
        cohesions = [known_weight(weights, scope.terms) / total for scope in shortlist]
        best = max(cohesions, default=0.0)
        answer = self._hear(reading.step.content).answer
        replies = [fit(scope.said, answer) for scope in shortlist]
        to_nothing = fit(self._replies.start, answer)
        best_reply, next_reply = sorted([to_nothing, *replies], reverse=True)[:2] if replies else (to_nothing, 0.0)
        of_step = self._of_step(reading, weights, cohesions, replies, to_nothing)
        leaving = self._particles(reading)
        weighing = self._in_chats if stream.is_chat else self._in_talk
        weight, nothing = weighing.by_name.get, repeat(0.0)
        left = sum(map(weight, leaving, nothing))
        returning = left + sum(map(mul, weighing.when_returning, of_step))
        latest, latest_open = _latest([scope for scope in shortlist if scope is not current])
        found: list[Candidate] = []
        for scope, cohesion, reply in zip(shortlist, cohesions, replies, strict=True):
            of_scope = scope_evidence(
                reading,
                scope,
                stream,
                current=current,
                weights=weights,
                cohesion=cohesion,
                is_best=best > 0 and cohesion == best,
                is_latest=scope is latest,
                is_latest_open=scope is latest_open,
                holders=self._holders,
                reply=reply,
                other_reply=next_reply if reply == best_reply else best_reply,
            )
            if scope is current:
                score = sum(map(mul, weighing.of_current, of_scope))
                found.append(Candidate(scope, [], of_scope, (), score))
            else:
                score = returning + sum(map(mul, weighing.of_earlier, of_scope))
                found.append(Candidate(scope, of_step, of_scope, leaving, score))
        opening = left + sum(map(mul, weighing.when_opening, of_step))
        self._rivals = {
            str(scope.number): Rival(candidate.score - opening, scope.last, scope.closed)
            for scope, candidate in zip(shortlist, found, strict=True)
        }
        found.append(Candidate(None, of_step, [], leaving, opening))
        return found

    def _of_step(
        self,
        reading: Reading,
        weights: Mapping[str, float],
        cohesions: Sequence[float],
        replies: Sequence[float],
        to_nothing: float,
    ) -> list[float]:
        """The values of `STEP_FEATURES`, given how well each scope coheres with the step and is answered by it."""
        current = self.current
        has_current = current is not None
        return step_evidence(
            reading,
            self._stream,
            current,
            weights=weights,
            scopes=len(self.scopes),
            here=cohesions[0] if has_current else 0.0,
            elsewhere=max(cohesions[has_current:], default=0.0),
            known=sum(map(self._holders.__contains__, reading.values)),
            unfinished=sum(s is not current and not s.closed and s.into is None for s in self.scopes[-64:]),
            reply=replies[0] if has_current else 0.0,
            reply_elsewhere=max(replies[has_current:], default=to_nothing),
            reply_to_nothing=to_nothing,
        )

    def look_ahead(self, texts: Sequence[str]) -> None:
        """Get the vectors of the next steps at once, which costs less than one by one and changes nothing else."""
        self._ahead = dict(zip(texts, vectors(texts), strict=True)) if len(texts) > 1 else {}

    def _hear(self, text: str) -> Heard:
        if self._heard is None or self._heard[0] != text:
            row = self._ahead.get(text)
            self._heard = text, self._replies.hear(vector(text) if row is None else row)
        return self._heard[1]

    def _particles(self, reading: Reading) -> tuple[str, ...]:
        return tuple(f"now: {word}" for word in sorted(reading.particles))

    def _recent(self) -> list[Scope]:
        return [scope for scope in self.scopes[-64:] if scope.into is None]

    def _shortlist(self, reading: Reading) -> list[Scope]:
        """The scopes worth comparing: the current one, those of who speaks and is named, shared values, the latest."""
        stream = self._stream
        wanted: dict[int, None] = {}
        if stream.current is not None:
            wanted[stream.current] = None
        for role in (reading.role, *reading.addressees):
            if role in stream.spoke:
                wanted[stream.spoke[role]] = None
        for value in reading.values:
            for number in self._holders.get(value, ())[-2:]:
                wanted[number] = None
        for call in reading.data.calls:
            calling = next((s for s in reversed(self.scopes) if call.name in s.calls and s.into is None), None)
            if calling is not None:
                wanted[calling.number] = None
        for scope in sorted(self._recent(), key=lambda scope: -scope.last)[:MAX_CANDIDATES]:
            wanted[scope.number] = None
        return list({(scope := self.scope(n)).number: scope for n in wanted}.values())[:MAX_CANDIDATES]

    def assign(self, reading: Reading, scope: Scope | None, *, unit: str = "") -> Scope:
        """Take in that the step belongs to `scope`, or to a new one if None; return it."""
        stream = self._stream
        self._left, is_new = None, False
        if scope is None:
            scope = self.begin()
            scope.left, scope.rivals = stream.current, self._rivals
            is_new = True
        self._extend(scope, reading)
        scope.unit = scope.unit or unit
        chains.note(self._parents, reading.step, scope.number)
        if not reading.is_notice:
            self._go_on(reading, scope, is_new=is_new)
        stream.time_s = stream.time_s if reading.time_s is None else reading.time_s
        stream.session = reading.step.session
        self._count_words(reading)
        stream.position += 1
        self._rivals = {}
        return scope

    def _go_on(self, reading: Reading, scope: Scope, *, is_new: bool) -> None:
        """Count what a step of a scope says of how the talk goes: who speaks, and whether it goes over to the scope."""
        stream = self._stream
        stream.at_length = stream.at_length or (reading.role in AGENTS and stream.is_answered_at_length(reading))
        switched = stream.current is not None and scope.number != stream.current
        turns = stream.turns.setdefault(reading.role, [0, 0])
        turns[0] += 1
        turns[1] += switched
        if not reading.data.calls and not reading.answers_tool:
            stream.voices.setdefault(reading.role, stream.position)
        stream.run = 1 if switched else stream.run + 1
        stream.switches += switched
        if switched and stream.current is not None:
            left = self.scopes[stream.current]
            self._left = left.number
            stream.returns += not is_new
            stream.interruptions += not left.closed and left.opens in AWAITED and left.opens != "more"
        stream.current = stream.spoke[reading.role] = scope.number
        stream.tools = stream.tools or bool(reading.data.calls)
        stream.service += SentenceForm.REQUEST in reading.forms or reading.opens in ("more", "check", "offer")
        stream.opener = stream.opener or reading.role
        stream.last_role = reading.role
        stream.last_closed = reading.closes
        stream.last_called = bool(reading.data.calls)
        stream.last_answered_tool = reading.answers_tool

    def begin(self, *, given: bool = False) -> Scope:
        """A new scope, without steps yet; `given` if somebody else named it."""
        self.scopes.append(Scope(len(self.scopes), given=given))
        return self.scopes[-1]

    def take_out(self, reading: Reading, scope: Scope, *, position: int) -> None:
        """Take in that an earlier step does not belong to a scope."""
        scope.spans = [part for span in scope.spans for part in without_place(span, position)]
        scope.steps -= 1
        for counts, keys in counted(scope, reading):
            for key in keys:
                uncount(counts, key)
        for value in reading.values:
            if value not in scope.values and scope.number in self._holders.get(value, ()):
                self._release(value, scope)
        for stem in reading.stem_set:
            uncount(self._stream.df, stem)

    def _release(self, value: str, scope: Scope) -> None:
        self._holders[value].remove(scope.number)
        if not self._holders[value]:
            del self._holders[value]

    def put_in(self, reading: Reading, scope: Scope, *, position: int) -> None:
        """Take in that an earlier step belongs to a scope."""
        scope.spans = merged([*scope.spans, [position, position]])
        scope.steps += 1
        self._count(reading, scope)
        self._count_words(reading)
        if position == self._stream.position - 1 and not reading.is_notice:
            self._stream.current = self._stream.spoke[reading.role] = scope.number
            self._leave_at(reading, scope, position=position)

    def _count_words(self, reading: Reading) -> None:
        df = self._stream.df
        for stem in sorted(reading.stem_set):
            df[stem] = df.get(stem, 0) + 1

    def _extend(self, scope: Scope, reading: Reading) -> None:
        position = self._stream.position
        if scope.spans and scope.last == position - 1:
            scope.spans[-1][1] = position
        else:
            scope.spans.append([position, position])
        scope.steps += 1
        self._count(reading, scope)
        self._leave_at(reading, scope, position=position)

    def _count(self, reading: Reading, scope: Scope) -> None:
        """Count what a step of a scope says."""
        for value in reading.values:
            holders = self._holders.setdefault(value, [])
            if scope.number not in holders:
                holders.append(scope.number)
        for counts, keys in counted(scope, reading):
            for key in keys:
                counts[key] = counts.get(key, 0) + 1
        self._bound(scope)

    def _leave_at(self, reading: Reading, scope: Scope, *, position: int) -> None:
        """Note how the last step of a scope leaves it."""
        if reading.stems:
            scope.recent.append(sorted(reading.stem_set))
            del scope.recent[:-_RECENT_STEPS]
        scope.speakers[reading.role] = position
        if scope.asker != reading.role:
            scope.asker = ""
        if reading.form in (SentenceForm.QUESTION, SentenceForm.REQUEST):
            scope.asker = reading.role
        scope.last_role = reading.role
        if reading.skimmed:  # a run goes on by its structure: nothing asks what would answer this step
            scope.opens, scope.closed, scope.addressed = reading.opens, False, []
            return
        heard = self._hear(reading.step.content)
        scope.gist = blend(scope.gist, heard.matter, steps=scope.steps)
        scope.said = list(map(add, heard.prompt, scope.gist))
        scope.opens = reading.opens
        scope.closed = reading.closes or (scope.closed and SentenceForm.THANKS in reading.forms)
        scope.addressed = list(reading.addressees)

    def _bound(self, scope: Scope) -> None:
        scope.terms = bounded(scope.terms, _MAX_TERMS)
        scope.values = bounded(scope.values, _MAX_VALUES)
        scope.asked, scope.told = bounded(scope.asked, _MAX_TERMS), bounded(scope.told, _MAX_TERMS)
        scope.pointed = bounded(scope.pointed, _MAX_TERMS)
        del scope.recent[:-_RECENT_STEPS]

    @property
    def looks(self) -> bool:
        """Whether the scope in doubt is looked at again, and not left."""
        return self._left is None

    @property
    def doubtful(self) -> Scope | None:
        """The scope that the last step left, or that it is time to look at again, if it may continue an earlier one."""
        scope = self.current if self.looks else self.scopes[self._left or 0]
        if scope is None or not scope.rivals or scope.unit or scope.given or scope.steps > MAX_JOINED_STEPS:
            return None
        is_due = scope.steps in LOOK_STEPS and scope.last == self._stream.position - 1
        return scope if is_due or not self.looks else None

    def homes(self) -> list[Home]:
        """The earlier scopes that the scope in doubt may continue."""
        doubtful = self.doubtful
        if doubtful is None:
            return []
        rivals = doubtful.rivals
        numbers = [number for value in doubtful.values for number in self._holders.get(value, ())[-2:]]
        numbers = [int(n) for n in sorted(rivals, key=lambda n: -rivals[n].margin)[:_MAX_RIVALS]] + numbers
        known = dict.fromkeys(self.scope(number).number for number in numbers if number < doubtful.number)
        fixed = (doubtful.number, *(n for n in known if self.scopes[n].unit or self.scopes[n].given))
        homes = [self.scopes[n] for n in known if n not in fixed][:MAX_HOMES]
        found = join_evidence(doubtful, homes, self._stream, holders=self._holders, scopes=len(self.scopes))
        weights = self._looking if self.looks else self._joining
        return [Home(home, values, sum(map(mul, weights, values))) for home, values in zip(homes, found, strict=True)]

    def reconsider(self) -> tuple[Scope, Scope] | None:
        """Join the scope in doubt to an earlier one, if it turned out to continue it; return both."""
        best = max(self.homes(), key=lambda home: home.score, default=None)
        doubtful = self.doubtful
        if doubtful is None or best is None or best.score < JOIN_MARGIN:
            return None
        self.join(doubtful, best.scope)
        return doubtful, best.scope

    def join(self, left: Scope, home: Scope) -> None:
        """Take in that `left` continues `home`, an earlier scope."""
        take_over(home, left)
        self._bound(home)
        for value in left.values:
            holders = [number for number in self._holders.get(value, ()) if number not in (left.number, home.number)]
            self._holders[value] = [*holders, home.number]
        spoke = self._stream.spoke
        spoke.update({role: home.number for role, number in spoke.items() if number == left.number})
        if self._stream.current == left.number:
            self._stream.current = home.number
            # A person who puts a step right may have led here without a switch.
            taken_back = left.left is not None and self.scope(left.left) is home
            self._stream.switches = max(0, self._stream.switches - taken_back)
        self._left = None

    def typical_terms(self, scope: Scope, *, most: int = 40) -> dict[str, float]:
        """The stems that tell a scope from the others, with weights from 0 to 1, the strongest first."""
        telling = self._stream.weigh(scope.terms)
        weighed = {stem: count * telling[stem] for stem, count in scope.terms.items()}
        ranked = sorted(weighed.items(), key=lambda item: (-item[1], item[0]))[:most]
        return {stem: round(weight / ranked[0][1], 3) for stem, weight in ranked}

    def save(self) -> dict[str, Any]:
        """Everything remembered, as JSON values."""
        return {
            "scopes": [saved(scope) for scope in self.scopes],
            "stream": orjson.loads(orjson.dumps(self._stream)),
            "holders": self._holders,
            "parents": self._parents,
            "left": self._left,
        }

    @classmethod
    def load(cls, data: Mapping[str, Any]) -> ScopeTracker:
        """Continue from what `save` returned."""
        tracker = cls()
        tracker.scopes = [restored(scope) for scope in data["scopes"]]
        tracker._stream = Stream(**data["stream"])
        tracker._holders = {value: list(numbers) for value, numbers in data["holders"].items()}
        tracker._parents = dict(data["parents"])
        tracker._left = data["left"]
        return tracker


def _latest(earlier: Sequence[Scope]) -> tuple[Scope | None, Scope | None]:
    """The scope that was left last, and the last of those not wound up."""
    last = max(earlier, key=lambda scope: scope.last, default=None)
    return last, max((scope for scope in earlier if not scope.closed), key=lambda scope: scope.last, default=None)
