"""Constants of the search are fitted again by sets that are left out in turn."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path

import pytest
from click.testing import CliRunner

from stitch.bench.data.types import DataSet, Question
from stitch.bench.fit_ranking import Choice, choose, main, recalls, taken_in, values_of
from stitch.core import Step, Trajectory
from stitch.errors import InputError


def gossip(name: str, *, who: str) -> DataSet:
    """Many speak of somebody and the matter, one of the matter in other words: who it is tells that this is meant."""
    steps = [Step(id=f"{n}", role="Bob", content=f"{who} was at the picnic by lake {n}.") for n in range(14)]
    steps.insert(7, Step(id="own", role=who, content="At the lake there were sandwiches, cold tea and little else."))
    question = Question(
        id="q", trajectory="t", type="", text=f"What did {who} say of the picnic by the lake?", answer=None,
        evidence=("own",),
    )  # fmt: skip
    return DataSet(name, (Trajectory(id="t", steps=tuple(steps)),), (question,), digest="")


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    made = []
    for name, who in (("one", "Gina"), ("two", "Caroline")):
        data, folder = gossip(name, who=who), tmp_path / name
        folder.mkdir()
        steps = [step.model_dump(mode="json", exclude_defaults=True) for step in data.trajectories[0].steps]
        (folder / "trajectories.jsonl").write_text(json.dumps({"id": "t", "steps": steps}) + "\n")
        asked = {"id": "q", "trajectory": "t", "question": data.questions[0].text, "evidence": ["own"]}
        (folder / "questions.jsonl").write_text(json.dumps(asked) + "\n")
        made.append(folder)
    return made


def test_each_set_is_judged_by_the_value_that_the_others_chose() -> None:
    found = {
        "a": {0.1: 0.5, 0.0: 0.9, 0.2: 0.4},
        "b": {0.1: 0.5, 0.0: 0.2, 0.2: 0.6},
        "c": {0.1: 0.5, 0.0: 0.2, 0.2: 0.5},
    }
    assert choose(found, in_use=0.1) == [
        Choice("a", value=0.2, recall=0.4, in_use=0.5),
        Choice("b", value=0.0, recall=0.2, in_use=0.5),
        Choice("c", value=0.0, recall=0.2, in_use=0.5),
    ]


def test_of_equal_values_the_one_in_use_stays() -> None:
    assert choose({"a": {0.0: 0.5, 0.1: 0.5}, "b": {0.0: 0.5, 0.1: 0.5}}, in_use=0.1) == [
        Choice("a", 0.1, 0.5, 0.5),
        Choice("b", 0.1, 0.5, 0.5),
    ]


def test_a_weight_is_tried_at_nothing_and_a_number_of_steps_never() -> None:
    assert values_of("speaker") == [0.06, 0.0, 0.03, 0.12]
    assert values_of("own_step") == [2, 1, 4]


def test_what_a_constant_gives_is_found_by_searching_with_each_of_its_values() -> None:
    with ExitStack() as stack:
        sets = [gossip("one", who="Gina"), gossip("two", who="Caroline")]
        found = recalls([stack.enter_context(taken_in(data)) for data in sets], "speaker")
    assert found == {name: {0.06: 0.0, 0.0: 0.0, 0.03: 0.0, 0.12: 1.0} for name in ("one", "two")}


def test_the_command_prints_what_the_others_chose(folders: list[Path]) -> None:
    named = [part for folder in folders for part in ("--data", str(folder))]
    done = CliRunner().invoke(main, [*named, "--only", "speaker", "--json"])
    assert done.exit_code == 0, done.output
    row = json.loads(done.output)
    assert (row["constant"], row["in_use"], row["chosen_on"]) == ("speaker", 0.06, "LoCoMo")
    assert row["left_out"] == [
        {"left_out": name, "value": 0.12, "recall": 1.0, "in_use": 0.0} for name in ("one", "two")
    ]


def test_one_set_and_an_unknown_constant_are_refused(folders: list[Path]) -> None:
    one = CliRunner().invoke(main, ["--data", str(folders[0])])
    assert isinstance(one.exception, InputError)
    unknown = CliRunner().invoke(main, ["--only", "colour"])
    assert isinstance(unknown.exception, InputError)
    assert "speaker" in str(unknown.exception.hint)
