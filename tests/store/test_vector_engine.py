"""The engines of vectors: one contract."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.core.files import make_private_folder
from stitch.store.bounds import AT_MOST
from stitch.store.connection import Server
from stitch.store.edge_engine import EdgeEngine
from stitch.store.server_engine import ServerEngine
from stitch.store.vectors import as_kept
from stitch.testing.contracts.engine import MakeEngine, VectorEngineContract, engine
from stitch.testing.contracts.worlds import DIMENSION
from stitch.testing.qdrant import LoopbackQdrant

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


def test_of_points_without_a_payload_the_engine_keeps_none(tmp_path: Path) -> None:
    about: dict[str, Any] = {"dimension": 8, "what": "the memory", "hint": "mend it"}
    sizes = []
    with closing(EdgeEngine(tmp_path, create=True, **about)) as edge:
        for start in range(0, 2000, 100):
            edge.put(range(start, start + 100), units(100, 8))
            edge.delete([start])
            edge.flush()
            pages = [page for page in tmp_path.rglob("page_*.dat") if page.parent.name == "payload_storage"]
            sizes.append(sum(len(page.read_bytes().rstrip(b"\0")) for page in pages))
    assert sizes[-1] == sizes[1] <= 2 * 100 * 128


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=40))
def test_vectors_are_kept_as_halves_of_about_length_one(numbers: list[float]) -> None:
    kept = as_kept(np.array(numbers, dtype=np.float32))
    assert kept.astype(np.float16).astype(np.float32).tobytes() == kept.tobytes()
    length = float(np.linalg.norm(kept.astype(np.float64)))
    assert length**2 < AT_MOST
    assert length > 0.99 or np.linalg.norm(np.array(numbers, dtype=np.float32)) < 1e-15
