"""The published files of other benchmarks, each read by one small function into memories of rows and questions.

AMA-Bench and LongMemEval-V2 publish answers and no evidence: what was found is measured by the answers that a model
gives from it (`--answers`). Who&When names the step that made a run fail: that is the evidence. STATE-Bench names none;
what was last called on a thing with an identifier, and the calls of a run, are known by program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson

from stitch.bench.data.sets import (
    check_questions,
    digest_of,
    read_json,
    read_records,
    required,
    set_name,
    trajectory_from,
)
from stitch.bench.data.types import DataSet, Question
from stitch.errors import InputError

Rows = list[dict[str, Any]]

_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_ABILITIES = {"A": "recall", "B": "causal inference", "C": "state updating", "D": "state abstraction"}
_SESSION = re.compile(r"^session_(\d+)$")
_DIALOG_ID = re.compile(r"D:?(\d+):(\d+)")
_KEY = re.compile(r"(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[A-Za-z\d]+(?:[-_][A-Za-z\d]+)+")
_MOST_CALLS = 8
"""A run of more calls is not asked for all of them."""


class _Reading:
    """A set as it is read from its files."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.memories: dict[str, Rows] = {}
        self._questions: list[Question] = []

    def ask(
        self, id_: str, trajectory: str, type_: str, text: Any, answer: Any, evidence: Sequence[str] = (), **more: Any
    ) -> None:
        told = None if answer is None else str(answer)
        self._questions.append(Question(id_, trajectory, type_, str(text), told, tuple(evidence), **more))

    def done(self, files: Sequence[Path], *, note: str = "") -> DataSet:
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
        notes = [note] if note else []
        notes += [f"{slips} evidence ids that name no step were left out"] if slips else []
        notes += [f"{bare} questions have no evidence"] if bare and (bare < len(kept) or slips) else []
        trajectories = tuple(each.trajectory for each in read.values())
        return DataSet(set_name(path), trajectories, tuple(kept), digest_of(files), notes=tuple(notes))


def load_locomo(path: Path) -> DataSet:
    """Load the official LoCoMo file; ids of its evidence such as `D:11:26` and `D30:05` are repaired."""
    made = _Reading(path)
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
    return made.done([path])


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
    made = _Reading(path)
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
    return made.done([path])


def load_ama(path: Path) -> DataSet:
    """Load AMA-Bench: JSON lines, one episode each, with actions, observations and questions."""
    made = _Reading(path)
    for where, episode in read_records(path):
        name = str(required(episode, "episode_id", where))
        rows = made.memories[name] = [{"id": "task", "role": "user", "content": str(episode.get("task") or "")}]
        turns = _expected(list, required(episode, "trajectory", where), f"{where}: 'trajectory' is no list of turns")
        for place, turn in enumerate(turns):
            number = turn.get("turn_idx", place)
            for role, part, said in (
                ("assistant", "action", f"Action (step {number}): {_text(turn.get('action'))}"),
                ("environment", "observation", _text(turn.get("observation"))),
            ):
                rows.append({"id": f"{number}:{part}", "role": role, "content": said})
        for number, pair in enumerate(required(episode, "qa_pairs", where)):
            kind, id_ = str(pair.get("type") or ""), str(pair.get("question_uuid") or f"{name}#{number}")
            text, answer = required(pair, "question", where), str(required(pair, "answer", where))
            made.ask(id_, name, _ABILITIES.get(kind, kind), text, answer, domain=str(episode.get("domain") or ""))
    return made.done([path])


def load_longmemeval_v2(folder: Path, *, tier: str = "small") -> DataSet:
    """Load LongMemEval-V2: `questions.jsonl`, `trajectories.jsonl` and `haystacks/lme_v2_TIER.json` of its release.

    Questions over the same runs share a memory, in which each run is a session. Screenshots are left out, and so are
    questions that show an image. `tier` is `small` or `medium`.
    """
    files = [folder / "questions.jsonl", folder / "trajectories.jsonl", folder / "haystacks" / f"lme_v2_{tier}.json"]
    haystacks = _haystacks(files[2])
    asked = [(where, record) for where, record in read_records(files[0]) if str(record.get("id")) in haystacks]
    shown = [(where, record) for where, record in asked if not record.get("image")]
    runs = _runs(files[1], wanted={str(run) for _, record in shown for run in haystacks[str(record["id"])]})
    names: dict[tuple[str, ...], str] = {}
    made = _Reading(folder)
    for where, record in shown:
        own, domain = tuple(map(str, haystacks[str(record["id"])])), str(record.get("domain") or "")
        name = names.setdefault(own, f"{domain or 'runs'}-{len(names)}")
        if name not in made.memories:
            made.memories[name] = [row for run in own for row in _web_rows(run, runs, where)]
        text, answer = required(record, "question", where), str(required(record, "answer", where))
        made.ask(str(record["id"]), name, str(record.get("question_type") or ""), text, answer, domain=domain)
    left_out = len(asked) - len(shown)
    note = f"{left_out} questions that show an image were left out" if left_out else ""
    return made.done(files, note=note)


def _haystacks(file: Path) -> dict[str, Any]:
    if not file.exists():
        raise InputError(f"there is no {str(file)!r}", hint="one of the tiers small and medium")
    read = _expected(dict, read_json(file), f"{str(file)!r} is no haystack file: an object of questions is expected")
    return dict(read)


def _runs(path: Path, *, wanted: set[str]) -> dict[str, dict[str, Any]]:
    read = ((str(required(record, "id", where)), record) for where, record in read_records(path))
    return {name: record for name, record in read if name in wanted}


def _web_rows(name: str, runs: Mapping[str, dict[str, Any]], where: str) -> Iterator[dict[str, Any]]:
    if name not in runs:
        raise InputError(f"{where}: there is no run {name!r}, which the haystack names")
    run = runs[name]

    def row(id_: str, role: str, *said: Any) -> dict[str, Any]:
        content = "\n".join(str(each) for each in said if each)
        return {"id": f"{name}:{id_}", "role": role, "content": content, "session": name}

    yield row("goal", "user", run.get("goal"))
    for place, state in enumerate(required(run, "states", where)):
        number, action = state.get("state_index", place), state.get("action")
        yield row(f"{number}:page", "browser", state.get("url"), state.get("accessibility_tree"))
        yield row(f"{number}:action", "assistant", state.get("thought"), action and f"Action: {_text(action)}")
    if run.get("outcome") is not None:
        yield row("outcome", "environment", f"Outcome: {_text(run['outcome'])}")


def load_who_and_when(folder: Path) -> DataSet:
    """Load Who&When: one JSON file a failed run of several agents, with the step at which it went wrong.

    A run is asked once which step that was; the files name its place in the history, from 0.
    """
    files, made = _json_files(folder, of="Who&When"), _Reading(folder)
    for file in files:
        where, name = str(file), file.relative_to(folder).with_suffix("").as_posix()
        record = _expected(dict, read_json(file), f"{where!r} is no run of Who&When: an object is expected")
        history = _expected(list, required(record, "history", where), f"{where}: 'history' is no list of messages")
        made.memories[name] = [
            {"id": str(place), "role": str(said.get("name") or required(said, "role", where)),
             "content": str(said.get("content") or "")}
            for place, said in enumerate(history)
        ]  # fmt: skip
        task = str(record.get("question") or "").strip()
        text = f"The task was: {task} It failed. At which step was the decisive mistake made, and by whom?"
        answer = f"{record.get('mistake_agent') or ''}: {record.get('mistake_reason') or ''}".strip(": ")
        step = str(required(record, "mistake_step", where)).strip()
        made.ask(name, name, "decisive mistake", text, answer, [step])
    return made.done(files)


def load_state_bench(folder: Path) -> DataSet:
    """Load STATE-Bench: a folder a domain with one JSON file a run; a memory a domain, its runs one after the other.

    Results follow the calls they rest on, and words said after them come last, though a message lists words first.
    """
    files, made = _json_files(folder, of="STATE-Bench"), _Reading(folder)
    for file in files:
        domain, name = file.parent.name, f"{file.parent.name}/{file.stem}"
        record = _expected(dict, read_json(file), f"{str(file)!r} is no run of STATE-Bench: an object is expected")
        rows = list(_state_rows(file.stem, record, str(file)))
        made.memories.setdefault(domain, []).extend(rows)
        said = next((row["content"] for row in rows if row["role"] == "user"), "")
        calls = [row["id"] for row in rows if row.get("tool_calls")]
        if said and 0 < len(calls) <= _MOST_CALLS:
            text = f'Which calls were made when a customer said this? "{said}"'
            made.ask(name, domain, "procedure", text, None, calls)
    for domain, rows in made.memories.items():
        for key, evidence in _last_calls(rows).items():
            text = f"What was the last call on {key}, and what came of it?"
            made.ask(f"{domain}/{key}", domain, "state", text, None, evidence)
    return made.done(files)


def _last_calls(rows: Rows) -> dict[str, tuple[str, str]]:
    """The last call on each thing with an identifier, and its result."""
    last: dict[str, tuple[str, str]] = {}
    for call, result in pairwise(rows):
        given = [value for own in call.get("tool_calls") or () for value in own["arguments"].values()]
        keys = [value for value in given if isinstance(value, str) and _KEY.fullmatch(value)]
        last |= dict.fromkeys(keys, (call["id"], result["id"]))
    return last


def _state_rows(run: str, record: Mapping[str, Any], where: str) -> Iterator[dict[str, Any]]:
    """The steps of a run: instructions and words as they are, each call before its result, words after both."""
    rows: Rows = []
    for message in required(record, "conversation", where):
        role = str(required(message, "role", where))
        for call in message.get("tool_calls") or ():
            made = {"name": str(required(call, "name", where)), "arguments": call.get("arguments") or {}}
            rows.append({"role": role, "content": "", "words": "", "tool_calls": [made]})
            result = orjson.dumps(call.get("result")).decode()
            rows.append({"role": "tool", "content": result, "tool_name": made["name"]})
        if message.get("content"):
            rows.append({"role": role, "content": str(message["content"])})
    return ({"id": f"{run}:{number}", **row} for number, row in enumerate(rows))


def _listed(path: Path, *, holding: str, of: str) -> list[dict[str, Any]]:
    """The records of an official file, a list of objects that each have a field."""
    read = read_json(path)
    if not isinstance(read, list) or not all(isinstance(each, dict) and holding in each for each in read):
        raise InputError(f"{str(path)!r} is no {of} file: a list of objects with {holding!r} is expected")
    return read


def _expected(kind: type, value: Any, otherwise: str) -> Any:
    if not isinstance(value, kind):
        raise InputError(otherwise)
    return value


def _json_files(folder: Path, *, of: str) -> list[Path]:
    if files := sorted(folder.rglob("*.json")):
        return files
    raise InputError(f"{str(folder)!r} holds no JSON file of {of}")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else orjson.dumps(value).decode()
