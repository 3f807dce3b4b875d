"""The weights of names of scopes: a conditional logit of which candidates a person took for good names.

`names.tsv` has scopes that the local labels made of nine sets, each by its set, its trajectory and its first step, with
the candidates that say what the scope was for, and those that are absurd beside its steps: verbs, mere adjectives,
dates, words cut off from others. It keeps phrases of four words or less. All other candidates are neither.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from stitch.bench.data.sets import read_records, trajectory_from
from stitch.bench.figures import print_table
from stitch.bench.fit.scopes import labeled, write_weights
from stitch.bench.fit.solvers import Array, left_out, listwise
from stitch.core import Step
from stitch.label.local.names import FEATURES, ScopeNames
from stitch.label.local.reading import INSTRUCTIONS
from stitch.label.local.scopes import ScopeTracker

JUDGED = Path(__file__).with_name("names.tsv")
RIDGE = 0.01
_MOST_STEPS = 400


Named = tuple[Array, Array]
"""The features of candidates of a scope, and what was judged of each: 1 good, -1 absurd, 0 neither."""
Sets = Mapping[str, Sequence[Named]]


def read_sets(data: Path) -> dict[str, list[Named]]:
    """The judged scopes, by set."""
    judged: dict[tuple[str, str], dict[str, tuple[list[str], list[str]]]] = defaultdict(dict)
    with JUDGED.open(newline="") as lines:
        for name, trajectory, step, good, absurd in csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            judged[name, trajectory][step] = (good.split("|"), absurd.split("|"))
    sets = dict[str, list[Named]]()
    for name in dict.fromkeys(name for name, _ in judged):
        sets[name] = []
        for where, record in read_records(data / "memory_qa" / name / "trajectories.jsonl.gz"):
            if (key := (name, str(record["id"]))) in judged:
                steps = trajectory_from(key[1], record["steps"], where=where).trajectory.steps[:_MOST_STEPS]
                sets[name] += named_in(steps, judged[key])
    return sets


def named_in(steps: Sequence[Step], judged: Mapping[str, tuple[Sequence[str], Sequence[str]]]) -> list[Named]:
    """The scopes of a trajectory that were judged, by the ids of their first steps, as they are looked at last."""
    talk, tracker, names = labeled(steps, [None] * len(steps)), ScopeTracker(), ScopeNames()
    found = dict[int, Named]()
    for reading, vector in zip(talk.readings, talk.vectors, strict=True):
        if reading.kind == INSTRUCTIONS:
            tracker.instruct(reading)
            continue
        chosen = tracker.choose(reading, vector)
        scope = tracker.assign(reading, vector, chosen)
        if chosen is None:
            names.open(reading, scope.gist)
        else:
            names.extend(reading, scope.number)
        good, absurd = judged.get(str(steps[scope.spans[0][0]].id), ((), ()))
        if good and (features := names.features(scope.number, scope.gist, most=len(reading.text) * len(steps))):
            told = np.array([float(each in good) - float(each in absurd) for each in features])
            found[scope.number] = np.array(list(features.values())), told
        if (joined := tracker.rejoin()) is not None:
            names.join(*(each.number for each in joined))
    return [own for number, own in found.items() if tracker.scopes[number].into is None]


def fit_names(sets: Sets) -> Array:
    """The weights by which good names stand before all other candidates; every set counts the same."""
    return listwise(
        [[(rows, judged > 0) for rows, judged in own if (judged > 0).any()] for own in sets.values()], ridge=RIDGE
    )


def measured(named: Sequence[Named], weights: Array) -> dict[str, Any]:
    """Shares of scopes with a good, and an absurd candidate before all others; equal ones share the place."""
    scored = [(rows @ weights, judged) for rows, judged in named]
    first = [judged[scores >= scores.max() - 1e-9] for scores, judged in scored]
    shares = {"good": [(own > 0).mean() for own in first], "absurd": [(own < 0).mean() for own in first]}
    return {"scopes": len(named), **{name: float(np.mean(each)) for name, each in shares.items()}}


@click.command()
@click.option("--data", required=True, type=click.Path(path_type=Path, exists=True), help="The folder of the sets.")
@click.option("--out", type=click.Path(path_type=Path, exists=True), help="Write the weights into this folder.")
def command(data: Path, out: Path | None) -> None:
    """Fit the weights of names of scopes, and measure each set by what the others teach.

    \b
    Example:
      python -m stitch.bench.fit names --data ../shared/data --out stitch/label/local
    """
    sets = read_sets(data)
    rows = {name: measured(own, others) for name, own, others in left_out(sets, fit_names)}
    print_table(rows, title="the set left out")
    if out is not None:
        write_weights(out, names=dict(zip(FEATURES, fit_names(sets).round(2).tolist(), strict=True)))
