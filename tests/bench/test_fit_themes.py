"""Constants of the lens of themes are fitted again by sets that are left out in turn."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from stitch.bench.data.types import DataSet, Question
from stitch.bench.fit_ranking import climb
from stitch.bench.fit_themes import FITTED, LEAST_GAIN, fitted, main, recalls, themed, values_of
from stitch.core import Step, Trajectory
from stitch.errors import InputError
from stitch.retrieve.themes import THEME_CONSTANTS, ThemeConstants


def bought(name: str, *, what: str) -> DataSet:
    """Some steps say what was bought, each among other things, in so much other talk that few tokens do not hold it."""
    steps = [
        Step(
            id=f"{n}", role="Bob", content=f"Lake {n} was calm and cold. The boats of pier {n} lay idle all week long."
        )
        for n in range(40)
    ]
    for n, thing in enumerate(("lamps", "plates", "candles")):
        steps.insert(
            10 * n, Step(id=f"own{n}", role="Ann", content=f"I bought {what} {thing} for the party. It rained all day.")
        )
    question = Question(
        id="q", trajectory="t", type="", text=f"Which {what} things did Ann buy for the party?", answer=None,
        evidence=("own0", "own1", "own2"),
    )  # fmt: skip
    return DataSet(name, (Trajectory(id="t", steps=tuple(steps)),), (question,), digest="d" * 16)


def test_a_share_stays_a_share_and_a_number_stays_one() -> None:
    assert values_of("step_share") == [0.75, 0.0, 0.375, 0.875]
    assert values_of("whole_tokens") == [20, 10, 40]
    assert values_of("half_lexical") == [10.0, 5.0, 20.0]


def test_what_a_constant_gives_is_found_by_answering_with_each_of_its_values() -> None:
    with ExitStack() as stack:
        sets = [stack.enter_context(themed(bought(name, what=name))) for name in ("red", "blue")]
        found = recalls(sets, "repeat")
        assert set(found) == {"red", "blue"}
        assert all(0.0 < recall <= 1.0 for values in found.values() for recall in values.values())
        assert len(found["red"]) == len(values_of("repeat"))


def test_steps_are_taken_to_what_is_best_and_what_is_hardly_better_stays() -> None:
    def goodness(table: ThemeConstants) -> float:
        return -abs(table.repeat - 0.6) + 0.0001 * table.rest

    found = climb(THEME_CONSTANTS, ["repeat", "rest"], goodness, rounds=2, values=values_of, least_gain=LEAST_GAIN)
    assert found == replace(THEME_CONSTANTS, repeat=0.6)


def test_each_set_is_left_out_once() -> None:
    with ExitStack() as stack:
        sets = [stack.enter_context(themed(bought(name, what=name))) for name in ("red", "blue")]
        assert [name for name, _ in fitted(sets, ["rest"], rounds=1)] == ["", "red", "blue"]


def test_a_set_without_evidence_is_refused() -> None:
    data = bought("red", what="red")
    nothing = replace(data.questions[0], evidence=())
    with pytest.raises(InputError, match="evidence"), themed(replace(data, questions=(nothing,))):
        pass


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    made = []
    for name in ("red", "blue"):
        data, folder = bought(name, what=name), tmp_path / name
        folder.mkdir()
        steps = [step.model_dump(mode="json", exclude_defaults=True) for step in data.trajectories[0].steps]
        (folder / "trajectories.jsonl").write_text(json.dumps({"id": "t", "steps": steps}) + "\n")
        asked = {"id": "q", "trajectory": "t", "question": data.questions[0].text, "evidence": ["own0", "own1"]}
        (folder / "questions.jsonl").write_text(json.dumps(asked) + "\n")
        made.append(folder)
    return made


def test_the_command_prints_what_the_others_chose(folders: list[Path], tmp_path: Path) -> None:
    named = [part for folder in folders for part in ("--data", str(folder))]
    kept = ["--kept", str(tmp_path / "kept")]
    done = CliRunner().invoke(main, [*named, *kept, "--only", "repeat", "--json"], catch_exceptions=False)
    row = json.loads(done.stdout)
    assert row["constant"] == "repeat"
    assert {each["left_out"] for each in row["left_out"]} == {"red", "blue"}
    again = CliRunner().invoke(main, [*named, *kept, "--only", "repeat"], catch_exceptions=False)
    assert again.stdout.startswith("repeat = 0.3, chosen on ")
    table = CliRunner().invoke(main, [*named, *kept, "--only", "rest", "--rounds", "1"], catch_exceptions=False)
    assert "| red | " in table.stdout
    rows = CliRunner().invoke(
        main, [*named, *kept, "--only", "rest", "--rounds", "1", "--json"], catch_exceptions=False
    )
    assert {"name", "in_use", "left_out", "shipped"} == set(json.loads(rows.stdout.splitlines()[-1]))


def test_a_constant_that_is_none_and_a_single_set_are_refused(folders: list[Path]) -> None:
    one = ["--data", str(folders[0])]
    assert isinstance(CliRunner().invoke(main, [*one, "--only", "nothing"]).exception, InputError)
    assert isinstance(CliRunner().invoke(main, one).exception, InputError)
    assert "repeat" in FITTED
