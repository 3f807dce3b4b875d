"""The published files of AMA-Bench, LongMemEval-V2 and Who&When: what agents did, with questions about it.

AMA-Bench and LongMemEval-V2 publish answers and no evidence: what was found is measured by the answers that a model
gives from it (`--answers`). Who&When names the step that made a run fail: that is the evidence.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from stitch.bench.data.files import digest_of, read_json, read_records, required, set_name
from stitch.bench.data.records import check_questions, trajectory_from
from stitch.bench.data.types import DataSet, Question
from stitch.core import Trajectory
from stitch.errors import InputError

_ABILITIES = {"A": "recall", "B": "causal inference", "C": "state updating", "D": "state abstraction"}
_TIERS = ("small", "medium")


def load_ama(path: Path) -> DataSet:
    """Load AMA-Bench: JSON lines, one episode each, with actions, observations and questions.

    Raises:
        InputError: A line is no episode.
    """
    trajectories, questions = [], []
    for where, episode in read_records(path):
        name = str(required(episode, "episode_id", where))
        turns = required(episode, "trajectory", where)
        rows = list(_ama_rows(episode, turns, where))
        trajectories.append(trajectory_from(name, rows, where=where).trajectory)
        for number, pair in enumerate(required(episode, "qa_pairs", where)):
            kind = str(pair.get("type") or "")
            questions.append(
                Question(
                    id=str(pair.get("question_uuid") or f"{name}#{number}"),
                    trajectory=name,
                    type=_ABILITIES.get(kind, kind),
                    text=str(required(pair, "question", where)),
                    answer=str(required(pair, "answer", where)),
                    evidence=(),
                    domain=str(episode.get("domain") or ""),
                )
            )
    return _checked(path, trajectories, questions, files=[path])


def load_longmemeval_v2(folder: Path, *, tier: str = "small") -> DataSet:
    """Load LongMemEval-V2: `questions.jsonl`, `trajectories.jsonl` and `haystacks/lme_v2_TIER.json` of its release.

    Questions over the same runs share a memory, in which each run is a session. Screenshots are left out, and so are
    questions that show an image.

    Args:
        folder: Where the release was unpacked.
        tier: `small` or `medium`.

    Raises:
        InputError: A file is missing or is not of the release.
    """
    if tier not in _TIERS:
        raise InputError(f"no tier {tier!r}", hint=f"one of {', '.join(_TIERS)}")
    files = [folder / "questions.jsonl", folder / "trajectories.jsonl", folder / "haystacks" / f"lme_v2_{tier}.json"]
    haystacks = read_json(files[2])
    if not isinstance(haystacks, dict):
        raise InputError(f"{str(files[2])!r} is no haystack file: an object of questions is expected")
    asked = [(where, record) for where, record in read_records(files[0]) if str(record.get("id")) in haystacks]
    shown = [(where, record) for where, record in asked if not record.get("image")]
    runs = _runs_in(files[1], {str(run) for _, record in shown for run in haystacks[str(record["id"])]})
    memories: dict[tuple[str, ...], Trajectory] = {}
    questions = []
    for where, record in shown:
        names = tuple(map(str, haystacks[str(record["id"])]))
        if names not in memories:
            memory = f"{record.get('domain') or 'runs'}-{len(memories)}"
            memories[names] = _memory_of(memory, names, runs, where=f"{where}, in {str(files[1])!r}")
        questions.append(_web_question(record, memories[names].id, where))
    left_out = len(asked) - len(shown)
    notes = (f"{left_out} questions that show an image were left out",) if left_out else ()
    return _checked(folder, list(memories.values()), questions, files=files, notes=notes)


def load_who_and_when(folder: Path) -> DataSet:
    """Load Who&When: one JSON file a failed run of several agents, with the step at which it went wrong.

    A run is asked once which step that was; the files name its place in the history, from 0.

    Raises:
        InputError: There is no such file, or one is not of this form.
    """
    files = sorted(folder.rglob("*.json"))
    if not files:
        raise InputError(f"{str(folder)!r} holds no JSON file of Who&When")
    trajectories, questions, unnamed = [], [], 0
    for file in files:
        where, record = str(file), read_json(file)
        if not isinstance(record, dict):
            raise InputError(f"{where!r} is no run of Who&When: an object is expected")
        name = file.relative_to(folder).with_suffix("").as_posix()
        history = required(record, "history", where)
        read = trajectory_from(name, list(_log_rows(history, where)), where=where)
        trajectories.append(read.trajectory)
        step = str(required(record, "mistake_step", where)).strip()
        known = {str(each.id) for each in read.trajectory.steps}
        unnamed += step not in known
        task = str(record.get("question") or "").strip()
        questions.append(
            Question(
                id=name,
                trajectory=name,
                type="decisive mistake",
                text=f"The task was: {task} It failed. At which step was the decisive mistake made, and by whom?",
                answer=f"{record.get('mistake_agent') or ''}: {record.get('mistake_reason') or ''}".strip(": "),
                evidence=(step,) if step in known else (),
            )
        )
    notes = (f"{unnamed} runs name no step of their history",) if unnamed else ()
    return _checked(folder, trajectories, questions, files=files, notes=notes)


def _checked(
    path: Path,
    trajectories: Sequence[Trajectory],
    questions: Sequence[Question],
    *,
    files: Sequence[Path],
    notes: tuple[str, ...] = (),
) -> DataSet:
    if not questions:
        raise InputError(f"{str(path)!r} holds no question")
    known = {trajectory.id: frozenset(str(step.id) for step in trajectory.steps) for trajectory in trajectories}
    check_questions(questions, known=known, where=str(path))
    return DataSet(set_name(path), tuple(trajectories), tuple(questions), digest_of(files), notes=notes)


def _ama_rows(episode: Mapping[str, Any], turns: Any, where: str) -> Iterator[dict[str, Any]]:
    if not isinstance(turns, list):
        raise InputError(f"{where}: 'trajectory' is no list of turns")
    yield {"id": "task", "role": "user", "content": str(episode.get("task") or "")}
    for place, turn in enumerate(turns):
        number = turn.get("turn_idx", place)
        action, observation = turn.get("action"), turn.get("observation")
        yield {"id": f"{number}:action", "role": "assistant", "content": f"Action (step {number}): {_text(action)}"}
        yield {"id": f"{number}:observation", "role": "environment", "content": _text(observation)}


def _runs_in(path: Path, wanted: Collection[str]) -> dict[str, Mapping[str, Any]]:
    read = ((str(required(record, "id", where)), record) for where, record in read_records(path))
    return {name: record for name, record in read if name in wanted}


def _memory_of(name: str, names: Sequence[str], runs: Mapping[str, Mapping[str, Any]], *, where: str) -> Trajectory:
    """Several runs as one memory."""
    if missing := [run for run in names if run not in runs]:
        raise InputError(f"{where}: there is no run {missing[0]!r}, which the haystack names")
    rows = [row for run in names for row in _web_rows(runs[run], where)]
    return trajectory_from(name, rows, where=where).trajectory


def _web_question(record: Mapping[str, Any], trajectory: str, where: str) -> Question:
    return Question(
        id=str(record["id"]),
        trajectory=trajectory,
        type=str(record.get("question_type") or ""),
        text=str(required(record, "question", where)),
        answer=str(required(record, "answer", where)),
        evidence=(),
        domain=str(record.get("domain") or ""),
    )


def _web_rows(run: Mapping[str, Any], where: str) -> Iterator[dict[str, Any]]:
    name = str(run["id"])
    goal = {"id": f"{name}:goal", "role": "user", "content": str(run.get("goal") or ""), "session": name}
    yield goal
    for place, state in enumerate(required(run, "states", where)):
        number = state.get("state_index", place)
        page = "\n".join(filter(None, (str(state.get("url") or ""), str(state.get("accessibility_tree") or ""))))
        done = "\n".join(filter(None, (str(state.get("thought") or ""), _action(state.get("action")))))
        yield {"id": f"{name}:{number}:page", "role": "browser", "content": page, "session": name}
        yield {"id": f"{name}:{number}:action", "role": "assistant", "content": done, "session": name}
    if run.get("outcome") is not None:
        yield {"id": f"{name}:outcome", "role": "environment", "content": f"Outcome: {_text(run['outcome'])}",
               "session": name}  # fmt: skip


def _log_rows(history: Any, where: str) -> Iterator[dict[str, Any]]:
    if not isinstance(history, list):
        raise InputError(f"{where}: 'history' is no list of messages")
    for place, message in enumerate(history):
        role = message.get("name") or required(message, "role", where)
        yield {"id": str(place), "role": str(role), "content": str(message.get("content") or "")}


def _action(action: Any) -> str:
    return f"Action: {_text(action)}" if action else ""


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else orjson.dumps(value).decode()
