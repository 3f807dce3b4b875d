"""The weights of local scopes: of the features of a candidate, and of what tells that a step turns to something else.

First a logistic model of turning, from cues and vectors; for the examples of each set it is fitted on the others, so
that it is trusted no more than on what it has not seen. Then a conditional logit: of the candidates of a step, those of
the right scope are to win; first with gold history, then, so that it learns to live with its own mistakes, with the
history its own choices make. No tool tells a scope meanwhile, so that weights learn from every step. What tells of
rooms with more than two speakers is fitted to them alone, last. Beside the sets, sessions of talk are woven, for few
sets return to what was left.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import click
import numpy as np

from stitch.bench.data.sets import read_records, trajectory_from
from stitch.bench.figures import print_table
from stitch.bench.fit.solvers import Array, left_out, logistic
from stitch.bench.metrics.clusters import macro_bcubed, switch_f1
from stitch.bench.metrics.scores import Unscored
from stitch.core import SETUP_SCOPE, Step, goal_of
from stitch.errors import InputError
from stitch.label.local.reading import INSTRUCTIONS, NOTICE, RESULT, WORDS, Before, StepFeatures, read_step
from stitch.label.local.scopes import FEATURES, TURN_CUES, Candidate, ScopeTracker
from stitch.label.local.weights import FILE, ScopeWeights, vectors_of

RIDGE, TURN_RIDGE = 1.0, 1.0
SET_WEIGHT = 1_500.0
"""What the examples of a set count together."""
LEAVING_WEIGHT = 1.5
"""What a step that opens a scope or returns to one counts beside one that goes on: both are rare."""
IN_ROOMS = ("spoke there", "named there", "steps ago")
"""What is told of rooms alone: fitted after all else."""
OF_ROOMS = ("spoke last", "room", *IN_ROOMS)
"""Features that are 0 where two speak: fitted to rooms with all others held, so that two speakers lose nothing."""
SAMPLES = {"star": 130, "sgd": 130, "dialseg711": 50, "sgd_interleaved": 24}
"""So many trajectories of large sets are enough."""
_TURN_UNIT = 0.001
_MOST_STEPS = 400
_SEED = 7


class Labeled(NamedTuple):
    """A trajectory as it is read, with its vectors and the gold scope of each step, None where there is none."""

    readings: list[StepFeatures]
    vectors: Array
    gold: list[str | None]


class Example(NamedTuple):
    """The features of the candidates of one step, and which of them are right."""

    features: Array
    right: Array


class Turn(NamedTuple):
    """An example of turning: cues and vectors of a step, and whether it turns to something else."""

    row: Array
    turns: bool


Group = tuple[Sequence[Example], float]
"""Examples, and what each of them counts."""
Sets = Mapping[str, Sequence[Labeled]]


def labeled(steps: Iterable[Step], gold: Iterable[str | None]) -> Labeled:
    """Read the steps of a trajectory."""
    readings, before = list[StepFeatures](), Before()
    for step in steps:
        readings.append(reading := read_step(step, before))
        before = before.after(reading)
    return Labeled(readings, vectors_of([reading.text for reading in readings]), list(gold))


def read_set(name: str, file: Path) -> list[Labeled]:
    """The trajectories of a file with gold scopes: those of its steps, else the run that a step's id names."""
    found: list[tuple[Sequence[Step], list[str | None]]] = []
    for where, record in read_records(file):
        read = trajectory_from(str(record["id"]), record["steps"], where=where)
        steps = read.trajectory.steps[:_MOST_STEPS]
        if not read.gold:
            found.append((steps, [str(step.id).partition(":")[0] for step in steps]))
            continue
        scopes = [read.gold[str(step.id)].scope if str(step.id) in read.gold else () for step in steps]
        goals = [goal_of(min(own)) if own else None for own in scopes]
        found.append((steps, [None if goal == SETUP_SCOPE else goal for goal in goals]))
    if (most := SAMPLES.get(name, len(found))) < len(found):
        found = Random(_SEED).sample(found, most)
    return [labeled(*each) for each in found]


def weave(sessions: Sequence[Sequence[Step]], rng: Random, *, count: int) -> list[Labeled]:
    """Trajectories of three to five sessions each, left and taken up again after a turn of both or a few."""
    return [labeled(*_woven(rng.sample(list(sessions), rng.randint(3, 5)), rng)) for _ in range(count)]


def _woven(sessions: Sequence[Sequence[Step]], rng: Random) -> tuple[list[Step], list[str]]:
    left = {number: list(session) for number, session in enumerate(sessions)}
    steps, gold, opened, last = list[Step](), list[str](), {0}, -1
    while left:
        others = [number for number in left if number != last] or list(left)
        known = [number for number in others if number in opened]
        last = rng.choice(known if known and rng.random() < 0.5 else others)
        opened.add(last)
        most = 2 * max(1, round((1 + int(rng.expovariate(1 / 3.5))) / 2))
        steps += left[last][:most]
        gold += [f"session {last}"] * len(left[last][:most])
        left[last] = left[last][most:]
        if not left[last]:
            del left[last]
    return steps, gold


def sessions_in(file: Path, *, most: int, longest: int, per_trajectory: int) -> list[list[Step]]:
    """The sessions of two speakers in a file of trajectories; who speaks first is the user."""
    found: list[list[Step]] = []
    for _, record in read_records(file):
        by_session: dict[str, list[Step]] = defaultdict(list)
        first = record["steps"][0]["role"]
        for step in record["steps"]:
            role = "user" if step["role"] == first else "assistant"
            by_session[str(step["session"])].append(Step(role=role, content=step["content"] or "."))
        found += [own[:longest] for own in list(by_session.values())[:per_trajectory] if len(own) >= 4]
    return found[:most]


def stretches(talks: Sequence[Labeled], *, least: int = 3) -> list[list[Step]]:
    """The steps of each gold scope of some trajectories."""
    found = list[list[Step]]()
    for talk in talks:
        by_scope: dict[str, list[Step]] = defaultdict(list)
        for reading, scope in zip(talk.readings, talk.gold, strict=True):
            if scope:
                by_scope[scope].append(Step(role=reading.step.role, content=reading.step.content))
        found += [own for own in by_scope.values() if len(own) >= least]
    return found


def read_sets(data: Path) -> Sets:
    """The sets to learn from, and talk woven of their stretches and of sessions of others."""
    names = ("star", "sgd", "dialseg711", "tiage", "irc", "agent_runs")
    sets = {name: read_set(name, data / "labels" / f"{name}.jsonl.gz") for name in names}
    for name in ("experience", "sgd_interleaved", "multilingual"):
        sets[name] = read_set(name, data / "memory_qa" / name / "trajectories.jsonl.gz")
    rng, questions = Random(_SEED), data / "memory_qa"
    chats = sessions_in(
        questions / "longmemeval_oracle" / "trajectories.jsonl.gz", most=400, longest=12, per_trajectory=9
    )
    talks = sessions_in(questions / "locomo" / "trajectories.jsonl.gz", most=60, longest=16, per_trajectory=6)
    sets["woven tasks"] = weave(stretches(sets["dialseg711"]), rng, count=25)
    sets["woven chats"] = weave(chats, rng, count=25)
    sets["woven talk"] = weave([*stretches(sets["tiage"]), *talks], rng, count=25)
    return sets


class Walk:
    """One trajectory given to a tracker step by step, with gold history or with its own choices."""

    def __init__(self, talk: Labeled, weights: ScopeWeights, *, gold: bool, by_tools: bool = False) -> None:
        self._talk, self._gold = talk, gold
        self.tracker = ScopeTracker(weights, by_tools=by_tools)
        self.own: list[str] = []
        """The scope of each step."""
        self.examples: list[Example] = []
        self.turns: list[Turn] = []
        self._numbers: dict[str, int] = {}
        self._holds: dict[int, Counter[str]] = defaultdict(Counter)
        before: str | None = None
        vector = np.zeros(talk.vectors.shape[1], np.float32)
        for reading, row, scope in zip(talk.readings, talk.vectors, talk.gold, strict=True):
            if reading.kind == WORDS and None not in (before, scope):
                cues = self.tracker.turn_cues(reading)
                self.turns.append(Turn(np.concatenate([cues, row, vector]), scope != before))
            before, vector = scope or before, row
            self._step(reading, row, scope)

    def _step(self, reading: StepFeatures, row: Array, gold: str | None) -> None:
        tracker = self.tracker
        if reading.kind == INSTRUCTIONS:
            tracker.instruct(reading)
            self.own.append(SETUP_SCOPE)
            return
        if tracker.current is not None and reading.kind not in (NOTICE, RESULT) and gold is not None:
            self._exemplify(tracker.candidates(reading, row), gold)
        if self._gold and gold is not None and reading.kind != RESULT:
            number = self._numbers.get(gold)
            chosen = None if number is None else tracker.scope(number)
        else:
            chosen = tracker.choose(reading, row)
        scope = tracker.assign(reading, row, chosen)
        self.own.append(str(scope.number))
        if not self._gold:
            tracker.rejoin()
        if gold is not None:
            self._numbers.setdefault(gold, scope.number)
            self._holds[scope.number][gold] += 1

    def read_as(self, number: int) -> str:
        """The scope as which a scope of a step reads in the end."""
        scope = self.tracker.scope(number)
        return str((self.tracker.waits_in(scope) or scope).number)

    def _exemplify(self, candidates: Sequence[Candidate], gold: str) -> None:
        """Keep the candidates of a step as an example, if one of them is right."""
        right = [self._is_right(each, gold) for each in candidates]
        if not any(right):
            right[-1] = not self._gold or gold not in self._numbers
        if any(right):
            self.examples.append(Example(np.array([each.features for each in candidates]), np.array(right, float)))

    def _is_right(self, candidate: Candidate, gold: str) -> bool:
        """Whether a scope is that of the step: with gold history its own, else one that holds mostly such steps."""
        if candidate.scope is None:
            return False
        if self._gold:
            return self._numbers.get(gold) == candidate.scope.number
        return [scope for scope, _ in self._holds[candidate.scope.number].most_common(1)] == [gold]


NOTHING = ScopeWeights(
    [0.0] * len(FEATURES), [0.0] * (TURN_CUES + 1), np.zeros((2, vectors_of(["x"]).shape[1]), np.float32)
)
"""Weights by which nothing tells anything."""


def fit_turns(turns: Mapping[str, Sequence[Turn]]) -> ScopeWeights:
    """The model of turning to something else; every set counts the same."""
    each = [(turn, 200.0 * len(turns) / len(own)) for own in turns.values() for turn in own]
    rows, right = np.array([turn.row for turn, _ in each]), np.array([turn.turns for turn, _ in each])
    scale = 0.2 * len(each) / sum(count for _, count in each)
    counts = np.array([count * scale for _, count in each])
    weights, intercept = logistic(rows, right, counts=counts, ridge=TURN_RIDGE, intercept=True)
    cues = rows.shape[1] - 2 * NOTHING.turn_words.shape[1]
    words = np.rint(weights[cues:].reshape(2, -1) / _TURN_UNIT) * _TURN_UNIT
    return ScopeWeights(
        NOTHING.features, [round(float(each), 3) for each in (*weights[:cues], intercept)], words.astype(np.float32)
    )


def fit_scopes(sets: Sets) -> ScopeWeights:
    """The weights of scopes, learned from some sets."""
    turns = {
        name: [turn for talk in own for turn in Walk(talk, NOTHING, gold=True).turns] for name, own in sets.items()
    }
    crossed = {name: turning for name, _, turning in left_out(turns, fit_turns)}
    every = fit_turns(turns)

    def examples(weights: Sequence[float], *, gold: bool) -> list[Group]:
        found = list[Group]()
        for name, own in sets.items():
            known = replace(crossed[name], features=weights)
            made = [each for talk in own for each in Walk(talk, known, gold=gold).examples]
            found.append((made, SET_WEIGHT / max(1, len(made))))
        return found

    others = [name for name in FEATURES if name not in IN_ROOMS]
    taught = examples(NOTHING.features, gold=True)
    first = conditional_logit(taught, free=others)
    whole = conditional_logit([*taught, *examples(first, gold=False)], free=others)
    if rooms := in_rooms(taught):
        first = conditional_logit(rooms, free=OF_ROOMS, start=whole)
        both = [*rooms, *in_rooms(examples(first, gold=False))]
        whole = conditional_logit(both, free=OF_ROOMS, start=whole)
    return replace(every, features=whole)


def in_rooms(groups: Sequence[Group]) -> list[Group]:
    """The examples in which more than two speak, all of the same weight, as one group; nothing if there are none."""
    room = FEATURES.index("room")
    found = [each for own, _ in groups for each in own if each.features[-1, room]]
    return [(found, SET_WEIGHT / len(found))] if found else []


def conditional_logit(
    groups: Sequence[Group], *, free: Collection[str] = FEATURES, start: Sequence[float] = NOTHING.features
) -> list[float]:
    """The weights by which the right candidates win; those of features that are not free stay as they start."""
    from scipy.optimize import minimize

    examples = [(example, weight) for own, weight in groups for example in own]
    own = [FEATURES.index(name) for name in free]
    held = [0.0 if place in own else weight for place, weight in enumerate(start)]
    every = np.vstack([example.features for example, _ in examples])
    given, table = every @ held, every[:, own]
    right = np.concatenate([example.right for example, _ in examples])
    sizes = [len(example.right) for example, _ in examples]
    first, group = np.cumsum([0, *sizes[:-1]]), np.repeat(np.arange(len(sizes)), sizes)
    weigh = np.array([weight * (1.0 if example.right[0] else LEAVING_WEIGHT) for example, weight in examples])

    def loss(weights: Array) -> tuple[float, Array]:
        scores = given + table @ weights
        powers = np.exp(scores - np.maximum.reduceat(scores, first)[group])
        all_of, right_of = np.add.reduceat(powers, first), np.add.reduceat(powers * right, first) + 1e-12
        slope = weigh[group] * (powers / all_of[group] - powers * right / right_of[group])
        value = (weigh * (np.log(all_of) - np.log(right_of))).sum() + 0.5 * RIDGE * (weights @ weights)
        return float(value), table.T @ slope + RIDGE * weights

    found = minimize(loss, np.zeros(table.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 200})
    fitted = dict(zip(own, found.x, strict=True))
    return [round(float(fitted.get(place, weight)), 3) for place, weight in enumerate(held)]


def measured(talks: Sequence[Labeled], weights: ScopeWeights) -> dict[str, Any]:
    """Agreement of the tracker's own choices with gold."""
    pairs = []
    for talk in talks:
        walk = Walk(talk, weights, gold=False, by_tools=True)
        own = [each if each == SETUP_SCOPE else walk.read_as(int(each)) for each in walk.own]
        told = [(mine, gold) for mine, gold in zip(own, talk.gold, strict=True) if gold is not None]
        if told:
            pairs.append(([mine for mine, _ in told], [gold for _, gold in told]))
    agreement, switches = macro_bcubed(pairs), switch_f1(pairs)
    if isinstance(agreement, Unscored) or isinstance(switches, Unscored):
        raise InputError("a set without gold scopes cannot be measured")
    return {
        "bcubed_f1": agreement.f1, "precision": agreement.precision, "recall": agreement.recall,
        "switch_f1": switches.f1, "switch_rate": switches.rate, "gold_rate": switches.gold_rate,
    }  # fmt: skip


def as_data(weights: ScopeWeights) -> dict[str, Any]:
    """JSON values that `scope_weights_from` reads."""
    return {
        "features": dict(zip(FEATURES, weights.features, strict=True)),
        "turn_cues": list(weights.turn_cues),
        "unit": _TURN_UNIT,
        "turn_words": np.rint(weights.turn_words / _TURN_UNIT).astype(int).tolist(),
    }


def write_weights(folder: Path, **parts: Mapping[str, Any]) -> None:
    """Replace parts of the file of weights in a folder."""
    file = folder / FILE
    data = json.loads(file.read_text()) if file.exists() else {}
    file.write_text(json.dumps({**data, **parts}, separators=(",", ":")) + "\n")


@click.command()
@click.option("--data", required=True, type=click.Path(path_type=Path, exists=True), help="The folder of the sets.")
@click.option("--out", type=click.Path(path_type=Path, exists=True), help="Write the weights into this folder.")
@click.option("--report", is_flag=True, help="Measure each set by what the others teach, too: it takes minutes.")
def command(data: Path, out: Path | None, *, report: bool) -> None:
    """Fit the weights of local scopes.

    \b
    Example:
      python -m stitch.bench.fit scopes --data ../shared/data --out stitch/label/local
    """
    sets = read_sets(data)
    weights = fit_scopes(sets)
    print_table({name: measured(own, weights) for name, own in sets.items()}, title="fitted")
    if report:
        rows = {name: measured(own, others) for name, own, others in left_out(sets, fit_scopes)}
        print_table(rows, title="the set left out")
    if out is not None:
        write_weights(out, scopes=as_data(weights))
