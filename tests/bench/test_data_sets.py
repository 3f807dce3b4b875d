"""Loading data sets in the generic format, and everything that can be wrong with them."""

from __future__ import annotations

import gzip
import inspect
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from stitch.bench.data.files import digest_of, read_json, read_records, required
from stitch.bench.data.sets import load_labels, load_questions
from stitch.bench.data.types import GoldLabels, Inquiry, Question
from stitch.core import Step, StepLabels, ToolCall, Trajectory
from stitch.errors import InputError
from stitch.memory import Memory

TRIP: dict[str, Any] = {
    "id": "t1",
    "steps": [
        {"id": "a", "role": "user", "content": "Where to?", "timestamp": 5, "gold": {"scope": ["day 1"]}},
        {"id": "b", "role": "assistant", "content": "To Delos.", "session": "s"},
        {"id": "c", "role": "user", "content": " "},
    ],
}
ASKED = {"id": "q1", "trajectory": "t1", "type": "S", "question": "Where?", "answer": 7, "evidence": ["b", "c"]}


def write(path: Path, *records: Any, packed: bool = False) -> Path:
    content = "\n".join(r if isinstance(r, str) else json.dumps(r) for r in records).encode()
    path.write_bytes(gzip.compress(content) if packed else content)
    return path


def folder(root: Path, *, trajectories: list[Any], questions: list[Any], packed: bool = False) -> Path:
    ending = ".jsonl.gz" if packed else ".jsonl"
    write(root / f"trajectories{ending}", *trajectories, packed=packed)
    write(root / f"questions{ending}", *questions, packed=packed)
    return root


@pytest.mark.parametrize("packed", [False, True])
def test_a_set_keeps_what_a_memory_sees_apart_from_gold(tmp_path: Path, packed: bool) -> None:
    loaded = load_questions(folder(tmp_path, trajectories=[TRIP], questions=[ASKED], packed=packed))
    assert loaded.trajectories == (
        Trajectory(
            id="t1",
            steps=(
                Step(id="a", role="user", content="Where to?", timestamp=5),
                Step(id="b", role="assistant", content="To Delos.", session="s"),
            ),
        ),
    )
    assert loaded.questions == (Question("q1", "t1", "S", "Where?", "7", ("b",)),)
    assert loaded.questions[0].inquiry == Inquiry("q1", "t1", "Where?")
    assert loaded.gold == {"t1": {"a": GoldLabels(scope=("day 1",))}}
    assert loaded.notes == ("1 steps without content were left out",)
    assert loaded.steps == 2
    assert loaded.name == tmp_path.name


def _wrong(**changes: Any) -> dict[str, Any]:
    return {name: value for name, value in {**ASKED, **changes}.items() if value != "gone"}


@pytest.mark.parametrize(
    ("trajectories", "questions", "message"),
    [
        ([TRIP], [_wrong(trajectory="t9")], "question 'q1' names an unknown trajectory 't9'"),
        ([TRIP], [_wrong(evidence=["z"])], "evidence 'z' of question 'q1' is no step of 't1'"),
        ([TRIP], [_wrong(evidence="b")], "'evidence' is no list"),
        ([TRIP], [_wrong(evidence="gone")], "has no field 'evidence'"),
        ([TRIP], [_wrong(question=" ")], "asks nothing"),
        ([TRIP], [ASKED, ASKED], "repeats the question 'q1'"),
        ([TRIP], [], "holds no question"),
        ([TRIP, TRIP], [ASKED], "trajectories.jsonl:2 repeats the trajectory 't1'"),
        ([{"id": "t1"}], [ASKED], "has no field 'steps'"),
        ([{"id": "t1", "steps": {}}], [ASKED], "'steps' is no list"),
        ([{"id": "t1", "steps": ["x"]}], [ASKED], "step 0, is no object but str"),
        ([{"id": "t1", "steps": [{"id": "a", "role": "", "content": "x"}]}], [ASKED], "step 'a': role"),
        ([{"id": "t1", "steps": TRIP["steps"][:1] * 2}], [ASKED], "repeats the step 'a'"),
        (
            [
                {
                    "id": "t1",
                    "steps": [{"id": "a", "role": "assistant", "content": "", "tool_calls": [{"arguments": {}}]}],
                }
            ],
            [ASKED],
            "step 'a': tool call has no name",
        ),
        (["nonsense"], [ASKED], "trajectories.jsonl:1 is no JSON"),
        (["[]"], [ASKED], "is no object but list"),
    ],
)
def test_what_is_wrong_with_a_set_is_said_before_any_work(
    tmp_path: Path, trajectories: list[Any], questions: list[Any], message: str
) -> None:
    folder(tmp_path, trajectories=trajectories, questions=questions)
    with pytest.raises(InputError, match=re.escape(message)) as raised:
        load_questions(tmp_path)
    assert "\n" not in raised.value.message


def test_unreadable_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"x" * 999)[:20])
    plain, packed = write(tmp_path / "a", TRIP), write(tmp_path / "b", TRIP, packed=True)
    assert digest_of([plain]) == digest_of([packed]) != digest_of([plain, packed])
    with pytest.raises(InputError, match=r"is no data set: it has no trajectories\.jsonl") as raised:
        load_questions(tmp_path)
    assert "questions.jsonl" in raised.value.hint
    for path in (tmp_path / "cut.gz", tmp_path / "absent"):
        with pytest.raises(InputError, match="cannot read"):
            list(read_records(path))
    with pytest.raises(InputError, match="is no JSON"):
        read_json(write(tmp_path / "bad.json", "{"))
    with pytest.raises(InputError, match="here has no field 'x'"):
        required({}, "x", "here")


def test_a_labeled_set_needs_gold(tmp_path: Path) -> None:
    loaded = load_labels(write(tmp_path / "star.jsonl", TRIP))
    assert (loaded.name, loaded.steps) == ("star", 2)
    assert loaded.gold == {"t1": {"a": GoldLabels(scope=("day 1",))}}
    with pytest.raises(InputError, match="holds no labeled trajectory"):
        load_labels(write(tmp_path / "none.jsonl", {**TRIP, "steps": TRIP["steps"][1:]}))
    with pytest.raises(InputError, match="is no file"):
        load_labels(tmp_path)


def test_a_step_cannot_hold_gold() -> None:
    for field in ("gold", "evidence", "scope", "partition", "action", "action_object"):
        assert field not in Step.model_fields
        with pytest.raises(ValidationError):
            Step.model_validate({"role": "user", "content": "x", field: ["y"]})


def test_the_ingest_path_takes_steps_and_names_and_nothing_else() -> None:
    for method in (Memory.add, Memory.add_many, Memory.add_each):
        parameters = set(inspect.signature(method).parameters) - {"self"}
        assert parameters <= {"step", "steps", "trajectory", "wait", "again"}
    assert set(Trajectory.model_fields) == {"id", "steps"}
    gold = {"labels", "evidence", "answer", "rewrite", "type"}
    assert gold.isdisjoint(inspect.signature(Inquiry).parameters)
    assert gold <= set(inspect.signature(Question).parameters)
    assert not issubclass(GoldLabels, StepLabels)


@pytest.mark.parametrize(
    ("name", "steps", "questions"), [("locomo", 5882, 1982), ("sgd_interleaved", 9176, 572), ("ikat", 363, 154)]
)
def test_the_shared_sets_load(shared_data: Callable[[str], Path], name: str, steps: int, questions: int) -> None:
    loaded = load_questions(shared_data(f"memory_qa/{name}"))
    assert (loaded.steps, len(loaded.questions)) == (steps, questions)
    assert bool(loaded.gold) == (name == "sgd_interleaved")


CALL = {"name": "find_flight", "arguments": {"to": "Delos"}}


@pytest.mark.parametrize(
    ("row", "step"),
    [
        (
            {"role": "assistant", "content": 'Looking.\nfind_flight({"to": "Delos"})', "words": "Looking.",
             "tool_calls": [CALL], "parent": "z", "timestamp": "2025-05-15 08:00"},
            Step(id="a", role="assistant", content="Looking.", parent="z", timestamp="2025-05-15 08:00",
                 tool_calls=(ToolCall(name="find_flight", arguments={"to": "Delos"}),)),
        ),
        (
            {"role": "assistant", "content": 'find_flight({"to": "Delos"})', "words": "", "tool_calls": [CALL]},
            Step(id="a", role="assistant", content="",
                 tool_calls=(ToolCall(name="find_flight", arguments={"to": "Delos"}),)),
        ),
        (
            {"role": "assistant", "content": "Looking.",
             "tool_calls": [{"id": "c1", "function": {"name": "find_flight", "arguments": '{"to": "Delos"}'}}]},
            Step(id="a", role="assistant", content="Looking.",
                 tool_calls=(ToolCall(name="find_flight", arguments={"to": "Delos"}, id="c1"),)),
        ),
        (
            {"role": "tool", "content": "", "tool_name": "think"},
            Step(id="a", role="tool", content="", tool_name="think"),
        ),
        (
            {"role": "tool", "tool_results": [{"name": "find_flight", "content": "D1"}, {"output": "D2"}]},
            Step(id="a", role="tool", content="D1\nD2", tool_name="find_flight"),
        ),
        (
            {"role": "assistant", "content": "Looking.", "tool_calls": [CALL], "tool_results": ["D1"]},
            Step(id="a", role="assistant", content="Looking.\nD1",
                 tool_calls=(ToolCall(name="find_flight", arguments={"to": "Delos"}),)),
        ),
    ],
)  # fmt: skip
def test_calls_and_results_are_read_as_what_they_are(tmp_path: Path, row: dict[str, Any], step: Step) -> None:
    question = {**ASKED, "evidence": ["a"]}
    loaded = load_questions(
        folder(tmp_path, trajectories=[{"id": "t1", "steps": [{"id": "a", **row}]}], questions=[question])
    )
    assert loaded.trajectories[0].steps == (step,)
    assert loaded.questions[0].evidence == ("a",)
    assert loaded.notes == ()
