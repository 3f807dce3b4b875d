"""The generator: plans obey their constraints, words say the plan in two voices, files are those of the release."""

import hashlib
import json
import re
from collections import defaultdict
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from stitch.bench.data.came import load_came
from stitch.bench.generate import SIZES, GeneratedTrajectory, Size, VerificationError, generate, verify
from stitch.bench.generate.command import group
from stitch.bench.generate.environment import (
    WORDINGS,
    DebateWorld,
    TravelWorld,
    build_debate_world,
    build_travel_world,
)
from stitch.bench.generate.realization import RealizationRequest
from stitch.bench.generate.storyboard import KIND_OF_SLOT, Operation, plan_debate, plan_trip
from stitch.errors import InputError, SettingsError
from stitch.testing.model import LoopbackProvider, fields_of

WORLD, DEBATE_WORLD = build_travel_world(Random(1)), build_debate_world(Random(1), evidence=50)
TRIP, DEBATE = generate("travel", SIZES["S"], seed="made"), generate("debate", SIZES["S"], seed="made")
BOTH = pytest.mark.parametrize("made", [TRIP, DEBATE], ids=["travel", "debate"])


@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(0, 200))
def test_every_trip_obeys_the_constraints_and_decides_every_slot(seed: int, days: int, exchanges: int) -> None:
    board = plan_trip(WORLD, Random(seed), days=days, exchanges=exchanges)
    known: dict[tuple[int, str], set[str]] = defaultdict(set)
    day = 0
    for op in board.operations:
        if op.role == "user":
            assert (op.action == "SET_DAY") == (op.day != day)
            day = op.day
            if op.action == "PROPOSE":
                assert op.objects[0] not in known[day, op.slot]
                known[day, op.slot].update(op.objects)
            assert set(op.objects) <= known[day, op.slot]
            assert op.action != "COMPARE" or len(set(op.objects)) == 2
    assert all(
        board.objects("DECIDE", day=planned, slot=slot) for planned in range(1, days + 1) for slot in KIND_OF_SLOT
    )


@given(st.integers(0, 10_000), st.integers(12, 120), st.integers(0, 20))
def test_every_debate_obeys_the_constraints_and_has_the_length_wanted(seed: int, turns: int, citations: int) -> None:
    board = plan_debate(DEBATE_WORLD, Random(seed), turns=turns, citations=citations)
    assert len(board.operations) == turns
    done: dict[str, set[str]] = defaultdict(set)
    for op in board.operations:
        if op.action in ("attack", "defend", "concede"):
            assert "propose" in done[op.target]
            assert "concede" not in done[op.target]
            assert op.action != "concede" or {"attack", "defend"} <= done[op.target]
        done[op.target].add(op.action)
    assert [op.action for op in board.operations[-2:]] == ["summarize"] * 2


@BOTH
def test_answers_follow_from_the_plan(made: GeneratedTrajectory) -> None:
    texts = {turn.id: turn.text for turn in made.turns}
    board = made.storyboard
    assert len({question.id for question in made.questions}) == len(made.questions)
    for question in made.questions:
        assert question.items
        assert set(question.turns) <= texts.keys()
        if found := re.fullmatch(r"Q2-([A-Z]+)-Day(\d)", question.id):
            assert question.answer == board.objects("DECIDE", day=int(found[2]), slot=found[1].lower())[-1]
        elif found := re.fullmatch(r"Q3-([PR])-(.+)", question.id):
            assert isinstance(made.world, TravelWorld)
            place = made.world.place(found[2])
            assert question.answer == (place.price if found[1] == "P" else place.rating)
            assert any(question.answer in texts[turn] for turn in question.turns)
        elif isinstance(made.world, DebateWorld) and question.type != "type_1":
            citations = [evidence.citation for evidence in made.world.evidence.values()]
            assert {name for turn in question.turns for name in citations if name in texts[turn]} == set(question.items)
    assert TRIP.statistics()["questions_by_type"] == {"type_1": 15, "type_2": 15, "type_3": 10, "type_4": 2}


@pytest.mark.parametrize(("wording", "digest"), [("plain", "2119aa2ae1bae1f7"), ("chat", "d66a3f2d2ec9409f")])
def test_a_seed_gives_the_same_text_as_ever(wording: str, digest: str) -> None:
    said = hashlib.sha256()
    for domain in ("travel", "debate"):
        made = generate(domain, Size(4_000, 2, 12, 3), seed="golden", wording=WORDINGS[wording])
        for part in (*made.turns, *made.questions):
            said.update(json.dumps(part).encode())
    assert said.hexdigest()[:16] == digest


def damaged(made: GeneratedTrajectory, role: str, action: str, changes: Any) -> GeneratedTrajectory:
    """The trajectory with the first turn of an operation changed."""
    turns = list(made.turns)
    for place, turn in enumerate(turns):
        op = made.storyboard.operations[turn.operation]
        if (op.role, op.action) == (role, action):
            turns[place] = turn._replace(**changes)
            return made._replace(turns=tuple(turns))
    raise AssertionError("nothing to damage")


@pytest.mark.parametrize(
    ("made", "role", "action", "changes", "complaint"),
    [
        (TRIP, "user", "DECIDE", {"text": "Let's settle on it."}, "lacks"),
        (TRIP, "user", "DECIDE", {"role": "travel_agent"}, "by its role"),
        (DEBATE, "pro-side-debater", "defend", {"text": "I stand by it."}, "lacks"),
    ],
)
def test_damage_is_found(made: GeneratedTrajectory, role: str, action: str, changes: Any, complaint: str) -> None:
    verify(made)
    with pytest.raises(VerificationError, match=complaint):
        verify(damaged(made, role, action, changes))


@pytest.mark.parametrize("domain", ["travel", "debate"])
def test_what_a_writer_gets_wrong_twice_is_said_by_the_templates(domain: str) -> None:
    calls: list[Operation] = []

    def write(request: RealizationRequest) -> str:
        calls.append(request.operation)
        return "I would rather talk about the weather."

    made = generate(domain, Size(tokens=3_000, days=1, evidence=10, citations=2), seed="writer", write=write)
    verify(made)
    said = made.by_operation()
    for index, op in enumerate(made.storyboard.operations):
        if op.action.lower() == "propose" and op.role != "travel_agent":
            assert calls.count(op) == 2
            assert not any("weather" in turn.text for turn in said[index])


def run(*arguments: object) -> Result:
    return CliRunner().invoke(group, list(map(str, arguments)))


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("domain", ["travel", "debate"])
def test_the_layout_and_the_fields_are_those_of_the_release(domain: str, tmp_path: Path) -> None:
    arguments = ("came", "--domain", domain, "--seed", "4", "--trajectories", "2", "--wording", "chat", "--json")
    report = json.loads(run(*arguments, "--out", tmp_path / "out").output)
    told = run("came", "--domain", domain, "--out", tmp_path / "told").output
    assert all(each in told for each in ("one trajectory", "turns", "tokens", "questions"))
    turns, questions = (lines(tmp_path / "out" / "traj-1" / f"{name}.jsonl") for name in ("turns", "questions"))
    for turn in turns:
        assert set(turn) == {"id", "role", "content", "partition", "action", "action_object"}
    stamps = [turn["content"].rpartition(" ----TIMESTAMP: ")[2] for turn in turns]
    assert stamps == sorted(stamps)
    for question in questions:
        assert set(question) == {
            "id", "type", "content", "answer", "question_turn_ids", "answer_turn_ids", "answer_type",
        }  # fmt: skip
        assert question["question_turn_ids"] == [turn["id"] for turn in turns]
    assert report["wording"] == "chat"
    assert report["questions"] == sum(report["questions_by_type"].values())
    assert load_came(tmp_path / "out").questions
    run(*arguments, "--out", tmp_path / "again")
    for path in (tmp_path / "out").rglob("*.jsonl"):
        assert path.read_bytes() == (tmp_path / "again" / path.relative_to(tmp_path / "out")).read_bytes()
    refused = run(*arguments, "--out", tmp_path / "out")
    assert isinstance(refused.exception, InputError)
    assert "already holds a benchmark" in str(refused.exception)


def write(system: str, user: str) -> Any:
    """Writes what has to be said; of debates, nothing that can be used."""
    fields = fields_of(user)
    return {"text": ""} if "debater" in fields["speaker"] else {"text": f"{fields['plan']}: {fields['must_say']}."}


@pytest.mark.parametrize(("domain", "written"), [("travel", True), ("debate", False)])
def test_a_model_writes_when_asked_to(domain: str, written: bool, tmp_path: Path, monkeypatch: Any) -> None:
    arguments = ("came", "--domain", domain, "--model", "--json", "--out", tmp_path / "made")
    monkeypatch.delenv("STITCH_MODEL", raising=False)
    assert isinstance(run(*arguments).exception, SettingsError)
    assert isinstance(run(*arguments, "--wording", "chat").exception, SettingsError)
    with LoopbackProvider(write) as provider:
        for name, value in {"MODEL": "openai/m", "BASE_URL": provider.base_url, "MODEL_KEY": "k"}.items():
            monkeypatch.setenv(f"STITCH_{name}", value)
        report = json.loads(run(*arguments).stdout)
    assert report["model"] == "openai/m"
    assert report["model_calls"] >= sum(figures["operations"] for figures in report["per_trajectory"])
    assert bool(report["written_by_model"]) is written
