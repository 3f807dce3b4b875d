"""Streaming measured: every figure is there, and what the library promises of sizes can be read off."""

from __future__ import annotations

import json

from click.testing import CliRunner

from stitch.bench.stream import command

FIGURES = {
    "steps", "trajectories", "ingest_steps_per_s", "ingest_steps_per_cpu_s", "rss_first_mb", "rss_last_mb",
    "rss_growth_mb", "mapped_last_mb", "anonymous_first_mb", "anonymous_last_mb", "anonymous_growth_mb", "buffers_mb",
    "empty_anonymous_mb", "index_mb", "index_bytes_per_step", "label_space_mb", "open_cpu_s", "busy_ingest_steps_per_s",
    "anonymous_bytes_per_step", "add_p50_ms", "accept_p50_ms", "accept_p95_ms", "accept_steps_per_s",
    "accept_steps_per_cpu_s", "journal_steps_per_s", "search_rest_p50_ms", "search_rest_p95_ms", "search_busy_p50_ms",
    "search_busy_p95_ms", "search_busy_ratio", "open_s", "opened_snippets", "first_search_ms", "ingest_cost_ratio",
    "busy_ingest_share", "search_nonstop_p50_ms", "search_nonstop_p95_ms", "search_nonstop_ratio",
    "nonstop_ingest_steps_per_s", "nonstop_ingest_share",
}  # fmt: skip


def test_a_stream_is_measured(monkeypatch):
    for name, value in {
        "BATCH_STEPS": 20,
        "ACCEPTED_STEPS": 50,
        "ACCEPTED_BATCH": 25,
        "SINGLES": 5,
        "QUESTIONS": 3,
        "ALONE_BATCHES": 1,
    }.items():
        monkeypatch.setattr(f"stitch.bench.stream.{name}", value)
    monkeypatch.setattr("stitch.bench.stream._in_a_process", lambda part, *arguments: part(*arguments))
    result = CliRunner().invoke(command, ["--steps", "1000", "--trajectories", "5", "--json"])
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)
    assert set(figures) == FIGURES
    assert figures["steps"] == 1000
    assert figures["opened_snippets"] >= 1060
    assert min(figures["journal_steps_per_s"], figures["accept_steps_per_s"]) > 0
