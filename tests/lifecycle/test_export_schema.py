"""What a line of an export may be, and why another is refused."""

import json
from pathlib import Path
from typing import Any

from doubles.golden import compare_phrases
from stitch.core import StepState
from stitch.lifecycle.export_schema import End, Head, StepLine, TrajectoryLine, dump_line, parse_line

LINES = Path(__file__).parent / "lines"
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


def test_a_step_that_no_journal_holds_is_refused() -> None:
    def why(_: str, fields: str) -> str:
        return refused(json.dumps({**STEP, **json.loads(fields)})) or "it is taken"

    compare_phrases(LINES / "steps.txt", why)


def test_what_is_no_line_of_an_export_is_refused() -> None:
    compare_phrases(LINES / "others.txt", lambda _, line: refused(line))
    assert "recursion limit exceeded" in refused("[" * 200_000)
    assert "hex escape" in refused(json.dumps({**STEP, "step": {"id": "s", "role": "user", "content": "\ud800"}}))
