"""What labeling with a model costs beside the model stays within its bounds."""

from __future__ import annotations

import json
import threading
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner

from doubles.sets import write_set
from stitch.bench import model as bench
from stitch.bench.commands import group
from stitch.bench.labeling_costs import KnownCompletion, RuleCompletion, measure_labeler
from stitch.embed import HashingEmbedder
from stitch.label.local import LocalLabeler
from stitch.label.model import StepwiseLabeler, WindowedLabeler
from stitch.lm import LanguageModel


@pytest.mark.parametrize(("asks", "beyond"), [(True, 150), (False, 120)])
def test_windowed_labels_of_a_trip_keep_to_the_goals(asks: bool, beyond: int) -> None:
    steps = bench.came_steps()[:120]
    model = LanguageModel("known", completion=KnownCompletion(steps, {}, asks=asks))
    labeler = WindowedLabeler(model, fallback=LocalLabeler(), asks=asks)
    cost = measure_labeler(labeler, steps, ledger=model.ledger)
    assert cost["calls_per_step"] <= 0.06
    assert cost["beyond_own_tokens_per_step"] <= beyond


def test_labels_that_are_known_are_replied_and_their_cost_is_told(tmp_path: Path) -> None:
    data, known = tmp_path / "set", tmp_path / "known.jsonl"
    steps = [{"id": str(n), "role": "user", "content": f"Step {n}"} for n in range(60)]
    question = {"id": "q", "trajectory": "t", "question": "Which?", "answer": "x", "evidence": ["1"], "type": "fact"}
    write_set(data, {"t": steps}, [question])
    told = {"scope": "plan", "event_types": ["ask"], "references": [{"phrase": "Step", "means": "x"}], "asks": ["y?"]}
    known.write_text("\n".join(json.dumps({"trajectory": "t", "id": str(n), **told}) for n in range(60)))
    options = ["model", "--data", str(data), "--known", str(known), "--json"]
    costs = json.loads(CliRunner().invoke(group, options, catch_exceptions=False).stdout)
    assert {name: cost["calls_per_step"] for name, cost in costs.items()} == {
        "t, windowed": 0.0167, "t, without asks": 0.0167
    }  # fmt: skip
    assert costs["t, windowed"]["tokens_per_step"] > costs["t, without asks"]["tokens_per_step"]


def test_stepwise_labels_of_a_trip_keep_to_four_calls() -> None:
    model = LanguageModel("rules", completion=RuleCompletion())
    labeler = StepwiseLabeler(model, embedder=HashingEmbedder(), fallback=LocalLabeler())
    cost = measure_labeler(labeler, bench.came_steps()[:60], ledger=model.ledger)
    assert 3 <= cost["calls_per_step"] <= 4


class ProviderBeside(bench.SlowProvider):
    """The provider of the command in a thread: what it takes from us does not matter here."""

    def __init__(self, latency_s: float) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), bench._exchange(latency_s))
        self._server.daemon_threads = True
        self.base_url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> ProviderBeside:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *reason: object) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.mark.parametrize("form", ["json", pytest.param("text", marks=pytest.mark.slow)])
def test_the_command_reports_every_figure(monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    steps = bench.came_steps()[:24]
    monkeypatch.setattr(bench, "came_steps", lambda: steps)
    monkeypatch.setattr(bench, "TRAJECTORIES", 2)
    monkeypatch.setattr("stitch.bench.model.QUESTIONS", 6)
    monkeypatch.setattr(bench, "LONG_STEPS", 24)
    monkeypatch.setattr(bench, "_WARM_STEPS", 24)
    monkeypatch.setattr(bench, "SlowProvider", ProviderBeside)
    arguments = ["model", "--latency", "0.01", "--concurrency", "2"]
    result = CliRunner().invoke(group, arguments + (["--json"] if form == "json" else []), catch_exceptions=False)
    if form == "text":
        assert "of the ideal" in result.stdout
        return
    report = json.loads(result.stdout)
    assert set(report) == {
        "windowed",
        "stepwise",
        "statements",
        "throughput_ratio",
        "rss_growth_mb",
        "filter",
        "answers",
        "judges",
    }
    for stage in ("filter", "answers", "judges"):
        assert report[stage]["calls_per_question"] == 1
        assert report[stage]["tokens_per_question"] > 100
        assert 0 < report[stage]["throughput_ratio"] <= 1.1
    assert 0 < report["throughput_ratio"] <= 1


def test_statements_cost_a_call_for_a_window_beside_labels() -> None:
    from stitch.bench.model import came_steps, measure_statements
    from stitch.lm import LanguageModel

    measured = measure_statements(came_steps()[:120], model=LanguageModel("rules", completion=RuleCompletion()))
    assert 0 < measured["calls_per_step"] <= 0.1
    assert measured["statements_per_step"] > 0.3
    assert measured["themes_named"] > 0
