"""The weights of the features that order candidates where label density does not (`stitch/retrieve/weights.json`).

Each question gives its candidates with what every feature says of them; a conditional logit finds the weights by which
evidence stands before the rest, every set counting as much as another. Some are asked in other words as well, which a
person wrote (`reworded.tsv`): what holds only while words agree would drown similarity where they do not. Each set is
judged by the weights that all others give, and so is each feature: what all sets lose, left out, when it is taken away.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

from stitch.bench.data.types import DataSet, Question
from stitch.bench.figures import print_table
from stitch.bench.fit import held as sets
from stitch.bench.fit.solvers import Array, left_out, listwise
from stitch.memory_parts import MemoryParts
from stitch.retrieve import FEATURES
from stitch.retrieve.order import WEIGHTS

K = 10
"""Evidence is looked for among so many hits."""
RIDGE = 0.001
SCALE = 0.25
"""Weights are told beside a label of a chosen filter, which counts 1 and as much as four units of the fit."""
LEAST = {"late": 0.3}
"""Weights that are fitted no smaller. By `late` the newest of what somebody said twice and otherwise stands first, too;
no recall shows that, for the older one is evidence as well. With less it is first too seldom (`newest first` in
`stitch.bench.gates`)."""
REWORDED = Path(__file__).with_name("reworded.tsv")
"""Questions in other words, one a line: set, question, wording."""
_HARD, _EASY = 60, 40
"""The candidates of a question that take part: those most alike, and others by chance."""


class Ranked(NamedTuple):
    """The candidates of a question."""

    columns: NDArray[np.float64]
    """What each feature says of each."""
    right: NDArray[np.bool_]
    evidence: int
    """Number of steps of evidence, found or not."""
    chosen: NDArray[np.int64]
    """Those that take part in the fit."""


class SetQuestions(NamedTuple):
    """The questions of a set, as they are and in other words."""

    plain: list[Ranked]
    reworded: list[Ranked]


Weights = Mapping[str, float]
Recalls = tuple[float | None, float | None]
"""Of questions as they are, and in other words; None where there are none."""


def in_other_words(data: DataSet) -> list[Question]:
    """The questions of a set that were written in other words as well, in these."""
    rows = (line.split("\t") for line in REWORDED.read_text("utf-8").splitlines())
    wordings = {question: wording for name, question, wording in rows if name == data.name}
    return [replace(each, text=wordings[each.id]) for each in data.questions if each.id in wordings]


def ranked(questions: Iterable[Question], data: DataSet, parts: MemoryParts) -> list[Ranked]:
    """Questions of a set that name their evidence."""
    retriever, tenants = sets.steps_of(parts), sets.tenants_of(data)
    draw, found = np.random.default_rng(0), []
    for question in questions:
        pool = retriever.pool(sets.request_for(question, tenants))
        if not (question.evidence and pool.candidates):
            continue
        said = (feature(pool) for feature in FEATURES.values())
        columns = np.stack([np.zeros(len(pool.candidates)) if own is None else own for own in said], axis=1)
        right = np.array([one.snippet.step in question.evidence for one in pool.candidates])
        order = np.argsort(-pool.similarities, kind="stable")
        easy = draw.permutation(order[_HARD:])[:_EASY]
        chosen = np.unique(np.concatenate([order[:_HARD], easy, np.flatnonzero(right)]))
        found.append(Ranked(columns, right, len(set(question.evidence)), chosen))
    return found


def fit(asked: Iterable[SetQuestions], names: Sequence[str]) -> dict[str, float]:
    """The weights of some features; each set counts as much as another, and in it each question, however asked."""
    places = [list(FEATURES).index(name) for name in names]
    groups = [
        [
            (one.columns[one.chosen][:, places], one.right[one.chosen])
            for one in (*own.plain, *own.reworded)
            if one.right.any()
        ]
        for own in asked
    ]
    least = np.array([LEAST.get(name, 0.0) / SCALE for name in names])
    return dict(zip(names, (SCALE * listwise(groups, ridge=RIDGE, least=least)).tolist(), strict=True))


def recall(own: Sequence[Ranked], weights: Weights) -> float | None:
    """Recall of the evidence among the first hits, the mean of questions."""
    column: Array = np.array([weights.get(name, 0.0) for name in FEATURES])
    found = [one.right[np.argsort(-(one.columns @ column), kind="stable")[:K]].sum() / one.evidence for one in own]
    return _mean(found)


def _mean(figures: Iterable[float | None]) -> float | None:
    """The mean of those that are known; None if none is."""
    known = [figure for figure in figures if figure is not None]
    return float(np.mean(known)) if known else None


def left_out_recalls(asked: Mapping[str, SetQuestions], names: Sequence[str]) -> dict[str, Recalls]:
    """The recall of each set, as it is asked and in other words, by the weights that all others give."""
    made = left_out(asked, lambda others: fit(others.values(), names))
    return {name: (recall(own.plain, weights), recall(own.reworded, weights)) for name, own, weights in made}


@click.command()
@sets.DATA
@sets.JUDGED
@sets.LIMIT
@sets.KEPT
@click.option("--write", is_flag=True, help=f"Write the weights to {WEIGHTS.name}.")
def command(folders: Sequence[Path], judged: Sequence[Path], limit: int | None, kept: Path | None, write: bool) -> None:
    """Fit the weights of the features; tell what each set has when it is left out, and what each feature brings."""
    asked: dict[str, SetQuestions] = {}
    for data in sets.load_sets([*folders, *judged], limit=limit):
        with sets.held(data, kept=kept) as parts:
            plain, reworded = (ranked(each, data, parts) for each in (data.questions, in_other_words(data)))
            asked[data.name] = SetQuestions(plain, reworded)
    told = {name: asked[name] for name in list(asked)[: len(folders)]}
    names = list(FEATURES)
    weights = fit(told.values(), names)
    every = left_out_recalls(told, names)
    rows = {name: _row(own, every.get(name), weights) for name, own in asked.items()}
    rows["mean"] = {what: _mean(rows[name][what] for name in told) for what in _FIGURES[1:]}
    print_table(rows, title=f"recall@{K}", columns=_FIGURES)
    gains = {}
    for name in names:
        without = left_out_recalls(told, [other for other in names if other != name])
        gain, gain_reworded = (_mean(_lost(every, without, asking)) for asking in (0, 1))
        gains[name] = {"weight": weights[name], "gain": gain, "gain_reworded": gain_reworded}
    columns = ["weight", "gain", "gain_reworded"]
    print_table(gains, title="features, and what all sets lose, left out, without each", columns=columns)
    shipped = {name: round(weight, 2) for name, weight in weights.items()}
    click.echo(json.dumps(shipped))
    if write:
        WEIGHTS.write_text(json.dumps(shipped, indent=2) + "\n", encoding="utf-8")


_FIGURES = ["questions", "left_out", "all_choose", "reworded", "all_choose_reworded"]


def _lost(every: Mapping[str, Recalls], without: Mapping[str, Recalls], asking: int) -> Iterator[float]:
    """Losses of each set without a feature, its questions as they are (0) or in other words (1)."""
    for name, recalls in every.items():
        before, after = recalls[asking], without[name][asking]
        if before is not None and after is not None:
            yield before - after


def _row(own: SetQuestions, left_out: Recalls | None, weights: Weights) -> dict[str, Any]:
    plain, reworded = left_out or (None, None)
    chosen = (recall(own.plain, weights), recall(own.reworded, weights))
    return dict(zip(_FIGURES, (len(own.plain), plain, chosen[0], reworded, chosen[1]), strict=True))
