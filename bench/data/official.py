"""The official files of LoCoMo (`locomo10.json`) and LongMemEval (`longmemeval_{s,m,oracle}.json`)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from stitch.bench.data.files import digest_of, read_json, required, set_name
from stitch.bench.data.records import check_questions, trajectory_from
from stitch.bench.data.types import DataSet, Question
from stitch.errors import InputError

_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_SESSION = re.compile(r"^session_(\d+)$")
_DIALOG_ID = re.compile(r"D:?(\d+):(\d+)")


def load_locomo(path: Path) -> DataSet:
    """Load the official LoCoMo file.

    Its evidence has known slips: several ids in one string, `D:11:26`, `D30:05`. These are repaired; ids that still
    name no turn are left out and counted in `notes`; a question with no evidence left is left out of its measures.

    Raises:
        InputError: The file is no LoCoMo file.
    """
    samples = read_json(path)
    if not isinstance(samples, list) or not all(isinstance(s, dict) and "conversation" in s for s in samples):
        raise InputError(f"{str(path)!r} is no LoCoMo file: a list of samples with conversations is expected")
    trajectories, questions, slips = [], [], Counter[str]()
    for place, sample in enumerate(samples):
        where = f"{path}, sample {place}"
        name = str(required(sample, "sample_id", where))
        trajectory = trajectory_from(name, list(_locomo_rows(sample["conversation"], where)), where=where).trajectory
        trajectories.append(trajectory)
        known = {str(step.id) for step in trajectory.steps}
        for number, qa in enumerate(required(sample, "qa", where)):
            named = _dialog_ids(qa.get("evidence") or ())
            evidence = tuple(step for step in named if step in known)
            slips["evidence ids that name no turn were left out"] += len(named) - len(evidence)
            slips["questions have no evidence"] += not evidence
            answer = qa.get("answer")
            questions.append(
                Question(
                    id=f"{name}#{number}",
                    trajectory=name,
                    type=_CATEGORIES.get(qa.get("category"), str(qa.get("category"))),
                    text=str(required(qa, "question", where)),
                    answer=None if answer is None else str(answer),
                    evidence=evidence,
                )
            )
    notes = tuple(f"{count} {what}" for what, count in slips.items() if count)
    return DataSet(set_name(path), tuple(trajectories), tuple(questions), digest_of([path]), notes=notes)


def load_longmemeval(path: Path) -> DataSet:
    """Load an official LongMemEval file; evidence are the turns marked `has_answer`.

    Raises:
        InputError: The file is no LongMemEval file.
    """
    instances = read_json(path)
    if not isinstance(instances, list) or not all(isinstance(i, dict) and "haystack_sessions" in i for i in instances):
        raise InputError(f"{str(path)!r} is no LongMemEval file: a list of questions with haystacks is expected")
    trajectories, questions = [], []
    for place, instance in enumerate(instances):
        where = f"{path}, question {place}"
        name = str(required(instance, "question_id", where))
        rows = list(_longmemeval_rows(instance, where))
        read = trajectory_from(name, rows, where=where)
        trajectories.append(read.trajectory)
        questions.append(
            Question(
                id=name,
                trajectory=name,
                type=str(required(instance, "question_type", where)),
                text=str(required(instance, "question", where)),
                answer=str(required(instance, "answer", where)),
                evidence=tuple(row["id"] for row in rows if row["has_answer"] and row["id"] not in read.empty),
                asked_at=instance.get("question_date"),
            )
        )
    known = {trajectory.id: frozenset(str(step.id) for step in trajectory.steps) for trajectory in trajectories}
    check_questions(questions, known=known, where=str(path))
    unmarked = sum(not question.evidence for question in questions)
    notes = (f"{unmarked} questions have no evidence",) if unmarked else ()
    return DataSet(set_name(path), tuple(trajectories), tuple(questions), digest_of([path]), notes=notes)


def _locomo_rows(conversation: Mapping[str, Any], where: str) -> Iterator[dict[str, Any]]:
    sessions = sorted((int(found[1]), key) for key in conversation if (found := _SESSION.match(key)))
    for number, key in sessions:
        for turn in conversation[key]:
            caption = turn.get("blip_caption")
            text = str(turn.get("text") or "")
            yield {
                "id": str(required(turn, "dia_id", where)),
                "role": required(turn, "speaker", where),
                "content": f"{text} [shares a picture: {caption}]".strip() if caption else text,
                "timestamp": conversation.get(f"{key}_date_time"),
                "session": str(number),
            }


def _dialog_ids(evidence: Any) -> list[str]:
    found = [match for text in evidence for match in _DIALOG_ID.findall(str(text))]
    return list(dict.fromkeys(f"D{int(session)}:{int(turn)}" for session, turn in found))


def _longmemeval_rows(instance: Mapping[str, Any], where: str) -> Iterator[dict[str, Any]]:
    dates = instance.get("haystack_dates") or []
    for number, session in enumerate(instance["haystack_sessions"]):
        for place, turn in enumerate(session):
            yield {
                "id": f"s{number}:{place}",
                "role": required(turn, "role", where),
                "content": str(required(turn, "content", where)),
                "timestamp": dates[number] if number < len(dates) else None,
                "session": str(number),
                "has_answer": bool(turn.get("has_answer")),
            }
