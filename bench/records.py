"""The records of a run: one JSON line per question and method, with all that scoring needs."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict

from stitch.errors import InputError


class Answered(BaseModel):
    """The answer made of a context, and its verdict."""

    model_config = ConfigDict(frozen=True)

    answer: str | None
    """None if answering failed; then `reason` says why."""
    correct: int | None = None
    """The judge's count; None if judging failed."""
    given: int | None = None
    """How many slots of a plan the judge saw filled."""
    reason: str = ""
    failures: dict[str, tuple[str, ...]] = {}
    """Of a wrong answer, by kind: what is wrong with the labels selected for the question (Appendix D.2)."""
    model_calls: int = 0
    model_tokens: int = 0
    cost_usd: float | None = 0.0
    """None if the price of any of the calls is not known."""
    seconds: float = 0.0
    tries: int = 0
    """How often it was asked for, over all runs of the command."""


class Found(BaseModel, frozen=True):
    """What a method found for a question."""

    steps: tuple[str, ...]
    """The ranking, best first."""
    shown: dict[int, tuple[str, ...]] = {}
    """By budget, the steps of which at least a part stands in the context; none in runs of older versions."""
    milliseconds: float
    window_tokens: int | None = None
    """What stood in for the budget, for a method with a window of its own."""
    context: str | None = None
    context_tokens: int | None = None
    context_steps: tuple[str, ...] | None = None
    """The steps of which at least a part stands in the context."""
    labels: dict[str, tuple[str, ...]] | None = None
    """The labels that the question was searched by, by kind; None for methods without labels."""
    matched: dict[str, dict[str, tuple[str, ...]]] = {}
    """The labels that each of the first steps matched."""
    parts: dict[str, dict[str, float]] = {}
    """The parts of the scores of the first steps."""
    decided_by: str | None = None
    """See `stitch.core.DecidedBy`; None for methods without labels, and in runs of older versions."""


class Record(Found, frozen=True):
    """One question as one method met it, gold included, so that it can be scored again without a data set."""

    question: str
    trajectory: str
    type: str
    domain: str = ""
    text: str
    gold_answer: str | None
    evidence: tuple[str, ...]
    diagnostics: tuple[float, ...] | None = None
    """The figures of `SelectionDiagnostics`; None for methods without labels, or without evidence."""
    answered: Answered | None = None


class Prepared(BaseModel):
    """The taking in of one trajectory by one method."""

    model_config = ConfigDict(frozen=True)

    method: str
    trajectory: str
    steps: int
    seconds: float
    named: int | None = None
    """How many of the plan's operations have their entity in the snippet's text; None for methods without snippets."""
    operations: int = 0
    model_calls: int = 0
    """Calls for labels, where a model labels; methods that share a memory each note it."""
    model_tokens: int = 0
    cost_usd: float | None = None
    stand_ins: int = 0
    """How many steps have labels of another than who was to label."""
    unusable_replies: int = 0
    """How many replies of the model were cut or of no use."""


def record_file(folder: Path, method: str) -> Path:
    """The file of the records of a method."""
    return folder / f"{method}.jsonl"


def prepared_file(folder: Path) -> Path:
    """The file of notes on how trajectories were taken in."""
    return folder / "prepared.jsonl"


def append(path: Path, model: BaseModel) -> None:
    """Write one line at the end of a file in one piece, so that writers side by side do not mix."""
    append_line(path, orjson.dumps(model.model_dump(mode="json")))


def append_line(path: Path, line: bytes) -> None:
    """Write a line, given without its end, at the end of a file in one piece."""
    with open(path, "ab", buffering=0) as lines:
        lines.write(line + b"\n")


def mend(path: Path) -> None:
    """Cut a last line that a killed run left half written."""
    if path.exists() and not (content := path.read_bytes()).endswith(b"\n"):
        os.truncate(path, content.rfind(b"\n") + 1)


def read_records(folder: Path, method: str) -> list[Record]:
    """The records of a method, of a question the last one; empty if it has none.

    Raises:
        InputError: A line is damaged.
    """
    records = [Record.model_validate(value) for value in read_lines(record_file(folder, method))]
    return list({record.question: record for record in records}.values())


def read_prepared(folder: Path) -> list[Prepared]:
    """How trajectories were taken in; of one that was taken in again, the last time."""
    notes = [Prepared.model_validate(value) for value in read_lines(prepared_file(folder))]
    return list({(note.method, note.trajectory): note for note in notes}.values())


def methods_in(folder: Path) -> list[str]:
    """The methods that a run folder has records of, by name."""
    return sorted(path.stem for path in folder.glob("*.jsonl") if path != prepared_file(folder))


def read_lines(path: Path) -> Iterable[Any]:
    """The values of a file of JSON lines; none if there is no file."""
    if not path.exists():
        return
    for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], start=1):
        try:
            yield orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise InputError(
                f"{path}:{number} is damaged", hint="delete the line; the same command makes it anew"
            ) from error
