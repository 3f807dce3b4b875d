"""`stitch generate came` writes the release's layout, deterministically, and says what it wrote."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from stitch.bench.data.came import load_came
from stitch.bench.generate.command import group
from stitch.bench.generate.statistics import EXAMPLE
from stitch.errors import InputError, SettingsError
from stitch.retrieve.context.budget import PieceCounter
from stitch.testing.model import LoopbackProvider, fields_of

DATA = Path(os.environ.get("STITCH_TEST_DATA", Path(__file__).parents[2] / ".." / "shared" / "data"))


def run(*arguments: str) -> Result:
    return CliRunner().invoke(group, ["came", *arguments], catch_exceptions=True)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("domain", ["travel", "debate"])
def test_the_layout_and_the_fields_are_those_of_the_release(domain: str, tmp_path: Path) -> None:
    result = run("--domain", domain, "--seed", "4", "--trajectories", "2", "--out", str(tmp_path / "out"), "--json")
    assert result.exit_code == 0, result.output
    report = json.loads(result.output)
    folder = tmp_path / "out"
    task = {"travel": "travel_planning", "debate": "debate"}[domain]
    assert json.loads((folder / "benchmark_meta.json").read_text()) == [
        {"id": "traj-0", "task": task}, {"id": "traj-1", "task": task},
    ]  # fmt: skip
    turns, questions = lines(folder / "traj-1" / "turns.jsonl"), lines(folder / "traj-1" / "questions.jsonl")
    name = turns[0]["id"].rpartition("-turn-")[0]
    assert name.startswith({"travel": "trip-", "debate": "topic-"}[domain])
    assert [turn["id"] for turn in turns] == [f"{name}-turn-{number}" for number in range(1, len(turns) + 1)]
    for turn in turns:
        assert set(turn) == {"id", "role", "content", "partition", "action", "action_object"}
        assert turn["partition"][0] == name
        assert len(turn["partition"]) == {"travel": 2, "debate": 1}[domain]
    stamps = [turn["content"].rpartition(" ----TIMESTAMP: ")[2] for turn in turns]
    assert stamps == sorted(stamps)
    assert all(len(stamp) == len("2025-05-15T08:00") for stamp in stamps)
    for question in questions:
        assert set(question) == {
            "id", "type", "content", "answer", "question_turn_ids", "answer_turn_ids", "answer_type",
        }  # fmt: skip
        assert question["question_turn_ids"] == [turn["id"] for turn in turns]
        assert set(question["answer_turn_ids"]) <= set(question["question_turn_ids"])
        answer = question["answer"]["free_form_answer"]
        assert (domain == "debate") == (answer.startswith('["') and len(json.loads(answer)) == 1)
    assert len({question["id"] for question in questions}) == len(questions)
    assert report["turns"] == len(turns) + len(lines(folder / "traj-0" / "turns.jsonl"))
    assert report["questions"] == sum(report["questions_by_type"].values())
    assert 40_000 < report["tokens"] < 52_000
    assert 0 < report["implicit_reference_share"] < 1


def test_the_fields_equal_those_of_the_published_example(tmp_path: Path) -> None:
    example = DATA / "came" / "example" / "travel_plan_example"
    if not example.is_dir():
        pytest.skip("the published example is not here; set STITCH_TEST_DATA")
    run("--domain", "travel", "--out", str(tmp_path))
    for published, made in (
        ("travel_planning_turns.jsonl", "turns.jsonl"),
        ("travel_planning_questions.jsonl", "questions.jsonl"),
    ):
        theirs, ours = lines(example / published), lines(tmp_path / "traj-0" / made)
        assert set(ours[0]) == set(theirs[0])
        assert {type(value) for value in ours[0].values()} == {type(value) for value in theirs[0].values()}
    ours = lines(tmp_path / "traj-0" / "turns.jsonl")
    theirs = lines(example / "travel_planning_turns.jsonl")
    assert {(turn["role"], turn["action"]) for turn in ours} == {(turn["role"], turn["action"]) for turn in theirs}


@pytest.mark.parametrize(
    ("domain", "file"),
    [
        ("travel", "travel_plan_example/travel_planning_turns.jsonl"),
        ("debate", "debate_example/debate_turns.jsonl"),
    ],
)
def test_the_figures_of_the_example_are_those_of_its_files(domain: str, file: str) -> None:
    path = DATA / "came" / "example" / file
    if not path.is_file():
        pytest.skip("the published example is not here; set STITCH_TEST_DATA")
    tokens = [PieceCounter().count(turn["content"]) for turn in lines(path)]
    said = EXAMPLE[domain]
    assert (said["turns"], said["tokens"], said["longest_turn_tokens"]) == (len(tokens), sum(tokens), max(tokens))
    assert said["tokens_per_turn"] == round(sum(tokens) / len(tokens), 1)


def test_no_sentence_of_the_published_example_is_repeated(tmp_path: Path) -> None:
    if not (DATA / "came" / "example").is_dir():
        pytest.skip("the published example is not here; set STITCH_TEST_DATA")
    published = "\n".join(
        path.read_text(encoding="utf-8") for path in (DATA / "came" / "example").rglob("*_turns.jsonl")
    )
    for domain in ("travel", "debate"):
        run("--domain", domain, "--size", "M", "--out", str(tmp_path / domain))
        for turn in lines(tmp_path / domain / "traj-0" / "turns.jsonl"):
            text = turn["content"].rpartition(" ----TIMESTAMP")[0]
            assert not any(sentence in published for sentence in text.split(". ") if len(sentence.split()) > 5)


def test_the_same_seed_gives_the_same_files_and_another_seed_others(tmp_path: Path) -> None:
    for seed, name in (("1", "a"), ("1", "b"), ("2", "c")):
        run("--domain", "travel", "--seed", seed, "--out", str(tmp_path / name))
    first, second, third = (
        {path.name: path.read_bytes() for path in sorted((tmp_path / name).rglob("*")) if path.is_file()}
        for name in "abc"
    )
    assert first == second
    assert first["turns.jsonl"] != third["turns.jsonl"]


def test_the_table_sets_the_example_beside_it(tmp_path: Path) -> None:
    one = run("--domain", "travel", "--out", str(tmp_path / "one")).output
    assert "one trajectory" in one
    assert "authors' example" in one
    assert "186" in one
    assert "0.905" in one
    assert "2 trajectories" in run("--domain", "debate", "--trajectories", "2", "--out", str(tmp_path / "two")).output


def test_a_folder_that_holds_a_benchmark_is_left_alone(tmp_path: Path) -> None:
    run("--domain", "travel", "--out", str(tmp_path))
    before = (tmp_path / "traj-0" / "turns.jsonl").read_bytes()
    result = run("--domain", "travel", "--seed", "9", "--out", str(tmp_path))
    assert isinstance(result.exception, InputError)
    assert "already holds a benchmark" in str(result.exception)
    assert result.exception.hint
    assert (tmp_path / "traj-0" / "turns.jsonl").read_bytes() == before


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = run("--domain", "travel", "--out", str(tmp_path / "file" / "out"))
    assert isinstance(result.exception, InputError)
    assert "cannot write" in str(result.exception)


def test_help_ends_with_an_example() -> None:
    assert "stitch generate came --domain travel" in run("--help").output


def write(system: str, user: str) -> Any:
    """Writes what has to be said; of debates, nothing that can be used."""
    del system
    fields = fields_of(user)
    return {"text": ""} if "debater" in fields["speaker"] else {"text": f"{fields['plan']}: {fields['must_say']}."}


@pytest.mark.parametrize(("domain", "written"), [("travel", True), ("debate", False)])
def test_a_model_writes_when_asked_to(
    domain: str, written: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["came", "--domain", domain, "--size", "S", "--model", "--json", "--out", str(tmp_path / "made")]
    monkeypatch.delenv("STITCH_MODEL", raising=False)
    assert isinstance(CliRunner().invoke(group, arguments).exception, SettingsError)
    with LoopbackProvider(write) as provider:
        for name, value in {"MODEL": "openai/m", "BASE_URL": provider.base_url, "MODEL_KEY": "k"}.items():
            monkeypatch.setenv(f"STITCH_{name}", value)
        result = CliRunner().invoke(group, arguments, catch_exceptions=False)
    report = json.loads(result.stdout)
    operations = sum(figures["operations"] for figures in report["per_trajectory"])
    assert report["model"] == "openai/m"
    assert report["model_calls"] >= operations
    assert bool(report["written_by_model"]) is written
    assert load_came(tmp_path / "made").questions
