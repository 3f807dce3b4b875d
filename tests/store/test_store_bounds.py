"""What bounds cosines never promises less than they are, grows, forgets, and is there when it is opened again."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from stitch.store.bounds import VectorBounds


@pytest.mark.parametrize("dimension", [6, 80])
def test_bounds_hold_however_many_are_asked_for(tmp_path: Path, dimension: int) -> None:
    vectors = np.random.default_rng(3).standard_normal((5000, dimension)).astype(np.float32)
    vectors[7] = 0.0
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    asked = (vectors[0] * 3 + vectors[1]) / np.linalg.norm(vectors[0] * 3 + vectors[1])
    expected = units @ asked
    for opening in ("made", "opened again"):
        with closing(VectorBounds(tmp_path, dimension=dimension)) as bounds:
            if opening == "made":
                assert len(bounds) == 0
                bounds.put([], units[:0])
                bounds.put(range(100), units[:100])
                bounds.put(range(100, 5000), units[100:])
                bounds.flush()
            assert len(bounds) >= 5000
            assert bounds.agree(range(5000), units).all()
            for rows in (np.arange(5000), np.array([4, 7, 4999]), np.arange(0, 5000, 2), np.array([], dtype=np.int64)):
                assert (bounds.at_most(rows, asked) >= expected[rows]).all()
                about, error = bounds.near(rows, asked)
                assert (np.abs(about - expected[rows]) <= error).all()
                assert (error < 0.02).all(), "a sketch is close to its vector"
