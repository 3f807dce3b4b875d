"""A command whose work did not succeed says so by its exit status and on standard error, and names what helps."""

import json

import pytest

from stitch.testing.model import LoopbackProvider, label_by_rules

NOBODY = ("--model", "m", "--base-url", "http://127.0.0.1:9")


@pytest.fixture(autouse=True)
def one_try(monkeypatch):
    monkeypatch.setenv("STITCH_MODEL_RETRIES", "0")


@pytest.fixture
def trip(tmp_path):
    said = ["Let us plan day 1. What is a good hotel?", "The Zephyr Mill costs $41.80.", "Fine. Now day 2."]
    path = tmp_path / "trip.jsonl"
    path.write_text("".join(json.dumps({"role": "user", "content": text}) + "\n" for text in said))
    return str(path)


def test_an_ingest_whose_steps_failed_ends_with_status_1(run, trip):
    embedder = ("STITCH_EMBEDDER", "openai/none"), ("STITCH_EMBEDDER_URL", "http://127.0.0.1:9")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (*embedder, ("STITCH_EMBEDDER_DIMENSION", "8"), ("STITCH_EMBEDDER_KEY", "none"),
                            ("STITCH_MODEL_RETRIES", "0")):  # fmt: skip
            patch.setenv(name, value)
        status, out, err = run("ingest", trip, "--memory", "m")
    assert (status, "0 stored, 3 failed" in out, "`stitch retry`" in err) == (1, True, True)


def test_an_ingest_whose_model_never_answered_ends_with_status_6_and_keeps_the_steps(run, trip):
    status, out, err = run("ingest", trip, "--memory", "m", "--labels", "model", *NOBODY)
    assert (status, "3 stored, 0 failed" in out, "`stitch relabel`" in err) == (6, True, True)


def test_a_model_for_steps_that_are_known_changes_nothing_and_says_which_command_does(run, trip):
    run("ingest", trip, "--memory", "m")
    with LoopbackProvider(label_by_rules) as provider:
        model = ("--labels", "model", "--model", "m", "--base-url", provider.base_url)
        status, out, err = run("ingest", trip, "--memory", "m", *model)
        assert (status, "3 stored" in out) == (0, True)
        assert "stitch: 3 steps were in the memory already and keep the labels they have;" in err
        assert "`stitch relabel` with the same options labels them with the model" in err
        assert provider.requests == []
        assert run("relabel", "--memory", "m", *model)[0] == 0
        status, out, err = run("ingest", trip, "--memory", "m", *model, "--json")
    report = json.loads(out)
    assert (status, report["repeated"], report["repeated_with_other_labels"], err) == (0, 3, 0, "")


def test_a_question_whose_model_does_not_answer_is_answered_and_says_so(run, trip):
    run("ingest", trip, "--memory", "m")
    status, out, err = run("query", "the hotel of day 1", "--memory", "m", "--filter", "model", *NOBODY)
    assert (status, out.startswith("weighing  scope 'day 1'")) == (6, True)
    assert err.startswith("stitch: the labels were chosen without the model: model 'm' does not answer: ")
    assert run("query", "the hotel of day 1", "--memory", "m")[::2] == (0, "")
