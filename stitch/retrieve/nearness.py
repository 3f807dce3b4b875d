"""Nearness: standing close to the steps that say what a question says of where to look.

"In the order where the city is Oslo, what was the price?" names no scope, and the one asked for may be cut in pieces.
The answer comes a few steps after "Oslo" was said, in words that repeat none of it. "What was the price for Oslo?" says
the same less clearly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from stitch.retrieve.candidates import Pool, Trajectory
from stitch.retrieve.speakers import REPLIES, USERS
from stitch.text.dates import find_moments
from stitch.text.words import says_stem, stem, words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stitch.core import MemorySnippet
    from stitch.retrieve.candidates import Column
    from stitch.retrieve.question import Question

_SHORT_CHARS, _LEAST_STRENGTH = 180, 0.1
"""Steps up to this length say little of what they are about; where most are so long that hints count less than the
least, these are not read."""
_FADING_STEPS = 24.0
"""At so many steps from a clue, a third of its weight is left."""
_OTHER_SCOPE_STEPS, _OWN_STEP = 4, 2
"""Added to the distance in another scope; what a step of the same scope counts, those of others in between left out."""
_NAME = 5.0
"""What a name, date or time counts as a clue; any other word counts 1."""
_ENOUGH = 20.0
"""Clues that weigh less than this together (about one name in sixty steps) do not count in full."""


def near(pool: Pool) -> Column | None:
    """How near it stands, in a talk, to what the question says of where to look.

    It counts less where no step stands at half of that: words that agree by chance do so one by one.
    """
    talks: dict[frozenset[str], list[Trajectory]] = {}
    for own in pool.trajectories:
        if not own.is_run and strength(own):
            talks.setdefault(_speakers(own), []).append(own)
    column, told = np.zeros(len(pool.candidates)), False
    for speakers, own_talks in talks.items():
        clues = list(_clues([one for own in own_talks for one in own.snippets], pool.question, speakers))
        if clues:
            told = True
            column[np.concatenate([own.numbers for own in own_talks])] = _nearness(own_talks, clues)
    return column if told else None


def _nearness(talks: Sequence[Trajectory], clues: Sequence[tuple[float, NDArray[np.bool_]]]) -> Column:
    """The nearness of the candidates of talks, behind each other, to clues: what each weighs, and who says it."""
    lengths = np.array([len(own.snippets) for own in talks])
    owner = np.repeat(np.arange(len(talks)), lengths)
    said = np.array([says for _, says in clues])
    by_talk = np.array([np.bincount(owner[says], minlength=len(talks)) for says in said])
    rare = np.log((lengths + 1) / np.maximum(1, by_talk)) * (by_talk > 0)
    weights = rare * np.array([weight for weight, _ in clues])[:, None]
    weights /= np.maximum(_ENOUGH, weights.sum(axis=0))
    somewhere = np.flatnonzero(said.any(axis=0))
    faded = np.exp(-_steps_to(somewhere, talks, owner) / _FADING_STEPS)
    column: Column = np.zeros(len(owner))
    for says, own in zip(said, weights, strict=True):
        column += own[owner] * faded[:, says[somewhere]].max(axis=1)
    best = np.maximum.reduceat(column, np.cumsum(lengths) - lengths)
    shares = np.array([strength(own) for own in talks]) * np.minimum(1.0, 2.0 * best)
    return shares[owner] * column


def strength(own: Trajectory) -> float:
    """How much of what a step is about stands around it and not in it, from 0 to 1, told by the length of most."""
    lengths = sorted(len(one.text) for one in own.snippets)
    share = min(1.0, _SHORT_CHARS / max(1, lengths[len(lengths) // 2])) ** 2
    return share if share >= _LEAST_STRENGTH else 0.0


def _clues(
    snippets: Sequence[MemorySnippet], question: Question, speakers: frozenset[str]
) -> Iterator[tuple[float, NDArray[np.bool_]]]:
    """What the question says of where to look, each with what one that all say weighs, and which snippets say it."""
    texts = [one.text.lower() for one in snippets]
    left = f" {' '.join(words(question.clues))} "
    named = {stem(word) for word in speakers.intersection(left.replace("'s ", " ").split())}
    for name in sorted(question.names, key=lambda name: (-len(name), name)):
        if f" {name} " in left and not speakers.issuperset(name.removesuffix("'s").split()):
            left = left.replace(f" {name} ", " | ")
            named.update(map(stem, name.split()))
            yield from _told(_NAME, (_says_name(text, name) for text in texts))
    for moment in question.moments:
        yield from _told(_NAME, (moment in find_moments(one.text) for one in snippets))
    for term in sorted(question.clue_stems - named):
        yield from _told(1.0, (says_stem(text, term) for text in texts))


def _speakers(own: Trajectory) -> frozenset[str]:
    """The words of the names of those who speak, which say who and not where: "Hey Ann!" stands beside anything."""
    roles = {one.role.casefold() for one in own.snippets}
    return frozenset(word for role in roles - USERS - REPLIES for word in words(role))


def _says_name(folded: str, name: str) -> bool:
    """Whether a text says the words of a name behind each other."""
    # To cut a text into words takes far longer than to see that one of them is not in it.
    if any(word not in folded for word in name.split() if "'" not in word):
        return False
    return f" {name} " in f" {' '.join(words(folded))} "


def _told(weight: float, says: Iterable[bool]) -> Iterator[tuple[float, NDArray[np.bool_]]]:
    """The clue, if a candidate says it."""
    told = np.fromiter(says, bool)
    if told.any():
        yield weight, told


def _steps_to(places: NDArray[np.int64], talks: Sequence[Trajectory], owner: NDArray[np.int64]) -> Column:
    """How many steps away each place is from each candidate; in the same scope, steps of other scopes do not count.

    Another talk is endlessly far. Shape: candidates by places.
    """
    positions = np.concatenate([own.positions for own in talks])
    numbers, scopes, ranks = np.arange(len(owner)), np.full(len(owner), -1), np.zeros(len(owner))
    first, scope = 0, 0
    for own in talks:
        for members in own.members.values():
            scopes[first + np.array(members)], ranks[first + np.array(members)] = scope, np.arange(len(members))
            scope += 1
        first += len(own.snippets)
    apart = np.abs(positions[:, None] - positions[places])
    within = np.abs(ranks[:, None] - ranks[places]) / np.maximum(1, np.abs(numbers[:, None] - places)) * apart
    same = (scopes[:, None] == scopes[places]) & (scopes >= 0)[:, None]
    outside = apart + _OTHER_SCOPE_STEPS
    away: Column = np.where(same, np.minimum(_OWN_STEP * within, outside), outside)
    return np.where(owner[:, None] == owner[places], away, np.inf)
