"""The engine's own searches without this library: what a search of a memory of the same size cannot be faster than."""

from __future__ import annotations

import random
import tempfile
import time
from pathlib import Path
from typing import Any

DIMENSION = 256
WORDS, WORDS_A_STEP = 20_000, 30
LABELS, LABELS_A_STEP = 600, 6
LIMIT = 100
"""Points that each of the three searches returns, without payload."""
_BATCH = 1_000


def measure_bare_engine(points: int, questions: int, *, seed: int = 0) -> dict[str, float]:
    """Median time, and processor time of all threads, of three exact searches: by vector, words and labels.

    The collection holds so many made-up points.
    """
    import numpy as np
    from qdrant_edge import EdgeShard, Point, Query, QueryBatchRequest, QueryRequest, SearchParams, UpdateOperation

    rng, drawn = random.Random(seed), np.random.default_rng(seed)
    exact = SearchParams(exact=True)
    with tempfile.TemporaryDirectory(prefix="stitch-engine-") as folder:
        shard = EdgeShard.create(str(Path(folder)), _config())
        for start in range(0, points, _BATCH):
            vectors = drawn.standard_normal((min(_BATCH, points - start), DIMENSION)).astype(np.float32)
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            made = [
                Point(start + n, {"dense": vector.tolist(), "words": _words(rng), "labels": _labels(rng)})
                for n, vector in enumerate(vectors)
            ]
            shard.update(UpdateOperation.upsert_points(made))
        shard.flush()
        shard.optimize()
        took, cpu = [], []
        for _ in range(questions):
            vector = drawn.standard_normal(DIMENSION)
            asked = {
                "dense": (vector / np.linalg.norm(vector)).tolist(),
                "words": _words(rng, count=8),
                "labels": _labels(rng, count=3),
            }
            batch = QueryBatchRequest(
                [QueryRequest(LIMIT, query=Query.Nearest(of, using=name), params=exact) for name, of in asked.items()]
            )
            began, began_cpu = time.perf_counter(), time.process_time()
            shard.query_batch(batch)
            took.append((time.perf_counter() - began) * 1e3)
            cpu.append((time.process_time() - began_cpu) * 1e3)
        shard.close()
    middle = len(took) // 2
    return {"engine_p50_ms": sorted(took)[middle], "engine_cpu_p50_ms": sorted(cpu)[middle]}


def _words(rng: random.Random, *, count: int = WORDS_A_STEP) -> Any:
    return _sparse(rng, WORDS, count)


def _labels(rng: random.Random, *, count: int = LABELS_A_STEP) -> Any:
    return _sparse(rng, LABELS, count)


def _sparse(rng: random.Random, size: int, count: int) -> Any:
    """A sparse vector of coordinates that are as unevenly used as words are (Zipf)."""
    from qdrant_edge import SparseVector

    indices = sorted({int(size ** rng.random()) - 1 for _ in range(count)})
    return SparseVector(indices, [1.0] * len(indices))


def _config() -> Any:
    from qdrant_edge import (
        Distance,
        EdgeConfig,
        EdgeOptimizersConfig,
        EdgeSparseVectorParams,
        EdgeVectorParams,
        VectorStorageDatatype,
    )

    dense = EdgeVectorParams(size=DIMENSION, distance=Distance.Dot, datatype=VectorStorageDatatype.Float16)
    sparse = {name: EdgeSparseVectorParams() for name in ("words", "labels")}
    no_graph = EdgeOptimizersConfig(indexing_threshold=0, default_segment_number=1)
    return EdgeConfig(vectors={"dense": dense}, sparse_vectors=sparse, optimizers=no_graph, wal_enabled=False)
