"""Sets whose questions are asked once, so that any weights of the search can be tried on what was found.

What a weight adds to the score of a candidate grows with it, so that the search is asked once, each part of a score is
noted with every weight at nothing and with one of them at 1, and an order by other weights is a sum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

from stitch.bench.data.types import DataSet, Question
from stitch.bench.metrics.recall import recall_at
from stitch.bench.metrics.scores import Score, mean
from stitch.bench.searched import DEPTH, NO_CONTEXT, K, KeptRankings, Noting, tenants_of
from stitch.core import SearchRequest
from stitch.core.ranking import DECIMALS
from stitch.ingest import Ingestor
from stitch.retrieve import IntentRetriever, LocalFilterSelector, PieceCounter
from stitch.retrieve.constants import CONSTANTS, Constants
from stitch.retrieve.rank.beside import BESIDE
from stitch.retrieve.rank.pool import Candidate, Pool, Scorer
from stitch.retrieve.rank.scorers import SCORERS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from stitch.core import RankingRule
    from stitch.core.protocols import SnippetStore

    Column = NDArray[np.float64]

WEIGHTS = (
    "time", "on_the_day", "speaker", "own_matters", "asking", "standing", "preference", "order", "described_scope",
    "described_entity_type", "described_nearness", "hinted_label", "hinted_nearness", "runs_exchange",
    "runs_goal_named", "runs_goal_alike", "runs_inside", "runs_newest", "runs_call", "runs_words_action", "runs_user",
    "runs_explained", "runs_not_user", "runs_result", "runs_failure", "runs_change", "runs_changed_result",
    "runs_opening", "runs_kind", "runs_late", "runs_last", "runs_first",
)  # fmt: skip
"""The constants that are added to the similarity of a step, as many times as a scorer says."""


class Part(NamedTuple):
    """One part of the scores of all candidates."""

    fixed: Column
    """What it is with every weight at nothing."""
    of_weights: Mapping[str, Column]
    """What each weight adds for each 1 that it is."""


class Weighed:
    """A question with its candidates, ranked by any weights.

    Args:
        question: The question.
        candidates: What may become a hit.
        parts: Of their scores, by name.
        rule: By which they are ranked.
    """

    def __init__(
        self, question: Question, candidates: Sequence[Candidate], parts: Mapping[str, Part], rule: RankingRule
    ) -> None:
        places = [(one.snippet.trajectory, one.snippet.position, one.snippet.step) for one in candidates]
        in_order = sorted(range(len(candidates)), key=places.__getitem__)
        self.question = question
        self._steps = [candidates[number].snippet.step for number in in_order]
        self._scores: dict[tuple[float, ...], Score] = {}
        tiers = [_sum(names, parts, in_order) for names in rule.tiers if names != (BESIDE,)]
        self._tiers = [tier.fixed for tier in tiers]
        self._fixed, self._of_weights = _sum(rule.summed, parts, in_order)
        self.weights = frozenset(self._of_weights)
        """Those that change any score."""

    def first(self, constants: Constants) -> tuple[str, ...]:
        """The first steps by these weights, best first."""
        import numpy as np

        totals = self._fixed.copy()
        for name, column in self._of_weights.items():
            totals += getattr(constants, name) * column
        every = [np.round(column, DECIMALS) for column in (totals, *reversed(self._tiers))]
        best = np.lexsort([-column for column in every])[:K]
        return tuple(self._steps[number] for number in best)

    def score(self, constants: Constants) -> Score:
        """The share of the evidence among these."""
        weights = tuple(getattr(constants, name) for name in self._of_weights)
        if weights not in self._scores:
            self._scores[weights] = recall_at(self.first(constants), self.question.evidence, k=K)
        return self._scores[weights]


def _sum(names: Sequence[str], parts: Mapping[str, Part], in_order: Sequence[int]) -> Part:
    """The sum of some parts, with the weights that change it, of candidates in an order."""
    import numpy as np

    total, of_weights = np.zeros(len(in_order)), {name: np.zeros(len(in_order)) for name in WEIGHTS}
    for part in (parts[name] for name in names if name in parts):
        total += part.fixed[in_order]
        for name, column in part.of_weights.items():
            of_weights[name] += column[in_order]
    return Part(total, {name: column for name, column in of_weights.items() if column.any()})


class WeighedSet(NamedTuple):
    """The questions of a set, ranked by any weights."""

    name: str
    questions: Sequence[Weighed]

    @property
    def weights(self) -> frozenset[str]:
        """Those that change any score."""
        return frozenset().union(*(question.weights for question in self.questions))

    def scores(self, constants: Constants) -> list[Score]:
        """The share of each question's evidence among the first hits."""
        return [question.score(constants) for question in self.questions]

    def recall(self, constants: Constants) -> float:
        """The mean of these shares."""
        return mean(self.scores(constants)).value or 0.0


def weighed(data: DataSet, ingestor: Ingestor) -> WeighedSet:
    """The questions of a set that name their evidence, each asked once.

    Args:
        data: The set.
        ingestor: Holds its trajectories, each as a tenant of its own.
    """
    noting = Noting(CONSTANTS)
    parts: dict[str, Part] = {}
    pools: list[Pool] = []
    retriever = IntentRetriever(
        store=cast("SnippetStore", KeptRankings(ingestor.store)),
        selector=LocalFilterSelector(),
        embedder=ingestor.embedder,
        lexical=ingestor.lexical,
        inventories=ingestor.inventory,
        counter=PieceCounter(),
        scorers={name: partial(_noted, name, scorer, noting, parts, pools) for name, scorer in SCORERS.items()},
        constants=cast("Constants", noting),
    )
    tenants = {each.id: tenant for tenant, each in tenants_of(data)}

    def ask(question: Question) -> Weighed:
        asked = question.inquiry
        parts.clear()
        pools.clear()
        found = retriever.search(
            SearchRequest(
                query=asked.text,
                tenant=tenants[asked.trajectory or ""],
                trajectory=asked.trajectory,
                asked_at=asked.asked_at,
                k=DEPTH,
                budget_tokens=NO_CONTEXT,
            )
        )
        return Weighed(question, pools[-1].candidates, parts, found.rule)

    return WeighedSet(data.name, [ask(question) for question in data.questions if question.evidence])


def _noted(
    name: str, scorer: Scorer, noting: Noting, parts: dict[str, Part], pools: list[Pool], pool: Pool
) -> Sequence[float] | None:
    """What a scorer says, noted with what it would say by other weights."""
    import numpy as np

    noting.read.clear()
    said = scorer(pool)
    pools.append(pool)
    read = sorted(noting.read.intersection(WEIGHTS))

    def by(constants: Constants) -> Column:
        noting.table = constants
        told = scorer(pool)
        return np.zeros(len(pool.candidates)) if told is None else np.asarray(told, np.float64)

    nothing = replace(CONSTANTS, **dict.fromkeys(read, 0.0))  # type: ignore[arg-type]
    fixed = by(nothing)
    parts[name] = Part(fixed, {each: by(replace(nothing, **{each: 1.0})) - fixed for each in read})  # type: ignore[arg-type]
    noting.table = CONSTANTS
    return said
