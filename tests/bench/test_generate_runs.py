"""Generated runs: exact evidence, any length, several formats, and the command that writes them."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner

from stitch.bench.data.sets import load_labels, load_questions
from stitch.bench.generate.command import group
from stitch.bench.generate.run_worlds import ABILITIES, WORLDS
from stitch.bench.generate.runs import FORMATS, Memory, RunSettings, generate_runs, write_runs
from stitch.errors import InputError


def made(**given: object) -> Memory:
    [memory] = generate_runs(RunSettings(**{"steps": 400, "seed": 3, **given}))  # type: ignore[arg-type]
    return memory


def test_the_answer_stands_in_the_evidence_or_in_the_call_that_it_answers() -> None:
    for form in FORMATS:
        memory = made(formats=(form,))
        said = {step["id"]: json.dumps(step) for step in memory.trajectory["steps"]}
        assert memory.questions
        for question in memory.questions:
            told = " ".join(said[step] for step in question["evidence"]).lower()
            if question["type"] in ("recall", "state update"):
                assert all(word in told for word in question["answer"].strip("$").lower().split(", ")), question
            assert question["evidence"] == list(dict.fromkeys(question["evidence"]))


def test_all_abilities_and_worlds_take_part() -> None:
    memory = made(steps=600, formats=("calls",))
    assert {question["type"] for question in memory.questions} == set(ABILITIES)
    tools = {call["name"] for step in memory.trajectory["steps"] for call in step.get("tool_calls", ())}
    assert {"run_tests", "get_ticket", "get_order", "go", "run_sql"} <= tools
    assert len(WORLDS) == 5


@pytest.mark.parametrize("steps", [20, 300, 2_000])
def test_a_memory_is_about_as_long_as_asked_for(steps: int) -> None:
    assert steps <= len(made(steps=steps).trajectory["steps"]) <= steps + 20


def test_goals_are_woven_and_no_call_is_parted_from_its_result() -> None:
    steps = made(formats=("json",)).trajectory["steps"]
    scopes = [step["gold"]["scope"][0] for step in steps]
    switches = sum(before != after for before, after in pairwise(scopes))
    assert switches > len(set(scopes))
    for before, after in pairwise(steps):
        if "tool_calls" in before:
            assert after["tool_name"] == before["tool_calls"][0]["name"]
            assert after["gold"]["scope"] == before["gold"]["scope"]
    alone = [step["gold"]["scope"][0] for step in made(woven=1).trajectory["steps"]]
    assert sum(before != after for before, after in pairwise(alone)) == len(set(alone)) - 1


def test_each_format_writes_calls_in_its_own_way() -> None:
    by_format = {form: made(formats=(form,)).trajectory["steps"] for form in FORMATS}
    assert {step["role"] for step in by_format["text"]} == {"system", "user", "assistant", "environment"}
    assert not any("tool_calls" in step for step in by_format["text"])
    assert all(json.loads(step["content"]) for step in by_format["json"] if "tool_name" in step)
    assert any(not step["content"].startswith("{") for step in by_format["calls"] if "tool_name" in step)


def test_the_same_seed_gives_the_same_and_another_gives_others() -> None:
    assert made() == made()
    assert made(seed=4) != made()


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(InputError, match="no format 'xml'"):
        list(generate_runs(RunSettings(formats=("xml",))))


def test_the_command_writes_a_set_that_the_bench_reads(tmp_path: Path) -> None:
    out = tmp_path / "runs"
    done = CliRunner().invoke(group, ["runs", "--steps", "200", "--memories", "2", "--out", str(out), "--json"])
    assert done.exit_code == 0, done.output
    figures = json.loads(done.output)
    data = load_questions(out)
    assert (len(data.trajectories), data.steps) == (2, figures["steps"])
    assert len(data.questions) == figures["questions"] == sum(figures["questions_by_type"].values())
    assert set(load_labels(out / "trajectories.jsonl").gold) == {"runs-0-0", "runs-0-1"}
    told = CliRunner().invoke(group, ["runs", "--steps", "40", "--format", "text", "--out", str(tmp_path / "text")])
    assert "1 memories" in told.output
    with pytest.raises(InputError, match="holds a data set already"):
        write_runs([], out, settings=RunSettings())
