"""The parts of a score, by name, and the rules by which they make an order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stitch.core import (
    DENSITY,
    LABEL_DENSITY,
    LABELS,
    SIMILARITY,
    FilterMaker,
    LabelKind,
    Ranking,
    RankingRule,
    Selection,
)
from stitch.retrieve.rank.deeds import deed, exchange, opening, place
from stitch.retrieve.rank.exchanges import exchange_labels, exchange_similarity, named
from stitch.retrieve.rank.goals import goal, inside, newest
from stitch.retrieve.rank.hinted import SPEAKER, asking, order, speaker, time
from stitch.retrieve.rank.nearness import nearness, strength_of_hints
from stitch.retrieve.rank.pool import Pool, Scorer
from stitch.retrieve.rank.standing import standing
from stitch.retrieve.rank.tasks import kind
from stitch.retrieve.rank.verbatim import verbatim


def density(pool: Pool) -> Sequence[float] | None:
    """How many labels of the filter a step carries (§2.3), or what they weigh."""
    return [one.density for one in pool.candidates] if pool.labels else None


def similarity(pool: Pool) -> Sequence[float]:
    """How alike the words and vectors of question and step are."""
    return [one.similarity for one in pool.candidates]


def labels(pool: Pool) -> Sequence[float] | None:
    """What matched labels add where they are likely only; two of a kind count once."""
    share, constants = pool.once(strength_of_hints), pool.constants
    if not pool.labels or not share:
        return None
    of_kind = dict.fromkeys(LabelKind, constants.hinted_label)
    if pool.question.context:
        of_kind[LabelKind.SCOPE] = constants.described_scope
        of_kind[LabelKind.ENTITY_TYPE] = constants.described_entity_type
    return [share * sum(of_kind[kind] for kind in {label.kind for label in one.matched}) for one in pool.candidates]


SCORERS: Mapping[str, Scorer] = {
    "verbatim": verbatim,
    DENSITY: density,
    "named": named,
    "exchange_labels": exchange_labels,
    SIMILARITY: similarity,
    "exchange_similarity": exchange_similarity,
    LABELS: labels,
    "nearness": nearness,
    SPEAKER: speaker,
    "time": time,
    "asking": asking,
    "standing": standing,
    "order": order,
    "exchange": exchange,
    "goal": goal,
    "inside": inside,
    "deed": deed,
    "opening": opening,
    "kind": kind,
    "place": place,
    "newest": newest,
}
"""All scorers by the names of their parts. `IntentRetriever(scorers=...)` takes fewer, or further ones."""

_AMONG_EQUALS = (SIMILARITY, "exchange_similarity", SPEAKER, "time", "standing", "order")

SURE = RankingRule(((DENSITY,), ("named",)), (*_AMONG_EQUALS, "asking"))
"""A person or a model chose the labels: density first, as in the paper; equals are told apart by more."""
LICENSED = RankingRule((("verbatim",), (DENSITY, "named", "exchange_labels")), _AMONG_EQUALS)
"""Words named a scope, or ask for a list or a fact: what a text shows counts as a label where labels miss it."""
WEIGHED = RankingRule(
    (("verbatim",),), (SIMILARITY, LABELS, "nearness", SPEAKER, "time", "asking", "standing", "order")
)
"""Words only hint at labels: they are evidence beside similarity and nearness to what the question says."""

RUNS = RankingRule(
    (("verbatim",),),
    (
        SIMILARITY,
        "exchange",
        "goal",
        "inside",
        "deed",
        "opening",
        "kind",
        "place",
        "newest",
        LABELS,
        SPEAKER,
        "time",
    ),
)
"""What is searched are an agent's runs: whose goal it is and what was done count beside what is said."""


def rule_for(ranking: Ranking, selection: Selection) -> RankingRule:
    """Which rule ranks: the one that is asked for, or the one that fits how the labels were chosen."""
    if ranking is Ranking.STRICT:
        return LABEL_DENSITY
    if ranking is Ranking.WEIGHED or selection.likely:
        return WEIGHED
    return LICENSED if selection.made_by is FilterMaker.WORDS else SURE
