"""Fit the weights that tell the goals of runs apart (`stitch.label.local.goals`).

Run it on files of trajectories whose steps carry a gold scope, or whose ids say of which run they are (`run3:12`):
`python -m stitch.pipelines.fit_goals FILE... --out stitch/label/local`. Each trajectory is taken as it is, woven anew
from its goals, two and four at a time, and both once more without what was given beforehand, so that it is learned how
a goal is opened where nothing announces it. `--report` prints what each file would get from the others.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from stitch.core import Step
from stitch.core.intent import goal_of
from stitch.label.local.goals import FEATURES
from stitch.label.local.runs import Place, RunTracker
from stitch.label.local.turns import SETUP
from stitch.pipelines.conditional_logit import Choice, Example, Weights, fit_logit

LEAST_BLOCK, MOST_BLOCK = 3, 8
"""So many steps of a goal stand beside each other at least, and are drawn at most, where goals are woven."""
AT_ONCE = (2, 4)


class Run(NamedTuple):
    """Steps of a trajectory, each with the name of its goal; empty for what is given beforehand."""

    steps: list[Step]
    goals: list[str]


def read_runs(path: Path) -> list[Run]:
    """The trajectories of a file of JSON lines, plain or gzip."""
    return [run for record in _lines(path) if (run := _run(record)).steps]


def variants(run: Run, *, seed: int = 0) -> Iterator[Run]:
    """A run as it is and woven anew, each with and without what is given beforehand."""
    for each in (run, *(woven(run, at_once=count, seed=seed + count) for count in AT_ONCE)):
        yield each
        kept = [number for number, goal in enumerate(each.goals) if goal]
        if len(kept) < len(each.steps):
            yield Run([each.steps[number] for number in kept], [each.goals[number] for number in kept])


def woven(run: Run, *, at_once: int, seed: int) -> Run:
    """The goals of a run worked on in turn, left where no call waits for its result."""
    rng = random.Random(seed)
    parts: list[list[int]] = []
    places: dict[str, int] = {}
    before: list[int] = []
    for number, goal in enumerate(run.goals):
        if not goal:
            before.append(number)
            continue
        if goal not in places:
            places[goal] = len(parts)
            parts.append(before)
            before = []
        parts[places[goal]].append(number)
    order = list(_woven(parts, run.steps, rng, at_once=at_once))
    return Run([run.steps[number] for number in order], [run.goals[number] for number in order])


def examples(run: Run) -> Iterator[Example]:
    """What there was to choose from at each step, with what was right, all steps before it being where they belong."""
    tracker, numbers = RunTracker(), dict[str, int]()
    for step, gold in zip(run.steps, run.goals, strict=True):
        turn = tracker.hear(step)
        if turn is None:
            tracker.heard(step)
            continue
        if not gold or turn.kind == SETUP:
            tracker.take(step, turn, Place(None, setup=True), label="")
            continue
        current, right = tracker.current, numbers.get(gold)
        choices = tracker.choices(step, turn)
        hits = [number == right for number, _ in choices]
        if any(hits) and len(hits) > 1:
            leaves = [number != current for number, _ in choices]
            yield Example([Choice(told) for _, told in choices], hits, leaves)
        if (taken := tracker.take(step, turn, Place(right), label=gold)) is not None:
            numbers[gold] = taken.number


def fit(files: Sequence[Path]) -> Weights:
    """The weights that choose best in all files, which count alike."""
    groups = []
    for file in files:
        group = [each for run in read_runs(file) for one in variants(run) for each in examples(one)]
        groups.append((group, 1_000 / max(1, len(group))))
    return fit_logit(groups, FEATURES)


def accuracy(file: Path, weights: Weights) -> float:
    """At how many of the steps of a file the right goal is chosen, all before being right."""
    right = total = 0
    for run in read_runs(file):
        for example in (each for one in variants(run) for each in examples(one)):
            scores = [
                sum(weights[name] * number for name, number in zip(FEATURES, candidate.features, strict=True))
                for candidate in example.candidates
            ]  # fmt: skip
            right += example.right[max(range(len(scores)), key=scores.__getitem__)]
            total += 1
    return right / max(1, total)


def main(given: Sequence[str] | None = None) -> int:
    """Fit on all files and write `goal_weights.json`; with `--report`, say first how each fares by the others."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, help="folder of goal_weights.json")
    parser.add_argument("--report", action="store_true", help="print what each file gets from the others")
    options = parser.parse_args(given)
    if options.report:
        for file in options.files:
            others = [other for other in options.files if other != file]
            print(f"{file.parent.name}/{file.name}: {accuracy(file, fit(others)):.3f} by the others")  # noqa: T201 # a report
    if options.out is not None:
        weights = {name: round(weight, 3) for name, weight in fit(options.files).items()}
        (options.out / "goal_weights.json").write_text(json.dumps(weights, indent=1) + "\n", encoding="utf-8")
    return 0


def _woven(parts: Sequence[Sequence[int]], steps: Sequence[Step], rng: random.Random, *, at_once: int) -> Iterator[int]:
    waiting = list(range(len(parts)))
    under_way: dict[int, int] = {}
    last = -1
    while waiting or under_way:
        while waiting and len(under_way) < at_once:
            under_way[waiting.pop(0)] = 0
        part = rng.choice([one for one in under_way if one != last] or list(under_way))
        last, at, own = part, under_way[part], parts[part]
        end = min(len(own), at + rng.randrange(LEAST_BLOCK, MOST_BLOCK + 1))
        while end < len(own) and _waits(steps[own[end - 1]], steps[own[end]]):
            end += 1
        yield from own[at:end]
        under_way[part] = end
        if end == len(own):
            del under_way[part]


def _waits(before: Step, after: Step) -> bool:
    """Whether nothing may come between two steps: a call and its result, instructions and what they are for."""
    return bool(before.tool_calls) or after.tool_name is not None or before.role == "system"


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _run(record: dict[str, Any]) -> Run:
    run = Run([], [])
    for row in record["steps"]:
        calls = row.get("tool_calls") or ()
        content = row.get("words", row["content"]) if calls else row["content"]
        if not content and not calls:
            continue
        gold = (row.get("gold") or {}).get("scope")
        goal = goal_of(gold[0]) if gold else "" if row["role"] == "system" else str(row["id"]).partition(":")[0]
        fields = {"id": row["id"], "role": row["role"], "content": content, "tool_calls": calls}
        run.steps.append(Step.model_validate({**fields, "tool_name": row.get("tool_name")}))
        run.goals.append("" if goal == "setup" else goal)
    return run


if __name__ == "__main__":
    raise SystemExit(main())
