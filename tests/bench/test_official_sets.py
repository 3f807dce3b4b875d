"""The published files of other benchmarks, in fixtures of their form, with their slips repaired."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stitch.bench.commands import group
from stitch.bench.data.official import (
    load_ama,
    load_locomo,
    load_longmemeval,
    load_longmemeval_v2,
    load_state_bench,
    load_who_and_when,
)
from stitch.bench.data.types import Question
from stitch.errors import InputError


def written(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    return path


def jsonl(path: Path, *records: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def locomo(folder: Path) -> Path:
    talk = {"speaker_a": "Ann", "session_2_date_time": "2 May",
            "session_10": [{"speaker": "Ann", "dia_id": "D10:1", "text": "Bye"}],
            "session_2": [{"speaker": "Bob", "dia_id": "D2:1", "text": "Look", "blip_caption": "a dog"}]}  # fmt: skip
    asked = [
        {"question": "Which pet?", "answer": 1, "evidence": ["D2:1; D:10:01", "D9:9"], "category": 1},
        {"question": "When?", "adversarial_answer": "x", "evidence": [], "category": 5},
    ]
    return written(folder / "locomo10.json", [{"sample_id": "conv-1", "conversation": talk, "qa": asked}])


def test_evidence_of_locomo_is_repaired_and_counted_where_it_names_nothing(tmp_path: Path) -> None:
    loaded = load_locomo(locomo(tmp_path))
    (trajectory,) = loaded.trajectories
    assert [(s.id, s.content, s.timestamp) for s in trajectory.steps] == [
        ("D2:1", "Look [shares a picture: a dog]", "2 May"),
        ("D10:1", "Bye", None),
    ]
    first, second = loaded.questions
    assert (first.evidence, first.type, first.answer) == (("D2:1", "D10:1"), "multi-hop", "1")
    assert (second.evidence, second.type, second.answer) == ((), "adversarial", None)
    assert loaded.notes == ("1 evidence ids that name no step were left out", "1 questions have no evidence")


def longmemeval(folder: Path) -> Path:
    instance = {
        "question_id": "q", "question_type": "multi-session", "question": "How many?", "answer": 3,
        "question_date": "2023/05/30", "haystack_dates": ["2023/05/20"],
        "haystack_sessions": [
            [{"role": "user", "content": "I have two.", "has_answer": True}, {"role": "assistant", "content": "Nice."}],
            [{"role": "user", "content": "And one.", "has_answer": True}],
        ],
    }  # fmt: skip
    return written(folder / "longmemeval_s.json", [instance])


def test_longmemeval_marks_its_evidence(tmp_path: Path) -> None:
    loaded = load_longmemeval(longmemeval(tmp_path))
    assert loaded.questions == (
        Question("q", "q", "multi-session", "How many?", "3", ("s0:0", "s1:0"), asked_at="2023/05/30"),
    )
    assert [(s.id, s.timestamp, s.session) for s in loaded.trajectories[0].steps] == [
        ("s0:0", "2023/05/20", "0"),
        ("s0:1", "2023/05/20", "0"),
        ("s1:0", None, "1"),
    ]


EPISODE: dict[str, Any] = {
    "episode_id": 7, "task": "Push the crate to the exit.", "domain": "Game", "trajectory": [
        {"turn_idx": 0, "action": "left", "observation": "A wall."},
        {"turn_idx": 1, "action": {"move": "up"}, "observation": "The crate moves."},
    ],
    "qa_pairs": [{"question": "What stopped the step to the left?", "answer": "A wall.", "type": "B"}],
}  # fmt: skip


def ama(folder: Path) -> Path:
    return jsonl(folder / "ama.jsonl", EPISODE)


def test_an_episode_is_actions_with_observations_after_its_task(tmp_path: Path) -> None:
    data = load_ama(ama(tmp_path))
    [trajectory], [question] = data.trajectories, data.questions
    assert [(step.id, step.role, step.content) for step in trajectory.steps] == [
        ("task", "user", "Push the crate to the exit."),
        ("0:action", "assistant", "Action (step 0): left"),
        ("0:observation", "environment", "A wall."),
        ("1:action", "assistant", 'Action (step 1): {"move":"up"}'),
        ("1:observation", "environment", "The crate moves."),
    ]
    assert (question.type, question.domain, question.evidence) == ("causal inference", "Game", ())


def web(folder: Path, **haystacks: list[str]) -> Path:
    runs = [
        {"id": name, "domain": "web", "goal": f"Find the price of {name}.", "outcome": "success", "states": [
            {"state_index": 0, "url": "http://shop", "thought": "I look.", "action": "click('3')",
             "accessibility_tree": f"[3] link {name}", "screenshot": "s.png"},
            {"state_index": 1, "url": "http://shop/1", "thought": None, "action": None,
             "accessibility_tree": "4 dollars"},
        ]}
        for name in ("r1", "r2", "unused")
    ]  # fmt: skip
    questions = [
        {"id": name, "domain": "web", "question_type": "procedure", "question": f"How is {name} found?",
         "answer": ["shop"], "image": "x.png" if name == "q3" else None}
        for name in ("q1", "q2", "q3", "q4")
    ]  # fmt: skip
    written(folder / "haystacks" / "lme_v2_small.json", haystacks or {"q1": ["r1"]})
    jsonl(folder / "trajectories.jsonl", *runs)
    jsonl(folder / "questions.jsonl", *questions)
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


def who_and_when(folder: Path, name: str = "1", **given: Any) -> Path:
    run = {"question": "How tall is the tower?", "history": [
        {"name": "Planner", "role": "assistant", "content": "Look it up."},
        {"role": "Computer", "content": "41 m"}, {"name": "Planner", "role": "assistant", "content": "It is 14 m."},
    ], "mistake_agent": "Planner", "mistake_step": "2", "mistake_reason": "It swaps the digits.", **given}  # fmt: skip
    written(folder / f"{name}.json", run)
    return folder


def test_the_step_that_made_a_run_fail_is_the_evidence(tmp_path: Path) -> None:
    who_and_when(tmp_path, "Hand-Crafted/1")
    data = load_who_and_when(who_and_when(tmp_path, "2", mistake_step=9))
    assert {question.id: question.evidence for question in data.questions} == {"2": (), "Hand-Crafted/1": ("2",)}
    assert data.questions[1].answer == "Planner: It swaps the digits."
    assert [step.role for step in data.trajectories[0].steps] == ["Planner", "Computer", "Planner"]
    assert data.notes == ("1 evidence ids that name no step were left out", "1 questions have no evidence")


def state_bench(folder: Path) -> Path:
    def call(name: str, **arguments: str) -> dict[str, Any]:
        return {"name": name, "arguments": arguments, "result": {"state": "done"}}

    for run, said in (("a", "Please cancel it."), ("b", "And now?")):
        calls = [call("find", order="ORD-17"), call("cancel" if run == "a" else "refund", order="ORD-17", note="x")]
        conversation = [
            {"role": "user", "content": said},
            {"role": "assistant", "content": "It is done.", "tool_calls": calls},
        ]
        written(folder / "shop" / f"{run}.json", {"conversation": conversation})
    return folder


def test_calls_of_runs_and_the_last_one_on_a_thing_are_asked_for(tmp_path: Path) -> None:
    data = load_state_bench(state_bench(tmp_path))
    [memory] = data.trajectories
    assert [str(step.id) for step in memory.steps] == [f"{run}:{n}" for run in "ab" for n in range(6)]
    assert memory.steps[1].tool_calls[0].name == "find"
    assert (memory.steps[2].tool_name, memory.steps[5].content) == ("find", "It is done.")
    asked = {question.id: question for question in data.questions}
    assert asked["shop/a"].evidence == ("a:1", "a:3")
    assert asked["shop/a"].text.endswith('said this? "Please cancel it."')
    assert asked["shop/ORD-17"].evidence == ("b:3", "b:4")
    assert [question.type for question in data.questions] == ["procedure", "procedure", "state"]


@pytest.mark.parametrize(
    ("load", "file", "content", "message"),
    [
        *((load_locomo, "x.json", content, "is no LoCoMo file") for content in ({"a": 1}, [{"a": 1}], ["x"])),
        (load_longmemeval, "x.json", [{"a": 1}], "is no LongMemEval file"),
        (load_ama, "x.jsonl", {**EPISODE, "trajectory": "left"}, "no list of turns"),
        (load_who_and_when, "w/1.json", {"history": "x"}, "no list of messages"),
        (load_who_and_when, "w/1.json", [], "an object is expected"),
        (load_who_and_when, "w/1.txt", [], "no JSON file"),
        (load_state_bench, "w/1.txt", [], "no JSON file"),
        (load_state_bench, "w/1.json", [], "an object is expected"),
        (lambda path: load_longmemeval_v2(path, tier="large"), "x.json", {}, "no tier 'large'"),
    ],
)
def test_what_is_not_of_a_release_is_refused(
    tmp_path: Path, load: Callable[[Path], Any], file: str, content: Any, message: str
) -> None:
    path = written(tmp_path / file, content)
    with pytest.raises(InputError, match=message):
        load(path.parent if "/" in file else path)


def test_a_haystack_has_to_name_runs_that_are_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'gone'"):
        load_longmemeval_v2(web(tmp_path / "gone", q1=["gone"]))
    written(web(tmp_path / "list") / "haystacks" / "lme_v2_small.json", [])
    with pytest.raises(InputError, match="no haystack file"):
        load_longmemeval_v2(tmp_path / "list")
    with pytest.raises(InputError, match="holds no question"):
        load_ama(jsonl(tmp_path / "none.jsonl"))


def test_each_has_a_command_and_is_measured_as_other_sets(tmp_path: Path) -> None:
    sets = {"locomo": locomo(tmp_path), "longmemeval": longmemeval(tmp_path), "ama": ama(tmp_path),
            "who-and-when": who_and_when(tmp_path / "w"), "longmemeval-v2": web(tmp_path / "lme"),
            "state-bench": state_bench(tmp_path / "s")}  # fmt: skip
    for name, data in sets.items():
        done = CliRunner().invoke(group, [name, "--data", str(data), "--methods", "bm25", "--json"])
        assert done.exit_code == 0, done.output
        row = json.loads(done.stdout)["methods"]["bm25"]
        assert (row["recall@10"] is None) == (name in ("ama", "longmemeval-v2"))
