"""Haystacks for questions that come with their evidence alone: `python -m stitch.bench.haystacks DATA AMONG OUT`.

LongMemEval comes with haystacks for some of its questions, and with the sessions of the evidence for all. This writes a
set for `stitch bench retrieval` in which the sessions of each question of DATA stand among those of a trajectory of
AMONG, drawn with a seed, by their times; the evidence sessions of that trajectory's own questions are left out.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

import click

from stitch.bench.data.files import read_records
from stitch.bench.data.sets import load_questions
from stitch.errors import InputError

Steps = list[dict[str, Any]]


def haystacks(
    data: Path, among: Path, *, types: Sequence[str] = (), seed: int = 0
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each question of a set with a trajectory in which its sessions stand among others, as lines of the two files.

    Args:
        data: The questions, and the sessions of their evidence.
        among: Trajectories of other questions.
        types: Questions of these types alone; none means all.
        seed: Draws the trajectory for each question.

    Raises:
        InputError: There is no other trajectory to stand among, or no question of the types.
    """
    own, hay = _steps_of(data), _steps_of(among)
    asked = list(_records(among, "questions"))
    questions = [each for each in _records(data, "questions") if not types or each.get("type") in types]
    if not questions:
        raise InputError(f"no question of {str(data)!r} is of the type {', '.join(types)!r}", hint="leave --type out")
    draw = random.Random(seed)
    for number, question in enumerate(questions):
        others = sorted(hay.keys() - {each["trajectory"] for each in asked if each["question"] == question["question"]})
        if not others:
            raise InputError(f"{str(among)!r} has no trajectory of another question", hint="give another set")
        drawn = draw.choice(others)
        evidence = {step for each in asked if each["trajectory"] == drawn for step in each["evidence"]}
        both = [*_others(hay[drawn], evidence=evidence), *_sessions(own[question["trajectory"]])]
        both.sort(key=lambda session: str(session[0]["timestamp"]))
        name = f"haystack-{number}"
        yield {**question, "trajectory": name}, {"id": name, "steps": [step for session in both for step in session]}


def _others(steps: Steps, *, evidence: Set[str]) -> list[Steps]:
    """The sessions that hold no evidence, their steps under other names."""
    kept = [session for session in _sessions(steps) if not evidence & {step["id"] for step in session}]
    return [[_renamed(step) for step in session] for session in kept]


def _records(folder: Path, kind: str) -> Iterator[dict[str, Any]]:
    [file] = folder.glob(f"{kind}.jsonl*")
    return (record for _, record in read_records(file))


def _steps_of(folder: Path) -> Mapping[str, Steps]:
    load_questions(folder)  # which says what is wrong with it
    return {str(record["id"]): record["steps"] for record in _records(folder, "trajectories")}


def _sessions(steps: Steps) -> list[Steps]:
    """The steps of each session, in order; steps without a session are one."""
    sessions: dict[str, Steps] = {}
    for step in steps:
        sessions.setdefault(str(step.get("session")), []).append(step)
    return list(sessions.values())


def _renamed(step: dict[str, Any]) -> dict[str, Any]:
    """A step of the haystack, which may have the id of another: both sets count from the first."""
    return {**step, "id": f"hay:{step['id']}", "session": f"hay:{step.get('session')}"}


@click.command()
@click.argument("data", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.argument("among", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--type", "types", multiple=True, help="Only questions of this type; may be repeated.")
@click.option("--seed", type=int, default=0, show_default=True, help="Draws where each question stands.")
@click.option("--limit", type=click.IntRange(1), help="The first so many questions alone.")
def main(data: Path, among: Path, out: Path, types: Sequence[str], seed: int, limit: int | None) -> None:
    """Write a set to a new folder OUT: the questions of DATA, their sessions among those of AMONG."""
    made = list(haystacks(data, among, types=types, seed=seed))[:limit]
    out.mkdir(parents=True)
    for name, rows in zip(("questions", "trajectories"), zip(*made, strict=True), strict=True):
        (out / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    click.echo(f"{len(made)} questions")


if __name__ == "__main__":
    main()
