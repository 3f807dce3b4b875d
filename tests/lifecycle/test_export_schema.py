"""What a line of an export may be, and why another is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stitch.core import StepState
from stitch.lifecycle.export_schema import End, Head, StepLine, TrajectoryLine, dump_line, parse_line

STEP: dict[str, Any] = {
    "kind": "step", "trajectory": "t", "position": 3, "recorded": 1.5, "state": "stored", "digest": "ab" * 16,
    "step": {"id": "s", "role": "user", "content": "Book it"},
}  # fmt: skip
LABELS: dict[str, Any] = {"intent": {"scope": "day 1"}, "made_by": "local"}


def refer(*places: tuple[int, int]) -> dict[str, Any]:
    return {**LABELS, "references": [{"start": start, "end": end, "replacement": "x"} for start, end in places]}


def refused(line: str) -> str:
    """Why a line is refused; empty if it is not."""
    try:
        parse_line(line)
    except ValueError as error:
        return str(error)
    return ""


def test_lines_are_read_as_they_were_written() -> None:
    head = dump_line("memory", schema_version=3, tenant="Zürich\u2028")
    assert (head.isascii(), "\n" in head) == (True, False)
    assert parse_line(head) == Head(schema_version=3, tenant="Zürich\u2028")
    assert parse_line(dump_line("end", steps=0)) == End(steps=0)
    line = parse_line(dump_line("trajectory", trajectory="t", length=10_000_000, gaps=[[0, 2], [3, 9_999_999]]))
    assert line == TrajectoryLine(trajectory="t", length=10_000_000, gaps=((0, 2), (3, 9_999_999)))
    step = parse_line(json.dumps({**STEP, "labels": refer((0, 4), (4, 4), (5, 7))}))
    assert isinstance(step, StepLine)
    assert (step.state, step.position, step.retired_at, step.history) == (StepState.STORED, 3, None, ())


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"recorded": "1.5"}, "step.recorded: input should be a valid number"),
        ({"recorded": 253_402_300_799}, ""),
        ({"recorded": 253_402_300_800}, "step.recorded: value error, is no moment of the years 1 to 9999"),
        ({"recorded": -62_135_596_800}, ""),
        ({"recorded": -62_135_596_801}, "step.recorded: value error, is no moment of the years 1 to 9999"),
        ({"recorded": float("inf")}, "Infinity is no number of JSON"),
        ({"position": -1}, "step.position: input should be greater than or equal to 0"),
        ({"position": 9_999_999}, ""),
        ({"position": 10_000_000}, "step.position: input should be less than 10000000"),
        ({"position": True}, "step.position: input should be a valid integer"),
        ({"digest": "ab" * 15}, "step.digest: value error, is no digest"),
        ({"more": 1}, "step.more: extra inputs are not permitted"),
        ({"step": {"role": "user", "content": "x"}}, "its step has no id"),
        ({"labels": refer((0, 8))}, "labels.references: 0 to 8 is no place in the text of its own"),
        ({"labels": refer((-1, 2))}, "labels.references: -1 to 2 is no place in the text of its own"),
        ({"labels": refer((5, 4))}, "labels.references: 5 to 4 is no place in the text of its own"),
        ({"labels": refer((3, 5), (0, 4))}, "labels.references: 3 to 5 is no place in the text of its own"),
        ({"labels": refer((3, 7), (0, 3))}, ""),
        (
            {"history": [{"at": 1.0, "by": "ann", "step": {"id": "s", "role": "user", "content": "x"},
                          "labels": refer((0, 2))}]},
            "labels.references: 0 to 2 is no place in the text of its own",
        ),
    ],
)  # fmt: skip
def test_a_step_that_no_journal_holds_is_refused(fields: dict[str, Any], why: str) -> None:
    assert refused(json.dumps({**STEP, **fields})) == why


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"kind": "end", "steps": 1', "it is no whole line of JSON: expecting ',' delimiter, column 27"),
        ('{"kind": "end", "steps": NaN}', "NaN is no number of JSON"),
        ("[" * 200_000, "it is nested too deeply"),
        ('{"kind": "memory", "schema_version": 5, "tenant": "a"}', "it has schema version 5, this library reads 4"),
        ('{"kind": "memory", "tenant": "a"}', "it has schema version None, this library reads 4"),
        ('{"kind": "memory", "schema_version": 0, "tenant": "a"}',
         "memory.schema_version: input should be greater than or equal to 1"),
        ('{"kind": "trajectory", "trajectory": "t", "gaps": [[2, 2]]}',
         "trajectory.gaps: value error, are no gaps in the order of places"),
        ('{"kind": "trajectory", "trajectory": "t", "gaps": [[0, 2], [2, 4]]}',
         "trajectory.gaps: value error, are no gaps in the order of places"),
        ('{"kind": "trajectory", "trajectory": "t", "length": 10000001}',
         "trajectory.length: input should be less than or equal to 10000000"),
        ('{"kind": "end", "steps": -1}', "end.steps: input should be greater than or equal to 0"),
        ("[]", "input should be a valid dictionary or object to extract fields from"),
    ],
)  # fmt: skip
def test_what_is_no_line_of_an_export_is_refused(line: str, why: str) -> None:
    assert refused(line) == why
