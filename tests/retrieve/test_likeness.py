"""How alike vectors are is the same, however few are multiplied at once."""

from __future__ import annotations

import numpy as np
import pytest

from stitch.retrieve.rank.likeness import likeness


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 130])
def test_each_vector_is_compared_with_each(count: int) -> None:
    vectors = np.random.default_rng(count).normal(size=(count, 5)).astype(np.float32)
    found = likeness(vectors)
    assert found.shape == (count, count)
    assert found.dtype == np.float32
    assert np.allclose(found, np.einsum("id,jd->ij", vectors, vectors), atol=1e-4)
