"""Which goal of several a question is about, and what else it says inside of it.

Agents do the same for many: five tickets are cancelled on one day, four bugs mended. The words of a question tell the
goal apart first ("Mia's ticket"), and then what of it is asked ("was refused"), which every ticket says.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from stitch.retrieve.rank.pool import Pool
from stitch.retrieve.rank.runs import Goal, Runs, runs
from stitch.text.languages import content_stems

_BEST = 3
"""So many of the steps of a goal that are most alike say how alike the goal is."""


def goal(pool: Pool) -> Sequence[float] | None:
    """How much the goal of a step is the one that the question is about."""
    found = pool.once(runs)
    if found is None or len(found.named) < 2 or found.asked.task:
        return None
    strength = goal_strength(pool)
    return [strength[own] if own >= 0 else 0.0 for own in found.goals]


def inside(pool: Pool) -> Sequence[float] | None:
    """What of the question a step or its exchange says, each word worth the more the fewer steps of its goal say it.

    Words that name the goal tell nothing inside of it: who returns to it says them.
    """
    found = pool.once(runs)
    if found is None or found.asked.task:
        return None
    told = [0.0] * len(pool.candidates)
    for own, goal in zip(found.members, found.named, strict=True):
        weights = _rarity([found.says[number] for number in own], len(found.asked.terms))
        names = set(content_stems(goal.name))
        weights = [0.0 if term in names else weight for term, weight in zip(found.asked.terms, weights, strict=True)]
        for number in own:
            told[number] = found.weigh(found.with_partners(number), weights)
    best = max(told, default=0.0)
    return [pool.constants.runs_inside * each / best for each in told] if best else None


def newest(pool: Pool) -> Sequence[float] | None:
    """How late the goal of a step began, among those with the identifiers of which the question asks how they stand."""
    found = pool.once(runs)
    if found is None or not found.asked.identifiers or not (found.asked.state or found.asked.last):
        return None
    named = pool.once(_named)
    began = {goal: pool.candidates[own[0]].snippet.position for goal, own in enumerate(found.members) if named[goal]}
    order = {
        goal: place for place, goal in enumerate(sorted(began, key=lambda goal: (began[goal], found.named[goal])), 1)
    }
    return [pool.constants.runs_newest * order.get(own, 0) / max(1, len(order)) for own in found.goals]


def named_goals(pool: Pool) -> list[Goal]:
    """The goals that name all identifiers of the question; none if it has none or many name them."""
    found, named = pool.once(runs), pool.once(_named)
    if found is None or not found.asked.identifiers:
        return []
    goals = [goal for goal, share in zip(found.named, named, strict=True) if share == 1.0]
    return sorted(goals) if len(goals) <= pool.constants.runs_goals else []


def leading_goals(pool: Pool, *, most: int) -> list[Goal]:
    """The goals that the question may be about, those first that are so most; at most so many."""
    found, strength = pool.once(runs), goal_strength(pool)
    if found is None:
        return []
    order = sorted(range(len(strength)), key=lambda goal: (-strength[goal], found.named[goal]))
    return [found.named[goal] for goal in order[:most]]


def goal_strength(pool: Pool) -> list[float]:
    """How much each goal is the one that the question is about: what `goal` says of its steps."""
    found, constants = pool.once(runs), pool.constants
    if found is None:
        return []
    by_name, by_steps = pool.once(_named), _alike(pool, found)
    return [
        constants.runs_goal_named * named + constants.runs_goal_alike * alike
        for named, alike in zip(by_name, by_steps, strict=True)
    ]


def _named(pool: Pool) -> list[float]:
    """Which share of the identifiers of the question each goal names, anywhere."""
    found = pool.once(runs)
    if found is None:
        return []
    asked = found.asked.identifiers
    if not asked:
        return [0.0] * len(found.members)
    texts = [one.snippet.text.lower() for one in pool.candidates]
    return [sum(any(name in texts[number] for number in own) for name in asked) / len(asked) for own in found.members]


def _alike(pool: Pool, found: Runs) -> list[float]:
    """How alike the best steps of each goal are, the best goal 1."""
    of_goal = [sorted((pool.candidates[number].similarity for number in own), reverse=True) for own in found.members]
    means = [math.fsum(own[:_BEST]) / max(1, len(own[:_BEST])) for own in of_goal]
    best = max(means, default=0.0)
    return [mean / best if best > 0 else 0.0 for mean in means]


def _rarity(says: Sequence[int], terms: int) -> list[float]:
    """How much each term tells among some steps, by how few say it."""
    counts = [sum(bits >> at & 1 for bits in says) for at in range(terms)]
    return [max(0.0, math.log((len(says) + 1) / (count + 0.5))) if count else 0.0 for count in counts]
