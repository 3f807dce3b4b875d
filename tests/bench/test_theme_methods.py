"""The methods of the lens of themes, and what is told of them."""

from __future__ import annotations

from typing import Any

import pytest

from doubles.sets import write_set
from stitch.bench.data.sets import load_questions
from stitch.bench.samples import PARTY_NOTES
from stitch.bench.suites.retrieval import measure_retrieval
from stitch.bench.suites.running import Options

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
    return measure_retrieval(load_questions(folder), options)


def test_every_method_tells_recall_inside_each_budget_overall_and_by_type(figures) -> None:
    assert set(figures["methods"]) == set(METHODS.split(","))
    for row in figures["methods"].values():
        for own in (row, row["by_type"]["list"]):
            for measure in ("recall_in", "all_in"):
                assert set(own[measure]) == {"512", "1024", "2048", "4096"}
                assert all(0 <= figure <= 1 for figure in own[measure].values())


def test_all_evidence_is_found_where_whole_steps_do_not_fit(figures) -> None:
    methods = figures["methods"]
    assert methods["stitch"]["all_in"]["512"] == 1.0  # of long steps a context shows what matters, too
    for name in ("themes", "auto"):
        assert (name, methods[name]["all_in"]["512"]) == (name, 1.0)


def test_deeper_budgets_are_told_though_the_run_had_a_small_one(figures) -> None:
    assert figures["budget_tokens"] == 512
    assert figures["methods"]["themes"]["recall_in"]["4096"] == 1.0
