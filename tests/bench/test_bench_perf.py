"""The figures of speed and size: all are there, on results' own channel, from samples that are always the same."""

from __future__ import annotations

import json
import random
from collections import Counter

import pytest
from click.testing import CliRunner

from stitch.bench.perf import command, sample_question, sample_steps
from stitch.testing.qdrant import LoopbackQdrant

CONTRACT = {
    "import_s", "ingest_steps_per_s", "single_add_p50_ms", "search_p50_ms", "search_p95_ms",
    "search_unnamed_p50_ms", "search_unnamed_p95_ms", "rss_mb", "disk_mb",
    "numpy_floor_p50_ms", "search_trajectory_p50_ms", "search_trajectory_p95_ms",
    "erase_s", "erase_one_s", "erase_steps", "search_first_ms", "scopes",
    "long_steps", "long_cost_ratio", "correct_p50_ms", "add_after_correct_p50_ms", "erase_long_s", "add_after_erase_ms",
    "tenants", "open_tenants_s",
    "tree_nodes", "tree_structural_p50_ms", "tree_words_p50_ms", "tree_words_first_ms",
    "tree_words_after_commit_ms",
    "tree_commit_p50_ms", "tree_commit_late_p50_ms", "large_tree_nodes", "large_tree_open_s",
}  # fmt: skip


@pytest.mark.slow
def test_the_command_prints_every_figure_as_one_object() -> None:
    run = CliRunner().invoke(command, ["--steps", "20", "--json"], catch_exceptions=False)
    assert run.exit_code == 0
    figures = json.loads(run.stdout)
    assert figures.keys() >= CONTRACT
    assert all(figures[name] > 0 for name in CONTRACT)
    assert figures["steps"] == figures["erase_steps"] == 20
    assert (figures["erase_one_steps"], figures["erase_traces_left"]) == (1, 0)
    assert "stitch: measuring" in run.stderr


@pytest.mark.slow
def test_the_same_is_measured_on_a_server_and_its_collection_dropped() -> None:
    with LoopbackQdrant() as server:
        run = CliRunner().invoke(command, ["--steps", "20", "--json", "--memory", server.url], catch_exceptions=False)
        assert server.collections == {}
    figures = json.loads(run.stdout)
    assert {name for name in figures if figures.get(f"server_{name}", 0) > 0} >= {
        "ingest_steps_per_s", "open_s", "search_p50_ms", "search_p95_ms", "search_trajectory_p50_ms",
    }  # fmt: skip
    assert figures["search_requests"] == 0
    assert 0 < figures["server_search_requests"] <= 3


def test_samples_are_the_same_for_the_same_seed_and_their_goals_are_skewed() -> None:
    steps = list(sample_steps(random.Random(3), 2000))
    assert steps == list(sample_steps(random.Random(3), 2000))
    assert len(steps) == 2000
    goals = Counter(step.content.split(" for day")[0] for step in steps if step.content.startswith("Let us look at"))
    (_, most), *_, (_, least) = goals.most_common()
    assert most > 3 * least
    assert sample_question(random.Random(1)) == sample_question(random.Random(1))
