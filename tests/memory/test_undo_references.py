"""How a reference was read can be undone: the step is found by its own words then, and what it was is history."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from stitch import Memory, Step, open_memory
from stitch.core import ReferenceRewrite, StepLabels, annotate_rewrites
from stitch.errors import InputError

TRIP = [
    Step(id="a", role="user", content="Let's plan day 1. One idea for breakfast is the Olympus Summit Dining Hall."),
    Step(id="b", role="user", content="Is it good? Then tell me whether the place is open early."),
    Step(id="c", role="assistant", content="It is priced at around $76.22."),
]


READ = (
    ReferenceRewrite(start=3, end=5, replacement="the Olympus Summit Dining Hall", antecedent="a"),
    ReferenceRewrite(start=34, end=43, replacement="the Olympus Summit Dining Hall", antecedent="a"),
)
"""How a model read step b."""


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "read") as read:
        read.add_many(TRIP, trajectory="trip")
        lines = [with_references(line) for line in read.lifecycle.export()]
    with open_memory(tmp_path / "m", tenant="bob") as other:
        other.lifecycle.import_lines(lines)
    with open_memory(tmp_path / "m") as opened:
        opened.lifecycle.import_lines(lines)
        yield opened


def with_references(line: str) -> str:
    record = json.loads(line)
    if record.get("step", {}).get("id") == "b":
        record["labels"]["references"] = [each.model_dump(mode="json") for each in READ]
        record["labels"]["made_by"] = "a model"
    return json.dumps(record)


def labels_of(memory: Memory, step: str) -> StepLabels:
    (labels,) = (entry.labels for entry in memory.steps("trip") if entry.id == step)
    assert labels is not None
    return labels


def resolved(memory: Memory, step: str) -> str:
    return next(hit.snippet.resolved for hit in memory.search("Olympus", k=9).hits if hit.snippet.step == step)


def test_one_call_undoes_all_references_of_a_step(memory: Memory, tmp_path: Path) -> None:
    before = labels_of(memory, "b")
    assert resolved(memory, "b") == annotate_rewrites(TRIP[1].content, before.references) != TRIP[1].content
    similar = {hit.snippet.step: hit.similarity for hit in memory.search("Olympus Summit Dining Hall", k=9).hits}
    memory.lifecycle.correct("b", trajectory="trip", references=(), by="ann")
    assert resolved(memory, "b") == TRIP[1].content
    after = {hit.snippet.step: hit.similarity for hit in memory.search("Olympus Summit Dining Hall", k=9).hits}
    assert after["b"] < similar["b"], "the vector and the words are those of the text"
    now = labels_of(memory, "b")
    assert now == before.model_copy(update={"references": (), "made_by": "ann"}), "all else stays, trust with it"
    (revision,) = memory.lifecycle.history("b", trajectory="trip")
    assert (revision.by, revision.labels) == ("ann", before)
    assert list(memory.lifecycle.corrections()) == [], "no label was put right"
    assert memory.lifecycle.verify() == (3, 3, ())
    memory.lifecycle.relabel()
    assert labels_of(memory, "b") == now, "what a person undid stays undone"
    memory.close()
    with open_memory(tmp_path / "m", tenant="bob") as other:
        assert labels_of(other, "b") == before
        assert other.lifecycle.history("b", trajectory="trip") == []


def test_one_reference_is_undone_and_the_others_stay(memory: Memory) -> None:
    first, second = labels_of(memory, "b").references
    memory.lifecycle.correct("b", trajectory="trip", references=[second])
    assert labels_of(memory, "b").references == (second,)
    assert resolved(memory, "b") == annotate_rewrites(TRIP[1].content, (second,))
    assert first.replacement not in resolved(memory, "b")[: first.end]


def test_undoing_nothing_is_told(memory: Memory) -> None:
    with pytest.raises(InputError, match="no reference of step 'a' is undone"):
        memory.lifecycle.correct("a", trajectory="trip", references=())
    with pytest.raises(InputError, match="no reference of step 'b' is undone"):
        memory.lifecycle.correct("b", trajectory="trip", references=labels_of(memory, "b").references)
    assert memory.lifecycle.history("b", trajectory="trip") == []
