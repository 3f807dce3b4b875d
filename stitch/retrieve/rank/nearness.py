"""Nearness: standing close to the steps that say what a question says, as evidence beside similarity.

"In the order where the city is Oslo, what was the price?" names no scope, and the one asked for may be cut in pieces.
The answer comes a few steps after "Oslo" was said, in words that repeat none of it. "What was the price for Oslo?" says
the same less clearly, and counts less.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from stitch.core import LabelKind
from stitch.retrieve.constants import Constants
from stitch.retrieve.rank.pool import Pool
from stitch.text.dates import find_moments
from stitch.text.words import stem, words

_NO_SCOPE = -1


class _Place(NamedTuple):
    """Where a candidate stands."""

    trajectory: int
    """Its number."""
    scope: int
    """The number of the scope of that trajectory; `_NO_SCOPE` if it has none."""
    position: int
    of_all: int
    """How many candidates of the trajectory stand before it."""
    of_scope: int
    """How many of these are of its scope."""


def nearness(pool: Pool) -> Sequence[float] | None:
    """How near to what the question says of where to look a step stands, wherever it says so."""
    share, constants = pool.once(strength_of_hints), pool.constants
    if not share:
        return None
    weight = share * (constants.described_nearness if pool.question.context else constants.hinted_nearness)
    clues = list(_clues(pool))
    return [weight * near for near in _nearness(clues, pool)] if clues else None


def strength_of_hints(pool: Pool) -> float:
    """How much labels and nearness count, from 0 to 1.

    In full where a clause says where to look. Else by how much of what a step is about stands around it and not in it,
    told by the length of most steps.
    """
    if pool.question.context:
        return 1.0
    lengths = sorted(len(one.snippet.text) for one in pool.candidates)
    if not lengths:
        return 0.0
    share = min(1.0, pool.constants.short_chars / max(1, lengths[len(lengths) // 2])) ** 2
    return share if share >= pool.constants.least_share else 0.0


def _clues(pool: Pool) -> Iterator[tuple[float, list[int]]]:
    """What the question says of where to look, each with its weight and the numbers of the candidates that say it."""
    question, constants = pool.question, pool.constants
    said = [words(one.snippet.text) for one in pool.candidates]
    texts = [f" {' '.join(own)} " for own in said]
    left = f" {' '.join(words(question.clues))} "
    named: set[str] = set()
    for name in sorted(question.names, key=lambda name: (-len(name), name)):
        if f" {name} " in left:
            left = left.replace(f" {name} ", " | ")
            named.update(map(stem, name.split()))
            yield from _told(constants.clue_name, (f" {name} " in text for text in texts))
    if question.moments:
        moments = [find_moments(one.snippet.text) for one in pool.candidates]
        for moment, fully in question.moments.items():
            weight = constants.clue_name if fully else constants.clue_partly_said
            yield from _told(weight, (moment in own for own in moments))
    stems = [frozenset(map(stem, own)) for own in said]
    for term in sorted(question.clue_stems - named):
        yield from _told(1.0, (term in own for own in stems))


def _told(weight: float, says: Iterable[bool]) -> Iterator[tuple[float, list[int]]]:
    """The clue, if a candidate says it, worth the more the fewer do."""
    told = list(says)
    if any(told):
        yield weight * math.log((len(told) + 1) / sum(told)), [number for number, own in enumerate(told) if own]


def _nearness(clues: Sequence[tuple[float, list[int]]], pool: Pool) -> list[float]:
    """How near each candidate stands to the clues, from 0 to 1."""
    near = [0.0] * len(pool.candidates)
    total = max(pool.constants.enough_clues, sum(weight for weight, _ in clues))
    in_order = sorted(range(len(near)), key=lambda number: pool.candidates[number].snippet.position)
    places = _places(pool, in_order)
    for weight, numbers in clues:
        away = _steps_to(frozenset(numbers), places, in_order, constants=pool.constants)
        for number, steps in enumerate(away):
            near[number] += weight / total * math.exp(-steps / pool.constants.fading_steps)
    return near


def _places(pool: Pool, in_order: Sequence[int]) -> list[_Place]:
    numbers: dict[tuple[str, str], int] = {}
    before: Counter[int] = Counter()
    places: dict[int, _Place] = {}
    for number in in_order:
        snippet = pool.candidates[number].snippet
        name = pool.vocabulary.canonical(LabelKind.SCOPE, snippet.intent.scope or "")
        trajectory = numbers.setdefault((snippet.trajectory, ""), len(numbers))
        scope = numbers.setdefault((snippet.trajectory, name), len(numbers)) if name else _NO_SCOPE
        places[number] = _Place(trajectory, scope, snippet.position, before[trajectory], before[scope])
        before[trajectory] += 1
        before[scope] += 1
    return [places[number] for number in range(len(places))]


def _steps_to(
    clue: frozenset[int], places: Sequence[_Place], in_order: Sequence[int], *, constants: Constants
) -> list[float]:
    """How many steps away from the nearest of the clue each candidate is; infinitely many in a trajectory without."""
    away = [math.inf] * len(places)
    for numbers in (in_order, in_order[::-1]):
        said: dict[int, _Place] = {}
        for number in numbers:
            place = places[number]
            if number in clue:
                said[place.trajectory] = said[place.scope] = place
            if (nearest := said.get(place.trajectory)) is None:
                continue
            steps: float = abs(place.position - nearest.position) + constants.other_scope_steps
            if (nearest := said.get(place.scope)) is not None and place.scope != _NO_SCOPE:
                steps = min(steps, constants.own_step * _steps_within(nearest, place))
            if steps < away[number]:
                away[number] = steps
    return away


def _steps_within(one: _Place, other: _Place) -> float:
    """The steps between two of a scope, those of other scopes left out, by their share of what is in between."""
    share = abs(one.of_scope - other.of_scope) / max(1, abs(one.of_all - other.of_all))
    return share * abs(one.position - other.position)
