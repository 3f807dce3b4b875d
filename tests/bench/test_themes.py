"""Figures of themes."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from stitch import Step
from stitch.bench.data.types import DataSet, Question
from stitch.bench.theme_growth import measure_growth
from stitch.bench.themes import command, in_orders, measure_themes
from stitch.core import Trajectory

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
    told = measure_themes(TALKS)
    assert (told["steps"], told["statements"], told["statements_a_step"]) == (27, 27, 1.0)
    assert 1 <= told["themes"] <= 27
    assert told["largest"] <= 12
    assert 0 <= told["reassigned"] <= 1
    assert told["cpu_ms_a_step_last"] > 0
    assert told["load_cpu_s"] > 0
    assert measure_themes(TALKS, most=9)["statements"] == 9
    assert [each.statements for each in in_orders(TALKS)] == [27, 27, 27]


def test_what_themes_cost_is_told_at_each_size_and_at_the_end() -> None:
    asked = Question(id="q", trajectory="Oslo", type="one", text="What has windows in Oslo?", answer=None, evidence=())
    data = DataSet(name="talks", trajectories=tuple(TALKS), questions=(asked,), digest="")
    rows = measure_growth([data], [5, 9, 1_000])
    assert [(row.statements, row.steps) for row in rows] == [(9, 9), (27, 27)]
    for row in rows:
        assert min(row.step_cpu_ms, row.statement_cpu_ms, row.load_cpu_s, row.rss_mb) > 0
        assert row.search_p50_cpu_ms is not None
        assert row.search_p95_cpu_ms is not None
        assert row.intent_p50_cpu_ms is not None
        assert row.search_p95_cpu_ms >= row.search_p50_cpu_ms > 0
        assert row.intent_p50_cpu_ms > 0
    [quick] = measure_growth([data], [9], questions=0)
    assert quick.search_p50_cpu_ms is quick.intent_p50_cpu_ms is None


@pytest.mark.parametrize("said", ["x", "0", "10,-1", "1e3"])
def test_sizes_that_are_no_numbers_are_refused(said: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(command, ["--data", str(tmp_path), "--statements", said])
    assert done.exit_code == 2
    assert "1000,10000" in done.output
