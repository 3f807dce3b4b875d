"""Sets of a benchmark, small enough to be read, as files in their published forms."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def write_lines(path: Path, records: Iterable[Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def write_set(folder: Path, steps: dict[str, list[Any]], questions: Iterable[dict[str, Any]]) -> Path:
    """A set in the general form: the steps of each trajectory, and questions."""
    folder.mkdir(exist_ok=True)
    write_lines(folder / "trajectories.jsonl", ({"id": name, "steps": own} for name, own in steps.items()))
    write_lines(folder / "questions.jsonl", questions)
    return folder


def write_came(folder: Path, golds: Iterable[tuple[str, str]]) -> Path:
    """Two turns in the form of CAME-Bench, and a question for each type and gold answer."""
    folder.mkdir()
    said = [("user", "What does the Apollo Resort cost?"), ("travel_agent", "It is $76.22 a night.")]
    turns = ({"id": f"trip-x-turn-{n}", "role": role, "content": text, "partition": ["trip-x"]}
             for n, (role, text) in enumerate(said))  # fmt: skip
    write_lines(folder / "turns.jsonl", turns)
    questions = (
        {"id": f"q{n}", "type": type_, "content": f"What is it, number {n}?", "answer": {"free_form_answer": gold},
         "answer_turn_ids": ["trip-x-turn-1"]}
        for n, (type_, gold) in enumerate(golds)
    )  # fmt: skip
    write_lines(folder / "questions.jsonl", questions)
    return folder
