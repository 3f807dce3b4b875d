"""The formats of trajectories that are recognized, each by its content.

A format says whether a record (one JSON value: a line of a file, or an item of a list) is its own, and turns it into
steps. The first that recognizes a record reads it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from stitch.core import Step
from stitch.errors import StepRejectedError
from stitch.sources.messages import step_from_row

SteppedRow = tuple[str | None, "Step | StepRejectedError"]
"""Trajectory id (None: that of the file) and the step, or why there is none."""


class Format(NamedTuple):
    """How one kind of record is recognized and read."""

    name: str
    example: str
    """What a record looks like, in one line."""
    recognizes: Callable[[Any], bool]
    steps: Callable[[Any], Iterator[SteppedRow]]


def _rows(rows: Any, trajectory: str | None) -> Iterator[SteppedRow]:
    for row in rows:
        try:
            if not isinstance(row, Mapping):
                raise StepRejectedError(f"step is not an object but {type(row).__name__}")
            yield trajectory, step_from_row(row)
        except StepRejectedError as error:
            yield trajectory, error


def _has(record: Any, *, list_field: str) -> bool:
    return isinstance(record, Mapping) and isinstance(record.get(list_field), list)


def _id_of(record: Mapping[str, Any], *fields: str) -> str | None:
    return "-".join(str(record[field]) for field in fields if record.get(field) is not None) or None


def _trajectory(record: Any) -> Iterator[SteppedRow]:
    return _rows(record["steps"], _id_of(record, "id"))


def _chat(record: Any) -> Iterator[SteppedRow]:
    return _rows(record["messages"], _id_of(record, "id"))


def _tau_bench(record: Any) -> Iterator[SteppedRow]:
    return _rows(record["traj"], _id_of(record, "task_id", "trial"))


_CAME_ID = re.compile(r"^(?P<trajectory>.+)-turn-\d+$")
_CAME_STAMP = re.compile(r"\s*-{3,4}TIMESTAMP:\s*(?P<stamp>\S+(?: \S+)*?)\s*$")


def _is_came_turn(record: Any) -> bool:
    return (
        isinstance(record, Mapping)
        and isinstance(record.get("id"), str)
        and bool(_CAME_ID.match(record["id"]))
        and isinstance(record.get("partition"), list)
    )


def _came_turn(record: Any) -> Iterator[SteppedRow]:
    row = dict(record)
    if isinstance(row.get("content"), str) and (stamp := _CAME_STAMP.search(row["content"])):
        row["content"] = row["content"][: stamp.start()]
        row["timestamp"] = stamp["stamp"]
    return _rows([row], _CAME_ID.sub(r"\g<trajectory>", row["id"]))


def _is_step(record: Any) -> bool:
    return isinstance(record, Mapping) and "role" in record and ("content" in record or "tool_calls" in record)


def _step(record: Any) -> Iterator[SteppedRow]:
    trajectory = record.get("trajectory")
    return _rows([record], None if trajectory is None else str(trajectory))


FORMATS: tuple[Format, ...] = (
    Format("trajectory", '{"id": "t1", "steps": [{"role": "user", "content": "..."}]}',
           lambda record: _has(record, list_field="steps"), _trajectory),
    Format("chat messages", '{"messages": [{"role": "user", "content": "..."}]}',
           lambda record: _has(record, list_field="messages"), _chat),
    Format("tau-bench", '{"task_id": 0, "traj": [{"role": "user", "content": "..."}]}',
           lambda record: _has(record, list_field="traj"), _tau_bench),
    Format("CAME-Bench turn", '{"id": "trip-1-turn-1", "role": "user", "content": "...", "partition": [...]}',
           _is_came_turn, _came_turn),
    Format("step", '{"role": "user", "content": "...", "trajectory": "t1"}', _is_step, _step),
)  # fmt: skip
"""All formats, in the order in which they are tried."""


def steps_of(record: Any) -> Iterator[SteppedRow]:
    """Read one record.

    Raises:
        StepRejectedError: No format recognizes it.
    """
    for known in FORMATS:
        if known.recognizes(record):
            return known.steps(record)
    names = ", ".join(known.name for known in FORMATS)
    raise StepRejectedError(
        f"not a known format ({names})",
        hint='the generic form is one step a line: {"role": "user", "content": "...", "trajectory": "t1"}',
    )
