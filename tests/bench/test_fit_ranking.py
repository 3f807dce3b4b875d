"""Constants of the search are fitted again by sets that are left out in turn."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import fields, replace
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from stitch.bench.data.types import DataSet, Question
from stitch.bench.fit_ranking import LEAST_GAIN, Choice, choose, climb, main, recalls, values_of
from stitch.bench.searched import held, taken_in
from stitch.bench.weighed import WEIGHTS, weighed
from stitch.core import Step, Trajectory
from stitch.errors import InputError
from stitch.retrieve.constants import CONSTANTS, Constants


def gossip(name: str, *, who: str) -> DataSet:
    """Many speak of somebody and the matter, one of the matter in other words: who it is tells that this is meant."""
    steps = [Step(id=f"{n}", role="Bob", content=f"{who} was at the picnic by lake {n}.") for n in range(14)]
    steps.insert(7, Step(id="own", role=who, content="There were sandwiches, cold tea and little else."))
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
    assert values_of("speaker") == [0.15, 0.0, 0.075, 0.3]
    assert values_of("own_step") == [2, 1, 4]


def test_what_a_constant_gives_is_found_by_searching_with_each_of_its_values() -> None:
    with ExitStack() as stack:
        sets = [gossip("one", who="Gina"), gossip("two", who="Caroline")]
        found = recalls([stack.enter_context(taken_in(data)) for data in sets], "speaker")
    assert found == {name: {0.15: 0.0, 0.0: 0.0, 0.075: 0.0, 0.3: 1.0} for name in ("one", "two")}


def test_the_command_prints_what_the_others_chose(folders: list[Path]) -> None:
    named = [part for folder in folders for part in ("--data", str(folder))]
    done = CliRunner().invoke(main, [*named, "--only", "speaker", "--json"])
    assert done.exit_code == 0, done.output
    row = json.loads(done.output)
    assert (row["constant"], row["in_use"], row["chosen_on"]) == (
        "speaker",
        CONSTANTS.speaker,
        "LoCoMo, REALTALK, QMSum",
    )
    assert row["left_out"] == [
        {"left_out": name, "value": 0.3, "recall": 1.0, "in_use": 0.0} for name in ("one", "two")
    ]


def test_one_set_and_an_unknown_constant_are_refused(folders: list[Path]) -> None:
    one = CliRunner().invoke(main, ["--data", str(folders[0])])
    assert isinstance(one.exception, InputError)
    unknown = CliRunner().invoke(main, ["--only", "colour"])
    assert isinstance(unknown.exception, InputError)
    assert "speaker" in str(unknown.exception.hint)


def test_steps_are_taken_along_several_constants_while_they_gain_more_than_chance() -> None:
    time = float(f"{CONSTANTS.time * 4 / 3:.3g}")

    def goodness(table: Constants) -> float:
        return -abs(table.speaker - 0.2) - abs(table.time - time) - 0.0001 * table.order

    step = partial(climb, CONSTANTS, values=partial(values_of, finely=True), least_gain=LEAST_GAIN)
    best = replace(CONSTANTS, speaker=0.2, time=time)
    assert step(["speaker", "time", "order"], goodness, rounds=3) == best
    assert step(["speaker", "time"], goodness, rounds=0) == CONSTANTS


def test_what_a_question_found_is_found_again_by_any_table() -> None:
    tables = [replace(CONSTANTS, speaker=value) for value in (0.15, 0.3, 0.15, 0.0)]
    with taken_in(gossip("one", who="Gina")) as kept:
        found = [kept.found(table) for table in tables]
    for table, expected in zip(tables, found, strict=True):
        with taken_in(gossip("one", who="Gina")) as fresh:
            assert fresh.found(table) == expected
    assert found[0] == found[2] != found[1]


def test_each_set_is_told_with_the_weights_that_the_others_chose_beginning_with_none(folders: list[Path]) -> None:
    named = [part for folder in folders for part in ("--data", str(folder))]
    kept = ["--kept", str(folders[0] / "kept")]
    done = CliRunner().invoke(main, [*named, *kept, "--only", "speaker", "--only", "time", "--rounds", "2", "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["all_choose"] == {"speaker": 0.2, "time": 0.0}  # nobody asks when: the weight stays off
    one, two = told["left_out"]
    assert (one["set"], one["questions"]) == ("one", 1)
    assert (one["left_out"], one["shipped"], one["all_choose"]) == (1.0, 0.0, 1.0)
    assert one["chosen"] == two["chosen"] == {"speaker": 0.2, "time": 0.0}
    assert (one["over_left_out"]["difference"], one["missed"]) == (-1.0, {})
    again = CliRunner().invoke(main, [*named, *kept, "--only", "speaker", "--rounds", "0", "--json"])
    assert json.loads(again.stdout)["left_out"][0]["left_out"] == 0.0


def test_a_constant_that_is_no_weight_is_not_chosen_so(folders: list[Path]) -> None:
    named = [part for folder in folders for part in ("--data", str(folder))]
    done = CliRunner().invoke(main, [*named, "--only", "own_step", "--rounds", "1"])
    assert isinstance(done.exception, InputError)
    assert set(WEIGHTS) <= {each.name for each in fields(Constants)}


@pytest.mark.parametrize("changed", [{}, {"speaker": 0.3}, {"speaker": 0.0, "hinted_nearness": 0.0, "time": 1.0}])
def test_an_order_by_other_weights_is_that_of_a_search_with_them(changed: dict[str, float]) -> None:
    data, table = gossip("one", who="Gina"), replace(CONSTANTS, **changed)  # type: ignore[arg-type]
    with held(data) as ingestor:
        [question] = weighed(data, ingestor).questions
        assert question.weights >= {"speaker", "hinted_nearness"}
    with taken_in(data) as searched:
        assert [question.first(table)] == searched.found(table)
