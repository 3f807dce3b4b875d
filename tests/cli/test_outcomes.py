"""A command says what came out by its exit status and on standard error, and what helps where something went wrong."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stitch import Step, open_memory
from stitch.errors import StoreUnavailableError
from stitch.ingest import store_health
from stitch.store import QdrantStore
from stitch.testing.model import LoopbackProvider, label_by_rules

Run = Callable[..., tuple[int, str, str]]

KEY = "sk-abcdefghijklmnopqrstuvwxyz123456"
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
    code, _, told = run("relabel", "--memory", "m")
    assert (code, "3 steps would lose the labels that 'm " in told) == (2, True)
    assert run("relabel", "--memory", "m", "--labels", "local")[0] == 0
    report = json.loads(out)
    assert (status, report["repeated"], report["repeated_with_other_labels"], err) == (0, 3, 0, "")


def test_a_question_whose_model_does_not_answer_is_answered_and_says_so(run, trip):
    run("ingest", trip, "--memory", "m")
    status, out, err = run("query", "good hotel Zephyr Mill", "--memory", "m", "--filter", "model", *NOBODY)
    assert (status, out.startswith("weighing  scope 'hotel · Zephyr Mill'")) == (6, True)
    assert err.startswith("stitch: the labels were chosen without the model: model 'm' does not answer: ")
    assert run("query", "the hotel of day 1", "--memory", "m")[::2] == (0, "")


@pytest.fixture
def away(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: QdrantStore, records: Any) -> None:
        raise StoreUnavailableError("cannot write to the collection: connection refused")

    monkeypatch.setattr(QdrantStore, "put", refuse)
    monkeypatch.setattr(store_health, "FIRST_PAUSE_S", 3600.0)


@pytest.mark.usefixtures("away")
def test_ingest_says_how_many_steps_wait_and_ends_with_a_status_of_its_own(run: Run, trip: str) -> None:
    code, out, err = run("ingest", trip, "--memory", "m")
    assert code == 5
    assert "0 stored, 0 failed, 0 rejected, 3 wait for the store" in out
    assert "failed" not in err


def test_the_next_command_puts_what_waits(run: Run, trip: str) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(QdrantStore, "put", lambda *_: (_ for _ in ()).throw(StoreUnavailableError("gone")))
        assert json.loads(run("ingest", trip, "--memory", "m", "--json")[1])["waiting"] == 3
    assert json.loads(run("status", "--memory", "m", "--json")[1])["stored"] == 3


def test_ingest_and_import_count_what_was_erased_and_take_it_when_told_to(run: Run) -> None:
    lines = [f'{{"role": "user", "content": "Remark {n} of Quetzalina."}}\n' for n in range(3)]
    Path("trip.jsonl").write_text("".join(lines))
    memory = ("--memory", "m")
    assert run("ingest", "trip.jsonl", *memory)[0] == 0
    exported = run("export", *memory)[1]
    Path("export.jsonl").write_text(exported)
    name, other = (json.loads(line)["step"]["id"] for line in exported.splitlines()[3:5])
    assert run("forget", "erase", "--trajectory", "trip", "--step", name, *memory)[0] == 0
    assert run("forget", "retire", "--trajectory", "trip", "--step", other, *memory)[0] == 0
    status, out, told = run("ingest", "trip.jsonl", *memory)
    assert ", 2 known before: 1 stored, 1 retired, 0 failed" in out
    again = "the same command with --again stores them"
    assert status == 0
    assert f"stitch: 1 step erased before and not stored; {again}" in told
    report = json.loads(run("ingest", "trip.jsonl", "--json", *memory)[1])
    assert (report["steps"], report["repeated"], report["erased"], report["rejected"]) == (2, 2, 1, 0)
    assert not Path("m/rejects.jsonl").exists(), "what was erased is not written there either"
    status, _, told = run("import", "export.jsonl", *memory)
    assert status == 0
    assert f"stitch: 1 steps were erased here and are not stored; {again}" in told
    assert json.loads(run("import", "export.jsonl", "--json", *memory)[1])["erased"] == 1
    report = json.loads(run("ingest", "trip.jsonl", "--again", "--json", *memory)[1])
    assert (report["steps"], report["repeated"], report["erased"]) == (3, 2, 0)
    assert run("forget", "erase", "--trajectory", "trip", *memory)[0] == 0
    assert json.loads(run("import", "export.jsonl", "--again", "--json", *memory)[1])["steps"] == 3


@pytest.fixture
def dated():
    with open_memory("m") as opened:
        opened.add(Step(id="a", role="user", content="Let's plan day 1.", timestamp="2026-03-01"), trajectory="trip")
        opened.add(Step(role="user", content=f"My key is {KEY}."), trajectory="trip")
    return "m"


def test_both_clocks_are_shown_with_every_step_that_is_found(run, dated):
    out = run("query", "day 1", "--memory", dated)[1]
    assert out.count(", recorded 2") == 2
    assert ", 2026-03-01, recorded 2" in out
