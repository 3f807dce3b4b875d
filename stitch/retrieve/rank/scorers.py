"""The parts of a score, by name, and the two rules by which they make an order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from stitch.core import DENSITY, LABELS, SIMILARITY, LabelKind, RankingRule, ScoredSnippet
from stitch.retrieve.rank.deeds import deed, exchange, opening, place
from stitch.retrieve.rank.goals import goal, inside, newest
from stitch.retrieve.rank.hinted import SPEAKER, asking, clock, latest, speaker, time
from stitch.retrieve.rank.nearness import nearness, strength_of_hints
from stitch.retrieve.rank.pool import Pool, Scorer
from stitch.retrieve.rank.scope import scope
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
    SIMILARITY: similarity,
    LABELS: labels,
    "scope": scope,
    "nearness": nearness,
    SPEAKER: speaker,
    "time": time,
    "asking": asking,
    "standing": standing,
    "clock": clock,
    "latest": latest,
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

STRICT = RankingRule(((DENSITY,),), (SIMILARITY, "clock"))
"""A person or a model made both labels and filter: the rule of the paper (§2.3); where a question asks for what holds
now, came last or first, the clock speaks among equals."""
WEIGHTED = RankingRule((("verbatim",),), tuple(name for name in SCORERS if name not in ("clock", "verbatim")))
"""Words made one of the two: labels are evidence beside similarity, and all of it is summed; no label that words chose
hides a step that says the question's own words."""

OF_RUNS = ("exchange", "goal", "inside", "deed", "opening", "kind", "place", "newest")
"""What is said of an agent's runs alone."""
OF_SURE_LABELS = (DENSITY,)
"""What counts for labels that were chosen, or licensed by words that name a scope or a list."""
_OF_HINTS = (LABELS, "nearness", "asking")
"""What counts where words only hint at labels."""
_NOT_OF_RUNS = ("nearness", "asking", "standing", "latest")


def scorers_for(pool: Pool, scorers: Mapping[str, Scorer]) -> Mapping[str, Scorer]:
    """Those that have something to say of what is asked, by how sure its labels are and of what it is asked."""
    silent = {*OF_RUNS, *(_OF_HINTS if pool.sure else OF_SURE_LABELS)}
    if pool.of_runs:
        silent = {*OF_SURE_LABELS, *_NOT_OF_RUNS}
    return {name: scorer for name, scorer in scorers.items() if name not in silent}


def tells_of_runs(hits: Iterable[ScoredSnippet]) -> bool:
    """Whether hits were ranked as steps of an agent's runs."""
    return any(not hit.parts.keys().isdisjoint(OF_RUNS) for hit in hits)
