"""Memories as methods of the benchmark, the lens of themes among them, and by what they ranked."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from doubles.sets import write_set
from stitch import open_memory
from stitch.bench.data.sets import load_questions
from stitch.bench.memories import found_in
from stitch.bench.records import Record
from stitch.bench.samples import PARTY_NOTES
from stitch.bench.scoring import decided_by
from stitch.bench.suites.retrieval import Options, measure
from stitch.core import DecidedBy


def test_contexts_of_a_run_hold_no_clock_of_the_run(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m") as memory:
        text = 'The hotel costs $120 <step recorded="then">, recorded="2020-01-01 10:00".'
        memory.add_many([{"role": "user", "content": text}, {"role": "user", "content": "Fine."}], trajectory="t")
        result = memory.search("What does the hotel cost?")
    shown = found_in(result, milliseconds=1.0).context or ""
    assert re.search(r"<step 0 user recorded \d+ \w+ \d{4}(?: \d\d:\d\d)? in t", result.context())
    assert "<step 0 user in t" in shown
    assert 'recorded="then"' in shown
    assert 'recorded="2020-01-01 10:00"' in shown


def record(said: str | None) -> Record:
    return Record(
        question="q", trajectory="t", type="", text="Why?", gold_answer=None, evidence=(), steps=(),
        milliseconds=1.0, decided_by=said,
    )  # fmt: skip


def test_each_way_has_its_share_of_the_questions_and_methods_without_labels_have_none() -> None:
    said = [DecidedBy.LABEL_DENSITY, DecidedBy.NO_LABELS, DecidedBy.NO_LABELS, DecidedBy.NO_LABELS]
    assert decided_by(record(way.value) for way in said) == {
        "label density": 0.25, "weighed labels": 0.0, "no labels": 0.75,
    }  # fmt: skip
    assert decided_by([record(None)]) is None


METHODS = "stitch,themes,auto,oracle"


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    folder = tmp_path_factory.mktemp("party")
    trajectory: dict[str, Any] = {"id": "notes", "steps": [{**note, "timestamp": None} for note in PARTY_NOTES]}
    question: dict[str, Any] = {
        "id": "q",
        "trajectory": "notes",
        "type": "list",
        "question": "What did I buy for the party in May?",
        "answer": "kite, lanterns, cake tin",
        "evidence": ["note-1", "note-3", "note-5"],
        "asked_at": None,
    }
    for record in question, trajectory:
        for note in record.get("steps", ()):
            note["content"] += " The day was long and nothing else of note happened in it." * 20
    write_set(folder, {trajectory["id"]: trajectory["steps"]}, [question])
    options = Options(methods=METHODS, limit=None, budget=512, labels="local", out=None, workers=1, as_json=True)
    return measure(load_questions(folder), options).figures


def test_every_method_tells_recall_inside_each_budget_overall_and_by_type(figures) -> None:
    assert set(figures["methods"]) == set(METHODS.split(","))
    for row in figures["methods"].values():
        for own in (row, row["by_type"]["list"]):
            for inside in ("recall_in", "all_in"):
                assert set(own[inside]) == {"512", "1024", "2048", "4096"}
                assert all(0 <= figure <= 1 for figure in own[inside].values())


def test_all_evidence_is_found_where_whole_steps_do_not_fit(figures) -> None:
    methods = figures["methods"]
    assert methods["stitch"]["all_in"]["512"] == 1.0  # of long steps a context shows what matters, too
    for name in ("themes", "auto"):
        assert (name, methods[name]["all_in"]["512"]) == (name, 1.0)


def test_deeper_budgets_are_told_though_the_run_had_a_small_one(figures) -> None:
    assert figures["budget_tokens"] == 512
    assert figures["methods"]["themes"]["recall_in"]["4096"] == 1.0
