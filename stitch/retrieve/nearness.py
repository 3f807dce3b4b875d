"""Nearness: standing close to the steps that say what a question says of where to look.

"In the order where the city is Oslo, what was the price?" names no scope, and the one asked for may be cut in pieces.
The answer comes a few steps after "Oslo" was said, in words that repeat none of it. "What was the price for Oslo?" says
the same less clearly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from stitch.retrieve.candidates import Pool
from stitch.retrieve.speakers import REPLIES, USERS
from stitch.text.dates import find_moments
from stitch.text.words import places_of_stem, stem, words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stitch.core import MemorySnippet
    from stitch.retrieve.candidates import Column
    from stitch.retrieve.question import Question

_FADING_STEPS = 12.0
"""At so many steps from a clue, a third of its weight is left."""
_MOMENT = 5.0
"""What a date or time counts as a clue; any word counts 1."""
_ENOUGH = 20.0
"""Clues that weigh less than this together (about one date in sixty steps) do not count in full."""


def near(pool: Pool) -> Column | None:
    """Proximity of a step, in a talk, to the clues of the question that say where to look.

    It counts less where no step stands at half of that: words that agree by chance do so one by one.
    """
    talks: dict[frozenset[str], list[int]] = {}
    speakers = {roles: _speakers(roles) for roles in set(pool.roles)}
    for number in np.flatnonzero(~pool.running).tolist():
        talks.setdefault(speakers[pool.roles[number]], []).append(number)
    column, told = np.zeros(len(pool.candidates)), False
    sizes = np.bincount(pool.owners)
    for named, numbers in talks.items():
        lengths = sizes[numbers]
        own = np.zeros(len(sizes), dtype=bool)
        own[numbers] = True
        places = np.flatnonzero(own[pool.owners])
        clues = list(_clues([pool.snippets[place] for place in places.tolist()], pool.question, named))
        if clues:
            told = True
            owner = np.repeat(np.arange(len(lengths)), lengths)
            found, best = _nearness(pool.positions[places], owner, lengths, clues)
            column[places] = (pool.strengths[numbers] * np.minimum(1.0, 2.0 * best))[owner] * found
    return column if told else None


def _nearness(
    positions: NDArray[np.int64],
    owner: NDArray[np.int64],
    lengths: NDArray[np.int64],
    clues: Sequence[tuple[float, NDArray[np.bool_]]],
) -> tuple[Column, Column]:
    """The nearness of candidates to clues (what each weighs, and which of the candidates say it), and the best of a
    talk.

    Candidates stand by talk: the number of its talk is told of each, and of each talk how many it has.
    """
    starts = np.cumsum(lengths) - lengths
    said = np.array([says for _, says in clues])
    by_talk = np.add.reduceat(said, starts, axis=1, dtype=np.int64)
    rare = np.log((lengths + 1) / np.maximum(1, by_talk)) * (by_talk > 0)
    weights = rare * np.array([weight for weight, _ in clues])[:, None]
    weights /= np.maximum(_ENOUGH, weights.sum(axis=0))
    column: Column = np.zeros(len(positions))
    for told in weights[:, owner] * _faded(said, owner, positions):
        column += told
    return column, np.maximum.reduceat(column, starts)


def _clues(
    snippets: Sequence[MemorySnippet], question: Question, speakers: frozenset[str]
) -> Iterator[tuple[float, NDArray[np.bool_]]]:
    """Clues of the question about where to look: the weight of each, and the snippets that say it."""
    left = f" {' '.join(words(question.clues))} ".replace("'s ", " ")
    named = {stem(word) for word in speakers.intersection(left.split())}
    for moment in question.moments:
        says = np.array([moment in find_moments(one.text) for one in snippets])
        if says.any():
            yield _MOMENT, says
    texts = [one.text.lower().replace("’", "'") for one in snippets]
    begins, said = np.cumsum([0, *(len(text) + 1 for text in texts)]), "\n".join(texts)
    for term in sorted(question.clue_stems - named):
        if places := places_of_stem(said, term):  # in all texts at once: to look into each takes longer
            says = np.zeros(len(texts), dtype=bool)
            says[np.searchsorted(begins, places, side="right") - 1] = True
            yield 1.0, says


def _speakers(roles: Iterable[str]) -> frozenset[str]:
    """The words of the names of those who speak, which say who and not where: "Hey Ann!" stands beside anything."""
    named = {role.casefold() for role in roles} - USERS - REPLIES
    return frozenset(word for role in named for word in words(role))


def _faded(said: NDArray[np.bool_], owner: NDArray[np.int64], positions: NDArray[np.int64]) -> Column:
    """For each clue and candidate the decayed weight of the nearest one of its talk that says it; 0 where none does."""
    places, count = np.arange(len(positions)), len(positions)
    before = np.maximum.accumulate(np.where(said, places, -1), axis=1)
    after = np.minimum.accumulate(np.where(said, places, count)[:, ::-1], axis=1)[:, ::-1]
    owners, standing = np.append(owner, -1), np.append(positions, 0)  # what is before the first or after the last
    faded: Column = np.zeros(said.shape)
    for nearest in (before, after):
        steps = np.abs(positions - standing[nearest])
        np.maximum(faded, np.exp(steps / -_FADING_STEPS), out=faded, where=owners[nearest] == owner)
    return faded
