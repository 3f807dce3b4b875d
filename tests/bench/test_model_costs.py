"""What labeling with a model costs beside the model stays within its bounds."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from stitch.bench import model as bench
from stitch.bench.commands import group
from stitch.embed import HashingEmbedder
from stitch.label.local import LocalLabeler
from stitch.label.model import StepwiseLabeler, WindowedLabeler
from stitch.lm import LanguageModel


def test_windowed_labels_of_a_trip_keep_to_the_goals() -> None:
    model = LanguageModel("rules", completion=bench.RuleCompletion())
    cost = bench.measure_labeler(
        WindowedLabeler(model, fallback=LocalLabeler()), bench.came_steps()[:120], ledger=model.ledger
    )
    assert cost["calls_per_step"] <= 0.15
    assert cost["prompt_tokens_per_step"] <= 2 * cost["own_tokens_per_step"] + 60


def test_stepwise_labels_of_a_trip_keep_to_four_calls() -> None:
    model = LanguageModel("rules", completion=bench.RuleCompletion())
    labeler = StepwiseLabeler(model, embedder=HashingEmbedder(), fallback=LocalLabeler())
    cost = bench.measure_labeler(labeler, bench.came_steps()[:60], ledger=model.ledger)
    assert 3 <= cost["calls_per_step"] <= 4


@pytest.mark.parametrize("form", ["json", pytest.param("text", marks=pytest.mark.slow)])
def test_the_command_reports_every_figure(monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    steps = bench.came_steps()[:24]
    monkeypatch.setattr(bench, "came_steps", lambda: steps)
    monkeypatch.setattr(bench, "TRAJECTORIES", 2)
    monkeypatch.setattr("stitch.bench.model_questions.QUESTIONS", 6)
    monkeypatch.setattr(bench, "LONG_STEPS", 24)
    monkeypatch.setattr(bench, "_WARM_STEPS", 24)
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
    from stitch.bench.model import RuleCompletion, came_steps, measure_statements
    from stitch.lm import LanguageModel

    measured = measure_statements(came_steps()[:120], model=LanguageModel("rules", completion=RuleCompletion()))
    assert 0 < measured["calls_per_step"] <= 0.1
    assert measured["statements_per_step"] > 0.3
    assert measured["themes_named"] > 0
