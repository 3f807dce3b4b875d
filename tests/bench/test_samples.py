"""The demo, and its sample trajectories: what a newcomer sees first is right."""

from __future__ import annotations

import itertools
import json
import re
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
def test_every_question_names_steps_of_its_own_trajectory_in_order(sample: Sample) -> None:
    places = {str(step.id): place for place, step in enumerate(sample.trajectory.steps)}
    assert len(places) == len(sample.trajectory.steps) >= 60
    for question in sample.questions:
        assert sorted(question.evidence, key=places.__getitem__) == list(question.evidence) != []


def test_every_tool_result_follows_its_call() -> None:
    steps = sample_named("bugs").trajectory.steps
    results = [(before, step) for before, step in itertools.pairwise(steps) if step.role == "tool"]
    assert len(results) >= 20
    assert len(results) == sum(step.role == "tool" for step in steps)
    for call, result in results:
        assert [made.name for made in call.tool_calls] == [result.tool_name]


@each_sample
def test_the_written_line_holds_the_steps(sample: Sample, tmp_path: Path) -> None:
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
    told = re.search(r"Right step among the first ten: (\d) of 4 by intent, (\d) of 4 by similarity alone", done.output)
    assert told is not None
    assert int(told[1]) > int(told[2])
    for said in ("porto, 9 nodes", "O Gaveto (1.00)", "edited: a cheaper Sunday", "> Stop 'Crystal Palace Gardens'"):
        assert said in done.output
    assert (tmp_path / "kept" / "trip.jsonl").is_file()


def test_the_first_page_shows_what_is_drawn_of_the_demo(tmp_path):
    CliRunner().invoke(command, ["--keep", str(tmp_path / "kept")], catch_exceptions=False)
    memory = str(tmp_path / "kept" / "demo.memory")
    drawn = CliRunner().invoke(show, ["--memory", memory, "--trajectory", "bugs"], catch_exceptions=False)
    assert drawn.output.strip() in (ROOT / "README.md").read_text(encoding="utf-8")
