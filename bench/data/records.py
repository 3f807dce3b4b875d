"""Turning records of the generic format into steps and gold, and checking that gold refers to what exists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from stitch.bench.data.files import read_records, required
from stitch.bench.data.types import GoldLabels, Question
from stitch.core import Step, Trajectory
from stitch.errors import InputError

_STEP_FIELDS = ("id", "role", "content", "timestamp", "session")


class ReadTrajectory(NamedTuple):
    """A trajectory with what was kept apart while reading it."""

    trajectory: Trajectory
    gold: dict[str, GoldLabels]
    empty: frozenset[str]
    """Ids of steps that say nothing and so cannot be stored."""


def read_trajectories(path: Path) -> Iterator[ReadTrajectory]:
    """Read the trajectories of a JSON-lines file.

    Raises:
        InputError: A line cannot be used, or two trajectories or two steps of one have the same id.
    """
    seen: set[str] = set()
    for where, record in read_records(path):
        name = str(required(record, "id", where))
        if name in seen:
            raise InputError(f"{where} repeats the trajectory {name!r}")
        seen.add(name)
        yield trajectory_from(name, required(record, "steps", where), where=where)


def trajectory_from(name: str, rows: Sequence[Mapping[str, Any]], *, where: str) -> ReadTrajectory:
    """Make a trajectory of step records; what only a benchmark may know goes to `gold`.

    Raises:
        InputError: A step cannot be used, or two have the same id.
    """
    steps: list[Step] = []
    gold: dict[str, GoldLabels] = {}
    empty: set[str] = set()
    ids: set[str] = set()
    if not isinstance(rows, list):
        raise InputError(f"{where} is no trajectory: 'steps' is no list")
    for place, row in enumerate(rows):
        if not isinstance(row, dict):
            raise InputError(f"{where}, step {place}, is no object but {type(row).__name__}")
        step = str(row.get("id", place))
        if step in ids:
            raise InputError(f"{where} repeats the step {step!r}")
        ids.add(step)
        if not str(row.get("content") or "").strip():
            empty.add(step)
            continue
        fields = {field: row[field] for field in _STEP_FIELDS if row.get(field) is not None}
        try:
            steps.append(Step.model_validate({**fields, "id": step}))
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(map(str, first["loc"])) or "step"
            raise InputError(f"{where}, step {step!r}: {field}: {str(first['msg']).lower()}") from None
        if labels := gold_labels(row.get("gold")):
            gold[step] = labels
    return ReadTrajectory(Trajectory(id=name, steps=tuple(steps)), gold, frozenset(empty))


def gold_labels(record: Any) -> GoldLabels:
    """The gold labels in a `gold` object; empty if there is none."""
    if not isinstance(record, Mapping):
        return GoldLabels()
    names = ("scope", "event_types", "entity_types", "targets")
    return GoldLabels(*(tuple(map(str, record.get(name) or ())) for name in names))


def check_questions(questions: Iterable[Question], *, known: Mapping[str, frozenset[str]], where: str) -> None:
    """Check that every question has an id of its own and asks about what exists.

    Args:
        questions: The questions of a set.
        known: All step ids by trajectory, those of empty steps included.
        where: Names the file in messages.

    Raises:
        InputError: An id is repeated, or a trajectory or an evidence step does not exist.
    """
    seen: set[str] = set()
    for question in questions:
        if question.id in seen:
            raise InputError(f"{where} repeats the question {question.id!r}")
        seen.add(question.id)
        if question.trajectory not in known:
            raise InputError(f"{where}: question {question.id!r} names an unknown trajectory {question.trajectory!r}")
        if missing := [step for step in question.evidence if step not in known[question.trajectory]]:
            raise InputError(
                f"{where}: evidence {missing[0]!r} of question {question.id!r} is no step of {question.trajectory!r}"
            )
