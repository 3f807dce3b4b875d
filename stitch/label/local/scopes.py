"""Thematic scopes (§2.2.1): each step goes on in the current scope, returns to an earlier one, or opens a new one.

Seventeen features speak for each candidate, and a conditional logit weighs them. One of them is the chance that a step
turns to something else, which a logistic model reads from the step, the one before, and who speaks. Both are fitted by
`python -m stitch.bench.fit scopes`. A result stays with its call, and a step with the one it names as its parent.

Where services are asked, each for something else (a weather report, a booking), the call tells what the words before it
were for: what is said after a result waits, as part of the current scope, until a call takes it into its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log, log1p
from operator import mul
from typing import TYPE_CHECKING, Any, NamedTuple

from stitch.label.local.calls import takes_script
from stitch.label.local.reading import CALL, NOTICE, RESULT, WORDS, StepFeatures
from stitch.label.local.scope_state import History, Scope, with_place
from stitch.label.local.weights import ScopeWeights, shipped_scope_weights

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_EARLIER = 10
"""With so many earlier scopes a step is compared."""
_MAX_PARENTS = 512
_FADING = 5
"""The gist of a scope loses a fifth with each step."""
_SMALL_WEIGHT = 2.0
"""Added to the weight of a step's words: one word of everyday says little."""
_YOUNG_STEPS, _LOOK_STEPS, _JOINS_FROM = 6, 3, 0.8
"""A scope of so few steps may turn out to continue an earlier one that is so much like it."""
_MOST_COMPARED = 256
"""It is compared with so many scopes, the latest: what a step costs must not grow with a trajectory."""
_STAYS = 1.0
"""Words after the answer to a call stay where the weights prefer the current scope by so much."""
_HANDED_ON = ("key", "number", "email")
"""Classes of identifiers that two services hand on about the same matter."""

FEATURES = (
    "current", "new", "words", "nearest", "keys", "addressed", "spoke last", "spoke there", "named there", "steps ago",
    "size", "few words", "begins", "pause", "turns", "room", "switches so far",
)  # fmt: skip
"""What speaks for a candidate:

- *current*, *new*: which kind of candidate it is; 1 or 0.
- *words*: share of the step's words, weighed by rarity, that were said in the scope.
- *nearest*: of an earlier scope, how far its recent steps lie behind those nearest in meaning (difference of cosines).
- *keys*: shared names, values and identifiers, each by how few scopes have it.
- *addressed*: whether somebody whom the step names spoke there last, or its last step names the speaker.
- *spoke last*, *spoke there*, *named there*, *steps ago*: in a room of more than two, who call each other, whether
  this one spoke there last, whether ever, whether somebody whom the step names did, and the logarithm of steps since.
- *size*: of an earlier scope, the logarithm of its steps.
- *few words*: of the current scope, how little the step says of its own.
- *begins*: of a new scope, whether instructions precede the step or earlier scopes began with the same words.
- *pause*, *turns*, *room*, *switches so far*: of all but the current scope, the time since the last step, the chance
  that the step turns to something else, whether it is such a room, and how often scopes changed until now.
"""

TURN_CUES = 9
"""Length of `ScopeTracker.turn_cues`."""


class Candidate(NamedTuple):
    """A scope that a step may belong to, None for a new one, with the values of `FEATURES`."""

    scope: Scope | None
    features: list[float]


class ScopeTracker:
    """Assigns each step of one trajectory to a scope, knowing only what came before. Deterministic."""

    def __init__(self, weights: ScopeWeights | None = None, *, by_tools: bool = True) -> None:
        """Start without a step; without `by_tools` no tool tells what a step is for, and the weights alone decide."""
        self._weights = weights or shipped_scope_weights()
        self.scopes: list[Scope] = []
        self.setup = Scope(-1)
        """Instructions given beforehand."""
        self.history = History(tools={} if by_tools else None)

    @property
    def current(self) -> Scope | None:
        """The scope of the last step."""
        return None if self.history.current is None else self.scope(self.history.current)

    def scope(self, number: int) -> Scope:
        """The scope that holds the steps of scope `number` by now."""
        scope = self.scopes[number]
        return scope if scope.into is None else self.scope(scope.into)

    def choose(self, reading: StepFeatures, vector: NDArray[np.float32]) -> Scope | None:
        """The scope of a step; None if it opens a new one."""
        past = self.history
        if past.current is None or reading.kind == NOTICE:
            return None
        if (bound := self._bound(reading)) is not None:
            return self.scope(bound)
        if past.tools and reading.kind == CALL and not self._mixes(reading) and not self._pauses(reading):
            return self._goes_on(reading) or self._scope_of_tool(past.tools, reading.calls[0].name)
        candidates = self.candidates(reading, vector)
        scores: list[float] = [sum(map(mul, self._weights.features, each.features)) for each in candidates]
        if self._asks_anew(reading) and scores[0] - max(scores[1:]) <= _STAYS:
            return None
        return candidates[scores.index(max(scores))].scope

    def _bound(self, reading: StepFeatures) -> int | None:
        """The scope to which the source binds a step: that of its call, or of its parent."""
        if reading.kind == RESULT:
            given = reading.step.metadata.get("tool_call_id")
            for call in filter(None, (str(given or ""), reading.step.tool_name)):
                waiting = [scope for scope in self.scopes if call in scope.waiting]
                if waiting:
                    return max(
                        waiting, key=lambda scope: (scope.number == self.history.current, scope.spans[-1])
                    ).number
            return self.history.current
        parents = self.history.parents
        parent = reading.step.parent
        # Many sources chain each step to the one before, which says nothing of what it is for.
        return parents.get(parent) if parent is not None and parent != next(reversed(parents), None) else None

    def _mixes(self, reading: StepFeatures) -> bool:
        """Whether a call shows that tools serve the same matter: two in one turn, or one that may be for anything."""
        names = {self.history.tool or call.name for call in reading.calls} | {call.name for call in reading.calls}
        return len(names) > 1 or any(map(takes_script, reading.calls))

    def _goes_on(self, reading: StepFeatures) -> Scope | None:
        """The scope that a call goes on with, as it names an order, an account or the like that was named there."""
        current = self.current
        scope = current and (self.waits_in(current) or current)
        named = (key for key, kind in reading.keys.items() if kind in _HANDED_ON)
        return scope if scope and any(key in scope.keys for key in named) else None

    def _scope_of_tool(self, tools: Mapping[str, int], tool: str) -> Scope | None:
        """The scope that called a tool; the current one if it is new and nothing else was called there, else none."""
        if tool in tools:
            return self.scope(tools[tool])
        return None if self.history.current in [self.scope(each).number for each in tools.values()] else self.current

    def _asks_anew(self, reading: StepFeatures) -> bool:
        """Whether somebody goes on when another has told what came of a call that serves a matter of its own."""
        past = self.history
        answers = reading.kind == past.kind == WORDS and reading.role != past.role
        return answers and bool(past.tools) and past.tool != "" and not self._pauses(reading)

    def _pauses(self, reading: StepFeatures) -> bool:
        """Whether a step comes long after the one before, or in another session."""
        return self.history.pause(reading) > log1p(1.0)

    def waits_in(self, scope: Scope) -> Scope | None:
        """The scope as part of which words read that wait for a call; None of a scope that has none such."""
        if self.history.waits[:1] != [scope.number] or scope.given or scope.into is not None:
            return None
        home = self.scope(self.history.waits[1])
        return None if home is scope else home

    def candidates(self, reading: StepFeatures, vector: NDArray[np.float32]) -> list[Candidate]:
        """Candidate scopes of the step: the current one first, earlier ones by place, a new one last."""
        past, current = self.history, self.current
        scopes = self._shortlist(reading)
        weights = self.history.weigh(dict.fromkeys(reading.stems))
        total = sum(weights.values()) + _SMALL_WEIGHT
        meanings = _cosines([scope.gist for scope in scopes], vector)
        nearest = max(meanings, default=0.0)
        few_words = 1 / (1 + min(len(weights), 12))
        room = float(past.in_room)
        turns = self._turns(reading, vector)
        pause = self.history.pause(reading)
        switches = log((past.switches + 3) / (past.position + 17))
        leaving = [pause, turns, room, switches]
        begins = self._begins(reading)
        found = []
        for scope, meaning in zip(scopes, meanings, strict=True):
            stays, said, known = scope is current, scope.terms, scope.keys
            shared = sum([weight for stem, weight in weights.items() if stem in said]) / total
            keys = sum([1 / len(past.holders[key]) for key in reading.keys if key in known])
            named = bool(reading.addressed) and any(past.spoke.get(one) == scope.number for one in reading.addressed)
            same = [shared, 0.0 if stays else meaning - nearest, min(keys, 3.0)]
            same.append(float(named) + (reading.role in scope.addressed))
            same += self._known_in_room(reading, scope) if room else [0.0] * 4
            if stays:
                found.append(Candidate(scope, [1.0, 0.0, *same, 0.0, few_words, *[0.0] * 5]))
            else:
                found.append(Candidate(scope, [0.0, 0.0, *same, log(scope.steps), 0.0, 0.0, *leaving]))
        found.append(Candidate(None, [0.0, 1.0, *[0.0] * 10, float(begins), *leaving]))
        return found

    def _known_in_room(self, reading: StepFeatures, scope: Scope) -> list[float]:
        """Whether who speaks spoke in a scope last, whether ever, whether who is named did, and how long ago it was."""
        last, there = self.history.spoke.get(reading.role) == scope.number, reading.role in scope.speakers
        named = any(one in scope.speakers for one in reading.addressed)
        return [*map(float, (last, there, named)), log(max(1, self.history.position - scope.spans[-1][1]))]

    def _shortlist(self, reading: StepFeatures) -> list[Scope]:
        """The scopes worth comparing: the current one, the latest, those of who speaks and is named."""
        past = self.history
        wanted = dict.fromkeys(past.recent[: -MAX_EARLIER - 2 : -1])
        wanted.update(
            dict.fromkeys(past.spoke[role] for role in (reading.role, *reading.addressed) if role in past.spoke)
        )
        return list({scope.number: scope for scope in map(self.scope, wanted) if scope.steps}.values())

    def _begins(self, reading: StepFeatures) -> bool:
        """Whether instructions precede a step, or earlier scopes began with the same words."""
        return self.history.instructed or (reading.opening != "" and reading.opening in self.history.openings)

    def _turns(self, reading: StepFeatures, vector: NDArray[np.float32]) -> float:
        """The log odds that words turn to something else."""
        if reading.kind != WORDS:
            return -2.0
        return self._weights.turns(self.turn_cues(reading), vector, self.history.vector)

    def turn_cues(self, reading: StepFeatures, *, takes_turns: bool = False) -> list[float]:
        """Cues of a turn to something else beside the words: who speaks, and what was asked.

        With `takes_turns`, what one role alone goes on to say is read as that of several people, none of whom leads.
        """
        past = self.history
        two = len({*past.voices, reading.role}) <= 2
        turns = takes_turns and past.voices == [reading.role]
        leads = two and not turns and (past.voices or [reading.role])[0] == reading.role
        other = turns or past.role != reading.role
        asked = past.asked and other
        cues = (leads, two, not other, reading.asks, asked, asked and not reading.asks, past.kind == RESULT)
        return [*map(float, cues), min(len(set(reading.stems)), 12) / 12, float(leads and reading.asks)]

    def begin(self, *, given: bool = False) -> Scope:
        """A new scope without steps."""
        scope = Scope(len(self.scopes), given=given)
        self.scopes.append(scope)
        return scope

    def instruct(self, reading: StepFeatures) -> None:
        """Take in instructions, which belong to no scope: the next step begins something."""
        past = self.history
        self.setup.steps += 1
        self.setup.spans = with_place(self.setup.spans, past.position)
        past.instructed, past.session = True, reading.step.session
        past.tools, past.tool = None if past.tools is None else {}, ""
        past.position += 1

    def assign(self, reading: StepFeatures, vector: NDArray[np.float32], scope: Scope | None) -> Scope:
        """Take in that the step belongs to `scope`, or to a new one if None; return it."""
        past = self.history
        if scope is None:
            scope = self.begin()
            scope.begun = self._begins(reading) or reading.step.session != past.session
            if past.current is not None and self._asks_anew(reading):
                past.waits = [scope.number, past.current]
            elif reading.opening and reading.kind == WORDS:
                past.openings = [*past.openings, reading.opening][-64:]
        past.extend(scope, reading, position=past.position)
        numbers = (vector * 127).round().astype("int32")
        scope.gist = numbers if scope.gist is None else scope.gist - scope.gist // _FADING + numbers
        if reading.kind != NOTICE:
            self._go_on(reading, scope)
        if reading.step.id is not None:
            past.parents[reading.step.id] = scope.number
            if len(past.parents) > _MAX_PARENTS:
                del past.parents[next(iter(past.parents))]
        for stem in dict.fromkeys(reading.stems):
            past.counts[stem] = past.counts.get(stem, 0) + 1
        past.time_s = past.time_s if reading.time_s is None else reading.time_s
        past.session = reading.step.session
        past.vector, past.role, past.kind = numbers, reading.role, reading.kind
        past.asked = reading.asks and reading.kind == WORDS
        past.position += 1
        return scope

    def _go_on(self, reading: StepFeatures, scope: Scope) -> None:
        """Count what a step of a scope says of how the trajectory goes."""
        past = self.history
        past.left = past.current if past.current != scope.number else None
        past.switches += past.left is not None
        past.current = past.spoke[reading.role] = scope.number
        if past.recent[-1:] != [scope.number]:
            if scope.number in past.recent:
                past.recent.remove(scope.number)
            past.recent.append(scope.number)
        past.instructed = False
        self._note_tools(reading, scope)
        if reading.kind == WORDS and reading.role not in past.voices:
            past.voices.append(reading.role)
        scope.addressed = list(reading.addressed)
        past.calls += bool(reading.addressed)
        if reading.kind == CALL:
            scope.waiting = [call.id or call.name for call in reading.calls]
        elif reading.kind == RESULT:
            scope.answer(reading)

    def _note_tools(self, reading: StepFeatures, scope: Scope) -> None:
        """Take in which tools a scope called, as long as each serves a matter of its own."""
        past = self.history
        if past.tools is None or self._mixes(reading):
            past.tools = None
            return
        if self._pauses(reading):
            past.tools, past.tool = {}, ""
        if self._asks_anew(reading):
            past.tool = ""
        for call in reading.calls:
            past.tools[call.name], past.tool = scope.number, call.name

    def rejoin(self) -> tuple[Scope, Scope] | None:
        """A young scope and the earlier one that it turns out to continue, joined; None if there is none.

        Looked at when it has three steps, and when it is left; one that waits for a call, when that comes.
        """
        past = self.history
        if past.waits and (home := self.waits_in(self.scopes[past.waits[0]])) is not None:
            return self._settle(self.scopes[past.waits[0]], home)
        young = self.current if past.left is None else self.scope(past.left)
        if young is None or young.given or young.begun or young.steps > _YOUNG_STEPS:
            return None
        if past.left is None and young.steps != _LOOK_STEPS:
            return None
        latest = map(self.scope, past.recent[-_MOST_COMPARED:])
        others = [scope for scope in latest if scope.number < young.number and scope.steps]
        if not others:
            return None
        likeness, home = max(zip(self._likenesses(young, others), others, strict=True), key=lambda pair: pair[0])
        if likeness < _JOINS_FROM:
            return None
        past.join(young, home)
        return young, home

    def _settle(self, young: Scope, home: Scope) -> tuple[Scope, Scope] | None:
        """Join words that waited to the scope of the call, or to where they read if they are left without one."""
        current, called = self.current, self.history.kind == CALL
        if current is young and not called:
            return None
        self.history.waits = []
        if called and current is not None:
            home = current
        if home is young:
            return None
        self.history.join(young, home)
        return young, home

    def _likenesses(self, young: Scope, others: Sequence[Scope]) -> list[float]:
        """Similarity of a young scope to each other one: meaning, words by rarity, keys."""
        weights = self.history.weigh(young.terms)
        total = sum(weights.values()) or 1.0
        words = [sum(weight for stem, weight in weights.items() if stem in other.terms) / total for other in others]
        keys = [sum(key in other.keys for key in young.keys) / (1 + len(young.keys)) for other in others]
        meanings = _cosines([other.gist for other in others], young.gist)
        return [each + 0.5 * word + 0.3 * key for each, word, key in zip(meanings, words, keys, strict=True)]

    def typical_terms(self, scope: Scope, *, most: int = 40) -> dict[str, float]:
        """The stems that tell a scope from the others, with weights from 0 to 1, the strongest first."""
        telling = self.history.weigh(scope.terms)
        weighed = {stem: count * telling[stem] for stem, count in scope.terms.items()}
        ranked = sorted(weighed.items(), key=lambda item: (-item[1], item[0]))[:most]
        return {stem: round(weight / ranked[0][1], 3) for stem, weight in ranked}

    def save(self) -> dict[str, Any]:
        """Everything remembered, as JSON values."""
        scopes = [{**vars(scope), "gist": _listed(scope.gist)} for scope in self.scopes]
        past = {**vars(self.history), "vector": _listed(self.history.vector)}
        return {"scopes": scopes, "past": past, "setup": [self.setup.steps, self.setup.spans]}

    @classmethod
    def load(cls, data: Mapping[str, Any]) -> ScopeTracker:
        """Continue from what `save` returned."""
        tracker = cls()
        tracker.scopes = [Scope(**{**scope, "gist": _array(scope["gist"])}) for scope in data["scopes"]]
        tracker.history = History(**{**data["past"], "vector": _array(data["past"]["vector"])})
        tracker.setup.steps, tracker.setup.spans = data["setup"]
        return tracker


def _cosines(gists: Sequence[NDArray[np.int32] | None], vector: NDArray[Any] | None) -> list[float]:
    """The cosine of a vector with each gist; 0 where there is none."""
    import numpy as np

    if vector is None:
        return [0.0] * len(gists)
    rows = np.array([0 * vector if gist is None else gist for gist in gists], np.float32)
    lengths = np.sqrt(np.add.reduce(rows * rows, axis=1) * float(vector @ vector))
    lengths[lengths == 0] = 1
    cosines: list[float] = ((rows @ vector) / lengths).round(4).tolist()
    return cosines


def _listed(vector: NDArray[np.int32] | None) -> list[int] | None:
    return None if vector is None else vector.tolist()


def _array(numbers: Sequence[int] | None) -> NDArray[np.int32] | None:
    import numpy as np

    return None if numbers is None else np.array(numbers, np.int32)
