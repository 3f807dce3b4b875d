"""The weights of the search, chosen by sets that are left out in turn.

What a weight adds to the score of a candidate grows with it. So the search is asked once, each part of a score is noted
with every weight at nothing and with one of them at 1, and an order by other weights is a sum. Weights begin at
nothing: a part that does nothing for the sets that choose stays off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from stitch.bench.data.types import DataSet, Question
from stitch.bench.fit import held as sets
from stitch.bench.metrics.evidence import recall_at
from stitch.bench.metrics.scores import Score, mean
from stitch.core import RankingRule
from stitch.core.ranking import DECIMALS
from stitch.ingest import Ingestor
from stitch.retrieve.constants import CONSTANTS, Constants
from stitch.retrieve.rank.beside import BESIDE
from stitch.retrieve.rank.pool import Candidate, Pool, Scorer
from stitch.retrieve.rank.scorers import SCORERS

Column = NDArray[np.float64]

WEIGHTS = (
    "time", "on_the_day", "latest", "speaker", "own_matters", "asking", "standing", "preference", "described_scope",
    "described_entity_type", "described_nearness", "hinted_label", "hinted_nearness", "runs_exchange",
    "runs_goal_named", "runs_goal_alike", "runs_inside", "runs_newest", "runs_call", "runs_words_action", "runs_user",
    "runs_explained", "runs_not_user", "runs_result", "runs_failure", "runs_change", "runs_changed_result",
    "runs_opening", "runs_kind", "runs_late", "runs_last", "runs_first",
)  # fmt: skip
"""The constants that are added to the similarity of a step, as many times as a scorer says."""
K = 10
"""Evidence is looked for among so many hits."""
LEAST_GAIN = 0.0003
"""One question of a small set."""
_FACTORS = (0.5, 0.75, 4 / 3, 2.0)


class Noting:
    """A table of constants that can be exchanged, and notes which of them are read."""

    def __init__(self, table: Constants) -> None:
        self.table = table
        self.read: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        self.read.add(name)
        return getattr(self.table, name)


class Part(NamedTuple):
    """One part of the scores of all candidates."""

    fixed: Column
    """What it is with every weight at nothing."""
    of_weights: Mapping[str, Column]
    """What each weight adds for each 1 that it is."""


class Weighed:
    """A question with its candidates, ranked by any weights; `parts` are of their scores, by name."""

    def __init__(
        self, question: Question, candidates: Sequence[Candidate], parts: Mapping[str, Part], rule: RankingRule
    ) -> None:
        places = [(one.snippet.trajectory, one.snippet.position, one.snippet.step) for one in candidates]
        in_order = sorted(range(len(candidates)), key=places.__getitem__)

        def summed(names: Sequence[str]) -> Part:
            own = [parts[name] for name in names if name in parts]
            columns: dict[str, Column] = {}
            for weight, column in ((weight, column) for part in own for weight, column in part.of_weights.items()):
                columns[weight] = columns.get(weight, 0.0) + column[in_order]
            fixed = sum((part.fixed[in_order] for part in own), np.zeros(len(in_order)))
            return Part(fixed, {name: column for name, column in columns.items() if column.any()})

        self.question = question
        self._steps = [candidates[number].snippet.step for number in in_order]
        self._scores: dict[tuple[float, ...], Score] = {}
        self._tiers = [summed(names).fixed for names in rule.tiers if names != (BESIDE,)]
        self._sum = summed(rule.summed)

    def first(self, constants: Constants) -> tuple[str, ...]:
        """The first steps by these weights, best first."""
        totals = self._sum.fixed.copy()
        for name in (name for name in WEIGHTS if name in self._sum.of_weights):
            totals += getattr(constants, name) * self._sum.of_weights[name]
        every = [np.round(column, DECIMALS) for column in (totals, *reversed(self._tiers))]
        best = np.lexsort([-column for column in every])[:K]
        return tuple(self._steps[number] for number in best)

    def score(self, constants: Constants) -> Score:
        """The share of the evidence among these."""
        weights = tuple(getattr(constants, name) for name in self._sum.of_weights)
        if weights not in self._scores:
            self._scores[weights] = recall_at(self.first(constants), self.question.evidence, k=K)
        return self._scores[weights]


def weighed(data: DataSet, ingestor: Ingestor) -> list[Weighed]:
    """The questions of a set that name their evidence, each asked once."""
    noting = Noting(CONSTANTS)
    parts: dict[str, Part] = {}
    pools: list[Pool] = []

    def noted(name: str, scorer: Scorer, pool: Pool) -> Sequence[float] | None:
        """The scores by a scorer, noted with those that it gives by other weights."""
        noting.read.clear()
        said = scorer(pool)
        pools.append(pool)
        read = sorted(noting.read.intersection(WEIGHTS))

        def by(**weights: float) -> Column:
            noting.table = replace(CONSTANTS, **{**dict.fromkeys(read, 0.0), **weights})  # type: ignore[arg-type]
            scores = scorer(pool)
            return np.zeros(len(pool.candidates)) if scores is None else np.asarray(scores, np.float64)

        fixed = by()
        parts[name] = Part(fixed, {each: by(**{each: 1.0}) - fixed for each in read})
        noting.table = CONSTANTS
        return said

    scorers = {name: partial(noted, name, scorer) for name, scorer in SCORERS.items()}
    retriever = sets.retriever_over(ingestor, scorers=scorers, constants=cast("Constants", noting))
    tenants, found = sets.tenants_of(data), []
    for question in data.questions:
        if question.evidence:
            parts.clear()
            rule = retriever.search(sets.request_for(question, tenants)).rule
            found.append(Weighed(question, pools[-1].candidates, dict(parts), rule))
            pools.clear()
    return found


def values_of(name: str, table: Constants) -> list[float]:
    """Values to try a weight with, the one in a table first; off, it is tried with parts of the one in use."""
    here: float = getattr(table, name)
    used: float = here or getattr(CONSTANTS, name)
    tried = [here, 0.0, *(float(f"{used * factor:.3g}") for factor in _FACTORS), *([] if here else [used])]
    return list(dict.fromkeys(tried))


def recall(questions: Sequence[Weighed], constants: Constants) -> float:
    """Recall of the evidence among the first hits, the mean of questions."""
    return mean(question.score(constants) for question in questions).value or 0.0


@contextmanager
def measured(data: DataSet, kept: Path | None) -> Iterator[Callable[[Constants], float]]:
    """The recall of a set by any weights."""
    with sets.held(data, kept=kept) as ingestor:
        questions = weighed(data, ingestor)
    yield partial(recall, questions)


command = sets.constants_command(
    sets.Problem(CONSTANTS, True, WEIGHTS, values_of, LEAST_GAIN),
    measured=measured,
    rounds=4,
    text="Choose the weights of the search anew, and tell what each set has by those that all others choose.",
)
