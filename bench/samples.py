"""The sample trajectories of the project (`samples.json`): a trip of two interleaved days, a coding agent on two bugs.

They are made to defeat similarity: the same places and files come back under other goals, and answers do not name what
they answer about.
"""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from stitch.core import Step, Trajectory


class SampleQuestion(NamedTuple):
    """A question about a sample, with what is right."""

    text: str
    answer: str
    evidence: tuple[str, ...]
    """Ids of the steps that bear the answer, in order."""


class Sample(NamedTuple):
    """A trajectory, and questions about it."""

    name: str
    trajectory: Trajectory
    questions: tuple[SampleQuestion, ...]


def sample(name: str) -> Sample:
    """A sample: `trip`, whose two days are planned by turns, or `bugs`, on which a coding agent works by turns."""
    told = _read()[name]
    return Sample(
        name,
        Trajectory(id=told["id"], steps=tuple(Step(**step) for step in told["steps"])),
        tuple(SampleQuestion(**{**each, "evidence": tuple(each["evidence"])}) for each in told["questions"]),
    )


def outline() -> str:
    """A plan for two days as an outline."""
    return str(_read()["outline"])


def write_jsonl(of: Sample, path: Path) -> None:
    """Write the trajectory as one JSON line that `stitch ingest` reads."""
    steps = [step.model_dump(mode="json", exclude_defaults=True) for step in of.trajectory.steps]
    line = json.dumps({"id": of.trajectory.id, "steps": steps}, ensure_ascii=False)
    path.write_text(line + "\n", encoding="utf-8")


@lru_cache(maxsize=1)
def _read() -> Any:
    return json.loads(files(__package__).joinpath("samples.json").read_text(encoding="utf-8"))


PARTY_NOTES: tuple[dict[str, Any], ...] = tuple(_read()["party notes"])
"""Notes of which three say what was bought, each among other things."""
