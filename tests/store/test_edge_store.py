"""The store in process: the contract, and what only a folder with one owner can promise."""

from __future__ import annotations

from pathlib import Path

import pytest

from stitch.store import EdgeStore
from stitch.testing.contracts.store import DIMENSION, EMBEDDER, MakeStore, SnippetStoreContract


@pytest.fixture
def make_store(tmp_path: Path) -> MakeStore:
    numbers = iter(range(1000))
    return lambda: EdgeStore(tmp_path / str(next(numbers)), embedder_name=EMBEDDER, dimension=DIMENSION)


class TestEdgeStore(SnippetStoreContract):
    pass
