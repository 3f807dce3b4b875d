"""Memory of the scopes of one trajectory: of each its words, keys and speakers, and how they went on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import log1p
from typing import TYPE_CHECKING

from stitch.label.local.reading import StepFeatures

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MAX_TERMS, _MAX_KEYS, _MAX_HOLDERS = 240, 120, 8
_PAUSE_S, _LONGEST_PAUSE, _NEW_SESSION = 600.0, 6.0, 3.0


@dataclass
class Scope:
    """State of one scope."""

    number: int
    spans: list[list[int]] = field(default_factory=list)
    steps: int = 0
    terms: dict[str, int] = field(default_factory=dict)
    """Stems with how often they were said."""
    keys: dict[str, int] = field(default_factory=dict)
    """Names, values and identifiers, folded."""
    speakers: dict[str, int] = field(default_factory=dict)
    """Roles with how many steps are theirs."""
    gist: NDArray[np.int32] | None = None
    """Sum of the vectors of its steps, the older ones faded."""
    addressed: list[str] = field(default_factory=list)
    """Whom its last step named."""
    waiting: list[str] = field(default_factory=list)
    """Calls without a result: their ids or tools."""
    given: bool = False
    """Whether a model or a person named it: then it keeps its name."""
    begun: bool = False
    """Whether it plainly begins something: after instructions, in a new session, or as earlier ones began."""
    into: int | None = None
    """The scope that holds its steps by now."""

    def answer(self, result: StepFeatures) -> None:
        """Take in that a call has its result."""
        answered = (str(result.step.metadata.get("tool_call_id") or ""), result.step.tool_name)
        known = next((call for call in self.waiting if call in answered), None)
        self.waiting = [call for call in self.waiting if call != known] if known else self.waiting[1:]


@dataclass
class History:
    """State of the trajectory as a whole: how its steps went through its scopes."""

    position: int = 0
    current: int | None = None
    counts: dict[str, int] = field(default_factory=dict)
    """In how many steps each stem stood."""
    holders: dict[str, list[int]] = field(default_factory=dict)
    """The scopes that have each key."""
    spoke: dict[str, int] = field(default_factory=dict)
    """The scope in which each role spoke last."""
    voices: list[str] = field(default_factory=list)
    """Who has said something in words, in the order of their first."""
    openings: list[str] = field(default_factory=list)
    """How scopes began."""
    recent: list[int] = field(default_factory=list)
    """The scopes, the latest last."""
    parents: dict[str, int] = field(default_factory=dict)
    """The scope of each of the last steps, by id."""
    instructed: bool = False
    """Whether instructions were the last step."""
    left: int | None = None
    """The scope that the last step left."""
    switches: int = 0
    time_s: float | None = None
    session: str | None = None
    tools: dict[str, int] | None = field(default_factory=dict)
    """The scope that called each tool last; None once tools turned out to serve the same matter."""
    tool: str = ""
    """The tool that was called since somebody last went on after an answer."""
    waits: list[int] = field(default_factory=list)
    """The scope whose words wait for a call, and the one as part of which they read until then; or nothing."""
    vector: NDArray[np.int32] | None = None
    """Of the last step."""
    role: str = ""
    kind: str = ""
    asked: bool = False
    calls: int = 0
    """How many steps call somebody by name."""

    @property
    def in_room(self) -> bool:
        """Whether talks go on side by side, each by its people: more than two speak, and each fifth step calls one."""
        return len(self.voices) > 2 and self.position <= 5 * self.calls

    def weigh(self, stems: Iterable[str]) -> dict[str, float]:
        """The inverse document frequency of each stem in this trajectory so far."""
        steps, count = self.position + 8, self.counts.get
        return {stem: log1p(steps / (count(stem, 0) + 0.5)) for stem in stems}

    def pause(self, reading: StepFeatures) -> float:
        """Weight of the time since the last step, and of a new session."""
        pause = 0.0
        if reading.time_s is not None and self.time_s is not None and reading.time_s > self.time_s:
            pause = min(log1p((reading.time_s - self.time_s) / _PAUSE_S), _LONGEST_PAUSE)
        return pause + _NEW_SESSION * (reading.step.session != self.session)

    def extend(self, scope: Scope, reading: StepFeatures, *, position: int) -> None:
        """Add to a scope what a step at a position holds."""
        scope.steps += 1
        scope.spans = with_place(scope.spans, position)
        scope.speakers[reading.role] = scope.speakers.get(reading.role, 0) + 1
        for stem in reading.stems:
            scope.terms[stem] = scope.terms.get(stem, 0) + 1
        for key in reading.keys:
            scope.keys[key] = scope.keys.get(key, 0) + 1
            holders = self.holders.setdefault(key, [])
            if scope.number not in holders:
                self.holders[key] = [*holders, scope.number][-_MAX_HOLDERS:]
        scope.terms, dropped = _bounded(scope.terms, _MAX_TERMS), scope.keys
        scope.keys = _bounded(scope.keys, _MAX_KEYS)
        scope.speakers = _bounded(scope.speakers, _MAX_KEYS)
        for key in dropped.keys() - scope.keys.keys():
            self._release(key, scope)

    def _release(self, key: str, scope: Scope) -> None:
        left = [number for number in self.holders.get(key, ()) if number != scope.number]
        if left:
            self.holders[key] = left
        else:
            self.holders.pop(key, None)

    def put_in(self, reading: StepFeatures, scope: Scope, *, position: int) -> None:
        """Take in that an earlier step belongs to a scope."""
        self.extend(scope, reading, position=position)
        for stem in dict.fromkeys(reading.stems):
            self.counts[stem] = self.counts.get(stem, 0) + 1

    def take_out(self, reading: StepFeatures, scope: Scope, *, position: int) -> None:
        """Forget what an earlier step added to a scope."""
        scope.steps = max(0, scope.steps - 1)
        scope.spans = [part for span in scope.spans for part in _without_place(span, position)]
        for stem in dict.fromkeys(reading.stems):
            _uncount(self.counts, stem)
        _uncount(scope.speakers, reading.role)
        for stem in reading.stems:
            _uncount(scope.terms, stem)
        for key in reading.keys:
            _uncount(scope.keys, key)
            if key not in scope.keys:
                self._release(key, scope)

    def join(self, young: Scope, home: Scope) -> None:
        """Put the steps of a young scope into an earlier one."""
        home.steps += young.steps
        for first, last in young.spans:
            for position in range(first, last + 1):
                home.spans = with_place(home.spans, position)
        for own, theirs in ((home.terms, young.terms), (home.keys, young.keys), (home.speakers, young.speakers)):
            for key, count in theirs.items():
                own[key] = own.get(key, 0) + count
        if home.gist is not None and young.gist is not None:
            home.gist = home.gist + young.gist
        home.addressed, home.waiting = young.addressed, [*home.waiting, *young.waiting]
        for key in young.keys:
            self.holders[key] = list(
                dict.fromkeys(home.number if n == young.number else n for n in self.holders.get(key, ()))
            )
        self.recent = [number for number in self.recent if number not in (young.number, home.number)]
        self.recent.insert(len(self.recent) - (self.current not in (young.number, home.number)), home.number)
        young.into, young.terms, young.keys, young.gist, young.waiting = home.number, {}, {}, None, []
        if self.current == young.number:
            self.current = home.number
        self.left = None


def _bounded(counts: dict[str, int], most: int) -> dict[str, int]:
    """`counts`, or its most frequent half once it has grown to twice the bound."""
    if len(counts) <= 2 * most:
        return counts
    return dict(sorted(counts.items(), key=lambda item: -item[1])[:most])


def _uncount(counts: dict[str, int], key: str) -> None:
    """Count a key once less; one that is not counted any more goes."""
    if (left := counts.get(key, 0) - 1) > 0:
        counts[key] = left
    else:
        counts.pop(key, None)


def with_place(spans: list[list[int]], position: int) -> list[list[int]]:
    """Stretches of places with one more, in order."""
    if spans and position == spans[-1][1] + 1:
        return [*spans[:-1], [spans[-1][0], position]]
    if spans and position > spans[-1][1]:
        return [*spans, [position, position]]
    merged: list[list[int]] = []
    for first, last in sorted([*spans, [position, position]]):
        if merged and first <= merged[-1][1] + 1:
            merged[-1][1] = max(merged[-1][1], last)
        else:
            merged.append([first, last])
    return merged


def _without_place(span: list[int], position: int) -> list[list[int]]:
    """Cut one place out of a stretch."""
    first, last = span
    if not first <= position <= last:
        return [span]
    return [part for part in ([first, position - 1], [position + 1, last]) if part[0] <= part[1]]
