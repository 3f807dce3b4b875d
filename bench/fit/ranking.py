"""The weights of the search, chosen by sets that are left out in turn.

What a weight adds to the score of a candidate grows with it. So the search is asked once, each part of a score is noted
with every weight at nothing and with one of them at 1, and an order by other weights is a sum. Weights begin at
nothing: a part that does nothing for the sets that choose stays off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import click

from stitch.bench.data.types import DataSet, Question
from stitch.bench.fit.constants import Problem, fit_constants, only
from stitch.bench.fit.memories import DATA, KEPT, LIMIT, held, load_sets, request_for, retriever_over, tenants_of
from stitch.bench.metrics.evidence import recall_at
from stitch.bench.metrics.scores import Score, mean
from stitch.core.ranking import DECIMALS
from stitch.ingest import Ingestor
from stitch.retrieve.constants import CONSTANTS, Constants
from stitch.retrieve.rank.beside import BESIDE
from stitch.retrieve.rank.pool import Candidate, Pool, Scorer
from stitch.retrieve.rank.scorers import SCORERS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from stitch.core import RankingRule

    Column = NDArray[np.float64]

WEIGHTS = (
    "time", "on_the_day", "speaker", "own_matters", "asking", "standing", "preference", "order", "described_scope",
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
        self._tiers = [_sum(names, parts, in_order).fixed for names in rule.tiers if names != (BESIDE,)]
        self._fixed, self._of_weights = _sum(rule.summed, parts, in_order)

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


def weighed(data: DataSet, ingestor: Ingestor) -> list[Weighed]:
    """The questions of a set that name their evidence, each asked once."""
    noting = Noting(CONSTANTS)
    parts: dict[str, Part] = {}
    pools: list[Pool] = []
    retriever = retriever_over(
        ingestor,
        scorers={name: partial(_noted, name, scorer, noting, parts, pools) for name, scorer in SCORERS.items()},
        constants=cast("Constants", noting),
    )
    tenants, found = tenants_of(data), []
    for question in data.questions:
        if question.evidence:
            parts.clear()
            rule = retriever.search(request_for(question, tenants)).rule
            found.append(Weighed(question, pools[-1].candidates, dict(parts), rule))
            pools.clear()
    return found


def _noted(
    name: str, scorer: Scorer, noting: Noting, parts: dict[str, Part], pools: list[Pool], pool: Pool
) -> Sequence[float] | None:
    """The scores by a scorer, noted with those that it gives by other weights."""
    import numpy as np

    noting.read.clear()
    said = scorer(pool)
    pools.append(pool)
    read = sorted(noting.read.intersection(WEIGHTS))

    def by(constants: Constants) -> Column:
        noting.table = constants
        scores = scorer(pool)
        return np.zeros(len(pool.candidates)) if scores is None else np.asarray(scores, np.float64)

    nothing = replace(CONSTANTS, **dict.fromkeys(read, 0.0))  # type: ignore[arg-type]
    fixed = by(nothing)
    parts[name] = Part(fixed, {each: by(replace(nothing, **{each: 1.0})) - fixed for each in read})  # type: ignore[arg-type]
    noting.table = CONSTANTS
    return said


def values_of(name: str, table: Constants) -> list[float]:
    """Values to try a weight with, the one in a table first; off, it is tried with parts of the one in use."""
    here: float = getattr(table, name)
    used: float = here or getattr(CONSTANTS, name)
    tried = [here, 0.0, *(float(f"{used * factor:.3g}") for factor in _FACTORS), *([] if here else [used])]
    return list(dict.fromkeys(tried))


def recall(questions: Sequence[Weighed], constants: Constants) -> float:
    """Recall of the evidence among the first hits, the mean of questions."""
    return mean(question.score(constants) for question in questions).value or 0.0


@click.command()
@DATA
@click.option("--only", "names", multiple=True, help="A weight, by its name in retrieve/constants.py; all by default.")
@LIMIT
@click.option("--rounds", type=click.IntRange(1), default=4, show_default=True, help="Go through the weights so often.")
@KEPT
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    folders: Sequence[Path], names: Sequence[str], limit: int | None, rounds: int, kept: Path | None, as_json: bool
) -> None:
    """Choose the weights of the search anew, and tell what each set has by those that all others choose."""
    chosen = only(names, WEIGHTS)
    goodness = {}
    for data in load_sets(folders, limit=limit):
        with held(data, kept=kept) as ingestor:
            goodness[data.name] = partial(recall, weighed(data, ingestor))
        click.echo(f"stitch: {data.name}, {len(data.questions)} questions", err=True)
    start = replace(CONSTANTS, **dict.fromkeys(chosen, 0.0))  # type: ignore[arg-type]
    problem = Problem(CONSTANTS, start, chosen, values_of, LEAST_GAIN, goodness)
    fit_constants(problem, rounds=rounds, as_json=as_json)
