"""What adding costs with vectors that follow, and what a store takes at a size: the commands, at small sizes."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from stitch.bench import adding, store_growth


def test_adding_tells_how_many_steps_wait_and_in_the_end_none_does() -> None:
    ran = CliRunner().invoke(adding.command, ["--steps", "40", "--vectors", "after"])
    figures = json.loads(ran.output)
    assert figures["steps"] == 40
    assert figures["added_per_cpu_s"] > 0
    assert 0 <= figures["waiting_when_added"] <= 40


def test_adding_with_vectors_lets_none_wait() -> None:
    assert adding.measure_adding(20, vectors="with")["waiting_when_added"] == 0


def test_a_store_is_made_to_size_and_its_files_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_growth, "_in_a_process", lambda part, *arguments: part(*arguments))
    figures = store_growth.measure_store(400, sampled=200)
    assert figures["steps"] == 400
    files = sum(size for name, size in figures.items() if name.endswith("bin_mb"))
    assert 0 < files < figures["disk_mb"]
    assert figures["rank_named_p50_cpu_ms"] > 0
    assert min(figures["rss_mb"], figures["rss_before_mb"]) > 0
