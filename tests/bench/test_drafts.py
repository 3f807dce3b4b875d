"""The forms of a window are compared by replies that are made of gold, without a model."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stitch.bench.data.types import GoldLabels, LabeledSet
from stitch.bench.suites.drafts import command, measure_form
from stitch.core import Step, Trajectory

SAID = [
    "What does the Zephyr Mill cost?",
    "It costs $41.80.",
    "Two tickets for the museum, please.",
    "They are booked.",
]
GOLD = [
    GoldLabels(scope=("hotel",), event_types=("ask price",)),
    GoldLabels(scope=("hotel",), event_types=("give answer",)),
    GoldLabels(scope=("museum",), event_types=("request booking",)),
    GoldLabels(scope=("museum",), event_types=("confirm booking",)),
]


@pytest.fixture
def labeled() -> LabeledSet:
    steps = tuple(
        Step(id=str(n), role=("user", "assistant")[n % 2], content=SAID[n % 4] + f" ({n // 4})") for n in range(60)
    )
    gold = {str(n): GOLD[n % 4] for n in range(60)}
    return LabeledSet("talk", (Trajectory(id="t", steps=steps),), {"t": gold}, "0")


def test_who_is_always_right_gets_gold_in_both_forms_and_writes_less_in_drafts(labeled: LabeledSet) -> None:
    local, windowed, drafted = (measure_form(labeled, form) for form in ("local", "windowed", "drafted"))
    assert local["calls"] == local["reply_tokens"] == 0
    assert local["scope_bcubed_f1"] < 1
    for form in (windowed, drafted):
        assert (form["scope_bcubed_f1"], form["event_type_v_measure"]) == (1, 1)
    assert drafted["reply_tokens"] < windowed["reply_tokens"]
    assert windowed["calls"] == drafted["calls"] == 0.05


def test_who_passes_over_steps_leaves_them_as_they_were(labeled: LabeledSet) -> None:
    first = replace(labeled, trajectories=(Trajectory(id="t", steps=labeled.trajectories[0].steps[:20]),))
    silent = measure_form(first, "drafted", misses=1)
    local = measure_form(first, "local")
    assert silent["scope_bcubed_f1"] == local["scope_bcubed_f1"]
    assert silent["event_type_v_measure"] == local["event_type_v_measure"]
    half = measure_form(labeled, "windowed", misses=0.5)
    assert half["scope_bcubed_f1"] < measure_form(labeled, "windowed")["scope_bcubed_f1"]


def test_the_command_prints_a_row_a_form(tmp_path: Path) -> None:
    steps = [{"id": str(n), "role": "user", "content": text} for n, text in enumerate(SAID)]
    labels = {str(n): {"scope": list(own.scope), "event_types": list(own.event_types)} for n, own in enumerate(GOLD)}
    file = tmp_path / "talk.jsonl"
    file.write_text(json.dumps(line(steps, labels)) + "\n")
    ran = CliRunner().invoke(command, ["--data", str(file), "--limit", "1", "--json"])
    assert ran.exit_code == 0, ran.output
    told = json.loads(ran.output)
    assert (told["steps"], told["drafted"]["scope_bcubed_f1"]) == (4, 1)
    assert "drafted" in CliRunner().invoke(command, ["--data", str(file)]).output


def line(steps: list[Any], labels: dict[str, Any]) -> dict[str, Any]:
    return {"id": "t", "steps": [{**step, "gold": labels[step["id"]]} for step in steps]}
