"""Nearness: standing close to the steps that say what a question says of where to look.

"In the order where the city is Oslo, what was the price?" names no scope, and the one asked for may be cut in pieces.
The answer comes a few steps after "Oslo" was said, in words that repeat none of it. "What was the price for Oslo?" says
the same less clearly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from stitch.retrieve.candidates import Pool, Trajectory
from stitch.retrieve.speakers import REPLIES, USERS
from stitch.text.dates import find_moments
from stitch.text.words import says_stem, stem, words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stitch.retrieve.candidates import Column

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

    def of(own: Trajectory) -> Column | None:
        share = 0.0 if own.is_run else strength(own)
        clues = list(_clues(own, pool)) if share else []
        if not clues:
            return None
        total = max(_ENOUGH, sum(weight for weight, _ in clues))
        column: Column = sum(
            (weight / total * np.exp(-_steps_to(places, own) / _FADING_STEPS) for weight, places in clues),
            np.zeros(len(own.snippets)),
        )
        return share * min(1.0, 2.0 * float(column.max())) * column

    return pool.column(of)


def strength(own: Trajectory) -> float:
    """How much of what a step is about stands around it and not in it, from 0 to 1, told by the length of most."""
    lengths = sorted(len(one.text) for one in own.snippets)
    share = min(1.0, _SHORT_CHARS / max(1, lengths[len(lengths) // 2])) ** 2
    return share if share >= _LEAST_STRENGTH else 0.0


def _clues(own: Trajectory, pool: Pool) -> Iterator[tuple[float, NDArray[np.int64]]]:
    """What the question says of where to look, each with its weight and the places where it is said."""
    question = pool.question
    texts = [one.text.lower() for one in own.snippets]
    left = f" {' '.join(words(question.clues))} "
    speakers = _speakers(own)
    named = {stem(word) for word in speakers.intersection(left.replace("'s ", " ").split())}
    for name in sorted(question.names, key=lambda name: (-len(name), name)):
        if f" {name} " in left and not speakers.issuperset(name.removesuffix("'s").split()):
            left = left.replace(f" {name} ", " | ")
            named.update(map(stem, name.split()))
            yield from _told(_NAME, (_says_name(text, name) for text in texts))
    for moment in question.moments:
        yield from _told(_NAME, (moment in find_moments(one.text) for one in own.snippets))
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


def _told(weight: float, says: Iterable[bool]) -> Iterator[tuple[float, NDArray[np.int64]]]:
    """The clue, if a candidate says it, worth the more the fewer do."""
    told = np.fromiter(says, bool)
    if told.any():
        yield weight * math.log((len(told) + 1) / told.sum()), np.flatnonzero(told)


def _steps_to(clue: NDArray[np.int64], own: Trajectory) -> Column:
    """How many steps away the nearest of the clue is; in the same scope, steps of other scopes do not count."""
    places, ranks, scopes = np.arange(len(own.snippets)), np.zeros(len(own.snippets)), np.array(own.scopes)
    for members in own.members.values():
        ranks[members] = np.arange(len(members))
    apart = np.abs(own.positions[:, None] - own.positions[clue])
    within = np.abs(ranks[:, None] - ranks[clue]) / np.maximum(1, np.abs(places[:, None] - clue)) * apart
    same = (scopes[:, None] == scopes[clue]) & (scopes != "")[:, None]
    outside = apart + _OTHER_SCOPE_STEPS
    away: Column = np.where(same, np.minimum(_OWN_STEP * within, outside), outside).min(axis=1)
    return away
