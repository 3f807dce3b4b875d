"""The chance that hits bear on a question: two logistic models (`stitch.retrieve.relevance`).

A memory is asked its own questions and as many of other sets, which nothing in it answers. One model tells whether a
question is one of the memory's own, the other, for those, whether a hit is evidence. Some are asked in a person's other
words as well: the chance below which nothing comes back loses few of these. Each set is judged by what all others gave;
the last line has what all sets give, which is shipped. Questions without an answer about the memory's own matters
(`abstention`, `adversarial`) are told apart and fitted to nothing, nor are sets of `--judged`.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from stitch.bench.data.sets import load_questions
from stitch.bench.data.types import DataSet, Question
from stitch.bench.fit import held as sets
from stitch.bench.fit.ranking import in_other_words
from stitch.bench.fit.solvers import left_out, logistic
from stitch.core import SearchRequest
from stitch.errors import InputError
from stitch.memory_parts import MemoryParts
from stitch.retrieve.relevance import Evidence, RelevanceEstimator, Weights, relevance

RIDGE = 0.01
NEAR_MISSES = frozenset({"abstention", "adversarial"})
"""Types of questions about a memory's own matters that nothing in it answers."""
LOST = 0.05
"""A threshold may lose so many of a memory's own questions in other words: who asks so should not be left alone."""


class JudgedQuestion(NamedTuple):
    """A question that a memory was asked."""

    own: bool
    """Whether it is one of the memory's own."""
    near_miss: bool
    evidence: Evidence
    right: tuple[bool, ...]
    """Of each hit, whether it is evidence."""
    reworded: bool = False
    """Whether it is one of its own in other words."""


class Model(NamedTuple):
    """The weights of both logistic models, and the chance below which `LOST` of the own questions are."""

    answered: Weights
    meant: Weights
    threshold: float


def asked_of(
    data: DataSet, parts: MemoryParts, *, foreign: Sequence[Question], seed: int = 0
) -> Iterator[JudgedQuestion]:
    """The questions of a set, each asked of its own memory, and for each of them another one of that memory."""
    draw = random.Random(seed)
    retriever = sets.steps_of(parts)
    estimator = RelevanceEstimator(parts.ingestor.store, embedder=parts.ingestor.embedder)
    other_words = in_other_words(data)
    for trajectory, tenant in sets.tenants_of(data).items():
        mine, reworded = (
            [each for each in own if each.trajectory == trajectory] for own in (data.questions, other_words)
        )
        for own, question in (
            *((True, each) for each in (*mine, *reworded)),
            *((False, each) for each in draw.sample(foreign, len(mine))),
        ):
            request = SearchRequest(
                query=question.text,
                tenant=tenant,
                trajectory=trajectory,
                asked_at=question.asked_at,
                budget_tokens=sets.NO_CONTEXT,
            )
            hits = retriever.search(request).hits
            yield JudgedQuestion(
                own=own,
                near_miss=own and (question.type in NEAR_MISSES or not question.evidence),
                evidence=estimator.evidence(request, hits, few=len(hits) < request.depth),
                right=tuple(own and hit.snippet.step in question.evidence for hit in hits),
                reworded=own and question in reworded,
            )


def fit(asked: Iterable[Sequence[JudgedQuestion]]) -> Model:
    """The weights of both models; every set counts as much as another."""
    every = [list(own) for own in asked]
    questions: list[tuple[Mapping[str, float], bool, float]] = []
    hits: list[tuple[Mapping[str, float], bool, float]] = []
    for own in every:
        told = [each for each in own if not (each.near_miss or each.reworded) and each.right]
        questions += [(each.evidence.question_features, each.own, 1 / len(told)) for each in told]
        pairs = [pair for each in told if each.own for pair in zip(_of_hits(each.evidence), each.right, strict=True)]
        hits += [(features, right, 1 / len(pairs)) for features, right in pairs]
    answered, meant = _chances(questions), _chances(hits)
    return Model(answered, meant, sum(_threshold(own, answered) for own in every) / len(every))


def _threshold(asked: Sequence[JudgedQuestion], answered: Weights) -> float:
    own = [each for each in asked if each.own and not each.near_miss]
    judged = [each for each in own if each.reworded] or own
    chances = sorted(relevance(each.evidence, answered=answered).result for each in judged)
    return chances[int(LOST * len(chances))] if chances else 0.0


def _of_hits(evidence: Evidence) -> Iterator[dict[str, float]]:
    features = evidence.hit_features
    return (dict(zip(features, row, strict=True)) for row in zip(*features.values(), strict=True))


def _chances(rows: Sequence[tuple[Mapping[str, float], bool, float]]) -> dict[str, float]:
    """The weights of a logistic model of numbers by name, what they should tell, and how much each row counts."""
    if len({is_right for _, is_right, _ in rows}) < 2:
        raise InputError("there is nothing to tell apart", hint="give more sets of several memories with --data")
    names, counts = list(rows[0][0]), np.array([count for _, _, count in rows])
    numbers = np.array([[features[name] for name in names] for features, _, _ in rows])
    right = np.array([is_right for _, is_right, _ in rows])
    weights, _ = logistic(numbers, right, counts=counts * len(rows) / counts.sum(), ridge=RIDGE, intercept=False)
    return {name: round(float(weight), 3) for name, weight in zip(names, weights, strict=True)}


def judge(asked: Sequence[JudgedQuestion], model: Model) -> dict[str, float | None]:
    """Figures of a model: own questions told from others (`auc`), evidence from what is none (`hits`).

    `near_misses` is as `auc`, of questions that the memory's own matters do not answer; `caught`, `lost` and `reworded`
    are the shares of others', of own questions and of these in other words below the threshold.
    """
    kinds: dict[tuple[bool, bool], list[float]] = defaultdict(list)
    reworded = list[float]()
    hits: dict[bool, list[float]] = {True: [], False: []}
    for each in asked:
        chances = relevance(each.evidence, answered=model.answered, meant=model.meant)
        (reworded if each.reworded else kinds[each.own, each.near_miss]).append(chances.result)
        if each.own and not (each.near_miss or each.reworded):
            for chance, right in zip(chances.hits, each.right, strict=True):
                hits[right].append(chance)
    own, others, missed = (kinds[kind] for kind in ((True, False), (False, False), (True, True)))
    caught, lost, in_words = (
        sum(each < model.threshold for each in kind) / len(kind) if kind else None for kind in (others, own, reworded)
    )
    near = auc(own, missed) if missed else None
    return {"auc": auc(own, others), "caught": caught, "lost": lost, "reworded": in_words, "near_misses": near,
            "hits": auc(hits[True], hits[False])}  # fmt: skip


def auc(higher: Sequence[float], lower: Sequence[float]) -> float:
    """Share of pairs in which `higher` is above `lower`; ties count one half. 0.5 if there is none of either."""
    from sklearn.metrics import roc_auc_score

    if not higher or not lower:
        return 0.5
    return float(roc_auc_score([1] * len(higher) + [0] * len(lower), [*higher, *lower]))


@click.command()
@sets.DATA
@sets.JUDGED
@sets.LIMIT
@sets.KEPT
def command(folders: Sequence[Path], judged: Sequence[Path], limit: int | None, kept: Path | None) -> None:
    """Fit the chances of hits, and tell of each set how well those hold that all others gave."""
    chosen = sets.load_sets(folders, limit=limit)
    asked: dict[str, list[JudgedQuestion]] = {}
    for data in (*chosen, *(load_questions(folder).limited(limit) for folder in judged)):
        foreign = [question for other in chosen if other.name != data.name for question in other.questions]
        with sets.held(data, kept=kept) as parts:
            asked[data.name] = list(asked_of(data, parts, foreign=foreign))
    fitted = {data.name: asked.pop(data.name) for data in chosen}

    def tell(name: str, own: Sequence[JudgedQuestion], model: Model) -> None:
        told: dict[str, Any] = {"set": name, **judge(own, model)}
        click.echo(json.dumps(told))

    for name, own, model in left_out(fitted, lambda others: fit(others.values())):
        tell(name, own, model)
    every = fit(fitted.values())
    for name, own in asked.items():
        tell(name, own, every)
    click.echo(json.dumps({"shipped": {"least": every.threshold, "answered": every.answered, "meant": every.meant}}))
