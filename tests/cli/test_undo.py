"""A reference that was read wrongly is listed and undone by command: it reads as the text has it from then on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stitch import Step, open_memory

STEPS = [
    Step(role="user", content="Let's plan day 1. One idea for breakfast is the Olympus Summit Dining Hall."),
    Step(role="user", content="How much is the first restaurant I raised for day 1's breakfast?"),
    Step(role="assistant", content="It is priced at around $76.22."),
]
WHERE = ("--memory", "m", "--trajectory", "trip-1")


PHRASE = "the first restaurant I raised for day 1's breakfast"
READ = {
    "1": (STEPS[1].content.index(PHRASE), PHRASE),
    "2": (0, "It"),
}
"""Where a model read the restaurant."""


@pytest.fixture
def memory() -> None:
    with open_memory("read") as read:
        read.add_many(STEPS, trajectory="trip-1")
        lines = [with_references(line) for line in read.lifecycle.export()]
    with open_memory("m") as opened:
        opened.lifecycle.import_lines(lines)


def with_references(line: str) -> str:
    record = json.loads(line)
    if (read := READ.get(record.get("step", {}).get("id", ""))) is not None:
        start, said = read
        what = {"replacement": "the Olympus Summit Dining Hall", "antecedent": "0", "confidence": 0.9}
        record["labels"] |= {"references": [{"start": start, "end": start + len(said), **what}], "made_by": "a model"}
    return json.dumps(record)


def references_of(run: Any, step: str) -> list[dict[str, Any]]:
    code, out, _ = run("show", *WHERE, "--json")
    assert code == 0
    (found,) = (each["references"] for each in json.loads(out)["trajectories"][0]["steps"] if each["step"] == step)
    return list(found)


@pytest.mark.usefixtures("memory")
def test_references_are_listed_with_span_antecedent_and_confidence_and_undone_by_number(run: Any) -> None:
    (reference,) = references_of(run, "1")
    said = STEPS[1].content[reference["start"] : reference["end"]]
    assert (reference["number"], reference["said"], reference["antecedent"]) == (1, said, "0")
    assert 0 < reference["confidence"] <= 1
    shown = run("show", *WHERE, "--steps")[1]
    assert f"1. {said!r} reads {reference['replacement']!r} ({reference['confidence']:.2f}, from step 0)" in shown
    code, out, _ = run("correct", "1", "--undo-reference", "1", "--by", "ann", *WHERE)
    assert (code, out) == (0, "step 1 of trip-1 is corrected; 1 earlier versions are kept\n")
    assert references_of(run, "1") == []
    code, _, err = run("correct", "1", "--undo-reference", "1", *WHERE)
    assert (code, "step '1' has no reference '1': it has 0" in err) == (2, True)


@pytest.mark.usefixtures("memory")
def test_all_references_of_a_step_are_undone_at_once(run: Any) -> None:
    assert references_of(run, "2")
    assert run("correct", "2", "--undo-reference", "all", *WHERE)[0] == 0
    assert (references_of(run, "2"), len(references_of(run, "1"))) == ([], 1)
    code, _, err = run("correct", "2", "--undo-reference", "all", *WHERE)
    assert (code, "no reference of step '2' is undone" in err) == (2, True)
