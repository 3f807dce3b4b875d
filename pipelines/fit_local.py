"""Fit the weights of local scope tracking on trajectories with gold scopes.

    pip install scipy
    python -m stitch.pipelines.fit_local --data DATA --out stitch/label/local    # both files of weights
    python -m stitch.pipelines.fit_local --data DATA --report fold           # every fifth trajectory held out
    python -m stitch.pipelines.fit_local --data DATA --report leave-one-out  # each set by the others
    python -m stitch.pipelines.fit_local --data DATA --report ablation       # each kind of evidence left out of the fit
    python -m stitch.pipelines.fit_local --data DATA --report silence        # one fit, each kind of evidence ignored

A conditional logit: of the candidates of a step, those of the right scope are to win. First with gold history, then,
so that it learns to live with its own mistakes, with the history its own choices make. Then, in the same form, whether
a scope just left continues an earlier one. How well a step follows another is learned before (`fit_replies`), and for
the examples from the other half of the trajectories, so that it is trusted no more than on what it has not seen.
Beside the sets, trajectories woven from their stretches teach kinds of talk that they lack (`weave`).

More than 400 lines because reading, following, fitting and reporting share the examples.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from stitch.core import Step
from stitch.label.local.evidence import SCOPE_FEATURES, STEP_FEATURES
from stitch.label.local.reading import Reading, read_step
from stitch.label.local.replies import Replies, as_data
from stitch.label.local.scopes import FEATURES, Candidate, ScopeTracker
from stitch.label.local.threads import JOIN_FEATURES, JOIN_MARGIN
from stitch.pipelines.fit_replies import Talk, fit_replies
from stitch.pipelines.weave import KINDS, Stretch, stretches

Weights = dict[str, float]
Keep = Callable[[str, int], bool]
"""Whether a trajectory, given by its set and number, is used."""


class LabeledSet(NamedTuple):
    """A set to learn from."""

    path: str
    weight: float
    """What it counts beside the others, whatever its size."""


SETS = {
    "star": LabeledSet("labels/star.jsonl.gz", 2.0),
    "sgd": LabeledSet("labels/sgd.jsonl.gz", 2.0),
    "tiage": LabeledSet("labels/tiage.jsonl.gz", 1.0),
    "dialseg711": LabeledSet("labels/dialseg711.jsonl.gz", 1.0),
    "irc": LabeledSet("labels/irc.jsonl.gz", 1.0),
    "sgd_interleaved": LabeledSet("memory_qa/sgd_interleaved/trajectories.jsonl.gz", 0.6),
}
_MADE_BY = "python -m stitch.pipelines.fit_local"
STEPS_PER_SET, JOINS_PER_SET = 3_000, 1_000
OPENING_WEIGHT, RETURN_WEIGHT = 1.3, 2.0
"""What a step that opens a scope, or returns to one, counts beside one that continues: both are rare."""
RIDGE, CUE_RIDGE, MIN_CUE_COUNT = 5.0, 20.0, 25
WOVEN_FROM, WOVEN = ("star", "sgd", "tiage", "dialseg711"), 20
"""From the stretches of which sets trajectories are woven, and how many of each kind."""
WOVEN_WEIGHTS = {"chain": 0.15, "weave": 0.15, "room": 0.3}
"""What a kind of woven trajectories counts for each set it is woven from."""

EVIDENCE = {
    "cohesion": ("cohesion", "novelty"),
    "values": ("values",),
    "asked and told matter": ("asks ", "tells ", "matter", "wishes", "known elsewhere"),
    "adjacency pairs": ("pair: ", "turn: "),
    "function words": ("now: ",),
    "who speaks and answers": ("speaker", "addressee", "role", "opener", "opened", "names somebody", "among many"),
    "open questions": ("asked", "question is open", "short answer"),
    "cues": ("cue of", "anaphora"),
    "forms of sentences": ("request", "question", "thanks", "farewell", "greeting", "apology", "closed"),
    "tools": ("tool", "call", "result"),
    "time and sessions": ("time gap", "session"),
    "switching so far": ("switches so far", "role switches", "length of run", "number of scopes"),
    "interleaving so far": ("interleaved", "interruptions", "returns so far", "open scopes", "not what was"),
    "what was asked and told before": ("what it asked", "what it told", "of known classes", "of new classes"),
    "what is pointed at": ("pointed",),
    "replies": ("reply",),
    "joins": ("join: ",),
}  # fmt: skip
"""Kinds of evidence, by what the names of their weights contain."""


class LabeledTrajectory(NamedTuple):
    """A trajectory as it is read, with the gold scopes of each step; empty where there are none."""

    readings: list[Reading]
    gold: list[tuple[str, ...]]
    coarse: frozenset[int]
    """Steps that open something new inside a gold scope: nothing is learned from them."""


class Fitted(NamedTuple):
    """All that is learned."""

    weights: Weights
    replies: Replies


class Choice(NamedTuple):
    """What a scope just left may be: the continuation of an earlier one, or, without evidence, its own."""

    features: list[float]
    cues: tuple[str, ...] = ()


class Example(NamedTuple):
    """The candidates of one step, or of a scope just left, and which of them are right."""

    candidates: Sequence[Candidate | Choice]
    right: list[bool]
    leaves: list[bool]
    """Which of the candidates leave the current scope."""


def read_set(path: Path) -> list[LabeledTrajectory]:
    """The trajectories of a file of labeled trajectories, gzip."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [_labeled(json.loads(line)["steps"]) for line in lines]


def _labeled(steps: Sequence[Mapping[str, Any]]) -> LabeledTrajectory:
    gold = [tuple(sorted(step["gold"]["scope"])) for step in steps]
    coarse: set[int] = set()
    readings = _read(
        Step(role=step["role"], content=step["content"] or " . ", timestamp=step.get("timestamp")) for step in steps
    )
    for number, step in enumerate(steps):
        # Where an intent is announced again inside one goal, the gold is coarser than the scopes that are wanted.
        announces = any("INTENT" in event for event in step["gold"]["event_types"])
        if announces and gold[number] and gold[number][0].startswith("goal ") and gold[number] in gold[:number]:
            coarse.add(number)
    return LabeledTrajectory(readings, gold, frozenset(coarse))


def _read(steps: Iterable[Step]) -> list[Reading]:
    speakers: dict[str, int] = {}
    readings = []
    for step in steps:
        readings.append(reading := read_step(step, speakers=speakers))
        if not reading.is_notice:
            speakers[reading.role] = 1
    return readings


def woven(sets: Mapping[str, Sequence[LabeledTrajectory]], *, keep: Keep) -> dict[str, list[LabeledTrajectory]]:
    """More sets, woven from the stretches of the trajectories that `keep` lets through; see `weave`.

    Even ones are made from even trajectories and odd ones from odd, so that halves stay apart.
    """
    made: dict[str, list[LabeledTrajectory]] = {}
    for name in WOVEN_FROM:
        pools: tuple[list[Stretch], list[Stretch]] = ([], [])
        for number, trajectory in enumerate(sets.get(name, ())):
            if keep(name, number):
                pools[number % 2].extend(stretches(trajectory.readings, trajectory.gold))
        if not all(pools):
            continue
        for kind, weave in KINDS.items():
            rng = random.Random(f"{kind} {name}")  # training data
            drawn = [weave(rng, pools[number % 2]) for number in range(WOVEN)]
            made[f"{kind} {name}"] = [
                LabeledTrajectory(_read(each.steps), [(f"stretch {n}",) for n in each.scopes], frozenset())
                for each in drawn
            ]
    return made


def follow(
    trajectory: LabeledTrajectory,
    weights: Mapping[str, float],
    *,
    replies: Replies | None = None,
    examples: list[Example] | None = None,
    joins: list[Example] | None = None,
    with_gold_history: bool = False,
) -> list[int]:
    """The scopes that such a tracker gives the steps, by number; adds what it met to `examples`, `joins`."""
    tracker = ScopeTracker(weights, replies=replies)
    tracker.look_ahead([reading.step.content for reading in trajectory.readings])
    majority: dict[int, Counter[tuple[str, ...]]] = {}
    gold = _targets(trajectory.gold) if examples is not None else trajectory.gold
    numbers = []
    for place, (reading, wanted) in enumerate(zip(trajectory.readings, gold, strict=True)):
        decision = tracker.decide(reading)
        if decision is not None:
            chosen = decision.scope
        else:
            candidates = tracker.candidates(reading)
            best = max(candidates, key=lambda candidate: candidate.score)
            if wanted and examples is not None:
                fits = {number for number, seen in majority.items() if _most(seen) == wanted}
                right = [c.scope is not None and c.scope.number in fits for c in candidates]
                right[-1] = not any(right)
                if place not in trajectory.coarse:
                    examples.append(Example(candidates, right, [c.scope is not tracker.current for c in candidates]))
                if with_gold_history:
                    pairs = zip(candidates, right, strict=True)
                    best = max((c for c, is_right in pairs if is_right), key=lambda candidate: candidate.score)
            chosen = best.scope
        scope = tracker.assign(reading, chosen)
        numbers.append(scope.number)
        if wanted:
            majority.setdefault(scope.number, Counter())[wanted] += 1
        left = None if with_gold_history else tracker.left
        if left is None:
            continue
        homes = tracker.homes()
        if joins is not None and (most := _most(majority.get(left.number))):
            right = [_most(majority.get(home.scope.number)) == most for home in homes]
            choices = [*(Choice(home.features) for home in homes), Choice([0.0] * len(JOIN_FEATURES))]
            joins.append(Example(choices, [*right, not any(right)], [False] * len(choices)))
        home = max(homes, key=lambda home: home.score, default=None)
        if home is not None and home.score >= JOIN_MARGIN:
            tracker.join(left, home.scope)
            majority.setdefault(home.scope.number, Counter()).update(majority.pop(left.number, {}))
    return [tracker.scope(number).number for number in numbers]


def _most(seen: Counter[tuple[str, ...]] | None) -> tuple[str, ...] | None:
    return seen.most_common(1)[0][0] if seen else None


def _targets(gold: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Gold scopes to learn from: a step between two scopes belongs to the one that follows."""
    targets = list(gold)
    for place in range(len(targets) - 2, -1, -1):
        if targets[place + 1] and set(targets[place + 1]) < set(targets[place]):
            targets[place] = targets[place + 1]
    return targets


def fit(groups: Sequence[tuple[Sequence[Example], float]], features: Sequence[str] = FEATURES) -> Weights:
    """The weights of a conditional logit over examples, each group with what one of its examples counts.

    Args:
        groups: Examples, and what each of them counts.
        features: The names of the numbers of a candidate.
    """
    import numpy as np
    from scipy.optimize import minimize
    from scipy.sparse import csr_matrix

    examples = [(example, weight) for group, weight in groups for example in group]
    if not examples:
        return {}
    counts: Counter[str] = Counter()
    for example, _ in examples:
        counts.update(sorted({cue for candidate in example.candidates for cue in candidate.cues}))
    names = [*features, *sorted(cue for cue, count in counts.items() if count >= MIN_CUE_COUNT)]
    column = {name: index for index, name in enumerate(names)}
    data: list[float] = []
    columns: list[int] = []
    ends = [0]
    right: list[bool] = []
    starts: list[int] = []
    importance: list[float] = []
    for example, weight in examples:
        starts.append(len(right))
        right += example.right
        leaving = not any(r and not leaves for r, leaves in zip(example.right, example.leaves, strict=True))
        stays = not all(example.leaves)
        factor = 1.0 if not (leaving and stays) else OPENING_WEIGHT if example.right[-1] else RETURN_WEIGHT
        importance.append(weight * factor)
        for candidate in example.candidates:
            numbers = candidate.features
            present = [index for index, value in enumerate(numbers) if value]
            cues = [column[cue] for cue in candidate.cues if cue in column]
            columns += present + cues
            data += [numbers[index] for index in present] + [1.0] * len(cues)
            ends.append(len(columns))
    table = csr_matrix((data, columns, ends), shape=(len(right), len(names)))
    transposed = table.T.tocsr()
    is_right, first, weigh = np.array(right, float), np.array(starts), np.array(importance)
    group = np.repeat(np.arange(len(starts)), np.diff([*starts, len(right)]))
    ridge = np.array([RIDGE] * len(features) + [CUE_RIDGE] * (len(names) - len(features)))

    def loss(vector: Any) -> tuple[float, Any]:
        scores = table @ vector
        powers = np.exp(scores - np.maximum.reduceat(scores, first)[group])
        all_of, right_of = np.add.reduceat(powers, first), np.add.reduceat(powers * is_right, first) + 1e-12
        slope = weigh[group] * (powers / all_of[group] - powers * is_right / right_of[group])
        value = (weigh * (np.log(all_of) - np.log(right_of))).sum() + 0.5 * (ridge * vector * vector).sum()
        return float(value), transposed @ slope + ridge * vector

    found = minimize(loss, np.zeros(len(names)), jac=True, method="L-BFGS-B", options={"maxiter": 120})
    return dict(zip(names, map(float, found.x), strict=True))


def train(sets: Mapping[str, Sequence[LabeledTrajectory]], *, keep: Keep, without: Sequence[str] = ()) -> Fitted:
    """What is learned from the trajectories that `keep` lets through, names that contain one of `without` left out."""
    weights: Weights = {}
    earlier: list[tuple[list[Example], float]] = []
    of_others = [
        _replies(sets, keep=lambda name, number: number % 2 == 1 and keep(name, number)),
        _replies(sets, keep=lambda name, number: number % 2 == 0 and keep(name, number)),
    ]
    more = woven(sets, keep=keep)
    together = {**sets, **more}
    for with_gold_history in (True, False):
        groups = []
        for name, trajectories in together.items():
            examples: list[Example] = []
            for number, trajectory in enumerate(trajectories):
                if name in more or keep(name, number):
                    replies = of_others[number % 2]
                    follow(trajectory, weights, replies=replies, examples=examples, with_gold_history=with_gold_history)
            groups.append((_without(examples, without), _weight(name) * STEPS_PER_SET / max(len(examples), 1)))
        if earlier:
            groups = [(a + b, (x + y) / 4) for (a, x), (b, y) in zip(earlier, groups, strict=True)]
        earlier = groups
        weights = fit(groups)
    for _ in range(0 if "join: " in without else 2):
        groups = []
        for name, trajectories in together.items():
            joins: list[Example] = []
            for number, trajectory in enumerate(trajectories):
                if name in more or keep(name, number):
                    follow(trajectory, weights, replies=of_others[number % 2], joins=joins)
            groups.append((_without(joins, without), _weight(name) * JOINS_PER_SET / max(len(joins), 1)))
        weights |= fit(groups, [f"join: {name}" for name in JOIN_FEATURES])
    return Fitted(weights, _replies(sets, keep=keep))


def _weight(name: str) -> float:
    return SETS[name].weight if name in SETS else WOVEN_WEIGHTS[name.split()[0]]


def _replies(sets: Mapping[str, Sequence[LabeledTrajectory]], *, keep: Keep) -> Replies:
    """How steps follow each other in the gold scopes of the trajectories that `keep` lets through."""
    talks: dict[str, list[Talk]] = {}
    for name, trajectories in sets.items():
        for number, trajectory in enumerate(trajectories):
            scopes: dict[tuple[str, ...], list[str]] = {}
            for reading, gold in zip(trajectory.readings, trajectory.gold, strict=True):
                if gold and not reading.is_notice:
                    scopes.setdefault(gold, []).append(reading.step.content)
            if keep(name, number):
                talks.setdefault(name, []).extend(Talk(texts) for texts in scopes.values())
    return fit_replies(talks)


def _without(examples: list[Example], parts: Sequence[str]) -> list[Example]:
    if not parts:
        return examples

    def keep(values: list[float], names: Sequence[str]) -> list[float]:
        out = [any(part in name for part in parts) for name in names]
        return [0.0 if left else value for value, left in zip(values, out, strict=True)] if values else []

    def strip(candidate: Candidate | Choice) -> Candidate | Choice:
        if isinstance(candidate, Choice):
            return Choice(keep(candidate.features, JOIN_FEATURES))
        cues = tuple(cue for cue in candidate.cues if not any(part in cue for part in parts))
        of_step, of_scope = keep(candidate.of_step, STEP_FEATURES), keep(candidate.of_scope, SCOPE_FEATURES)
        return candidate._replace(of_step=of_step, of_scope=of_scope, cues=cues)

    return [example._replace(candidates=[strip(c) for c in example.candidates]) for example in examples]


def measure(
    trajectories: Iterable[LabeledTrajectory], weights: Mapping[str, float], replies: Replies | None = None
) -> tuple[float, float]:
    """B-cubed F1 (mean over trajectories) and switch F1 (pooled) of the scopes of a tracker."""
    scores = []
    hits = wanted = made = 0
    for trajectory in trajectories:
        numbers = follow(trajectory, weights, replies=replies)
        pairs = [(gold, number) for gold, number in zip(trajectory.gold, numbers, strict=True) if gold]
        if not pairs:
            continue
        both, of_gold, of_own = Counter(pairs), Counter(g for g, _ in pairs), Counter(n for _, n in pairs)
        precision = sum(count * count / of_own[number] for (_, number), count in both.items()) / len(pairs)
        recall = sum(count * count / of_gold[gold] for (gold, _), count in both.items()) / len(pairs)
        scores.append(2 * precision * recall / (precision + recall))
        for (gold_before, before), (gold, number) in pairwise(pairs):
            hits += gold != gold_before and number != before
            wanted += gold != gold_before
            made += number != before
    return sum(scores) / max(len(scores), 1), 2 * hits / max(wanted + made, 1)


def _report(kind: str, sets: Mapping[str, Sequence[LabeledTrajectory]]) -> None:
    def held_out(name: str, fitted: Fitted) -> str:
        chosen = [t for number, t in enumerate(sets[name]) if number % 5 == 1 or kind == "leave-one-out"]
        score, switch = measure(chosen, *fitted)
        return f"{name} {score:.3f} / {switch:.3f}"

    if kind == "leave-one-out":
        for name in sets:
            others = {other: trajectories for other, trajectories in sets.items() if other != name}
            print(held_out(name, train(others, keep=lambda *_: True)), flush=True)  # noqa: T201 # a report
        return
    fitted = train(sets, keep=_in_the_fold)
    for label, parts in {"all": (), **({} if kind == "fold" else EVIDENCE)}.items():
        if parts and kind == "ablation":
            fitted = train(sets, keep=_in_the_fold, without=parts)
        weights = {name: weight for name, weight in fitted.weights.items() if not any(part in name for part in parts)}
        print(  # noqa: T201 # a report
            f"{label}:", "; ".join(held_out(name, fitted._replace(weights=weights)) for name in sets), flush=True
        )


def _in_the_fold(_: str, number: int) -> bool:
    return number % 5 != 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the weights, or report how good they are on what they have not seen."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the labeled sets")
    parser.add_argument("--out", type=Path, help="folder for both files of weights")
    parser.add_argument("--report", choices=["fold", "leave-one-out", "ablation", "silence"])
    parser.add_argument("--limit", type=int, help="use at most this many trajectories of a set")
    options = parser.parse_args(arguments)
    sets = {name: read_set(options.data / labeled.path)[: options.limit] for name, labeled in SETS.items()}
    if options.report:
        _report(options.report, sets)
    if options.out:
        fitted = train(sets, keep=lambda *_: True)
        kept = {name: round(weight, 3) for name, weight in sorted(fitted.weights.items()) if abs(weight) >= 0.02}
        text = json.dumps({"made_by": _MADE_BY, "weights": kept}, indent=1)
        (options.out / "scope_weights.json").write_text(text + "\n", encoding="utf-8")
        rows = {name: json.dumps(value) for name, value in as_data(fitted.replies).items()}
        lines = [f'"{name}": {text.replace("], [", f"],{chr(10)}[")}' for name, text in rows.items()]
        text = ",\n".join([f'"made_by": "{_MADE_BY}"', *lines])
        (options.out / "reply_weights.json").write_text("{" + text + "}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
