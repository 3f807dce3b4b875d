"""Whoever adds labels, in a memory that one process has open."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from contracts.worker import LabeledBy, WorkerContract
from stitch.config import load_settings
from stitch.core import Labeler
from stitch.factory import open_parts
from stitch.memory import Memory


class TestLabelsInsideAdd(WorkerContract):
    @pytest.fixture
    def labeled_by(self, tmp_path: Path) -> LabeledBy:
        @contextmanager
        def opened(labeler: Labeler) -> Iterator[Memory]:
            parts = open_parts(load_settings(memory=str(tmp_path / "m")), labeler=labeler)
            with Memory(parts, tenant="default") as memory:
                yield memory

        return opened
