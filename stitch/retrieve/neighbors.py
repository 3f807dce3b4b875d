"""The order behind the first hits, where more is asked for than these: their neighbors or segments, then steps by their
worth for their length.

What somebody tells is often cut into short steps of which a question finds one; a summary is asked of a whole segment,
most of whose steps share no word with the question. A context is filled as a knapsack is: by the odds that a step is
evidence, for each character that it takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from stitch.core import MemorySnippet, RankingRule, ScoredSnippet, is_setup
from stitch.retrieve.speakers import REPLIES, USERS

BESIDE = "neighbors"
"""The part of a score that says so: 1 of the first hits, less of what stands around them, 0 or less of the rest."""
FIRST_HITS, REACH, SHORT_CHARS = 20, 2, 240
"""Of so many first hits the neighbors of at most this length, up to two positions away, come right after them."""
SEGMENT_FIRST, SEGMENT_HITS, SEGMENT_REACH = 10, 40, 8
"""After the first ten come the steps around the first forty, up to eight positions away."""
SEGMENT_TOKENS = 16
"""To fill a budget, as many steps of segments are taken as have room in it with so many tokens each: they are short."""
_FADE, _RANK, _CHARS = 4.0, 5.0, 60.0
"""At four positions a third, at rank five a half of what a hit lends is left; a step costs so many characters beside
its own."""
_ODDS = 0.25
"""So much more of a score makes the odds of a step e times as high, as in the fit of weights."""
_MANY_SPEAKERS = 3

Near = Callable[[Sequence[MemorySnippet], int], Sequence[MemorySnippet]]
"""The snippets up to a number of positions away from some."""
_Place = tuple[str, str | None, int]


def neighbor_rule(rule: RankingRule) -> RankingRule:
    """The rule by which hits with their neighbors are in order."""
    return rule._replace(tiers=((BESIDE,), *rule.tiers))


def among_many(hits: Sequence[ScoredSnippet]) -> bool:
    """Whether the best hit stands in a meeting: three or more talk, neither user nor assistant among them."""
    first = [hit.snippet for hit in hits[:SEGMENT_HITS]]
    speakers = {
        one.role.casefold() for one in first if (one.trajectory, one.session) == (first[0].trajectory, first[0].session)
    }
    return len(speakers - USERS - REPLIES) >= _MANY_SPEAKERS


def with_neighbors(ranked: Sequence[ScoredSnippet], *, near: Near, rule: RankingRule, k: int) -> list[ScoredSnippet]:
    """The first `k` of a ranking, short neighbors of its first hits right after these: in the order of `neighbor_rule`.

    First comes what follows right after the best hit, then what stands right before it, and so on.
    """
    first = ranked[:FIRST_HITS]
    offsets = [sign * distance for distance in range(1, REACH + 1) for sign in (1, -1)]
    worth: dict[_Place, float] = {}
    for number, hit in enumerate(first):
        for order, offset in enumerate(offsets, start=1):
            late = (number + order / (len(offsets) + 1)) / len(first)
            worth.setdefault(_place(hit.snippet, offset), 1.0 - late)
    found = (one for one in near([hit.snippet for hit in first], REACH) if len(one.text) <= SHORT_CHARS)
    return _merged(ranked, first, found, worth=lambda one: worth.get(_place(one), 0.0), rule=rule, k=k)


def with_segments(ranked: Sequence[ScoredSnippet], *, near: Near, rule: RankingRule, k: int) -> list[ScoredSnippet]:
    """The first `k` of a ranking, after its very first what stands where hits lie dense: in the order of
    `neighbor_rule`.

    Each hit lends the places around it a part of its weight; steps come by what they were lent for each character.
    (Lv and Zhai, *Positional Language Models for Information Retrieval*, 2009, spread words over a text the same way.)
    """
    telling = ranked[:SEGMENT_HITS]
    lent: dict[_Place, float] = {}
    for number, hit in enumerate(telling):
        for offset in range(-SEGMENT_REACH, SEGMENT_REACH + 1):
            place = _place(hit.snippet, offset)
            lent[place] = lent.get(place, 0.0) + math.exp(-abs(offset) / _FADE) / (_RANK + number)
    most = 2.0 * max(lent.values(), default=1.0) / _CHARS  # below 1, which the very first have

    def worth(one: MemorySnippet) -> float:
        return lent.get(_place(one), 0.0) / (len(one.text) + _CHARS) / most

    around = [*(hit.snippet for hit in telling), *near([hit.snippet for hit in telling], SEGMENT_REACH)]
    return _merged(ranked, ranked[:SEGMENT_FIRST], around, worth=worth, rule=rule, k=k)


def _merged(
    ranked: Sequence[ScoredSnippet], first: Sequence[ScoredSnippet], found: Iterable[MemorySnippet], *,
    worth: Callable[[MemorySnippet], float], rule: RankingRule, k: int,
) -> list[ScoredSnippet]:  # fmt: skip
    """The first hits, then what was found beside them by its worth, then the rest by odds for each character."""
    known = {hit.snippet.id: hit for hit in ranked}
    taken = {hit.snippet.id for hit in first}
    beside: list[tuple[float, ScoredSnippet]] = []
    for one in found:
        if one.id not in taken and not is_setup(one.intent) and (own := worth(one)) > 0.0:
            taken.add(one.id)
            beside.append((own, known.get(one.id) or ScoredSnippet(one, frozenset(), {}, 0.0)))
    beside.sort(key=lambda each: (-each[0], rule.key(each[1])))
    rest = [(_odds(hit), hit) for hit in ranked if hit.snippet.id not in taken]
    rest.sort(key=lambda each: (-each[0], rule.key(each[1])))
    most = rest[0][0] if rest else 0.0
    every = (*((1.0, hit) for hit in first), *beside, *((own - most, hit) for own, hit in rest))
    return [hit.with_parts({BESIDE: own, **hit.parts}) for own, hit in islice(every, k)]


def _odds(hit: ScoredSnippet) -> float:
    """The logarithm of the odds that a hit is evidence, for each character of room."""
    return hit.score / _ODDS - math.log(len(hit.snippet.text) + _CHARS)


def _place(one: MemorySnippet, offset: int = 0) -> _Place:
    return one.trajectory, one.session, one.position + offset
