"""The matrix of vectors gives cosines, grows, forgets, and is there when it is opened again."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from stitch.store.vectors import VectorFile


@pytest.mark.parametrize("dimension", [6, 80])
def test_cosines_are_those_of_the_vectors_however_many_are_asked_for(tmp_path: Path, dimension: int) -> None:
    vectors = np.random.default_rng(3).standard_normal((5000, dimension)).astype(np.float32)
    vectors[7] = 0.0
    asked = vectors[0] * 3 + vectors[1]
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(asked)
    expected = np.divide(vectors @ asked, lengths, out=np.zeros(5000), where=lengths > 0)
    for opening in ("made", "opened again"):
        with closing(VectorFile(tmp_path / "vectors", dimension=dimension)) as file:
            if opening == "made":
                assert len(file) == 0
                file.put([], vectors[:0])
                file.put(range(100), vectors[:100])
                file.put(range(100, 5000), vectors[100:])
                file.flush()
            assert len(file) >= 5000
            for rows in (np.arange(5000), np.array([4, 7, 4999]), np.arange(0, 5000, 2), np.array([], dtype=np.int64)):
                assert file.cosines(rows, asked.tolist()) == pytest.approx(expected[rows], abs=1e-6)
                assert (file.at_most(rows, asked.tolist()) >= expected[rows]).all()


def test_a_cleared_vector_leaves_no_byte(tmp_path: Path) -> None:
    with closing(VectorFile(tmp_path / "vectors", dimension=2)) as file:
        file.put([0, 1], np.array([[1.0, 0.0], [3.0, 4.0]], dtype=np.float32))
        file.put([0], np.array([[0.0, 2.0]], dtype=np.float32))
        file.clear([1])
        file.flush()
    content = (tmp_path / "vectors").read_bytes()
    assert content[:8] == np.array([0.0, 1.0], dtype=np.float32).tobytes()
    assert set(content[8:]) == {0}
