"""An empty folder for each test, and trajectories to learn from."""

import pytest

from doubles.lessons import days, write_lines


@pytest.fixture(autouse=True)
def _empty_folder(in_empty_folder):
    pass


@pytest.fixture
def labeled(tmp_path):
    """Twelve labeled trajectories of one stretch each."""
    return write_lines(tmp_path / "days.jsonl", (days(n) for n in range(12)))
