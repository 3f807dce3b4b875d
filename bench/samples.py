"""Sample trajectories with questions: a trip planned with an assistant, a coding agent on two bugs.

Their files lie in `stitch.examples`; `stitch examples --to DIR` copies them.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import NamedTuple

from stitch.core import Trajectory
from stitch.sources.given import step_of


class SampleQuestion(NamedTuple):
    """A question about a sample, with what is right."""

    text: str
    reworded: str
    """The same question in words that the trajectory does not use."""
    answer: str
    evidence: tuple[str, ...]
    """Ids of the steps that bear the answer, in order."""


class Sample(NamedTuple):
    """A trajectory, and questions about it."""

    name: str
    trajectory: Trajectory
    questions: tuple[SampleQuestion, ...]


def sample(name: str) -> Sample:
    """Read a sample: `trip`, in which a household matter comes between two cities, or `bugs`, two bugs by turns."""
    rows = map(json.loads, _read(f"{name}.jsonl").splitlines())
    steps = tuple(step_of({key: value for key, value in row.items() if key != "trajectory"}) for row in rows)
    asked = json.loads(_read("questions.json"))[name]
    questions = tuple(SampleQuestion(**{**each, "evidence": tuple(each["evidence"])}) for each in asked)
    return Sample(name, Trajectory(id=name, steps=steps), questions)


def outline() -> str:
    """A plan for two days as an outline."""
    return _read("porto.md")


def _read(name: str) -> str:
    return files("stitch.examples").joinpath(name).read_text(encoding="utf-8")
