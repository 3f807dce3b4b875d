"""An empty folder and environment for each test."""

from __future__ import annotations

import pytest

from doubles.lessons import days, write_lines
from stitch.config import Settings


@pytest.fixture(autouse=True)
def _empty_folder_and_environment(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in [*Settings.model_fields, "config"]:
        monkeypatch.delenv(f"STITCH_{name.upper()}", raising=False)


@pytest.fixture
def labeled(tmp_path):
    """Twelve labeled trajectories of one stretch each."""
    return write_lines(tmp_path / "days.jsonl", (days(n) for n in range(12)))
