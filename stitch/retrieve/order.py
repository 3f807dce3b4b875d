"""The two rules that make an order of candidates: *strict*, by label density, and *weighted*, a sum of features."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from stitch.core import DENSITY, SIMILARITY, FilterMaker, RankingRule, ScoredSnippet
from stitch.retrieve.candidates import Pool
from stitch.retrieve.features import FEATURES
from stitch.text.dates import day_of

if TYPE_CHECKING:
    from stitch.retrieve.candidates import Column

_EQUAL = 1e-9
"""Sums that differ by less may be equal when they are made as a rule makes them."""
WEIGHTS = Path(__file__).parent / "weights.json"
"""The weights of features, which `python -m stitch.bench.fit ranking` makes."""
CLOCK, CLOCK_GAIN = "clock", 0.2
"""What the last of equals in density gains over the first, where a question asks for the last; the other way round."""
STRICT = RankingRule(((DENSITY,),), (SIMILARITY, CLOCK))
"""A person or a model made both labels and filter: the rule of the paper (§2.3); where a question asks for what holds
now, came last or first, the clock speaks among equals."""
WEIGHTED = RankingRule(summed=(*FEATURES, DENSITY))
"""Words made one of the two: features are summed, and each label of a filter by a model or a person counts 1."""
OF_A_DAY = RankingRule((("time",),), tuple(name for name in WEIGHTED.summed if name != "time"))
"""A day is asked for and nothing else, so that words tell nothing: what happened then stands first."""


@lru_cache(maxsize=1)
def weights() -> Mapping[str, float]:
    """The shipped weights, by feature."""
    made: Mapping[str, float] = json.loads(WEIGHTS.read_text("utf-8"))
    return made


def rank(pool: Pool, *, k: int) -> list[ScoredSnippet]:
    """The first `k` candidates by the rule, best first, each with the parts of its score and its similarity."""
    rule = pool.rule
    columns = _strict_parts(pool) if rule.is_strict else _weighted_parts(pool)
    columns[SIMILARITY] = pool.similarities
    first = _first(pool, columns, k=k)
    rows = zip(*(column[first].tolist() for column in columns.values()), strict=True)
    ranked = []
    for place, row in zip(first, rows, strict=True):
        parts = dict(zip(columns, row, strict=True))
        totals = rule.totals(parts)
        ranked.append(([-total for total in totals], place, parts))
    ranked.sort(key=lambda each: each[:2])
    return [
        ScoredSnippet(one := pool.snippets[place], pool.matched(one), parts, -totals[-1])
        for totals, place, parts in ranked[:k]
    ]


def _first(pool: Pool, columns: Mapping[str, Column], *, k: int) -> list[int]:
    """The places of those that may be among the first `k`: sums that are made in another order differ a little."""
    totals: list[Column] = []
    for names in (*pool.rule.tiers, pool.rule.summed):
        own = [columns[name] for name in names if name in columns]
        totals.append(np.sum(own, axis=0) if own else np.zeros(len(pool.candidates)))
    order: list[int] = np.lexsort([-total for total in reversed(totals)]).tolist()
    end = k
    while end < len(order) and all(abs(total[order[end]] - total[order[k - 1]]) < _EQUAL for total in totals):
        end += 1
    return order[:end]


def _strict_parts(pool: Pool) -> dict[str, Column]:
    parts = {DENSITY: pool.densities}
    if CLOCK in pool.rule.parts and pool.question.order:
        parts[CLOCK] = _clock(pool)
    return parts


def _weighted_parts(pool: Pool) -> dict[str, Column]:
    said = ((weight, name, FEATURES[name](pool)) for name, weight in weights().items())
    parts: dict[str, Column] = {name: weight * column for weight, name, column in said if column is not None}
    if pool.labels and pool.selection.made_by is not FilterMaker.WORDS:
        parts[DENSITY] = pool.densities
    return parts


def _clock(pool: Pool) -> Column:
    """Gain by time among candidates of equal density: latest first, or earliest where the first is asked for."""
    in_time = sorted(range(len(pool.candidates)), key=lambda place: (day_of(pool.snippets[place].happened) or 0, place))
    gains = np.zeros(len(pool.candidates))
    for density in np.unique(pool.densities):
        equals = [place for place in in_time if pool.densities[place] == density]
        gains[equals[:: pool.question.order]] = CLOCK_GAIN * np.arange(len(equals)) / max(1, len(equals) - 1)
    return gains
