"""The two rules that make an order of candidates: *strict*, by label density, and *weighted*, a sum of features."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from stitch.core import DENSITY, SIMILARITY, FilterMaker, RankingRule, ScoredSnippet
from stitch.core.ranking import add_up
from stitch.retrieve.candidates import Pool
from stitch.retrieve.features import FEATURES
from stitch.text.dates import day_of

WEIGHTS = Path(__file__).parent / "weights.json"
"""The weights of features, which `python -m stitch.bench.fit ranking` makes."""
CLOCK, CLOCK_GAIN = "clock", 0.2
"""What the last of equals in density gains over the first, where a question asks for the last; the other way round."""
STRICT = RankingRule(((DENSITY,),), (SIMILARITY, CLOCK))
"""A person or a model made both labels and filter: the rule of the paper (§2.3); where a question asks for what holds
now, came last or first, the clock speaks among equals."""
WEIGHTED = RankingRule(summed=(*FEATURES, DENSITY))
"""Words made one of the two: features are summed, and each label of a filter by a model or a person counts 1."""


@lru_cache(maxsize=1)
def weights() -> Mapping[str, float]:
    """The shipped weights, by feature."""
    made: Mapping[str, float] = json.loads(WEIGHTS.read_text("utf-8"))
    return made


def rank(pool: Pool, rule: RankingRule, *, k: int, weights: Mapping[str, float]) -> list[ScoredSnippet]:
    """The first `k` candidates under a rule, best first, each with the parts of its score and its similarity."""
    parts = _strict_parts(pool, rule) if rule.is_strict else _weighted_parts(pool, weights)
    parts[SIMILARITY] = [one.similarity for one in pool.candidates]

    def total(names: Sequence[str]) -> list[float]:
        columns = [parts[name] for name in names if name in parts]
        return [-add_up(row) for row in zip(*columns, strict=True)] or [0.0] * len(pool.candidates)

    totals = [total(names) for names in (*rule.tiers, rule.summed)]
    places = [
        (one.snippet.trajectory, one.snippet.position, one.snippet.step, n) for n, one in enumerate(pool.candidates)
    ]
    rows = list(zip(*parts.values(), strict=True))
    hits = []
    for row in sorted(zip(*totals, places, strict=True))[:k]:
        n = row[-1][-1]
        one = pool.candidates[n]
        hits.append(ScoredSnippet(one.snippet, one.matched, dict(zip(parts, rows[n], strict=True)), -totals[-1][n]))
    return hits


def _strict_parts(pool: Pool, rule: RankingRule) -> dict[str, list[float]]:
    parts = {DENSITY: [one.density for one in pool.candidates]}
    if CLOCK in rule.parts and pool.question.order:
        parts[CLOCK] = _clock(pool)
    return parts


def _weighted_parts(pool: Pool, weights: Mapping[str, float]) -> dict[str, list[float]]:
    parts = {
        name: (weights[name] * column).tolist()
        for name, feature in FEATURES.items()
        if weights.get(name) and (column := feature(pool)) is not None
    }
    if pool.labels and pool.selection.made_by is not FilterMaker.WORDS:
        parts[DENSITY] = [one.density for one in pool.candidates]
    return parts


def _clock(pool: Pool) -> list[float]:
    """How late a candidate happened among those of its density; how early, where the first is asked for."""
    equals: dict[float, list[int]] = {}
    for number in in_time(pool):
        equals.setdefault(pool.candidates[number].density, []).append(number)
    gains = [0.0] * len(pool.candidates)
    for numbers in equals.values():
        for place, number in enumerate(numbers if pool.question.order > 0 else reversed(numbers)):
            gains[number] = CLOCK_GAIN * place / max(1, len(numbers) - 1)
    return gains


def in_time(pool: Pool) -> list[int]:
    """The numbers of the candidates in the order in which they happened."""

    def when(number: int) -> tuple[int, str, int, str]:
        one = pool.candidates[number].snippet
        return day_of(one.happened) or 0, one.trajectory, one.position, one.step

    return sorted(range(len(pool.candidates)), key=when)
