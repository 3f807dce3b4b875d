"""Fixtures of the benchmark's tests."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

_DEFAULT = Path(__file__).resolve().parents[3] / "shared" / "data"


@pytest.fixture
def shared_data() -> Callable[[str], Path]:
    """Where a file of the shared data sets is; the test is skipped when it is absent."""

    def find(name: str) -> Path:
        path = Path(os.environ.get("STITCH_TEST_DATA") or _DEFAULT) / name
        if not path.exists():
            pytest.skip(f"no test data {name!r}: set STITCH_TEST_DATA")
        return path

    return find
