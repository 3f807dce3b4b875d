"""Records of the generic format as steps and gold, and the check that gold refers to what exists."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from stitch.bench.data.files import read_records, required
from stitch.bench.data.types import GoldLabels, Question
from stitch.core import Step, Trajectory
from stitch.errors import InputError, StepRejectedError
from stitch.sources.tool_calls import ToolCalls


class ReadTrajectory(NamedTuple):
    """A trajectory with what was kept apart while reading it."""

    trajectory: Trajectory
    gold: dict[str, GoldLabels]
    empty: frozenset[str]
    """Ids of steps that say nothing, call nothing and answer nothing, and so cannot be stored."""

    @property
    def steps(self) -> frozenset[str]:
        """Ids of the steps that can be stored."""
        return frozenset(str(step.id) for step in self.trajectory.steps)


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

    A step with `tool_calls` calls tools; its own words then are `words`, if it has them, for `content` shows the calls
    as text as well. `tool_name` says whose result a step is, and `tool_results` hold results: a step is one step, also
    where it has both.

    Raises:
        InputError: A step cannot be used, or two have the same id.
    """
    steps: dict[str, Step | None] = {}
    gold: dict[str, GoldLabels] = {}
    tools = ToolCalls()
    if not isinstance(rows, list):
        raise InputError(f"{where} is no trajectory: 'steps' is no list")
    for place, row in enumerate(rows):
        if not isinstance(row, dict):
            raise InputError(f"{where}, step {place}, is no object but {type(row).__name__}")
        step = str(row.get("id", place))
        if step in steps:
            raise InputError(f"{where} repeats the step {step!r}")
        try:
            fields = _fields_of(row, tools)
            says = fields["content"].strip() or fields.get("tool_calls") or fields.get("tool_name")
            steps[step] = Step.model_validate({**fields, "id": step}) if says else None
        except StepRejectedError as error:
            raise InputError(f"{where}, step {step!r}: {error}") from None
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(map(str, first["loc"])) or "step"
            raise InputError(f"{where}, step {step!r}: {field}: {str(first['msg']).lower()}") from None
        if says and (labels := gold_labels(row.get("gold"))):
            gold[step] = labels
    empty = frozenset(id_ for id_, step in steps.items() if step is None)
    return ReadTrajectory(Trajectory(id=name, steps=tuple(filter(None, steps.values()))), gold, empty)


def _fields_of(row: Mapping[str, Any], tools: ToolCalls) -> dict[str, Any]:
    """The fields of a step but for its id; StepRejectedError if a call names no tool."""
    names = ("role", "timestamp", "session", "tool_name", "parent")
    fields = {field: row[field] for field in names if row.get(field) is not None}
    calls = tuple(tools.call(call) for call in row.get("tool_calls") or ())
    if calls:
        fields["tool_calls"] = calls
    said = row.get("words") if calls and row.get("words") is not None else row.get("content")
    given = row.get("tool_results") or ()
    results = [tools.result(each if isinstance(each, Mapping) else {"content": each}) for each in given]
    if results and not calls:
        fields.setdefault("tool_name", results[0]["tool_name"])
    fields["content"] = "\n".join(filter(None, [str(said or ""), *(result["content"] for result in results)]))
    return fields


def gold_labels(record: Any) -> GoldLabels:
    """The gold labels in a `gold` object; empty if there is none."""
    if not isinstance(record, Mapping):
        return GoldLabels()
    names = ("scope", "event_types", "entity_types", "targets")
    return GoldLabels(*(tuple(map(str, record.get(name) or ())) for name in names))


def check_questions(questions: Collection[Question], *, known: Mapping[str, frozenset[str]], where: str) -> None:
    """Check that there are questions, each with an id of its own, about what exists.

    Args:
        questions: The questions of a set.
        known: All step ids by trajectory, those of empty steps included.
        where: Names the file in messages.

    Raises:
        InputError: There is none, an id is repeated, or a trajectory or an evidence step does not exist.
    """
    if not questions:
        raise InputError(f"{where!r} holds no question")
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
