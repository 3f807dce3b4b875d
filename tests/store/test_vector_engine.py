"""The engines of vectors: one contract."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from stitch.core.files import make_private_folder
from stitch.store.connection import Server
from stitch.store.edge_engine import EdgeEngine
from stitch.store.server_engine import ServerEngine
from stitch.testing.contracts.engine import MakeEngine, VectorEngineContract, engine
from stitch.testing.contracts.worlds import DIMENSION
from stitch.testing.qdrant import LoopbackQdrant

__all__ = ["engine"]


def open_engine(server: LoopbackQdrant, *, generation: int | None = None, journal: str = "mine") -> ServerEngine:
    connection = Server(url=server.url).connect()
    return ServerEngine(connection, dimension=DIMENSION, journal=journal, generation=generation, location=server.url)


class TestEdgeEngine(VectorEngineContract):
    @pytest.fixture
    def make_engine(self, tmp_path: Path) -> MakeEngine:
        make_private_folder(tmp_path / "shard")
        about = {"dimension": DIMENSION, "what": "the memory", "hint": ""}
        return lambda: EdgeEngine(tmp_path / "shard", create=True, **about)  # type: ignore[arg-type]  # by name


class TestServerEngine(VectorEngineContract):
    @pytest.fixture
    def make_engine(self) -> Iterator[MakeEngine]:
        with LoopbackQdrant(shards=6) as server:
            yield lambda: open_engine(server)
