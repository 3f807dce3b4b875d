"""The engines of vectors: one contract."""

from __future__ import annotations

from pathlib import Path

import pytest

from stitch.core.files import make_private_folder
from stitch.store.edge_engine import EdgeEngine
from stitch.testing.contracts.engine import MakeEngine, VectorEngineContract, engine
from stitch.testing.contracts.worlds import DIMENSION

__all__ = ["engine"]


class TestEdgeEngine(VectorEngineContract):
    @pytest.fixture
    def make_engine(self, tmp_path: Path) -> MakeEngine:
        make_private_folder(tmp_path / "shard")
        about = {"dimension": DIMENSION, "what": "the memory", "hint": ""}
        return lambda: EdgeEngine(tmp_path / "shard", create=True, **about)  # type: ignore[arg-type]  # by name
