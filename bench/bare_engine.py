"""The engine's own searches without this library: no search of a memory of the same size can be faster."""

from __future__ import annotations

import random
import tempfile
import time
from typing import Any

from stitch.bench.timing import percentile

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
        shard = EdgeShard.create(folder, _config())
        for start in range(0, points, _BATCH):
            vectors = drawn.standard_normal((min(_BATCH, points - start), DIMENSION)).astype(np.float32)
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            made = []
            for n, vector in enumerate(vectors, start=start):
                words, labels = _sparse(rng, WORDS, WORDS_A_STEP), _sparse(rng, LABELS, LABELS_A_STEP)
                made.append(Point(n, {"dense": vector.tolist(), "words": words, "labels": labels}))
            shard.update(UpdateOperation.upsert_points(made))
        shard.flush()
        shard.optimize()
        took, cpu = [], []
        for _ in range(questions):
            vector = drawn.standard_normal(DIMENSION)
            dense, words, labels = vector / np.linalg.norm(vector), _sparse(rng, WORDS, 8), _sparse(rng, LABELS, 3)
            asked = {"dense": dense.tolist(), "words": words, "labels": labels}
            batch = QueryBatchRequest(
                [QueryRequest(LIMIT, query=Query.Nearest(of, using=name), params=exact) for name, of in asked.items()]
            )
            began, began_cpu = time.perf_counter(), time.process_time()
            shard.query_batch(batch)
            took.append((time.perf_counter() - began) * 1e3)
            cpu.append((time.process_time() - began_cpu) * 1e3)
        shard.close()
    return {"engine_p50_ms": percentile(took, 50), "engine_cpu_p50_ms": percentile(cpu, 50)}


def _sparse(rng: random.Random, size: int, count: int) -> Any:
    """A sparse vector of coordinates that are as unevenly used as words are (Zipf)."""
    from qdrant_edge import SparseVector

    indices = sorted({int(size ** rng.random()) - 1 for _ in range(count)})
    return SparseVector(indices, [1.0] * len(indices))


def _config() -> Any:
    import qdrant_edge as edge

    datatype, distance = edge.VectorStorageDatatype.Float16, edge.Distance.Dot
    dense = edge.EdgeVectorParams(size=DIMENSION, distance=distance, datatype=datatype)
    sparse = {name: edge.EdgeSparseVectorParams() for name in ("words", "labels")}
    no_graph = edge.EdgeOptimizersConfig(indexing_threshold=0, default_segment_number=1)
    return edge.EdgeConfig(vectors={"dense": dense}, sparse_vectors=sparse, optimizers=no_graph, wal_enabled=False)
