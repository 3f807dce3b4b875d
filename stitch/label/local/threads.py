"""Scopes that turn out to continue earlier ones, once more of them has been seen than their first step.

"That sounds good." opens a scope where nothing tells whose offer is meant; the next steps name the car. What such a
scope has become is compared with the earlier scopes that came into question: soon after it was opened, for the reply or
the call tells what the turn before it was about, and when it is left. A join is recorded and can be undone; the labels
of its steps stay as they are and read as the earlier scope's from then on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log, log1p
from typing import NamedTuple

from stitch.label.local.evidence import Scope, Stream, known_weight

JOIN_FEATURES = (
    "always", "margin", "best margin", "no margin", "left for it", "followed by it", "between it", "cohesion",
    "covered", "shared values", "shared rare values", "share of values", "asks what it asked", "asks what it told",
    "tells what it asked", "classes known", "closed then", "closed", "size", "size of it", "gap", "pointed at known",
    "pointed at unknown", "speakers known", "same call", "other calls", "number of scopes",
    "many speakers", "tools", "in service", "interleaved", "latest", "one step", "best cohesion", "best values",
    "margin by size", "many speakers: margin", "tools: cohesion", "interleaved: cohesion", "interleaved: between it",
)  # fmt: skip
"""What is said of a scope just left, or looked at again, and an earlier one."""

JOIN_MARGIN = 0.75
"""What must speak for a join: a wrong one makes one scope of two."""

LOOK_STEPS = (2, 4)
"""With how many steps a scope is looked at again before it is left."""

MAX_JOINED_STEPS = 20
"""A scope longer than this stands for itself."""

MAX_HOMES = 8
"""With how many earlier scopes a scope just left is compared."""

_BEST = {"best cohesion": "cohesion", "best values": "shared rare values"}
_PLACE = {name: place for place, name in enumerate(JOIN_FEATURES)}


class Home(NamedTuple):
    """An earlier scope that the scope just left may continue."""

    scope: Scope
    features: list[float]
    """See `JOIN_FEATURES`."""
    score: float


def join_evidence(
    left: Scope, homes: Sequence[Scope], stream: Stream, *, holders: Mapping[str, Sequence[int]], scopes: int
) -> list[list[float]]:
    """The values of `JOIN_FEATURES` for each earlier scope.

    Args:
        left: The scope just left.
        homes: Earlier scopes.
        stream: The trajectory so far.
        holders: The numbers of the scopes that name a value.
        scopes: How many scopes there are.
    """
    if not homes:
        return []
    weights = stream.weigh(left.terms)
    total = sum(weights.values()) or 1.0
    best_margin = max((rival.margin for rival in left.rivals.values()), default=0.0)
    latest = max(homes, key=lambda home: home.last)
    found = []
    for home in homes:
        cohesion = known_weight(weights, home.terms) / total
        values = _evidence(left, home, stream, holders=holders, cohesion=cohesion)
        values[_PLACE["latest"]] = float(home is latest)
        values[_PLACE["number of scopes"]] = log1p(scopes)
        then = left.rivals.get(str(home.number))
        values[_PLACE["best margin"]] = float(then is not None and then.margin == best_margin)
        found.append(values)
    for name, of in _BEST.items():
        best = max(values[_PLACE[of]] for values in found)
        for values in found:
            values[_PLACE[name]] = float(best > 0 and values[_PLACE[of]] == best)
    return found


def _evidence(
    left: Scope, home: Scope, stream: Stream, *, holders: Mapping[str, Sequence[int]], cohesion: float
) -> list[float]:
    """The values that do not depend on the other scopes; 0 for the rest."""
    then = left.rivals.get(str(home.number))
    margin = max(-6.0, min(6.0, then.margin)) if then else 0.0
    gap = left.spans[0][0] - (then.last if then else home.last)
    covered, pointed_known = _part(home.terms, left.terms), _part(left.pointed, home.terms)
    shared = list(filter(home.values.__contains__, left.values))
    same_call = any(name in home.calls for name in left.calls)
    left_for, followed = left.left == home.number, stream.current == home.number
    many, tools, size = float(len(stream.voices) > 2), float(stream.tools), log1p(left.steps)
    return [
        1.0,
        margin,
        0.0,
        float(then is None),
        float(left_for),
        float(followed),
        float(left_for and followed),
        cohesion,
        covered,
        min(len(shared), 6) / 2,
        min(sum(1.0 / max(1, len(holders.get(value, ())) - 1) for value in shared), 4.0),
        _part(left.values, home.values),
        _part(left.asked, home.asked),
        _part(left.asked, home.told),
        _part(left.told, home.asked),
        _part(left.kinds, home.kinds),
        float(then is not None and then.closed),
        float(left.closed),
        size,
        log1p(home.steps),
        log(gap) if gap > 0 else 0.0,
        pointed_known,
        1.0 - pointed_known if left.pointed else 0.0,
        _part(left.speakers, home.speakers),
        float(same_call),
        float(bool(left.calls) and bool(home.calls) and not same_call),
        0.0,
        many,
        tools,
        stream.service / (stream.position + 2),
        stream.interleaved,
        0.0,
        float(left.steps == 1),
        0.0,
        0.0,
        margin * size,
        many * margin,
        tools * cohesion,
        stream.interleaved * cohesion,
        stream.interleaved * float(left_for and followed),
    ]


def take_over(home: Scope, left: Scope) -> None:
    """Give `home` all that is remembered of `left`, a scope that continues it."""
    for own, other in (
        (home.terms, left.terms),
        (home.values, left.values),
        (home.asked, left.asked),
        (home.told, left.told),
        (home.kinds, left.kinds),
        (home.pointed, left.pointed),
        (home.calls, left.calls),
    ):
        for key, count in other.items():
            own[key] = own.get(key, 0) + count
    for role, position in left.speakers.items():
        home.speakers[role] = max(position, home.speakers.get(role, position))
    if left.last > home.last:
        home.recent = [*home.recent, *left.recent]
        home.last_role, home.asker, home.addressed = left.last_role, left.asker, left.addressed
        home.said, home.gist = left.said, left.gist
        home.opens, home.closed = left.opens, left.closed
    home.spans = merged([*home.spans, *left.spans])
    home.steps += left.steps
    left.into = home.number


def merged(spans: Sequence[list[int]]) -> list[list[int]]:
    """The stretches in order, those that touch as one."""
    stretches: list[list[int]] = []
    for first, last in sorted(spans):
        if stretches and first == stretches[-1][1] + 1:
            stretches[-1][1] = last
        else:
            stretches.append([first, last])
    return stretches


def _part(some: Mapping[str, int], of: Mapping[str, int]) -> float:
    """The share of `some` that is among the others, 0 if there is nothing."""
    return len(some.keys() & of.keys()) / len(some) if some else 0.0
