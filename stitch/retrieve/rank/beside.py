"""What stands beside the first hits: short steps, which a context shows before it shows anything that is less alike.

What somebody tells is often cut into several steps of few words, of which a question finds one: the answer to "and
then?", the figure that was asked for two lines above. They cost a context little, and tell more than the thirtieth hit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, islice

from stitch.core import MemorySnippet, RankingRule, ScoredSnippet, is_setup
from stitch.retrieve.constants import Constants

BESIDE = "beside"
"""The part of a score that says so: 1 of the first hits; of a neighbor the more, the better the hit and the nearer."""

_AT_ONCE = 7
"""So many hits are asked for their neighbors at once: to read these takes longer than all else here."""

Near = Callable[[Sequence[MemorySnippet], int], Sequence[MemorySnippet]]
"""The snippets that stand up to so many positions from these."""


def beside_rule(rule: RankingRule) -> RankingRule:
    """The rule by which hits with their neighbors are in order."""
    return rule._replace(tiers=((BESIDE,), *rule.tiers))


def with_neighbors(
    ranked: Sequence[ScoredSnippet], *, near: Near, rule: RankingRule, k: int, constants: Constants
) -> list[ScoredSnippet]:
    """The first `k` of a ranking, short neighbors of its first hits right after these, as `beside_rule` has it."""
    first = ranked[: constants.beside_hits]
    known = {hit.snippet.id: hit for hit in ranked}
    beside = [
        (worth, known.get(one.id) or ScoredSnippet(one, frozenset(), {}, 0.0))
        for worth, one in _found(first, near=near, most=k - len(first), constants=constants)
    ]
    beside.sort(key=lambda each: (-each[0], rule.key(each[1])))
    moved = {hit.snippet.id for _, hit in beside}
    rest = [hit for hit in ranked[len(first) :] if hit.snippet.id not in moved]
    every = chain(((1.0, hit) for hit in first), beside, ((0.0, hit) for hit in rest))
    return [hit._replace(parts={BESIDE: worth, **hit.parts}) for worth, hit in islice(every, k)]


def _found(
    first: Sequence[ScoredSnippet], *, near: Near, most: int, constants: Constants
) -> list[tuple[float, MemorySnippet]]:
    """Short neighbors of hits with what it is worth to be one, at least `most` of them if there are as many."""
    away = _away(first, constants)
    found: list[tuple[float, MemorySnippet]] = []
    seen = {hit.snippet.id for hit in first}
    for start in range(0, len(first), _AT_ONCE):
        if len(found) >= most:  # neighbors of better hits come first, so that these are all there is room for
            break
        for one in near([hit.snippet for hit in first[start : start + _AT_ONCE]], constants.beside_reach):
            late = away.get((one.trajectory, one.session, one.position))
            if late is None or one.id in seen or len(one.text) > constants.beside_chars or is_setup(one.intent):
                continue
            seen.add(one.id)
            found.append((1.0 - late, one))
    return found


def _away(first: Sequence[ScoredSnippet], constants: Constants) -> dict[tuple[str, str | None, int], float]:
    """How late what stands beside these hits comes, between 0 and 1, by trajectory, session and position.

    First comes what follows right after the best hit, then what stands right before it, and so on. No two places are
    equally late, so that their order stays, however many hits are asked for.
    """
    reach = constants.beside_reach
    offsets = [sign * distance for distance in range(1, reach + 1) for sign in (1, -1)]
    found: dict[tuple[str, str | None, int], float] = {}
    for number, hit in enumerate(first):
        one = hit.snippet
        for order, offset in enumerate(offsets, start=1):
            late = (number + order / (len(offsets) + 1)) / len(first)
            found.setdefault((one.trajectory, one.session, one.position + offset), late)
    return found
