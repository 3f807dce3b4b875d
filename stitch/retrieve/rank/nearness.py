"""Nearness: standing close to the steps that say what a question says, as evidence beside similarity.

"In the order where the city is Oslo, what was the price?" names no scope, and the one asked for may be cut in pieces.
The answer comes a few steps after "Oslo" was said, in words that repeat none of it. "What was the price for Oslo?" says
the same less clearly, and counts less.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stitch.core import LabelKind
from stitch.retrieve.constants import Constants
from stitch.retrieve.question.hints import REPLIES, USERS
from stitch.retrieve.rank.pool import Pool
from stitch.text.dates import find_moments
from stitch.text.words import says_stem, stem, words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]
    Marks = NDArray[np.bool_]

_NO_SCOPE = -1


class _Places(NamedTuple):
    """Where candidates stand: columns of one number a candidate."""

    position: Numbers
    scope: Numbers
    """The number of the scope of its trajectory; `_NO_SCOPE` if it has none."""
    of_all: Numbers
    """How many candidates of its trajectory stand before it."""
    of_scope: Numbers
    """How many of these are of its scope."""
    in_trajectories: _Lines
    in_scopes: _Lines


class _Lines(NamedTuple):
    """Candidates behind each other, those of one trajectory or scope together, in their order."""

    numbers: Numbers
    """Of the candidates."""
    begins: Numbers
    """Of each, the place at which its trajectory or scope begins."""
    ends: Numbers
    """And behind which it ends."""

    def before(self, clue: Marks) -> Numbers:
        """The number of the last of the clue that each candidate stands behind, or is itself; -1 if there is none."""
        own = np.arange(len(clue))
        last = np.maximum.accumulate(np.where(clue[self.numbers], own, -1))
        return self._of_candidates(np.where(last >= self.begins, last, -1))

    def behind(self, clue: Marks) -> Numbers:
        """The number of the first of the clue that stands behind each candidate, or is it; -1 if there is none."""
        count = len(clue)
        own = np.where(clue[self.numbers], np.arange(count), count)
        first = np.minimum.accumulate(own[::-1])[::-1]
        return self._of_candidates(np.where(first < self.ends, first, -1))

    def _of_candidates(self, places: Numbers) -> Numbers:
        found = np.empty_like(places)
        found[self.numbers] = np.where(places < 0, -1, self.numbers[places])
        return found


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

    By how much of what a step is about stands around it and not in it, told by the length of most steps: a clause that
    says where to look ("between the visit and when he accepted") is itself said in the steps where these are long.
    """
    lengths = sorted(len(one.snippet.text) for one in pool.candidates)
    if not lengths:
        return 0.0
    share = min(1.0, pool.constants.short_chars / max(1, lengths[len(lengths) // 2])) ** 2
    return share if share >= pool.constants.least_share else 0.0


def _clues(pool: Pool) -> Iterator[tuple[float, list[int]]]:
    """What the question says of where to look, each with its weight and the numbers of the candidates that say it."""
    question, constants = pool.question, pool.constants
    texts = [one.snippet.text.lower() for one in pool.candidates]
    left = f" {' '.join(words(question.clues))} "
    speakers = _speakers(pool)
    named = {stem(word) for word in speakers.intersection(left.replace("'s ", " ").split())}
    for name in sorted(question.names, key=lambda name: (-len(name), name)):
        if f" {name} " in left and not speakers.issuperset(name.removesuffix("'s").split()):
            left = left.replace(f" {name} ", " | ")
            named.update(map(stem, name.split()))
            yield from _told(constants.clue_name, (_says_name(text, name) for text in texts))
    if question.moments:
        moments = [find_moments(one.snippet.text) for one in pool.candidates]
        for moment in question.moments:
            yield from _told(constants.clue_name, (moment in own for own in moments))
    for term in sorted(question.clue_stems - named):
        yield from _told(1.0, (says_stem(text, term) for text in texts))


def _speakers(pool: Pool) -> frozenset[str]:
    """The words of which the names of those who speak are made; what a part in a dialogue is called is no name.

    They say who, and not where: in a chat of two, "Hey Ann!" stands beside anything.
    """
    roles = {one.snippet.role.casefold() for one in pool.candidates}
    return frozenset(word for role in roles - USERS - REPLIES for word in words(role))


def _says_name(folded: str, name: str) -> bool:
    """Whether a text says the words of a name behind each other."""
    # To cut a text into words takes far longer than to see that one of them is not in it.
    if any(word not in folded for word in name.split() if "'" not in word):
        return False
    return f" {name} " in f" {' '.join(words(folded))} "


def _told(weight: float, says: Iterable[bool]) -> Iterator[tuple[float, list[int]]]:
    """The clue, if a candidate says it, worth the more the fewer do."""
    told = list(says)
    if any(told):
        yield weight * math.log((len(told) + 1) / sum(told)), [number for number, own in enumerate(told) if own]


def _nearness(clues: Sequence[tuple[float, list[int]]], pool: Pool) -> list[float]:
    """How near each candidate stands to the clues, from 0 to 1."""
    near = [0.0] * len(pool.candidates)
    total = max(pool.constants.enough_clues, sum(weight for weight, _ in clues))
    places, fading = _places(pool), pool.constants.fading_steps
    for weight, numbers in clues:
        away = _steps_to(numbers, places, constants=pool.constants)
        for number in np.flatnonzero(np.isfinite(away)).tolist():
            near[number] += weight / total * math.exp(-float(away[number]) / fading)
    return near


def _places(pool: Pool) -> _Places:
    count = len(pool.candidates)
    in_order = sorted(range(count), key=lambda number: pool.candidates[number].snippet.position)
    numbers: dict[tuple[str, str], int] = {}
    before: Counter[int] = Counter()
    columns = np.zeros((5, count), np.int64)
    for number in in_order:
        snippet = pool.candidates[number].snippet
        name = pool.vocabulary.canonical(LabelKind.SCOPE, snippet.intent.scope or "")
        trajectory = numbers.setdefault((snippet.trajectory, ""), len(numbers))
        scope = numbers.setdefault((snippet.trajectory, name), len(numbers)) if name else _NO_SCOPE
        columns[:, number] = snippet.position, scope, before[trajectory], before[scope], trajectory
        before[trajectory] += 1
        before[scope] += 1
    position, scopes, of_all, of_scope, trajectories = columns
    order = np.array(in_order, np.int64)
    return _Places(position, scopes, of_all, of_scope, _lines(trajectories, order), _lines(scopes, order))


def _lines(groups: Numbers, in_order: Numbers) -> _Lines:
    numbers = in_order[np.argsort(groups[in_order], kind="stable")]
    sorted_groups = groups[numbers]
    begins, ends = (np.searchsorted(sorted_groups, sorted_groups, side=side) for side in ("left", "right"))
    return _Lines(numbers, begins, ends)


def _steps_to(clue: Sequence[int], places: _Places, *, constants: Constants) -> NDArray[np.float64]:
    """How many steps away from the nearest of the clue each candidate is; infinitely many in a trajectory without."""
    marks = np.zeros(len(places.position), np.bool_)
    marks[list(clue)] = True
    away = np.full(len(marks), np.inf)
    for nearest in (_Lines.before, _Lines.behind):
        found = nearest(places.in_trajectories, marks)
        steps = np.abs(places.position - places.position[found]) + float(constants.other_scope_steps)
        away = np.where(found >= 0, np.minimum(away, steps), away)
        found = nearest(places.in_scopes, marks)
        within = constants.own_step * _steps_within(found, places)
        away = np.where((found >= 0) & (places.scope != _NO_SCOPE), np.minimum(away, within), away)
    return away


def _steps_within(others: Numbers, places: _Places) -> NDArray[np.float64]:
    """The steps between two of a scope, those of other scopes left out, by their share of what is in between."""
    between = np.abs(places.of_all - places.of_all[others])
    share = np.abs(places.of_scope - places.of_scope[others]) / np.maximum(1, between)
    steps: NDArray[np.float64] = share * np.abs(places.position - places.position[others])
    return steps
