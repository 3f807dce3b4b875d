"""Steps are asked for by their own words, and nothing that these words license may hide them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from doubles.sets import write_set
from stitch.bench.known_items import command, draw, is_found
from stitch.bench.memories import default_opener
from stitch.core import Step, Trajectory

PLACES = ("Lisbon", "Oslo", "Graz", "Turin")
PARTS = st.sampled_from(
    ["hotel 7", "hotel 8", "in Lisbon", "in Oslo", "we chose", "for day 1", "back to", "the price is $90", "instead",
     "on 4 May", "is it open?", "my sister", "please book", "at 9:30", "I prefer", "that one", "in the end", "nothing"]
)  # fmt: skip


def trajectory(name: str, texts: list[str]) -> Trajectory:
    steps = tuple(Step(role=("user", "assistant")[n % 2], content=text, id=str(n)) for n, text in enumerate(texts))
    return Trajectory(id=name, steps=steps)


def test_steps_that_begin_alike_or_say_too_little_are_not_asked_for() -> None:
    told = trajectory(
        "a", ["one two three four five", "so it is", "one two three four five", "six seven eight nine ten"]
    )
    used, asked = draw([told])
    assert used == [told]
    assert [(known.step, known.words) for known in asked] == [("3", ("six", "seven", "eight", "nine", "ten"))]


def test_of_a_step_three_of_five_words_are_asked_for_but_five_at_least_and_signs_are_none() -> None:
    told = trajectory("a", ["one , two . three four five !", " ".join(f"word{n}" for n in range(20))])
    asked = {known.step: known for known in draw([told])[1]}
    assert asked["0"].some == asked["0"].words == ("one", "two", "three", "four", "five")
    assert len(asked["1"].some) == 12
    assert list(asked["1"].some) == [word for word in asked["1"].words if word in asked["1"].some]


@given(texts=st.lists(st.lists(PARTS, min_size=3, max_size=6).map(" ".join), min_size=12, max_size=40, unique=True))
@settings(max_examples=settings().max_examples // 3)
def test_any_step_of_a_memory_is_among_the_first_ten_for_its_own_words(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    told = trajectory("a", texts)
    folder = tmp_path_factory.mktemp("known")
    with default_opener("local")(folder) as memory:
        memory.add_many(told.steps, trajectory=told.id)
        _, asked = draw([told])
        assert [known for known in asked if not is_found(memory, known, known.words)] == []


def test_the_command_tells_of_a_set_how_many_are_found(tmp_path: Path) -> None:
    steps = [{"id": str(n), "role": "user", "content": f"hotel {n} in {PLACES[n % 4]} is full"} for n in range(40)]
    folder = tmp_path / "inns"
    write_set(folder, {"t": steps}, [{"id": "q", "trajectory": "t", "question": "Which hotel?", "evidence": ["0"]}])
    made = CliRunner().invoke(command, ["--data", str(folder), "--json"])
    assert made.exit_code == 0, made.output
    found = json.loads(made.stdout)
    assert (found["set"], found["asked"], found["own_words"]) == ("inns", 40, 1.0)
    assert 0.0 < found["some_words"] <= 1.0
    told = CliRunner().invoke(command, ["--data", str(folder)])
    assert told.exit_code == 0, told.output
    (row,) = (line for line in told.stdout.splitlines() if "inns" in line)
    assert "40" in row
