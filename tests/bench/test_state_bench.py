"""Trajectories of STATE-Bench, in fixtures of their form and, where it is there, in the folder itself."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from stitch.bench.data.state_bench import load_state_bench
from stitch.errors import InputError

CONVERSATION = [
    {"role": "system", "content": "You are at a desk."},
    {"role": "user", "content": "Where is my lamp?"},
    {"role": "assistant", "content": "It arrives on Friday.",
     "tool_calls": [{"name": "get_order", "arguments": {"order_id": "ORD-17"}, "result": {"status": "sent"}}]},
]  # fmt: skip


def run(folder: Path, name: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(json.dumps({"conversation": CONVERSATION}))


def test_results_follow_their_calls_and_words_follow_both(tmp_path: Path) -> None:
    run(tmp_path / "desk", "1-where.json")
    run(tmp_path / "desk", "2-where.json")
    data = load_state_bench(tmp_path)
    [memory] = data.trajectories
    assert [(step.role, step.tool_name) for step in memory.steps[:5]] == [
        ("system", None), ("user", None), ("assistant", None), ("tool", "get_order"), ("assistant", None),
    ]  # fmt: skip
    assert memory.steps[2].tool_calls[0].name == "get_order"
    assert memory.steps[4].content == "It arrives on Friday."
    asked = {question.type: question for question in data.questions}
    assert asked["procedure"].evidence == ("2-where:2",)
    assert asked["state"].evidence == ("2-where:2", "2-where:3")


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no JSON file"):
        load_state_bench(tmp_path)
    (tmp_path / "x.json").write_text("[]")
    with pytest.raises(InputError, match="no run of STATE-Bench"):
        load_state_bench(tmp_path)


def test_the_folder_itself_is_read() -> None:
    given = os.environ.get("STITCH_TEST_DATA")
    folder = Path(given) / "state_bench" if given else None
    if folder is None or not folder.is_dir():
        pytest.skip("STITCH_TEST_DATA names no folder with state_bench")
    data = load_state_bench(folder)
    assert len(data.trajectories) == 2
    assert all(question.evidence for question in data.questions)
