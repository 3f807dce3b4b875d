"""The chance that hits bear on a question: two logistic models (`stitch.retrieve.relevance`).

A memory is asked its own questions and as many of other memories of the same set, which nothing in it answers. One
model tells whether a question is one of the memory's own, the other, for those, whether a hit is evidence. Each set is
judged by the weights that all others gave; the last line has those of all sets, which are shipped. Questions without an
answer about the memory's own matters (`abstention`, `adversarial`) are told apart and fitted to nothing, nor are sets
named by `--judged`: those of which another memory's questions are on the same matter.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from stitch.bench.data.sets import load_questions
from stitch.bench.data.types import DataSet
from stitch.bench.fit.memories import DATA, JUDGED, KEPT, LIMIT, asked_of_each, load_sets, retriever_over, tenants_of
from stitch.core import SearchRequest
from stitch.ingest import Ingestor
from stitch.retrieve.relevance import Evidence, RelevanceEstimator, Weights, relevance

if TYPE_CHECKING:
    import numpy as np

RIDGE = 0.01
NEAR_MISSES = frozenset({"abstention", "adversarial"})
"""Types of questions about a memory's own matters that nothing in it answers."""
LOST = 0.05
"""A threshold may lose so many of a memory's own questions."""

_Row = tuple[Mapping[str, float], bool, float]
"""Numbers by name, what they should tell, and how much the row counts."""


class Asked(NamedTuple):
    """A question that a memory was asked."""

    own: bool
    """Whether it is one of the memory's own."""
    near_miss: bool
    evidence: Evidence
    right: tuple[bool, ...]
    """Of each hit, whether it is evidence."""


class Model(NamedTuple):
    """The weights of both logistic models."""

    answered: Weights
    meant: Weights


class Judged(NamedTuple):
    """How well chances tell own questions from others, and evidence from what is none."""

    auc: float
    """How often an own question has a higher chance than another memory's."""
    caught: float
    """The share of others' questions below the threshold that the other sets chose."""
    lost: float
    """The share of own questions below it."""
    near_misses: float | None
    """As `auc`, for questions that the memory's own matters do not answer."""
    hits: float
    """How often a hit that is evidence has a higher chance than one that is none, both of own questions."""


def asked_of(data: DataSet, ingestor: Ingestor, *, seed: int = 0) -> Iterator[Asked]:
    """The questions of a set, each asked of its own memory and another of the same set of that memory."""
    draw = random.Random(seed)
    retriever, estimator = retriever_over(ingestor), RelevanceEstimator(ingestor.store)
    for trajectory, tenant in tenants_of(data).items():
        mine = [each for each in data.questions if each.trajectory == trajectory]
        others = [each for each in data.questions if each.trajectory != trajectory]
        for question in (*mine, *draw.sample(others, min(len(mine), len(others)))):
            own = question.trajectory == trajectory
            request = SearchRequest(
                query=question.text, tenant=tenant, trajectory=trajectory, asked_at=question.asked_at, budget_tokens=16
            )
            hits = retriever.search(request).hits
            yield Asked(
                own=own,
                near_miss=own and (question.type in NEAR_MISSES or not question.evidence),
                evidence=estimator.evidence(request, hits),
                right=tuple(own and hit.snippet.step in question.evidence for hit in hits),
            )


def fit(sets: Iterable[Sequence[Asked]]) -> Model:
    """The weights of both models; every set counts as much as another."""
    questions: list[_Row] = []
    hits: list[_Row] = []
    for every in sets:
        told = [each for each in every if not each.near_miss and each.right]
        questions += [(each.evidence.question_features, each.own, 1 / len(told)) for each in told]
        own = [pair for each in told if each.own for pair in zip(_of_hits(each.evidence), each.right, strict=True)]
        hits += [(features, right, 1 / len(own)) for features, right in own]
    return Model(logistic(questions), logistic(hits))


def _of_hits(evidence: Evidence) -> Iterator[dict[str, float]]:
    features = evidence.hit_features
    return (dict(zip(features, row, strict=True)) for row in zip(*features.values(), strict=True))


def logistic(rows: Sequence[_Row]) -> dict[str, float]:
    """The weights of a logistic model."""
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


def judge(asked: Sequence[Asked], model: Model, *, threshold: float) -> Judged:
    """How well a model tells what bears on questions of a set."""
    kinds: dict[tuple[bool, bool], list[float]] = defaultdict(list)
    hits: dict[bool, list[float]] = {True: [], False: []}
    for each in asked:
        chances = relevance(each.evidence, answered=model.answered, meant=model.meant)
        kinds[each.own, each.near_miss].append(chances.result)
        if each.own and not each.near_miss:
            for chance, right in zip(chances.hits, each.right, strict=True):
                hits[right].append(chance)
    own, others, missed = (kinds[kind] for kind in ((True, False), (False, False), (True, True)))
    return Judged(
        auc=auc(own, others),
        caught=_below(others, threshold),
        lost=_below(own, threshold),
        near_misses=auc(own, missed) if missed else None,
        hits=auc(hits[True], hits[False]),
    )


def threshold_of(sets: Iterable[Sequence[Asked]], model: Model) -> float:
    """The chance below which `LOST` of the own questions of these sets are, on the mean of the sets."""
    found = []
    for every in sets:
        own = [each for each in every if each.own and not each.near_miss]
        chances = sorted(relevance(each.evidence, answered=model.answered).result for each in own)
        found.append(chances[int(LOST * len(chances))] if chances else 0.0)
    return sum(found) / len(found)


def auc(higher: Sequence[float], lower: Sequence[float]) -> float:
    """How often one of `higher` is above one of `lower`; ties count one half. 0.5 if there is none of either."""
    from scipy.stats import rankdata

    if not higher or not lower:
        return 0.5
    ranks = rankdata([*higher, *lower])[: len(higher)]
    return float((ranks.sum() - len(higher) * (len(higher) + 1) / 2) / (len(higher) * len(lower)))


def _below(values: Sequence[float], threshold: float) -> float:
    return sum(value < threshold for value in values) / len(values) if values else 0.0


@click.command()
@DATA
@JUDGED
@LIMIT
@KEPT
def command(folders: Sequence[Path], judged: Sequence[Path], limit: int | None, kept: Path | None) -> None:
    """Fit the chances of hits, and tell of each set how well those hold that all others gave."""
    fitted = load_sets(folders, limit=limit)
    every = [*fitted, *(load_questions(folder).limited(limit) for folder in judged)]
    sets = asked_of_each(every, asked_of, kept=kept)
    for name, own in sets.items():
        others = [sets[other.name] for other in fitted if other.name != name]
        model = fit(others)
        click.echo(json.dumps({"set": name, **judge(own, model, threshold=threshold_of(others, model))._asdict()}))
    click.echo(json.dumps({"shipped": fit(sets[data.name] for data in fitted)._asdict()}))
