"""Speed and size: every command prints its figures, from samples that are always the same."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from doubles.qdrant import LoopbackQdrant
from stitch import Step
from stitch.bench import serving, stream, themes, timing
from stitch.bench.commands import group
from stitch.bench.data.types import DataSet, Question
from stitch.core import Trajectory


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
    assert {"search_k10_p50_ms", "engine_p50_ms", "import_s", "rss_mb", "disk_mb", "scopes"} <= figures.keys()
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
    assert figures["opened_snippets"] >= 1060
    assert {"accept_p50_ms", "search_busy_ratio", "nonstop_ingest_share", "ingest_cost_ratio"} <= figures.keys()


@pytest.mark.slow
def test_a_server_is_measured_beside_the_same_in_process() -> None:
    figures = serving.measure_serving(60, streams=5)
    for clients in serving.CLIENTS:
        for what in ("search", "add"):
            assert figures[f"{what}_{clients}_p50_ms"] <= figures[f"{what}_{clients}_p95_ms"]
            assert figures[f"in_process_{what}_{clients}_per_s"] > 0
    assert figures["busy_steps_per_s"] > 0
    assert figures["streams"] == 5


TALKS = [
    Trajectory(
        id=name,
        steps=tuple(
            Step(role="user", content=f"The {what} of {name} has {number} {thing}s on the {place}.", id=f"s{number}")
            for number, (what, thing, place) in enumerate(
                [("house", "window", "street"), ("garden", "apple tree", "hill"), ("harbor", "boat", "river")] * 3
            )
        ),
    )
    for name in ("Oslo", "Turin", "Porto")
]


def test_themes_are_measured_over_a_stream_and_in_other_orders() -> None:
    told = themes.measure_themes(TALKS)
    assert (told["steps"], told["statements"], told["statements_a_step"]) == (27, 27, 1.0)
    assert 1 <= told["themes"] <= 27
    assert 0 <= told["reassigned"] <= 1
    assert themes.measure_themes(TALKS, most=9)["statements"] == 9
    assert [each["statements"] for each in themes.in_orders(TALKS)] == [27, 27, 27]


def test_the_cost_of_themes_is_told_at_each_size_and_at_the_end() -> None:
    asked = Question(id="q", trajectory="Oslo", type="one", text="What has windows in Oslo?", answer=None, evidence=())
    data = DataSet(name="talks", trajectories=tuple(TALKS), questions=(asked,), digest="")
    rows = themes.measure_growth([data], [5, 9, 1_000])
    assert [(row["statements"], row["steps"]) for row in rows] == [(9, 9), (27, 27)]
    assert all(row["search_p50_cpu_ms"] is not None and row["rss_mb"] > 0 for row in rows)
    [quick] = themes.measure_growth([data], [9], questions=0)
    assert quick["search_p50_cpu_ms"] is quick["intent_p50_cpu_ms"] is None


@pytest.mark.parametrize("said", ["x", "0", "10,-1", "1e3"])
def test_sizes_that_are_no_numbers_are_refused(said: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(group, ["themes", "--data", str(tmp_path), "--statements", said])
    assert done.exit_code == 2
    assert "1000,10000" in done.output
