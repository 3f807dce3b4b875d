"""Runs: candidates as what an agent did for one goal after the other, in calls, results and words.

A call, its result and what the agent says of it are one exchange. Steps belong to the goal that their scope names: the
part before " / ", if it has phases.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from stitch.core import LabelKind, Origin
from stitch.retrieve.kinds import GOAL_OPENED, Kind, goal_of, kind_of
from stitch.retrieve.question.run_question import RunQuestion, read_run_question
from stitch.retrieve.rank.pool import Candidate, Pool
from stitch.text.languages import content_stems

_READ_CHARS = 12_000
"""How much of a step is looked through for the words of a question."""
_MOST_RESULTS = 8
"""So many results of one call are told apart."""
_LEAST_SHARE = 0.15
"""From this share of calls and results on, candidates are taken for runs."""

_NAMES = re.compile(r'"(?:\w*_?name|title)"\s*:\s*"((?:[^"\\]|\\.){1,80})"')
"""How results name things: values of fields that are called so."""
_WORDS = re.compile(r"[\w'-]+")
_DIGIT = re.compile(r"\d")


class Goal(NamedTuple):
    """What some of the candidates were done for."""

    trajectory: str
    name: str


@dataclass(frozen=True)
class Runs:
    """Candidates as runs; numbers are those of candidates.

    Attributes:
        asked: The question.
        kinds: What each is.
        goals: The number of the goal of each; -1 of those without, and of setup.
        members: Of each goal, its candidates in order.
        named: The goals.
        partners: Of each, the other steps of its exchange.
        result_of: Of a result, its call; -1 of all others.
        openings: The candidates that open a goal.
        says: Of each, which of the question's terms it says, one bit each.
    """

    asked: RunQuestion
    kinds: Sequence[Kind]
    goals: Sequence[int]
    members: Sequence[Sequence[int]]
    named: Sequence[Goal]
    partners: Sequence[Sequence[int]]
    result_of: Sequence[int]
    openings: frozenset[int]
    says: Sequence[int]

    def weigh(self, bits: int, weights: Sequence[float]) -> float:
        """The sum of the weights of those terms whose bits are set."""
        return math.fsum(weight for at, weight in enumerate(weights) if bits >> at & 1)

    def with_partners(self, number: int) -> int:
        """Which terms a candidate or another step of its exchange says."""
        bits = self.says[number]
        for other in self.partners[number]:
            bits |= self.says[other]
        return bits


def runs(pool: Pool) -> Runs | None:
    """The candidates as runs; None if they are none: no goal is opened, and few of them are calls or results."""
    kinds = _kinds(pool.candidates)
    acting = sum(kind in (Kind.CALL, Kind.RESULT) for kind in kinds)
    opened = any(GOAL_OPENED.value in one.snippet.intent.event_types for one in pool.candidates)
    if not opened and (not kinds or acting < _LEAST_SHARE * len(kinds)):
        return None
    asked = read_run_question(pool.request.query)
    named, goals, members = _goals(pool, kinds)
    result_of, partners = _exchanges(pool.candidates, kinds)
    openings = frozenset(_openings(pool, kinds, members))
    says = list(_said(pool.candidates, asked.terms))
    return Runs(asked, kinds, goals, members, named, partners, result_of, openings, says)


def _kinds(candidates: Sequence[Candidate]) -> list[Kind]:
    """What each is; what the user says right after a call that no tool answered is its result."""
    kinds = [kind_of(one.snippet) for one in candidates]
    if Kind.CALL not in kinds:
        return kinds
    at = {(one.snippet.trajectory, one.snippet.position): number for number, one in enumerate(candidates)}
    for number, one in enumerate(candidates):
        if kinds[number] is Kind.USER and one.snippet.position:
            before = at.get((one.snippet.trajectory, one.snippet.position - 1))
            if before is not None and kinds[before] is Kind.CALL and not candidates[before].snippet.tools:
                kinds[number] = Kind.RESULT
    return kinds


def _goals(pool: Pool, kinds: Sequence[Kind]) -> tuple[list[Goal], list[int], list[list[int]]]:
    numbers: dict[Goal, int] = {}
    goals: list[int] = []
    members: list[list[int]] = []
    for number, one in enumerate(pool.candidates):
        scope = pool.vocabulary.canonical(LabelKind.SCOPE, one.snippet.intent.scope or "")
        name = "" if kinds[number] is Kind.SETUP else goal_of(scope)
        goal = numbers.setdefault(Goal(one.snippet.trajectory, name), len(numbers)) if name else -1
        if goal == len(members):
            members.append([])
        if goal >= 0:
            members[goal].append(number)
        goals.append(goal)
    for own in members:
        own.sort(key=lambda number: (pool.candidates[number].snippet.position, pool.candidates[number].snippet.step))
    return list(numbers), goals, members


def _exchanges(candidates: Sequence[Candidate], kinds: Sequence[Kind]) -> tuple[list[int], list[list[int]]]:
    """The call of each result, and the partners of each: a call's results, a result's call, what follows a result."""
    at = {(one.snippet.trajectory, one.snippet.position): number for number, one in enumerate(candidates)}
    result_of = [-1] * len(candidates)
    partners: list[list[int]] = [[] for _ in candidates]
    for (trajectory, position), number in at.items():
        before = at.get((trajectory, position - 1))
        if kinds[number] is not Kind.RESULT:
            if before is not None and kinds[before] is Kind.RESULT and kinds[number] is not Kind.SETUP:
                partners[number].append(before)
            continue
        earlier = (at.get((trajectory, position - back)) for back in range(1, _MOST_RESULTS + 1))
        call = next((each for each in earlier if each is None or kinds[each] is not Kind.RESULT), None)
        if call is not None and kinds[call] is Kind.CALL:
            result_of[number] = call
            partners[number].append(call)
            partners[call].append(number)
    return result_of, partners


def _openings(pool: Pool, kinds: Sequence[Kind], members: Sequence[Sequence[int]]) -> Iterator[int]:
    """What says what a goal is for: as labels tell, or else the first words of a user among its first steps."""
    for own in members:
        events = [pool.candidates[number].snippet.intent.event_types for number in own]
        labeled = [number for number, events in zip(own, events, strict=True) if GOAL_OPENED.value in events]
        yield from labeled or [number for number in own[:3] if kinds[number] is Kind.USER][:1]


def without_things(query: str, pool: Pool) -> str:
    """A task without the names of things: it is of the same kind whatever is cancelled, and tools name all the same.

    Names are what results give as such, in JSON; identifiers go, too. What is left of less than two words is no task.
    """
    names = {
        term
        for one in pool.candidates
        if one.snippet.origin is Origin.TOOL
        for value in _NAMES.findall(one.snippet.text[:_READ_CHARS])
        for term in content_stems(value)
    }
    left = [word for word in _WORDS.findall(query) if not _DIGIT.search(word) and names.isdisjoint(content_stems(word))]
    return " ".join(left) if len(content_stems(" ".join(left))) > 1 else query


def _said(candidates: Sequence[Candidate], terms: Sequence[str]) -> Iterator[int]:
    beginnings = [re.compile(rf"(?<![^\W_]){re.escape(term)}") for term in terms]
    for one in candidates:
        folded = one.snippet.text[:_READ_CHARS].lower()
        bits = 0
        for at, (term, begins) in enumerate(zip(terms, beginnings, strict=True)):
            # To look for a word by its beginning takes far longer than to see that it is nowhere.
            if term in folded and begins.search(folded):
                bits |= 1 << at
        yield bits
