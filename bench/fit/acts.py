"""The weights of acts of words: a softmax over the vector of a step and a few cues.

It is taught by dialogue acts of others (SGD, STAR), by acts in runs of agents, and by the lines of `acts.tsv`: an act,
what was said before, and what somebody then says to decide, correct or reject, as people talk.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

from stitch.bench.data.sets import read_records, trajectory_from
from stitch.bench.figures import print_table
from stitch.bench.fit.scopes import NOTHING, labeled, write_weights
from stitch.bench.fit.solvers import Array, left_out
from stitch.core import Step
from stitch.errors import InputError
from stitch.label.local.acts import IN_WORDS, cues_of
from stitch.label.local.reading import INSTRUCTIONS, WORDS
from stitch.label.local.scopes import ScopeTracker
from stitch.label.local.weights import ActWeights

RIDGE = 3.0
LINES = Path(__file__).with_name("acts.tsv")
_UNIT = 0.01
_SET_WEIGHT = 1_000.0
_FROM_SGD = {
    "INFORM_INTENT": "request", "REQUEST_ALTS": "request", "REQUEST": "ask", "OFFER": "propose", "SELECT": "decide",
    "CONFIRM": "check", "AFFIRM": "confirm", "AFFIRM_INTENT": "confirm", "NEGATE": "reject", "NEGATE_INTENT": "reject",
    "REQ_MORE": "offer", "OFFER_INTENT": "offer", "NOTIFY_SUCCESS": "inform", "NOTIFY_FAILURE": "inform",
    "INFORM_COUNT": "propose", "INFORM": "inform", "GOODBYE": "part", "THANK_YOU": "thank",
}  # fmt: skip
"""In the order in which the acts of one step are looked at: the first there is counts."""
_FROM_RUNS = {
    "ask": "ask", "request": "request", "tell": "inform", "confirm": "confirm", "refuse": "reject", "thank": "thank"
}  # fmt: skip
_FROM_STAR = (
    ("hello", "greet"), ("bye", "part"), ("anything_else", "offer"), ("confirm", "check"), ("out_of_scope", "reject"),
    ("ask", "ask"), ("inform", "inform"),
)  # fmt: skip
"""What stands in the name of an act, and as which of ours it is read; the first that stands there counts."""


class Said(NamedTuple):
    """A step in words with its act."""

    cues: list[float]
    vector: Array
    act: str


def said_in(steps: Sequence[Step], acts: Sequence[str]) -> Iterator[Said]:
    """The steps of a trajectory that have an act; who tells what was asked for answers."""
    talk = labeled(steps, [None] * len(steps))
    tracker = ScopeTracker(NOTHING)
    asked = False
    for reading, vector, act in zip(talk.readings, talk.vectors, acts, strict=True):
        if reading.kind == INSTRUCTIONS:
            tracker.instruct(reading)
            continue
        cues = tracker.turn_cues(reading)
        if act and reading.kind == WORDS:
            yield Said(cues_of(reading, cues), vector, "answer" if act == "inform" and asked else act)
        asked = reading.asks and reading.kind == WORDS
        tracker.assign(reading, vector, tracker.current)


def act_of(values: Sequence[str], *, name: str) -> str:
    """The act as which those of another set are read; empty if there is none."""
    if name == "star":
        return next((act for value in values for part, act in _FROM_STAR if part in value), "")
    known: Mapping[str, str] = _FROM_RUNS if name == "agent_runs" else _FROM_SGD
    return next((act for theirs, act in known.items() if theirs in values), "")


def read_sets(data: Path) -> dict[str, list[Said]]:
    """The steps to learn from, by set."""
    sets: dict[str, list[Said]] = {}
    for name in ("sgd", "star", "agent_runs"):
        sets[name] = []
        for where, record in read_records(data / "labels" / f"{name}.jsonl.gz"):
            read = trajectory_from(str(record["id"]), record["steps"], where=where)
            steps = read.trajectory.steps
            gold = [read.gold[str(step.id)].event_types if str(step.id) in read.gold else () for step in steps]
            sets[name] += said_in(steps, [act_of(values, name=name) for values in gold])
    with LINES.open(newline="") as lines:
        rows = list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    sets["lines"] = [
        each
        for act, before, text in rows
        for each in said_in([Step(role="ann", content=before), Step(role="bob", content=text)], ["", act])
    ]
    return sets


def fit_acts(sets: Mapping[str, Sequence[Said]]) -> ActWeights:
    """The weights of acts; every set counts the same."""
    from sklearn.linear_model import LogisticRegression

    said = [(each, _SET_WEIGHT / len(own)) for own in sets.values() for each in own]
    rows = np.array([[*each.cues, *each.vector] for each, _ in said])
    model = LogisticRegression(C=1 / RIDGE, max_iter=400)
    model.fit(rows, [each.act for each, _ in said], sample_weight=[count for _, count in said])
    cues = len(said[0][0].cues)
    weights = np.rint(np.column_stack([model.coef_[:, :cues], model.intercept_, model.coef_[:, cues:]]) / _UNIT) * _UNIT
    whole: NDArray[np.float32] = weights.astype(np.float32)
    return ActWeights(tuple(map(str, model.classes_)), whole[:, : cues + 1], whole[:, cues + 1 :])


def measured(said: Sequence[Said], weights: ActWeights) -> dict[str, Any]:
    """Accuracy of the most probable act, and its mean probability."""
    chances = [weights.chances(each.cues, each.vector) for each in said]
    best = [max(range(len(own)), key=own.__getitem__) for own in chances]
    right = [weights.acts[place] == each.act for place, each in zip(best, said, strict=True)]
    return {
        "steps": len(said),
        "accuracy": sum(right) / len(right),
        "mean probability": sum(own[place] for own, place in zip(chances, best, strict=True)) / len(said),
    }


def as_data(weights: ActWeights) -> dict[str, Any]:
    """JSON values that `act_weights_from` reads."""
    return {
        "acts": list(weights.acts),
        "unit": _UNIT,
        "cues": np.rint(weights.cues / _UNIT).astype(int).tolist(),
        "words": np.rint(weights.words / _UNIT).astype(int).tolist(),
    }


@click.command()
@click.option("--data", required=True, type=click.Path(path_type=Path, exists=True), help="The folder of the sets.")
@click.option("--out", type=click.Path(path_type=Path, exists=True), help="Write the weights into this folder.")
def command(data: Path, out: Path | None) -> None:
    """Fit the weights of acts of words, and measure each set by what the others teach.

    \b
    Example:
      python -m stitch.bench.fit acts --data ../shared/data --out stitch/label/local
    """
    sets = read_sets(data)
    if missing := set(IN_WORDS) - {each.act for own in sets.values() for each in own}:
        raise InputError(f"no step does one of {sorted(missing)}")
    print_table(
        {name: measured(own, others) for name, own, others in left_out(sets, fit_acts)}, title="the set left out"
    )
    weights = fit_acts(sets)
    print_table({name: measured(own, weights) for name, own in sets.items()}, title="fitted")
    if out is not None:
        write_weights(out, acts=as_data(weights))
