"""Labels of a language model: one that answers by rule, over HTTP on this machine."""

from pathlib import Path

import pytest

from stitch import StitchError, open_memory

from .conftest import TRIP

M = ("--memory", "trip.memory")


@pytest.fixture
def options(model):
    return ("--labels", "model", "--model", model["model"], "--base-url", model["base_url"])


def test_a_model_labels_steps_in_windows(tmp_path, model):
    with open_memory(tmp_path / "m", labels="model", **model) as memory:
        memory.add_many(TRIP, trajectory="trip")
        memory.flush()
        assert memory.status().labeled_by == {memory.labeler: 8}
        assert memory.ledger.total().calls < 8
        hotel = memory.get("trip", "hotel")
        assert hotel is not None
        assert hotel.snippet().summary
        found = memory.search("What does the boat to Faro cost?", k=8)
        assert "boat" in [hit.snippet.step for hit in found.hits]


def test_steps_are_found_before_the_model_has_labeled_them(tmp_path, model):
    with open_memory(tmp_path / "m", labels="model", **model) as memory:
        memory.add({"role": "user", "content": "The lamp is green."}, trajectory="t")
        assert "lamp" in memory.search("the lamp").context()


def test_a_budget_that_is_spent_costs_no_step(tmp_path, model):
    with open_memory(tmp_path / "m", labels="model", model_budget_tokens=1, **model) as memory:
        memory.add_many(TRIP, trajectory="trip")
        memory.flush()
        assert memory.status().stored == 8


def test_labels_by_a_model_need_one(tmp_path):
    with pytest.raises(StitchError, match="model"):
        open_memory(tmp_path / "m", labels="model")


def test_a_model_chooses_the_labels_of_a_question(tmp_path, model):
    with open_memory(tmp_path / "m", filter="model", **model) as memory:
        memory.add_many(TRIP, trajectory="trip")
        assert "35 euros" in memory.search("What does the boat to Faro cost?").context()
        assert memory.ledger.total().calls == 1


def test_what_it_would_cost_is_told_without_a_call(stitch, trip_file, options):
    status, out, _ = stitch("ingest", trip_file, *M, *options, "--dry-run")
    assert (status, bool(out.strip())) == (0, True)
    assert not Path("trip.memory").exists() or stitch("ledger", *M)[0] == 0


def test_ingesting_with_a_model_says_what_it_took(told, trip_file, options):
    report = told("ingest", trip_file, *M, *options)
    assert (report["stored"], report["fallback_steps"]) == (8, 0)
    assert report["model_calls"] >= 1
    assert told("ledger", *M)


def test_local_labels_are_upgraded_later(stitch, told, kept, options):
    assert stitch("relabel", *M, *options)[0] == 0
    made_by = told("status", *M)["labeled_by"]
    assert all(name.startswith("rules") for name in made_by)


def test_what_a_person_corrected_stays(stitch, told, kept, options):
    stitch("correct", "boat", "--trajectory", "trip", "--scope", "ferries", *M)
    stitch("relabel", *M, *options)
    with open_memory(kept) as memory:
        boat = memory.get("trip", "boat")
        assert boat is not None
        assert boat.snippet().intent.scope == "ferries"
