"""The engines of vectors: one contract."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from contracts.engine import MakeEngine, VectorEngineContract, engine
from contracts.worlds import DIMENSION
from doubles.qdrant import LoopbackQdrant
from stitch.core.files import make_private_folder
from stitch.store.connection import Server
from stitch.store.edge_engine import EdgeEngine
from stitch.store.server_engine import ServerEngine
from stitch.store.vectors import as_kept

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["engine"]


def units(rows: int, dimension: int) -> NDArray[np.float32]:
    return as_kept(np.random.default_rng(7).normal(size=(rows, dimension)))


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


@pytest.mark.parametrize("dimension", [8, 32, 50, 384])
def test_an_engine_scores_halves_as_exactly_as_single_precision_can(tmp_path: Path, dimension: int) -> None:
    vectors, (asked,) = units(301, dimension)[1:], units(1, dimension)
    wanted = vectors.astype(np.float64) @ asked.astype(np.float64)
    about: dict[str, Any] = {"dimension": dimension, "what": "the memory", "hint": "mend it"}
    with closing(EdgeEngine(tmp_path, create=True, **about)) as edge:
        edge.put(range(300), vectors)
        scores = edge.cosines(range(300), asked.tolist())
        assert np.abs(scores - wanted).max() < 1e-6
        edge._scores = not edge._scores  # as on another processor
        if dimension >= 32:
            assert np.abs(edge.cosines(range(300), asked.tolist()) - scores).max() < 1e-6
