"""The published files of other benchmarks, each read by one small function into memories of rows and questions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from stitch.bench.data.sets import check_questions, digest_of, read_json, required, set_name, trajectory_from
from stitch.bench.data.types import DataSet, Question
from stitch.errors import InputError

Rows = list[dict[str, Any]]

_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_SESSION = re.compile(r"^session_(\d+)$")
_DIALOG_ID = re.compile(r"D:?(\d+):(\d+)")


class _SetReader:
    """Reader of a set from its files."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.memories: dict[str, Rows] = {}
        self._questions: list[Question] = []

    def ask(
        self, id_: str, trajectory: str, type_: str, text: Any, answer: Any, evidence: Sequence[str], **more: Any
    ) -> None:
        told = None if answer is None else str(answer)
        self._questions.append(Question(id_, trajectory, type_, str(text), told, tuple(evidence), **more))

    def done(self) -> DataSet:
        """The set; evidence that names no step is left out and counted, for these files have slips.

        Raises:
            InputError: A row or a question cannot be used, or there is no question.
        """
        path = self._path
        read = {name: trajectory_from(name, rows, where=f"{path}, {name}") for name, rows in self.memories.items()}
        kept, slips = [], 0
        for question in self._questions:
            evidence = tuple(step for step in question.evidence if step in read[question.trajectory].steps)
            slips += len(question.evidence) - len(evidence)
            kept.append(replace(question, evidence=evidence))
        check_questions(kept, known={name: each.steps for name, each in read.items()}, where=str(path))
        bare = sum(not question.evidence for question in kept)
        notes = [f"{slips} evidence ids that name no step were left out"] if slips else []
        notes += [f"{bare} questions have no evidence"] if bare and (bare < len(kept) or slips) else []
        trajectories = tuple(each.trajectory for each in read.values())
        return DataSet(set_name(path), trajectories, tuple(kept), digest_of([path]), notes=tuple(notes))


def load_locomo(path: Path) -> DataSet:
    """Load the official LoCoMo file; ids of its evidence such as `D:11:26` and `D30:05` are repaired."""
    made = _SetReader(path)
    for place, sample in enumerate(_listed(path, holding="conversation", of="LoCoMo")):
        where = f"{path}, sample {place}"
        name = str(required(sample, "sample_id", where))
        made.memories[name] = list(_locomo_rows(sample["conversation"], where))
        for number, asked in enumerate(required(sample, "qa", where)):
            ids = _DIALOG_ID.findall(" ".join(map(str, asked.get("evidence") or ())))
            evidence = dict.fromkeys(f"D{int(session)}:{int(turn)}" for session, turn in ids)
            type_ = _CATEGORIES.get(asked.get("category"), str(asked.get("category")))
            text = required(asked, "question", where)
            made.ask(f"{name}#{number}", name, type_, text, asked.get("answer"), tuple(evidence))
    return made.done()


def _locomo_rows(conversation: Mapping[str, Any], where: str) -> Iterator[dict[str, Any]]:
    for number, key in sorted((int(found[1]), key) for key in conversation if (found := _SESSION.match(key))):
        for turn in conversation[key]:
            caption, text = turn.get("blip_caption"), str(turn.get("text") or "")
            yield {
                "id": str(required(turn, "dia_id", where)),
                "role": required(turn, "speaker", where),
                "content": f"{text} [shares a picture: {caption}]".strip() if caption else text,
                "timestamp": conversation.get(f"{key}_date_time"),
                "session": str(number),
            }


def load_longmemeval(path: Path) -> DataSet:
    """Load an official LongMemEval file; evidence are the turns marked `has_answer`."""
    made = _SetReader(path)
    for place, instance in enumerate(_listed(path, holding="haystack_sessions", of="LongMemEval")):
        where = f"{path}, question {place}"
        name, dates = str(required(instance, "question_id", where)), instance.get("haystack_dates") or []
        turns = [
            (turn, {
                "id": f"s{number}:{turn_place}", "role": required(turn, "role", where), "session": str(number),
                "content": str(required(turn, "content", where)),
                "timestamp": dates[number] if number < len(dates) else None,
            })
            for number, session in enumerate(instance["haystack_sessions"])
            for turn_place, turn in enumerate(session)
        ]  # fmt: skip
        made.memories[name] = [row for _, row in turns]
        marked = [row["id"] for turn, row in turns if turn.get("has_answer") and row["content"].strip()]
        type_, text, answer = (required(instance, field, where) for field in ("question_type", "question", "answer"))
        made.ask(name, name, str(type_), text, str(answer), marked, asked_at=instance.get("question_date"))
    return made.done()


def _listed(path: Path, *, holding: str, of: str) -> list[dict[str, Any]]:
    """The records of an official file, a list of objects that each have a field."""
    read = read_json(path)
    if not isinstance(read, list) or not all(isinstance(each, dict) and holding in each for each in read):
        raise InputError(f"{str(path)!r} is no {of} file: a list of objects with {holding!r} is expected")
    return read
