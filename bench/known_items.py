"""Steps that are asked for by their own words: `stitch bench known-items --data SET`.

Who repeats what a step says wants that step, whatever labels these words license. Of a set's first trajectories in an
order drawn from the seed, up to 250 steps are asked for in their own trajectory, by their first 40 words and by 60 % of
these (drawn, in their order), at least five. Steps of fewer than five words, and those that begin as another one does,
cannot be told apart by their words and are left out; signs alone are no words.
"""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from stitch.bench.data.sets import load_questions
from stitch.bench.figures import print_table
from stitch.bench.memories import default_opener
from stitch.console.options import json_option
from stitch.console.printing import print_json
from stitch.core import Trajectory, with_calls

if TYPE_CHECKING:
    from stitch.memory import Memory

K = 10
"""A step is found if it is among so many."""
_ASKED, _STEPS = 250, 2_500
_FIRST, _LEAST, _SHARE = 40, 5, 0.6


class Known(NamedTuple):
    """A step that is asked for by its own first words, and by some of these."""

    trajectory: str
    step: str
    words: tuple[str, ...]
    some: tuple[str, ...]


def draw(trajectories: Sequence[Trajectory], *, seed: int = 7) -> tuple[list[Trajectory], list[Known]]:
    """The trajectories to be searched, and what is asked of them."""
    drawn, used, steps = random.Random(seed), list[Trajectory](), 0
    for trajectory in drawn.sample(trajectories, len(trajectories)):
        used.append(trajectory)
        steps += len(trajectory.steps)
        if steps > _STEPS:
            break
    begun = [
        (each.id, str(step.id), tuple(filter(_is_word, with_calls(step.content, step.tool_calls).split()))[:_FIRST])
        for each in used
        for step in each.steps
    ]
    times = Counter(words for *_, words in begun)
    apart = [known for known in begun if len(known[2]) >= _LEAST and times[known[2]] == 1]

    def some(words: tuple[str, ...]) -> tuple[str, ...]:
        places = drawn.sample(range(len(words)), max(_LEAST, round(_SHARE * len(words))))
        return tuple(words[place] for place in sorted(places))

    return used, [Known(*known, some(known[2])) for known in drawn.sample(apart, min(_ASKED, len(apart)))]


def _is_word(said: str) -> bool:
    return any(map(str.isalnum, said))


def measure(trajectories: Sequence[Trajectory], *, seed: int = 7) -> dict[str, Any]:
    """Take in trajectories and ask for their steps: the shares that all words and some of them find."""
    used, asked = draw(trajectories, seed=seed)
    with tempfile.TemporaryDirectory(prefix="stitch-known-") as folder, default_opener("local")(Path(folder)) as memory:
        for trajectory in used:
            memory.add_many(trajectory.steps, trajectory=trajectory.id)

        def found(said: str) -> float:
            hits = [is_found(memory, known, getattr(known, said)) for known in asked]
            return round(sum(hits) / max(1, len(hits)), 4)

        return {"asked": len(asked), "own_words": found("words"), "some_words": found("some")}


def is_found(memory: Memory, known: Known, words: Sequence[str]) -> bool:
    """Whether a memory has the step among the first ten for these words."""
    hits = memory.search(" ".join(words), trajectory=known.trajectory, k=K).hits
    return known.step in (hit.snippet.step for hit in hits)


@click.command()
@click.option("--data", required=True, help="A folder of trajectories and questions.",
              type=click.Path(path_type=Path, exists=True, file_okay=False))  # fmt: skip
@click.option("--seed", type=int, default=7, show_default=True, help="Draws the steps and their words.")
@json_option
def command(data: Path, seed: int, as_json: bool) -> None:
    """Ask for steps of a set by their own words.

    \b
    Example:
      stitch bench known-items --data locomo --json > known-locomo.json
    """
    read = load_questions(data)
    found = measure(read.trajectories, seed=seed)
    if as_json:
        print_json({"set": read.name, **found})
    else:
        print_table({read.name: found}, title="Known items: the share that is among the first ten")
