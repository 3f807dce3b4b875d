"""Fit how likely it is that hits bear on a question: `python -m stitch.bench.fit_relevance --data SET ...`.

A memory is asked its own questions and as many of other memories of the same set, which nothing in it answers. Two
logistic models are fitted to that (`stitch.retrieve.relevance`): whether a question is one of the memory's own, and for
those, whether a hit is evidence. Each set is judged by the weights that all others gave; the last line has those of
all sets, which are shipped. Questions without an answer that are about the memory's own matters (`abstention`,
`adversarial`) are told apart and fitted to nothing. Nor are sets named by `--judged`: those of which another memory's
questions are on the same matter, so that what they ask may well be there.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from stitch.bench.data.types import DataSet, Question
from stitch.bench.searched import asked_of_each, retriever_over, tenants_of
from stitch.core import SearchRequest
from stitch.errors import InputError
from stitch.ingest import Ingestor
from stitch.retrieve import PieceCounter
from stitch.retrieve.relevance import Evidence, Relevance, RelevanceEstimator, Weights, relevance

if TYPE_CHECKING:
    import numpy as np

RIDGE = 0.01
NEAR_MISSES = frozenset({"abstention", "adversarial"})
"""Types of questions about a memory's own matters that nothing in it answers."""
LOST = 0.05
"""A threshold may lose so many of a memory's own questions."""
EVIDENCE_LOST = 0.02
"""A threshold may lose so much of the evidence that a context holds."""
BUDGET = 4096
"""Of a context, in tokens."""
EDGES = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 1.01)
"""Chances are told apart at these in a reliability curve."""


class Asked(NamedTuple):
    """A question that a memory was asked."""

    own: bool
    """Whether it is one of the memory's own."""
    near_miss: bool
    evidence: Evidence
    right: tuple[bool, ...]
    """Of each hit, whether it is evidence."""
    tokens: tuple[int, ...]
    """Of each hit."""


class Model(NamedTuple):
    """The weights of both logistic models."""

    answered: Weights
    meant: Weights


def asked_of(data: DataSet, ingestor: Ingestor, *, seed: int = 0) -> Iterator[Asked]:
    """The questions of a set, each asked of its own memory and another of the same set of that memory."""
    counter, draw = PieceCounter(), random.Random(seed)
    retriever = retriever_over(ingestor)
    estimator = RelevanceEstimator(ingestor.store)

    def ask(question: Question, tenant: str, trajectory: str) -> Asked:
        own = question.trajectory == trajectory
        request = SearchRequest(
            query=question.text, tenant=tenant, trajectory=trajectory, asked_at=question.asked_at, budget_tokens=16
        )
        hits = retriever.search(request).hits
        return Asked(
            own=own,
            near_miss=own and (question.type in NEAR_MISSES or not question.evidence),
            evidence=estimator.evidence(request, hits),
            right=tuple(own and hit.snippet.step in question.evidence for hit in hits),
            tokens=tuple(counter.count(hit.snippet.text) for hit in hits),
        )

    for tenant, trajectory in tenants_of(data):
        mine = [each for each in data.questions if each.trajectory == trajectory.id]
        others = [each for each in data.questions if each.trajectory != trajectory.id]
        for question in (*mine, *draw.sample(others, min(len(mine), len(others)))):
            yield ask(question, tenant, trajectory.id)


def fit(sets: Iterable[Sequence[Asked]]) -> Model:
    """The weights of both models; every set counts as much as another."""
    questions: list[tuple[Mapping[str, float], bool, float]] = []
    hits: list[tuple[Mapping[str, float], bool, float]] = []
    for every in sets:
        told = [each for each in every if not each.near_miss and each.right]
        questions += [(each.evidence.question_features, each.own, 1 / len(told)) for each in told]
        own = [pair for each in told if each.own for pair in zip(_of_hits(each.evidence), each.right, strict=True)]
        hits += [(features, right, 1 / len(own)) for features, right in own]
    return Model(logistic(questions), logistic(hits))


def _of_hits(evidence: Evidence) -> Iterator[dict[str, float]]:
    """The numbers of each hit."""
    features = evidence.hit_features
    return (dict(zip(features, row, strict=True)) for row in zip(*features.values(), strict=True))


def logistic(rows: Sequence[tuple[Mapping[str, float], bool, float]]) -> dict[str, float]:
    """The weights of a logistic model.

    Args:
        rows: Numbers by name, what they should tell, and how much the row counts.
    """
    import numpy as np
    from scipy.optimize import minimize

    names = list(rows[0][0])
    numbers = np.array([[row[0][name] for name in names] for row in rows])
    signs = np.array([1.0 if row[1] else -1.0 for row in rows])
    counts = np.array([row[2] for row in rows])
    counts *= len(rows) / counts.sum()

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        margins = signs * (numbers @ weights)
        slope = -(counts * signs / (1 + np.exp(margins))) @ numbers
        return float(counts @ np.logaddexp(0, -margins)) + RIDGE * float(weights @ weights) / 2, slope + RIDGE * weights

    found = minimize(loss, np.zeros(len(names)), jac=True, method="L-BFGS-B", options={"maxiter": 2_000})
    return {name: round(float(weight), 3) for name, weight in zip(names, found.x, strict=True)}


class Judged(NamedTuple):
    """How well chances tell own questions from others, and evidence from what is none."""

    auc: float
    """How often an own question has a higher chance than another memory's."""
    caught: float
    """The share of others' questions below the threshold that loses `LOST` of the own."""
    carried: tuple[float, float]
    """What is caught, and what is lost, at the threshold that the other sets chose."""
    near_misses: float | None
    """As `auc`, for questions that the memory's own matters do not answer."""
    hits: float
    """How often a hit that is evidence has a higher chance than one that is none, both of own questions."""
    saved: float
    """The share of a context's tokens below the threshold that loses `EVIDENCE_LOST` of its evidence."""
    reliability: tuple[tuple[float, float, int], ...]
    """Of the hits with chances between two of the `EDGES`: the mean chance, the share that is evidence, how many."""


def judge(asked: Sequence[Asked], model: Model, *, threshold: float) -> Judged:
    """How well a model tells what bears on questions of a set."""
    told = [(each, relevance(each.evidence, answered=model.answered, meant=model.meant)) for each in asked]
    kinds: dict[tuple[bool, bool], list[float]] = defaultdict(list)
    for each, chances in told:
        kinds[each.own, each.near_miss].append(chances.result)
    own, others, missed = (kinds[kind] for kind in ((True, False), (False, False), (True, True)))
    rows = list(chain.from_iterable(_rows(*pair) for pair in told))
    right, wrong = ([row.chance for row in rows if row.right is value] for value in (True, False))
    return Judged(
        auc=auc(own, others),
        caught=_below(others, _quantile(own, LOST)),
        carried=(_below(others, threshold), _below(own, threshold)),
        near_misses=auc(own, missed) if missed else None,
        hits=auc(right, wrong),
        saved=_saved([row for row in rows if row.shown]),
        reliability=tuple(_reliability(rows)),
    )


class _Row(NamedTuple):
    """A hit of an own question."""

    chance: float
    right: bool
    tokens: int
    shown: bool
    """Whether there is room for it in a context."""


def _rows(asked: Asked, chances: Relevance) -> Iterator[_Row]:
    used = 0
    if not asked.own or asked.near_miss:
        return
    for value, right, tokens in zip(chances.hits, asked.right, asked.tokens, strict=True):
        yield _Row(value, right, tokens, used < BUDGET)
        used += tokens


def _saved(shown: Sequence[_Row]) -> float:
    """The share of the tokens below the chance that loses `EVIDENCE_LOST` of the evidence."""
    least = _quantile([row.chance for row in shown if row.right], EVIDENCE_LOST)
    return sum(row.tokens for row in shown if row.chance < least) / (sum(row.tokens for row in shown) or 1)


def _reliability(rows: Sequence[_Row]) -> Iterator[tuple[float, float, int]]:
    for low, high in zip((0.0, *EDGES), EDGES, strict=False):
        if inside := [row for row in rows if low <= row.chance < high]:
            count = len(inside)
            yield (
                round(sum(row.chance for row in inside) / count, 3),
                round(sum(row.right for row in inside) / count, 3),
                count,
            )


def threshold_of(sets: Iterable[Sequence[Asked]], model: Model) -> float:
    """The chance below which `LOST` of the own questions of these sets are, on the mean of the sets."""
    found = []
    for every in sets:
        own = [each for each in every if each.own and not each.near_miss]
        found.append(_quantile([relevance(e.evidence, answered=model.answered).result for e in own], LOST))
    return sum(found) / len(found)


def auc(higher: Sequence[float], lower: Sequence[float]) -> float:
    """How often one of `higher` is above one of `lower`; ties count one half. 0.5 if there is none of either."""
    from scipy.stats import rankdata

    if not higher or not lower:
        return 0.5
    ranks = rankdata([*higher, *lower])[: len(higher)]
    return float((ranks.sum() - len(higher) * (len(higher) + 1) / 2) / (len(higher) * len(lower)))


def _quantile(values: Sequence[float], share: float) -> float:
    return sorted(values)[int(share * len(values))] if values else 0.0


def _below(values: Sequence[float], threshold: float) -> float:
    return sum(value < threshold for value in values) / len(values) if values else 0.0


@click.command()
@click.option("--data", "folders", multiple=True, type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--judged", "only_judged", multiple=True, type=click.Path(path_type=Path, exists=True, file_okay=False),
              help="A set that is judged and fitted to nothing.")  # fmt: skip
@click.option("--limit", type=click.IntRange(1), help="Use so many questions of a set.")
@click.option("--kept", type=click.Path(path_type=Path, file_okay=False), help="Keep the memories in this folder.")
def main(folders: Sequence[Path], only_judged: Sequence[Path], limit: int | None, kept: Path | None) -> None:
    """Fit the chances of hits, and tell of each set how well those hold that all others gave."""
    if len(folders) < 2:
        raise InputError("fitting needs at least two sets", hint="give --data once for each set")
    sets = asked_of_each((*folders, *only_judged), asked_of, limit=limit, kept=kept)
    fitted = list(sets)[: len(folders)]
    for name, own in sets.items():
        others = [sets[other] for other in fitted if other != name]
        model = fit(others)
        click.echo(json.dumps({"set": name, **judge(own, model, threshold=threshold_of(others, model))._asdict()}))
    click.echo(json.dumps({"shipped": fit(sets[name] for name in fitted)._asdict()}))


if __name__ == "__main__":
    main()
