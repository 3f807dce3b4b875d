"""Questions that come with their evidence alone are put into haystacks of other questions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stitch.bench.data.sets import load_questions
from stitch.bench.haystacks import main
from stitch.errors import InputError


def _write(folder: Path, trajectories: dict[str, list[str]], questions: dict[str, tuple[str, list[str]]]) -> Path:
    """Trajectories of sessions, two steps a session, by their days; questions with trajectory and evidence."""
    folder.mkdir()
    rows = [
        {
            "id": name,
            "steps": [
                {
                    "id": f"{day}:{turn}",
                    "role": "user",
                    "content": f"{name} said {turn} on {day}.",
                    "timestamp": day,
                    "session": day,
                }
                for day in days
                for turn in range(2)
            ],
        }
        for name, days in trajectories.items()
    ]
    asked: list[dict[str, Any]] = [
        {"id": text, "trajectory": name, "type": text[-1], "question": text, "answer": "x", "evidence": evidence,
         "asked_at": None}
        for text, (name, evidence) in questions.items()
    ]  # fmt: skip
    (folder / "trajectories.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, asked)))
    return folder


@pytest.fixture
def sets(tmp_path: Path) -> tuple[Path, Path]:
    data = _write(tmp_path / "data", {"a": ["2024-01-02", "2024-01-04"], "b": ["2024-01-03"]},
                  {"what a": ("a", ["2024-01-02:0", "2024-01-04:1"]), "what b": ("b", ["2024-01-03:0"])})  # fmt: skip
    among = _write(tmp_path / "among", {"h": ["2024-01-01", "2024-01-03", "2024-01-05"]},
                   {"what h": ("h", ["2024-01-05:1"])})  # fmt: skip
    return data, among


def _run(*args: str) -> str:
    return CliRunner().invoke(main, args, catch_exceptions=False).output


def test_sessions_of_a_question_stand_among_others_by_their_times(sets: tuple[Path, Path], tmp_path: Path) -> None:
    data, among = map(str, sets)
    assert _run(data, among, str(tmp_path / "out")) == "2 questions\n"
    made = load_questions(tmp_path / "out")
    steps = {each.id: [str(step.id) for step in each.steps] for each in made.trajectories}
    assert steps[made.questions[0].trajectory] == [
        "hay:2024-01-01:0", "hay:2024-01-01:1", "2024-01-02:0", "2024-01-02:1",
        "hay:2024-01-03:0", "hay:2024-01-03:1", "2024-01-04:0", "2024-01-04:1",
    ], "what answers the haystack's own question is left out"  # fmt: skip
    assert made.questions[0].evidence == ("2024-01-02:0", "2024-01-04:1")


def test_questions_of_one_type_alone_can_be_taken(sets: tuple[Path, Path], tmp_path: Path) -> None:
    data, among = map(str, sets)
    assert _run(data, among, str(tmp_path / "out"), "--type", "b") == "1 questions\n"
    assert [each.text for each in load_questions(tmp_path / "out").questions] == ["what b"]
    with pytest.raises(InputError, match="no question"):
        _run(data, among, str(tmp_path / "none"), "--type", "z")


def test_a_question_never_stands_in_its_own_haystack(sets: tuple[Path, Path], tmp_path: Path) -> None:
    _, among = map(str, sets)
    with pytest.raises(InputError, match="no trajectory of another question"):
        _run(among, among, str(tmp_path / "out"))
