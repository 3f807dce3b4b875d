"""Loading data sets in the generic format, and everything that can be wrong with them."""

import gzip
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from doubles.golden import compare_answers
from stitch.bench.data.sets import digest_of, load_labels, load_questions, read_json, read_records, required
from stitch.bench.data.types import GoldLabels, Inquiry, Question
from stitch.core import Step, StepLabels, Trajectory
from stitch.errors import InputError
from stitch.memory import Memory

SETS = Path(__file__).parent / "sets"
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


def test_what_is_wrong_with_a_set_is_said_before_any_work(tmp_path: Path) -> None:
    def refusal(line: str) -> list[str]:
        folder(tmp_path, **json.loads(line))
        with pytest.raises(InputError) as raised:
            load_questions(tmp_path)
        said = raised.value.message.replace(str(tmp_path), "SET")
        return [said.partition(" is no JSON: ")[0] + " is no JSON" if " is no JSON: " in said else said]

    compare_answers(SETS / "wrong.txt", refusal)


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
    gold = {"labels", "evidence", "answer", "type"}
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


def test_calls_and_results_are_read_as_what_they_are(tmp_path: Path) -> None:
    def read(line: str) -> list[str]:
        trajectory = {"id": "t1", "steps": [{"id": "a", **json.loads(line)}]}
        loaded = load_questions(folder(tmp_path, trajectories=[trajectory], questions=[{**ASKED, "evidence": ["a"]}]))
        assert (loaded.questions[0].evidence, loaded.notes) == (("a",), ())
        return [step.model_dump_json(exclude_defaults=True) for step in loaded.trajectories[0].steps]

    compare_answers(SETS / "calls.txt", read)
