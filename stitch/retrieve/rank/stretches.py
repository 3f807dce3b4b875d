"""Stretches: where hits lie close together the matter was talked about, and what stands there answers as they do.

A summary is asked of a stretch: most of its steps share no word with the question. Where many talk, in a meeting, so is
all else that is asked, for one answers another. Each of the first hits lends the places around it a part of its weight,
the less the further away and the further down it stands; steps come in the order of what their place was lent for each
character of theirs. (Lv and Zhai, *Positional Language Models for Information Retrieval*, 2009, spread words over a
text in the same way.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice

from stitch.core import MemorySnippet, RankingRule, ScoredSnippet, is_setup
from stitch.retrieve.constants import Constants
from stitch.retrieve.question.hints import REPLIES, USERS
from stitch.retrieve.rank.beside import BESIDE, Near

_Place = tuple[str, str | None, int]
"""A trajectory, a session, and a position."""


def among_many(hits: Sequence[ScoredSnippet], *, constants: Constants) -> bool:
    """Whether the best hit stands in a talk of many, as the first hits of that talk tell: nobody there is a user."""
    first = [hit.snippet for hit in hits[: constants.stretch_hits]]
    speakers = {one.role.casefold() for one in first if _talk(one) == _talk(first[0])}
    return len(speakers - USERS - REPLIES) >= constants.stretch_speakers


def with_stretches(
    ranked: Sequence[ScoredSnippet], *, near: Near, rule: RankingRule, k: int, constants: Constants
) -> list[ScoredSnippet]:
    """The first `k` of a ranking, what stands where hits lie dense after its very first: in the order of `beside_rule`.

    The ranking has at least `constants.stretch_hits`, if there are so many, whatever `k` is.
    """
    very_first = ranked[: constants.stretch_first]
    telling = ranked[: constants.stretch_hits]
    lent = _lent(telling, constants)
    beside = near([hit.snippet for hit in telling], constants.stretch_reach)
    known = {hit.snippet.id: hit for hit in ranked}
    others = [
        known.get(one.id) or ScoredSnippet(one, frozenset(), {}, 0.0)
        for one in beside
        if _place(one) in lent and not is_setup(one.intent)
    ]
    there = [*telling[len(very_first) :], *others]
    worth = {
        hit.snippet.id: lent[_place(hit.snippet)] / (len(hit.snippet.text) + constants.stretch_chars) for hit in there
    }
    most = 2.0 * max(worth.values(), default=1.0)  # below 1, which the very first have
    there.sort(key=lambda hit: (-worth[hit.snippet.id], rule.key(hit)))
    moved = worth.keys() | {hit.snippet.id for hit in very_first}
    every = (
        *((1.0, hit) for hit in very_first),
        *((worth[hit.snippet.id] / most, hit) for hit in there),
        *((0.0, hit) for hit in ranked if hit.snippet.id not in moved),
    )
    return [hit._replace(parts={BESIDE: share, **hit.parts}) for share, hit in islice(every, k)]


def _lent(telling: Sequence[ScoredSnippet], constants: Constants) -> dict[_Place, float]:
    """What the hits lend to each place around them, and to their own."""
    reach = constants.stretch_reach
    shares = [(offset, math.exp(-abs(offset) / constants.stretch_fade)) for offset in range(-reach, reach + 1)]
    found: dict[_Place, float] = {}
    for number, hit in enumerate(telling):
        trajectory, session, position = _place(hit.snippet)
        for offset, share in shares:
            place = (trajectory, session, position + offset)
            found[place] = found.get(place, 0.0) + share / (constants.stretch_rank + number)
    return found


def _talk(one: MemorySnippet) -> tuple[str, str | None]:
    return one.trajectory, one.session


def _place(one: MemorySnippet) -> _Place:
    return one.trajectory, one.session, one.position
