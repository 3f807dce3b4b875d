"""The published files of AMA-Bench, LongMemEval-V2 and Who&When, in fixtures of their form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stitch.bench.commands import group
from stitch.bench.data.agents import load_ama, load_longmemeval_v2, load_who_and_when
from stitch.errors import InputError

EPISODE: dict[str, Any] = {
    "episode_id": 7, "task": "Push the crate to the exit.", "task_type": "maze", "domain": "Game", "success": True,
    "num_turns": 2, "trajectory": [
        {"turn_idx": 0, "action": "left", "observation": "A wall."},
        {"turn_idx": 1, "action": {"move": "up"}, "observation": "The crate moves."},
    ],
    "qa_pairs": [{"question": "What stopped the step to the left?", "answer": "A wall.", "type": "B"}],
}  # fmt: skip


def jsonl(path: Path, *records: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_an_episode_is_actions_with_observations_after_its_task(tmp_path: Path) -> None:
    data = load_ama(jsonl(tmp_path / "ama.jsonl", EPISODE))
    [trajectory], [question] = data.trajectories, data.questions
    assert [(step.id, step.role, step.content) for step in trajectory.steps] == [
        ("task", "user", "Push the crate to the exit."),
        ("0:action", "assistant", "Action (step 0): left"),
        ("0:observation", "environment", "A wall."),
        ("1:action", "assistant", 'Action (step 1): {"move":"up"}'),
        ("1:observation", "environment", "The crate moves."),
    ]
    assert (question.type, question.domain, question.evidence) == ("causal inference", "Game", ())
    with pytest.raises(InputError, match="no list of turns"):
        load_ama(jsonl(tmp_path / "bad.jsonl", {**EPISODE, "trajectory": "left"}))
    with pytest.raises(InputError, match="holds no question"):
        load_ama(jsonl(tmp_path / "none.jsonl"))


def web(folder: Path, **haystacks: list[str]) -> Path:
    (folder / "haystacks").mkdir(parents=True)
    runs = [
        {"id": name, "domain": "web", "goal": f"Find the price of {name}.", "outcome": "success", "states": [
            {"state_index": 0, "url": "http://shop", "thought": "I look.", "action": "click('3')",
             "accessibility_tree": f"[3] link {name}", "screenshot": "s.png"},
            {"state_index": 1, "url": "http://shop/1", "thought": None, "action": None,
             "accessibility_tree": "4 dollars"},
        ]}
        for name in ("r1", "r2", "unused")
    ]  # fmt: skip
    jsonl(folder / "trajectories.jsonl", *runs)
    questions = [
        {"id": name, "domain": "web", "question_type": "procedure", "question": f"How is {name} found?",
         "answer": ["shop"], "image": "x.png" if name == "q3" else None}
        for name in ("q1", "q2", "q3", "q4")
    ]  # fmt: skip
    jsonl(folder / "questions.jsonl", *questions)
    (folder / "haystacks" / "lme_v2_small.json").write_text(json.dumps(haystacks))
    return folder


def test_questions_over_the_same_runs_share_a_memory_in_which_each_run_is_a_session(tmp_path: Path) -> None:
    data = load_longmemeval_v2(web(tmp_path / "lme", q1=["r1", "r2"], q2=["r1", "r2"], q3=["r1"]))
    [trajectory] = data.trajectories
    assert [question.trajectory for question in data.questions] == [trajectory.id, trajectory.id]
    assert data.notes == ("1 questions that show an image were left out",)
    assert [(step.id, step.role, step.session) for step in trajectory.steps][:5] == [
        ("r1:goal", "user", "r1"), ("r1:0:page", "browser", "r1"), ("r1:0:action", "assistant", "r1"),
        ("r1:1:page", "browser", "r1"), ("r1:outcome", "environment", "r1"),
    ]  # fmt: skip
    assert trajectory.steps[2].content == "I look.\nAction: click('3')"
    assert data.questions[0].answer == "['shop']"


def test_a_haystack_that_is_not_of_the_release_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no tier 'large'"):
        load_longmemeval_v2(tmp_path, tier="large")
    with pytest.raises(InputError, match="'gone'"):
        load_longmemeval_v2(web(tmp_path / "gone", q1=["gone"]))
    folder = web(tmp_path / "list")
    (folder / "haystacks" / "lme_v2_small.json").write_text("[]")
    with pytest.raises(InputError, match="no haystack file"):
        load_longmemeval_v2(folder)


def log(folder: Path, name: str, **given: Any) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    run = {"question": "How tall is the tower?", "history": [
        {"name": "Planner", "role": "assistant", "content": "Look it up."},
        {"role": "Computer", "content": "41 m"}, {"name": "Planner", "role": "assistant", "content": "It is 14 m."},
    ], "mistake_agent": "Planner", "mistake_step": "2", "mistake_reason": "It swaps the digits.", **given}  # fmt: skip
    (folder / f"{name}.json").write_text(json.dumps(run))


def test_the_step_that_made_a_run_fail_is_the_evidence(tmp_path: Path) -> None:
    log(tmp_path / "w" / "Hand-Crafted", "1")
    log(tmp_path / "w", "2", mistake_step=9)
    data = load_who_and_when(tmp_path / "w")
    assert {question.id: question.evidence for question in data.questions} == {"2": (), "Hand-Crafted/1": ("2",)}
    assert data.questions[1].answer == "Planner: It swaps the digits."
    assert [step.role for step in data.trajectories[0].steps] == ["Planner", "Computer", "Planner"]
    assert data.notes == ("1 runs name no step of their history",)


def test_what_is_no_run_of_who_and_when_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no JSON file"):
        load_who_and_when(tmp_path)
    log(tmp_path / "a", "1", history="x")
    with pytest.raises(InputError, match="no list of messages"):
        load_who_and_when(tmp_path / "a")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "1.json").write_text("[]")
    with pytest.raises(InputError, match="an object is expected"):
        load_who_and_when(tmp_path / "b")


def test_each_has_a_command(tmp_path: Path) -> None:
    log(tmp_path / "w", "1")
    sets = {"ama": jsonl(tmp_path / "ama.jsonl", EPISODE), "who-and-when": tmp_path / "w",
            "longmemeval-v2": web(tmp_path / "lme", q1=["r1"])}  # fmt: skip
    for name, data in sets.items():
        done = CliRunner().invoke(group, [name, "--data", str(data), "--methods", "bm25", "--json"])
        assert done.exit_code == 0, done.output
        figures = json.loads(done.stdout)
        assert figures["questions"] == 1
        assert (figures["methods"]["bm25"]["recall@10"] is None) == (name != "who-and-when")
