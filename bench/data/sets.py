"""Data sets in the generic format: trajectories with questions, and with labels."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from pydantic import ValidationError

from stitch.bench.data.types import DataSet, GoldLabels, Question
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


_GZIP = b"\x1f\x8b"


def read_bytes(path: Path) -> bytes:
    """The content of a file, unpacked if it is gzip."""
    try:
        content = path.read_bytes()
        return gzip.decompress(content) if content.startswith(_GZIP) else content
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"cannot read {str(path)!r}: {error}", hint="check the path given with --data") from error


def read_json(path: Path) -> Any:
    """The value in a JSON file."""
    try:
        return orjson.loads(read_bytes(path))
    except orjson.JSONDecodeError as error:
        raise InputError(f"{str(path)!r} is no JSON: {error}") from error


def read_records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a JSON-lines file, each with its place (`FILE:LINE`), blank lines left out."""
    return parse_records(read_bytes(path), name=str(path))


def parse_records(content: bytes, *, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """As `read_records`, of content that was read already."""
    for number, line in enumerate(content.splitlines(), start=1):
        if not line.strip():
            continue
        where = f"{name}:{number}"
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise InputError(f"{where} is no JSON: {error}") from error
        if not isinstance(record, dict):
            raise InputError(f"{where} is no object but {type(record).__name__}")
        yield where, record


def required(record: Mapping[str, Any], field: str, where: str) -> Any:
    """The value of a field that has to be there."""
    try:
        return record[field]
    except KeyError:
        raise InputError(f"{where} has no field {field!r}") from None


def digest_of(paths: Iterable[Path]) -> str:
    """SHA-256 over the unpacked contents of files, in the order given."""
    total = hashlib.sha256()
    for path in paths:
        total.update(hashlib.sha256(read_bytes(path)).digest())
    return total.hexdigest()


def set_name(path: Path) -> str:
    """The name of a data set: that of its file or folder, without endings."""
    name = path.resolve().name
    for ending in (".gz", ".jsonl", ".json"):
        name = name.removesuffix(ending)
    return name


def load_questions(folder: Path) -> DataSet:
    """Load a folder with `trajectories.jsonl[.gz]` and `questions.jsonl[.gz]`.

    Steps without content cannot be stored; they are left out, also where they are evidence, and counted in `notes`.

    Raises:
        InputError: The folder is no such data set, or a line of it cannot be used.
    """
    files = _find(folder, "trajectories"), _find(folder, "questions")
    read = {each.trajectory.id: each for each in read_trajectories(files[0])}
    questions = [_question(record, where) for where, record in read_records(files[1])]
    known = {name: each.steps | each.empty for name, each in read.items()}
    check_questions(questions, known=known, where=str(files[1]))
    left_out = sum(len(each.empty) for each in read.values())
    return DataSet(
        name=set_name(folder),
        trajectories=tuple(each.trajectory for each in read.values()),
        questions=tuple(_without(question, read[question.trajectory].empty) for question in questions),
        digest=digest_of(files),
        gold={name: each.gold for name, each in read.items() if each.gold},
        notes=(f"{left_out} steps without content were left out",) if left_out else (),
    )


def load_labels(path: Path) -> DataSet:
    """Load trajectories whose steps carry `gold`: a file of them, or a folder with `trajectories.jsonl[.gz]`.

    Raises:
        InputError: The file cannot be used, or no step of it carries gold.
    """
    file = path if path.is_file() else trajectories_in(path)
    if file is None:
        raise InputError(f"{str(path)!r} is no file", hint="name a JSON-lines file, plain or gzip")
    read = list(read_trajectories(file))
    gold = {each.trajectory.id: each.gold for each in read}
    if not any(gold.values()):
        raise InputError(f"{str(path)!r} holds no labeled trajectory", hint="see `stitch bench labels --help`")
    return DataSet(set_name(path), tuple(each.trajectory for each in read), (), digest_of([file]), gold=gold)


def trajectories_in(folder: Path) -> Path | None:
    """The file of trajectories in a folder of the generic format; None if it is none."""
    return _found(folder, "trajectories")


def _found(folder: Path, stem: str) -> Path | None:
    files = (folder / f"{stem}{ending}" for ending in (".jsonl.gz", ".jsonl"))
    return next((file for file in files if file.is_file()), None)


def _find(folder: Path, stem: str) -> Path:
    if (file := _found(folder, stem)) is not None:
        return file
    raise InputError(
        f"{str(folder)!r} is no data set: it has no {stem}.jsonl",
        hint="name a folder with trajectories.jsonl and questions.jsonl, plain or gzip",
    )


def _question(record: Mapping[str, Any], where: str) -> Question:
    evidence, text, answer = (
        *(required(record, name, where) for name in ("evidence", "question")),
        record.get("answer"),
    )
    if not isinstance(evidence, list):
        raise InputError(f"{where}: 'evidence' is no list of step ids")
    if not isinstance(text, str) or not text.strip():
        raise InputError(f"{where} asks nothing")
    return Question(
        id=str(required(record, "id", where)),
        trajectory=str(required(record, "trajectory", where)),
        type=str(record.get("type") or ""),
        text=text,
        answer=None if answer is None else str(answer),
        evidence=tuple(dict.fromkeys(map(str, evidence))),
        asked_at=record.get("asked_at"),
        labels=gold_labels(record.get("gold")),
    )


def _without(question: Question, empty: frozenset[str]) -> Question:
    return replace(question, evidence=tuple(step for step in question.evidence if step not in empty))
