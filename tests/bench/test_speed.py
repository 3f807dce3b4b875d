"""Speed, size and costs: every command prints its figures, and labels of a model stay within bounds."""

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from doubles.qdrant import LoopbackQdrant
from doubles.sets import write_set
from stitch.bench import model as bench
from stitch.bench import stream, timing
from stitch.bench.commands import group
from stitch.label.local import LocalLabeler
from stitch.label.model.quoting import shown_text
from stitch.label.model.windowed import WindowedLabeler
from stitch.lm import LanguageModel
from stitch.testing.known import KnownCompletion


def call(*arguments: str) -> dict[str, Any]:
    done = CliRunner().invoke(group, [*arguments, "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    figures = json.loads(done.stdout)
    assert isinstance(figures, dict)
    return figures


def test_samples_are_the_same_for_the_same_seed_and_their_goals_are_skewed() -> None:
    steps = list(timing.sample_steps(random.Random(3), 2000))
    assert steps == list(timing.sample_steps(random.Random(3), 2000))
    assert len(steps) == 2000
    goals = Counter(step.content.split(" for day")[0] for step in steps if step.content.startswith("Let us look at"))
    (_, most), *_, (_, least) = goals.most_common()
    assert most > 3 * least
    assert timing.sample_question(random.Random(1)) == timing.sample_question(random.Random(1))


@pytest.mark.slow
def test_perf_prints_every_figure_as_one_object() -> None:
    figures = call("perf", "--steps", "20")
    zero = {"erase_traces_left", "erase_one_traces_left"}
    assert all(value > 0 for name, value in figures.items() if name not in zero)
    assert {"search_k10_p50_ms", "engine_p50_ms", "import_s", "disk_mb", "scopes"} <= figures.keys()
    assert 0 < figures["rss_own_mb"] <= figures["rss_once_mb"] <= figures["rss_mb"]
    assert figures["steps"] == figures["erase_steps"] == 20
    assert (figures["erase_one_steps"], figures["erase_traces_left"]) == (1, 0)


@pytest.mark.slow
def test_the_same_is_measured_on_a_server_and_its_collection_dropped() -> None:
    with LoopbackQdrant() as server:
        figures = call("perf", "--steps", "20", "--memory", server.url)
        assert server.collections == {}
    assert {name for name in figures if figures.get(f"server_{name}", 0) > 0} >= {
        "ingest_steps_per_s", "open_s", "search_p50_ms", "search_p95_ms", "search_trajectory_p50_ms",
    }  # fmt: skip


@pytest.mark.slow
def test_a_stream_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    few = {"BATCH_STEPS": 20, "ACCEPTED_STEPS": 50, "ACCEPTED_BATCH": 25, "SINGLES": 5, "QUESTIONS": 3}
    for name, value in {**few, "ALONE_BATCHES": 1}.items():
        monkeypatch.setattr(stream, name, value)
    monkeypatch.setattr(stream, "in_a_process", lambda part, *arguments: part(*arguments))
    figures = call("stream", "--steps", "1000", "--trajectories", "5")
    assert figures["steps"] == 1000
    assert {"accept_p50_ms", "search_busy_ratio", "busy_ingest_share", "ingest_cost_ratio"} <= figures.keys()


@pytest.mark.parametrize(("asks", "beyond"), [(True, 150), (False, 120)])
def test_windowed_labels_of_a_trip_keep_to_the_goals(asks: bool, beyond: int) -> None:
    steps = bench.came_steps()[:120]
    model = LanguageModel("known", completion=KnownCompletion([(shown_text(step), {}) for step in steps], asks=asks))
    labeler = WindowedLabeler(model, fallback=LocalLabeler(), asks=asks)
    cost = bench.measure_labeler(labeler, steps, ledger=model.ledger)
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


def test_the_command_reports_every_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = bench.came_steps()[:24]
    monkeypatch.setattr(bench, "came_steps", lambda: steps)
    report = call("model")
    assert set(report) == {"windowed", "stepwise"}
