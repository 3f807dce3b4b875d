"""Fitting the weights that tell the goals of runs apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("scipy")

from stitch.label.local.goals import FEATURES
from stitch.pipelines.fit_goals import accuracy, examples, fit, main, read_runs, variants, woven


def ticket(number: int) -> list[dict[str, Any]]:
    order = f"W-{number}512A"
    rows: list[tuple[str, str, dict[str, Any]]] = [
        ("system", "You are an agent at a desk with tools. Follow the policy.", {}),
        ("user", f"Hello, my lamp number {number} came broken, order {order}.", {}),
        ("assistant", "", {"words": "", "tool_calls": [{"name": "get_order", "arguments": {"order": order}}]}),
        ("tool", f"{order}: delivered", {"tool_name": "get_order"}),
        ("assistant", f"Shall I send another lamp for {order}?", {}),
        ("user", "Yes, please.", {}),
        ("assistant", "Done, it is on its way.", {}),
    ]
    return [
        {"id": f"run{number}:{place}", "role": role, "content": content or "get_order", **fields}
        for place, (role, content, fields) in enumerate(rows)
    ]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "trajectories.jsonl"
    lines = [{"id": f"t{memory}", "steps": [row for run in range(4) for row in ticket(4 * memory + run)]}
             for memory in range(2)]  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_goals_are_runs_or_gold_scopes_without_their_phases(tmp_path: Path, file: Path) -> None:
    run = read_runs(file)[0]
    assert run.goals[:3] == ["", "run0", "run0"]
    assert [step.content for step in run.steps[2:4]] == ["", "W-0512A: delivered"]
    labeled = tmp_path / "labeled.jsonl"
    steps = [{"id": "1", "role": "user", "content": "Mend it.", "gold": {"scope": ["lamp / change"]}},
             {"id": "2", "role": "user", "content": "Be brief.", "gold": {"scope": ["setup"]}}]  # fmt: skip
    labeled.write_text(json.dumps({"id": "t", "steps": steps}))
    assert read_runs(labeled)[0].goals == ["lamp", ""]


def test_goals_are_woven_where_no_call_waits(file: Path) -> None:
    run = read_runs(file)[0]
    again = woven(run, at_once=2, seed=1)
    assert sorted(step.id or "" for step in again.steps) == sorted(step.id or "" for step in run.steps)
    assert [step.id for step in again.steps] != [step.id for step in run.steps]
    for before, after in zip(again.steps, again.steps[1:], strict=False):
        if before.tool_calls:
            assert after.tool_name is not None
    assert len(list(variants(run))) == 6
    assert all("" not in each.goals for each in list(variants(run))[1::2])


def test_weights_choose_the_goal_that_they_were_fitted_to_choose(file: Path, tmp_path: Path, capsys) -> None:
    weights = fit([file])
    assert weights.keys() == set(FEATURES)
    assert any(list(examples(run)) for run in read_runs(file))
    assert accuracy(file, weights) > accuracy(file, dict.fromkeys(FEATURES, 0.0))
    other = tmp_path / "other.jsonl"
    other.write_text(file.read_text())
    assert main([str(file), str(other), "--report", "--out", str(tmp_path)]) == 0
    assert "by the others" in capsys.readouterr().out
    assert json.loads((tmp_path / "goal_weights.json").read_text()).keys() == set(FEATURES)
