"""Thematic scopes (§2.2.1) as online clustering with memory: each step continues, returns, or opens a scope.

Every open scope is a candidate, and so is a new one. A candidate is described by numbers that speak of structure
alone (cohesion, shared values, who answers whom, cues, time); a linear model weighs them. The weights stand in
`scope_weights.json`, made by `pipelines/fit_local.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from importlib.resources import files
from math import log, log1p
from typing import Any, NamedTuple

import orjson

from stitch.label.local.language import SentenceForm
from stitch.label.local.reading import Reading

MAX_CANDIDATES = 10
"""How many earlier scopes a step is compared with."""
_MAX_TERMS = 160
_MAX_VALUES = 120
_RECENT_STEPS = 3

_QUESTIONS = (SentenceForm.QUESTION, SentenceForm.REQUEST)
_SHORT_ANSWERS = (SentenceForm.AGREEMENT, SentenceForm.REFUSAL)

STEP_FEATURES = (
    "always", "request", "question", "short answer", "thanks", "farewell", "greeting", "apology", "few words",
    "anaphora", "cue of a switch", "cue of a return", "closed before", "asked before", "call before",
    "result of a tool", "calls a tool", "role switches", "switches so far", "time gap", "new session", "notice",
    "same role", "many speakers", "length of run", "number of scopes", "names somebody", "new speaker", "novelty",
    "new values", "known values", "first of the role", "best cohesion elsewhere",
)  # fmt: skip
CANDIDATE_FEATURES = (
    "cohesion with last step", "cohesion with recent steps", "cohesion with scope", "shared values",
    "shared rare values", "same call", "other calls", "gap", "speaker took part", "speaker was here last",
    "speaker spoke last", "addressee was here last", "addressee spoke last", "addressee took part",
    "speaker was addressed", "question is open", "question is open and this answers", "best cohesion", "size",
)  # fmt: skip
FEATURES = (
    *(f"return: {name}" for name in STEP_FEATURES),
    *(f"new: {name}" for name in STEP_FEATURES),
    *(f"continue: {name}" for name in CANDIDATE_FEATURES),
    *(f"return: {name}" for name in CANDIDATE_FEATURES),
)
"""The names of the weights, in the order of a candidate's vector."""


@dataclass
class Scope:
    """What is remembered of one scope."""

    number: int
    name: str = ""
    spans: list[list[int]] = field(default_factory=list)
    steps: int = 0
    terms: dict[str, int] = field(default_factory=dict)
    values: dict[str, int] = field(default_factory=dict)
    recent: list[list[str]] = field(default_factory=list)
    """Stems of the last steps, the latest last."""
    speakers: dict[str, int] = field(default_factory=dict)
    """Last position of each speaker."""
    last_role: str = ""
    asker: str = ""
    """Who asked the question that is still open."""
    addressed: list[str] = field(default_factory=list)
    """Whom the last step named."""
    calls: dict[str, int] = field(default_factory=dict)
    unit: str = ""
    """The unit the scope is about, such as "day 1", where the text names one."""

    @property
    def last(self) -> int:
        """The position of its last step."""
        return self.spans[-1][1]


class Candidate(NamedTuple):
    """A scope that a step may belong to; None is a new one."""

    scope: Scope | None
    features: list[float]


@dataclass
class _Stream:
    """What is remembered of the trajectory as a whole."""

    position: int = 0
    current: int | None = None
    """The scope of the last step that is no notice."""
    df: dict[str, int] = field(default_factory=dict)
    turns: dict[str, list[int]] = field(default_factory=dict)
    """Steps and switches of each role."""
    run: int = 0
    switches: int = 0
    last_role: str = ""
    last_closed: bool = False
    last_called: bool = False
    last_time_s: float | None = None
    session: str | None = None
    spoke: dict[str, int] = field(default_factory=dict)
    """The scope in which each speaker spoke last."""


class ScopeTracker:
    """Assigns each step of one trajectory to a scope, knowing only what came before. Deterministic.

    Args:
        weights: By name, see `FEATURES`; the shipped ones if None.
    """

    def __init__(self, weights: Mapping[str, float] | None = None) -> None:
        by_name = shipped_weights() if weights is None else weights
        self._weights = [by_name.get(name, 0.0) for name in FEATURES]
        self.scopes: list[Scope] = []
        self._stream = _Stream()
        self._holders: dict[str, list[int]] = {}
        self._parents: dict[str, int] = {}

    @property
    def current(self) -> Scope | None:
        """The scope of the last step."""
        number = self._stream.current
        return None if number is None else self.scopes[number]

    @property
    def speakers(self) -> Mapping[str, object]:
        """The roles seen so far, folded."""
        return self._stream.turns

    def choose(self, reading: Reading, *, unit: str = "", named: int | None = None) -> Scope | None:
        """The scope of a step; None if it opens a new one.

        Args:
            reading: The step.
            unit: The unit the step turns to in so many words ("day 2"): decides where given.
            named: The number of the scope the step turns to by name: decides where given.
        """
        decided, scope = self._decided(reading, unit=unit, named=named)
        if decided:
            return scope
        best: tuple[float, Scope | None] | None = None
        for candidate in self.candidates(reading):
            score = sum(map(float.__mul__, self._weights, candidate.features))
            if best is None or score > best[0]:
                best = (score, candidate.scope)
        return best[1] if best else None

    def _decided(self, reading: Reading, *, unit: str, named: int | None) -> tuple[bool, Scope | None]:
        if not self.scopes:
            return True, None
        if named is not None:
            return True, self.scopes[named]
        parent = reading.step.parent
        if parent is not None and parent in self._parents:
            return True, self.scopes[self._parents[parent]]
        if unit:
            same = [scope for scope in self.scopes if scope.unit == unit]
            if same:
                return True, same[-1]
            current = self.current
            if current is not None and not current.unit and current.steps <= 2:
                return False, None
            return True, None
        current = self.current
        if current is not None and (
            (reading.answers_tool and self._stream.last_called) or (current.unit and not reading.switches)
        ):
            return True, current
        return False, None

    def candidates(self, reading: Reading) -> list[Candidate]:
        """What the step may belong to: the current scope first, earlier ones, a new one last."""
        stream = self._stream
        step_features = self._step_features(reading)
        weighed = [(stem, self._idf(stem)) for stem in sorted(reading.stem_set)]
        total = sum(weight for _, weight in weighed) or 1.0
        numbers = self._shortlist(reading)
        cohesions = {n: sum(w for stem, w in weighed if stem in self.scopes[n].terms) / total for n in numbers}
        best = max(cohesions.values(), default=0.0)
        current = stream.current
        here = cohesions.get(current, 0.0) if current is not None else 0.0
        elsewhere = max((value for number, value in cohesions.items() if number != current), default=0.0)
        known = sum(1 for value in reading.values if value in self._holders)
        step_features[28] = 1.0 - here
        step_features[29] = min(len(reading.values) - known, 5) / 2
        step_features[30] = min(known, 5) / 2
        step_features[32] = elsewhere - here
        zeros = [0.0] * len(STEP_FEATURES)
        blank = [0.0] * len(CANDIDATE_FEATURES)
        found: list[Candidate] = []
        for number in numbers:
            scope = self.scopes[number]
            own = self._candidate_features(reading, scope, weighed, total)
            own[2] = cohesions[number]
            own[17] = 1.0 if best > 0 and cohesions[number] == best else 0.0
            if number == current:
                found.append(Candidate(scope, zeros + zeros + own + blank))
            else:
                found.append(Candidate(scope, step_features + zeros + blank + own))
        found.append(Candidate(None, zeros + step_features + blank + blank))
        return found

    def assign(self, reading: Reading, scope: Scope | None, *, unit: str = "") -> Scope:
        """Take in that the step belongs to `scope`, or to a new one if None; return it."""
        stream = self._stream
        if scope is None:
            scope = Scope(len(self.scopes))
            self.scopes.append(scope)
        position = stream.position
        switched = stream.current is not None and scope.number != stream.current
        self._take_into_scope(reading, scope, position)
        if unit and not scope.unit:
            scope.unit = unit
        if reading.step.id is not None:
            self._parents[reading.step.id] = scope.number
            if len(self._parents) > 512:
                del self._parents[next(iter(self._parents))]
        if not reading.is_notice:
            turns = stream.turns.setdefault(reading.role, [0, 0])
            turns[0] += 1
            turns[1] += switched
            stream.run = 1 if switched else stream.run + 1
            stream.switches += switched
            stream.current = scope.number
            stream.last_role = reading.role
            stream.last_closed = reading.closes
            stream.last_called = bool(reading.data.calls)
            stream.spoke[reading.role] = scope.number
        if reading.time_s is not None:
            stream.last_time_s = reading.time_s
        stream.session = reading.step.session
        for stem in sorted(reading.stem_set):
            stream.df[stem] = stream.df.get(stem, 0) + 1
        stream.position += 1
        return scope

    def _take_into_scope(self, reading: Reading, scope: Scope, position: int) -> None:
        if scope.spans and scope.spans[-1][1] == position - 1:
            scope.spans[-1][1] = position
        else:
            scope.spans.append([position, position])
        scope.steps += 1
        for stem in reading.stems:
            scope.terms[stem] = scope.terms.get(stem, 0) + 1
        if len(scope.terms) > 2 * _MAX_TERMS:
            scope.terms = _strongest(scope.terms, _MAX_TERMS)
        for value in reading.values:
            if value not in scope.values:
                holders = self._holders.setdefault(value, [])
                if scope.number not in holders:
                    holders.append(scope.number)
            scope.values[value] = scope.values.get(value, 0) + 1
        if len(scope.values) > 2 * _MAX_VALUES:
            scope.values = _strongest(scope.values, _MAX_VALUES)
        if reading.stems:
            scope.recent.append(sorted(reading.stem_set))
            del scope.recent[:-_RECENT_STEPS]
        scope.speakers[reading.role] = position
        if scope.asker and scope.asker != reading.role:
            scope.asker = ""
        if reading.form in _QUESTIONS:
            scope.asker = reading.role
        scope.last_role = reading.role
        scope.addressed = list(reading.addressees)
        for call in reading.data.calls:
            scope.calls[call.name] = scope.calls.get(call.name, 0) + 1

    def _idf(self, stem: str) -> float:
        return log1p((self._stream.position + 8) / (self._stream.df.get(stem, 0) + 0.5))

    def _shortlist(self, reading: Reading) -> list[int]:
        """Numbers of the scopes worth comparing: the current one, those of who speaks and is named, the latest."""
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
            for scope in reversed(self.scopes):
                if call.name in scope.calls:
                    wanted[scope.number] = None
                    break
        for scope in sorted(self.scopes[-64:], key=lambda scope: -scope.last)[:MAX_CANDIDATES]:
            wanted[scope.number] = None
        return list(wanted)[:MAX_CANDIDATES]

    def _step_features(self, reading: Reading) -> list[float]:
        stream = self._stream
        current = self.current
        forms = reading.forms
        first = forms[0] if forms else None
        turns = stream.turns.get(reading.role)
        gap_s = (
            max(0.0, reading.time_s - stream.last_time_s)
            if reading.time_s is not None and stream.last_time_s is not None
            else 0.0
        )
        return [
            1.0,
            float(SentenceForm.REQUEST in forms),
            float(SentenceForm.QUESTION in forms),
            float(first in _SHORT_ANSWERS),
            float(SentenceForm.THANKS in forms),
            float(SentenceForm.FAREWELL in forms),
            float(SentenceForm.GREETING in forms),
            float(SentenceForm.APOLOGY in forms),
            1.0 / (1.0 + len(reading.stems)),
            float(reading.anaphoric),
            float(reading.switches),
            float(reading.returns),
            float(stream.last_closed),
            float(current is not None and bool(current.asker) and current.asker != reading.role),
            float(stream.last_called),
            float(reading.answers_tool),
            float(bool(reading.data.calls)),
            _log_odds(turns[1], turns[0]) if turns else -1.5,
            _log_odds(stream.switches, stream.position),
            log1p(gap_s / 60.0),
            float(stream.session != reading.step.session),
            float(reading.is_notice),
            float(stream.last_role == reading.role),
            log(max(2, len(stream.turns)) / 2.0),
            log1p(stream.run),
            log1p(len(self.scopes)),
            float(bool(reading.addressees)),
            float(turns is None and len(stream.turns) > 1),
            0.0,
            0.0,
            0.0,
            float(turns is None),
            0.0,
        ]

    def _candidate_features(
        self, reading: Reading, scope: Scope, weighed: Sequence[tuple[str, float]], total: float
    ) -> list[float]:
        stream = self._stream
        last = set(scope.recent[-1]) if scope.recent else set()
        recent = set().union(*scope.recent)
        shared = [value for value in reading.values if value in scope.values]
        rare = sum(1.0 / len(self._holders[value]) for value in shared if value in self._holders)
        role = reading.role
        addressees = reading.addressees
        calls = reading.data.calls
        gap = stream.position - scope.last
        seen = scope.speakers.get(role)
        open_question = bool(scope.asker) and scope.asker != role
        return [
            sum(weight for stem, weight in weighed if stem in last) / total,
            sum(weight for stem, weight in weighed if stem in recent) / total,
            0.0,
            min(len(shared), 4) / 2,
            min(rare, 2.0),
            float(any(call.name in scope.calls for call in calls)),
            float(bool(calls) and bool(scope.calls) and not any(call.name in scope.calls for call in calls)),
            log(gap) if gap > 0 else 0.0,
            float(seen is not None),
            float(stream.spoke.get(role) == scope.number),
            float(scope.last_role == role),
            float(any(stream.spoke.get(name) == scope.number for name in addressees)),
            float(scope.last_role in addressees),
            float(any(name in scope.speakers for name in addressees)),
            float(role in scope.addressed),
            float(open_question),
            float(open_question and not any(form in _QUESTIONS for form in reading.forms)),
            0.0,
            log1p(scope.steps),
        ]

    def typical_terms(self, scope: Scope, *, most: int = 40) -> dict[str, float]:
        """The stems that tell a scope from the others, with weights from 0 to 1."""
        weighed = {stem: count * self._idf(stem) for stem, count in scope.terms.items()}
        ranked = sorted(weighed.items(), key=lambda item: (-item[1], item[0]))[:most]
        top = ranked[0][1] if ranked else 1.0
        return {stem: round(weight / top, 3) for stem, weight in ranked}

    def save(self) -> dict[str, Any]:
        """Everything remembered, as JSON values."""
        return {
            "scopes": [asdict(scope) for scope in self.scopes],
            "stream": asdict(self._stream),
            "parents": self._parents,
        }

    @classmethod
    def load(cls, data: Mapping[str, Any]) -> ScopeTracker:
        """Continue from what `save` returned."""
        tracker = cls()
        tracker.scopes = [Scope(**scope) for scope in data["scopes"]]
        tracker._stream = _Stream(**data["stream"])
        tracker._parents = dict(data["parents"])
        for scope in tracker.scopes:
            for value in scope.values:
                tracker._holders.setdefault(value, []).append(scope.number)
        return tracker


@lru_cache(maxsize=1)
def shipped_weights() -> Mapping[str, float]:
    """The weights made by `pipelines/fit_local.py`."""
    data = files("stitch.label.local").joinpath("scope_weights.json").read_bytes()
    return {str(name): float(weight) for name, weight in orjson.loads(data)["weights"].items()}


def _strongest(counts: Mapping[str, int], most: int) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: -item[1])[:most])


def _log_odds(count: int, total: int) -> float:
    return log((count + 0.5) / (total - count + 2.0))
