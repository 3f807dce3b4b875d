"""STATE-Bench's trajectories as memories of steps: one a domain, its runs one after the other.

The files name no evidence. What was last called on an order or another thing with an identifier is known by program,
and so are the calls of a run: these are asked for. Results follow the calls they rest on, and words said after them
come last, though a message of the source lists words first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson

from stitch.bench.data.files import digest_of, read_json, required, set_name
from stitch.bench.data.records import check_questions, trajectory_from
from stitch.bench.data.types import DataSet, Question
from stitch.errors import InputError

_KEY = re.compile(r"(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[A-Za-z\d]+(?:[-_][A-Za-z\d]+)+")
_MOST_EVIDENCE = 8


def load_state_bench(folder: Path) -> DataSet:
    """Load a folder of STATE-Bench: a folder a domain with one JSON file a run.

    Raises:
        InputError: There is no such file, or one is not of this form.
    """
    files = sorted(folder.rglob("*.json"))
    if not files:
        raise InputError(f"{str(folder)!r} holds no JSON file of STATE-Bench")
    memories: dict[str, list[dict[str, Any]]] = {}
    questions: list[Question] = []
    for file in files:
        rows = list(_rows(file.stem, read_json(file), str(file)))
        memories.setdefault(file.parent.name, []).extend(rows)
        questions += _of_run(file, rows)
    for name, rows in memories.items():
        questions += _of_things(name, rows)
    trajectories = tuple(trajectory_from(name, rows, where=name).trajectory for name, rows in memories.items())
    known = {each.id: frozenset(str(step.id) for step in each.steps) for each in trajectories}
    check_questions(questions, known=known, where=str(folder))
    return DataSet(set_name(folder), trajectories, tuple(questions), digest_of(files))


def _rows(run: str, record: Any, where: str) -> Iterator[dict[str, Any]]:
    """The steps of a run: instructions and words as they are, each call before its result, words after both."""
    if not isinstance(record, dict):
        raise InputError(f"{where!r} is no run of STATE-Bench: an object is expected")
    number = 0
    for message in required(record, "conversation", where):
        role = str(required(message, "role", where))
        for call in message.get("tool_calls") or ():
            name, arguments = str(required(call, "name", where)), call.get("arguments") or {}
            yield {"id": f"{run}:{number}", "role": role, "content": "", "words": "",
                   "tool_calls": [{"name": name, "arguments": arguments}]}  # fmt: skip
            text = orjson.dumps(call.get("result")).decode()
            yield {"id": f"{run}:{number + 1}", "role": "tool", "content": text, "tool_name": name}
            number += 2
        if message.get("content"):
            yield {"id": f"{run}:{number}", "role": role, "content": str(message["content"])}
            number += 1


def _of_run(file: Path, rows: Sequence[Mapping[str, Any]]) -> Iterator[Question]:
    said = next((str(row["content"]) for row in rows if row["role"] == "user"), "")
    calls = tuple(str(row["id"]) for row in rows if row.get("tool_calls"))
    if said and 0 < len(calls) <= _MOST_EVIDENCE:
        text = f'Which calls were made when a customer said this? "{said}"'
        yield Question(id=f"{file.parent.name}/{file.stem}", trajectory=file.parent.name, type="procedure", text=text,
                       answer=None, evidence=calls)  # fmt: skip


def _of_things(name: str, rows: Sequence[Mapping[str, Any]]) -> Iterator[Question]:
    last: dict[str, tuple[str, str]] = {}
    for call, result in pairwise(rows):
        for made in call.get("tool_calls") or ():
            for value in made["arguments"].values():
                if isinstance(value, str) and _KEY.fullmatch(value):
                    last[value] = str(call["id"]), str(result["id"])
    for key, evidence in last.items():
        text = f"What was the last call on {key}, and what came of it?"
        yield Question(id=f"{name}/{key}", trajectory=name, type="state", text=text, answer=None, evidence=evidence)
