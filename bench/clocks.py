"""Questions of clocks: `stitch bench clocks --data SET`.

Two figures of a set. *Newest first*: of questions with several pieces of evidence, how often the newest stands before
all others, where it and an older one are among the first ten; by type, for only some types ask of now
(`knowledge-update` of LongMemEval, `current-value`). *Day first*: "What was said on DAY?" for some thirty days of the
set, drawn from the seed, in four notations; how often the first hit is of that day.
"""

from __future__ import annotations

import math
import random
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stitch.bench.data.sets import load_questions
from stitch.bench.figures import print_table
from stitch.bench.memories import default_opener
from stitch.console.options import json_option
from stitch.console.printing import print_json
from stitch.text.dates import day_of

if TYPE_CHECKING:
    from stitch.bench.data.types import DataSet, Question
    from stitch.memory import Memory

K = 10
_DAYS = 30
_NOTATIONS = ("%Y-%m-%d", "%d.%m.%Y", "%d %B %Y", "%B %d, %Y")


def measure(data: DataSet, *, seed: int = 7) -> dict[str, dict[str, Any]]:
    """Ask a memory of each trajectory: rows of `newest first` by type, and of `day first` by notation."""
    outcomes = defaultdict[str, list[bool]](list)
    questions = defaultdict[str, list["Question"]](list)
    for question in data.questions:
        questions[question.trajectory].append(question)
    opened = default_opener("local")
    drawn, days_each = random.Random(seed), math.ceil(_DAYS / max(1, len(data.trajectories)))
    for trajectory in data.trajectories:
        with tempfile.TemporaryDirectory(prefix="stitch-clocks-") as folder, opened(Path(folder)) as memory:
            memory.add_many(trajectory.steps, trajectory=trajectory.id)
            moments = {
                str(step.id): (day_of(step.timestamp) or 0, place) for place, step in enumerate(trajectory.steps)
            }
            for question in questions[trajectory.id]:
                is_first = newest_first(memory, question, moments)
                if is_first is not None:
                    outcomes[f"newest first: {question.type}"].append(is_first)
            days = sorted({day for day, _ in moments.values() if day})
            for day in drawn.sample(days, min(len(days), days_each)):
                for notation in _NOTATIONS:
                    asked = f"What was said on {date.fromordinal(day).strftime(notation)}?"
                    hits = memory.search(asked, trajectory=trajectory.id, k=K, min_relevance=0.0).hits
                    is_right = bool(hits) and moments[hits[0].snippet.step][0] == day
                    outcomes[f"day first: {notation}"].append(is_right)
    return {
        name: {"asked": len(own), "right": sum(own), "share": sum(own) / len(own)} for name, own in outcomes.items()
    }


def newest_first(memory: Memory, question: Question, moments: Mapping[str, tuple[int, int]]) -> bool | None:
    """Whether the newest evidence stands before all older; None where it and an older one are not both found."""
    newest = max(question.evidence, key=lambda step: moments.get(step, (0, 0)), default="")
    hits = memory.search(
        question.text, trajectory=question.trajectory, asked_at=question.asked_at, k=K, min_relevance=0.0
    ).hits
    found = [hit.snippet.step for hit in hits if hit.snippet.step in question.evidence]
    return found[0] == newest if newest in found and len(found) > 1 else None


@click.command()
@click.option("--data", required=True, help="A folder of trajectories and questions.",
              type=click.Path(path_type=Path, exists=True, file_okay=False))  # fmt: skip
@click.option("--seed", type=int, default=7, show_default=True, help="Draws the days.")
@json_option
def command(data: Path, seed: int, as_json: bool) -> None:
    """Ask a set for its newest statements and for its days.

    \b
    Example:
      stitch bench clocks --data longmemeval_oracle
    """
    read = load_questions(data)
    rows = measure(read, seed=seed)
    if as_json:
        print_json({"set": read.name, **rows})
    else:
        print_table(rows, title=f"{read.name}: the first hit where order is a matter of clocks")
