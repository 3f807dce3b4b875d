"""What stands in contexts is measured as a reader has it, what stands around the words included."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stitch.bench.shown import main, report
from stitch.errors import InputError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A long name stands before each short text, so that the texts alone fit any budget, and contexts do not."""
    folder = tmp_path_factory.mktemp("errands")
    role = " ".join(f"Doctor{n}" for n in range(40))
    steps = [
        {"id": f"s{n}", "role": f"{role} {n}", "content": f"Parcel {n} was brought.", "timestamp": None}
        for n in range(30)
    ]
    question: dict[str, Any] = {
        "id": "q", "trajectory": "t", "type": "list", "question": "Which parcels were brought?",
        "answer": "all", "evidence": [f"s{n}" for n in range(30)], "asked_at": None,
    }  # fmt: skip
    unasked = question | {"id": "other", "type": "fact", "evidence": ["s1"]}
    (folder / "trajectories.jsonl").write_text(json.dumps({"id": "t", "steps": steps}))
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, (question, unasked))))
    return folder


def told(folder: Path, *more: str) -> dict[str, Any]:
    result = CliRunner().invoke(main, ["--data", str(folder), *more], catch_exceptions=False)
    found: dict[str, Any] = json.loads(result.output)
    return found


def test_what_stands_around_the_words_has_its_share_of_the_budget(folder: Path) -> None:
    found = told(folder, "--type", "list", "--methods", "recent")
    assert found["questions"] == 1
    budgets = ("512", "1024", "2048", "4096")
    shown = [found["shown_in"]["recent"][budget] for budget in budgets]
    assert 0 < shown[0] < 0.5  # the 30 texts alone take 200 tokens
    assert shown == sorted(shown)
    assert [found["all_shown_in"]["recent"][budget] for budget in budgets] == [float(value == 1) for value in shown]


def test_the_first_method_is_compared_with_each_other_one(folder: Path) -> None:
    found = told(folder, "--methods", "themes,recent", "--limit", "1")
    assert set(found["themes -"]) == {"recent"}
    low_to_high = found["themes -"]["recent"]["512"]
    assert low_to_high[1] <= low_to_high[0] <= low_to_high[2]


def test_what_is_not_scored_is_not_compared() -> None:
    assert report({"a": {512: []}, "b": {512: []}}, {})["a -"] == {"b": {"512": None}}


def test_a_method_that_nobody_knows_is_refused(folder: Path) -> None:
    with pytest.raises(InputError):
        told(folder, "--methods", "guess")
