"""Data sets in the generic format: trajectories with questions, and with labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from stitch.bench.data.files import digest_of, read_records, required, set_name
from stitch.bench.data.records import check_questions, gold_labels, read_trajectories
from stitch.bench.data.types import DataSet, LabeledSet, Question
from stitch.errors import InputError


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


def load_labels(path: Path) -> LabeledSet:
    """Load a file of trajectories whose steps carry `gold`.

    Raises:
        InputError: The file cannot be used, or no step of it carries gold.
    """
    if not path.is_file():
        raise InputError(f"{str(path)!r} is no file", hint="name a JSON-lines file, plain or gzip")
    read = list(read_trajectories(path))
    gold = {each.trajectory.id: each.gold for each in read}
    if not any(gold.values()):
        raise InputError(f"{str(path)!r} holds no labeled trajectory", hint="see `stitch bench labels --help`")
    return LabeledSet(set_name(path), tuple(each.trajectory for each in read), gold, digest_of([path]))


def _find(folder: Path, stem: str) -> Path:
    for ending in (".jsonl.gz", ".jsonl"):
        if (path := folder / f"{stem}{ending}").is_file():
            return path
    raise InputError(
        f"{str(folder)!r} is no data set: it has no {stem}.jsonl",
        hint="name a folder with trajectories.jsonl and questions.jsonl, plain or gzip",
    )


def _question(record: Mapping[str, Any], where: str) -> Question:
    evidence, text, answer = (
        required(record, "evidence", where),
        required(record, "question", where),
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
        rewrite=record.get("rewrite"),
    )


def _without(question: Question, empty: frozenset[str]) -> Question:
    return replace(question, evidence=tuple(step for step in question.evidence if step not in empty))
