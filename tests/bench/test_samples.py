"""The demo, and its sample trajectories: what a newcomer sees first is right, and their gold is complete."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

from stitch.bench.demo import command
from stitch.bench.samples import Sample, write_jsonl
from stitch.bench.samples import sample as sample_named
from stitch.cli.show import command as show
from stitch.core import Step

SAMPLES = [sample_named("trip"), sample_named("bugs")]
each_sample = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)


@each_sample
def test_every_step_has_its_gold_under_the_same_id(sample: Sample) -> None:
    assert [gold.step for gold in sample.gold] == [step.id for step in sample.trajectory.steps]
    assert len({gold.step for gold in sample.gold}) == len(sample.gold)
    assert 60 <= len(sample.gold) <= 100
    stamps = [str(step.timestamp) for step in sample.trajectory.steps]
    assert stamps == sorted(stamps)


@each_sample
def test_every_scope_is_left_and_resumed_and_the_same_things_come_back_under_both(sample: Sample) -> None:
    scopes = [gold.scope for gold in sample.gold]
    stretches = Counter(scope for before, scope in zip(["", *scopes], scopes, strict=False) if before != scope)
    assert len(stretches) == 2
    assert min(stretches.values()) >= 3
    things = [{thing for gold in sample.gold if gold.scope == scope for thing in gold.objects} for scope in stretches]
    assert len(set.intersection(*things)) >= 3


def test_an_answer_about_a_place_states_its_value_and_never_its_name() -> None:
    sample = sample_named("trip")
    answers = [
        (gold, step)
        for gold, step in zip(sample.gold, sample.trajectory.steps, strict=True)
        if gold.event.startswith("ask") and gold.answer
    ]
    assert len(answers) >= 12
    for gold, step in answers:
        assert gold.answer is not None
        assert gold.answer in step.content
        assert not any(name in step.content for name in gold.objects)


def test_every_tool_result_follows_its_call() -> None:
    steps = sample_named("bugs").trajectory.steps
    results = [(before, step) for before, step in itertools.pairwise(steps) if step.role == "tool"]
    assert len(results) >= 20
    assert len(results) == sum(step.role == "tool" for step in steps)
    for call, result in results:
        assert [made.name for made in call.tool_calls] == [result.tool_name]


@each_sample
def test_the_gold_of_the_evidence_states_the_answer(sample: Sample) -> None:
    gold = {entry.step: entry for entry in sample.gold}
    text = {step.id: step.content for step in sample.trajectory.steps}
    for question in sample.questions:
        assert gold[question.evidence[-1]].answer == question.answer
        assert all(step in text for step in question.evidence)


@each_sample
def test_the_written_line_holds_the_steps_and_no_gold(sample: Sample, tmp_path: Path) -> None:
    path = tmp_path / "sample.jsonl"
    write_jsonl(sample, path)
    (line,) = path.read_text(encoding="utf-8").splitlines()
    record = json.loads(line)
    assert set(record) == {"id", "steps"}
    assert tuple(Step(**row) for row in record["steps"]) == sample.trajectory.steps


ROOT = Path(__file__).resolve().parents[2]


def test_the_demo_streams_draws_asks_and_says_what_to_try(tmp_path):
    done = CliRunner().invoke(command, ["--keep", str(tmp_path / "kept")], catch_exceptions=False)
    assert done.exit_code == 0
    for said in ("trip: 94 steps", "day 1", "day 2", "login timeout", "━", "stitch ingest FILE"):
        assert said in done.output
    assert "Right step first: 3 of 4 by intent, 0 of 4 by similarity alone" in done.output
    for said in ("porto, 9 nodes", "O Gaveto (1.00)", "edited: a cheaper Sunday", "> Stop 'Crystal Palace Gardens'"):
        assert said in done.output
    assert (tmp_path / "kept" / "trip.jsonl").is_file()


def test_the_first_page_shows_what_is_drawn_of_the_demo(tmp_path):
    CliRunner().invoke(command, ["--keep", str(tmp_path / "kept")], catch_exceptions=False)
    memory = str(tmp_path / "kept" / "demo.memory")
    drawn = CliRunner().invoke(show, ["--memory", memory, "--trajectory", "bugs"], catch_exceptions=False)
    assert drawn.output.strip() in (ROOT / "README.md").read_text(encoding="utf-8")
