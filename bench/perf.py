"""Speed and size of a memory, beside the engine's own searches, and of the same on a Qdrant server."""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
import uuid
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from stitch.bench import timing
from stitch.bench.timing import Figures, in_a_process, percentile, percentiles, sample_question, sample_steps, took_ms
from stitch.console.options import json_option

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


SINGLE_ADDS = 200
ERASED_STEPS = 1_000
"""The oldest; at least one trajectory, and never the last."""
QUESTIONS = 200
"""At most: a memory of fewer steps is added to, and asked, as often as it has steps."""
LONG_STEPS = 20_000
"""In one trajectory; fewer if the memory has fewer."""
CHANGES = 5
"""So many steps of it are corrected, each before another is added."""
_NONE: dict[str, Any] = {}


def measure_performance(steps: int = 50_000, *, seed: int = 0) -> Figures:
    """Measure a memory of so many steps, each part in a process of its own.

    Searches go over all trajectories, embedding of the question and choice of labels included; the questions name a
    scope, those of `search_unnamed_*` do not, and `search_k10_*` asks for ten hits in 2,000 tokens. `engine_p50_ms` is
    what the engine takes for three searches of its own. `erase_s` is the time to the proof when the oldest 1,000 steps
    are erased at once, `erase_one_s` when one is after that. `search_first_ms` is the first search of a process, which
    reads the labels of all `scopes`. `rss_mb` is resident then; `rss_once_mb` counts pages once that the engine maps in
    two places, and `rss_own_mb` leaves out all pages of mapped files, which the system takes back.

    What must not grow: in one trajectory of `long_steps` steps, `long_cost_ratio` is what a step of the last tenth
    costs of what one of the first tenth does, in processor time; `add_after_*_ms` is the next add after a step of its
    middle was corrected or erased.
    """
    with tempfile.TemporaryDirectory(prefix="stitch-perf-") as temporary:
        memory = str(Path(temporary) / "perf.memory")
        figures = {"steps": float(steps), "import_s": _import_s(), **_measure_both(memory, steps, seed, _NONE)}
        figures["disk_mb"] = sum(path.stat().st_blocks for path in Path(memory).rglob("*")) * 512 / 1e6
        for further in (_measure_erasing, _measure_long):
            figures |= in_a_process(further, memory, steps, seed)
    return figures | in_a_process(measure_bare_engine, steps, min(QUESTIONS, steps))


def measure_searches(steps: int, *, seed: int = 0) -> Figures:
    """Ingest and searches of a memory of so many steps, beside the engine's own searches in the same run."""
    with tempfile.TemporaryDirectory(prefix="stitch-perf-") as temporary:
        figures = _measure_both(str(Path(temporary) / "perf.memory"), steps, seed, _NONE)
    return figures | in_a_process(measure_bare_engine, steps, min(QUESTIONS, steps))


def measure_on_server(server: str, *, steps: int, seed: int = 0) -> Figures:
    """Measure ingest and search of a memory in a folder, and of the same on a server at a URL, as `server_*`.

    The memory gets a collection of its own, which is dropped in the end.
    """
    from stitch.config import load_settings
    from stitch.parts import server_of
    from stitch.store.collection import drop

    with tempfile.TemporaryDirectory(prefix="stitch-perf-") as folder:
        figures = {"steps": float(steps), **_measure_both(str(Path(folder) / "perf.memory"), steps, seed, _NONE)}
        options = {"collection": f"stitch-perf-{uuid.uuid4()}", "journal": str(Path(folder) / "journal")}
        try:
            there = _measure_both(server, steps, seed, options)
        finally:
            loaded = load_settings(memory=server, **options)
            with closing(server_of(loaded.settings, loaded.location)) as connection:
                drop(connection)
    return figures | {f"server_{name}": value for name, value in there.items()}


@click.command(name="perf")
@click.option("--steps", default=50_000, show_default=True, type=click.IntRange(min=1), help="Steps in the memory.")
@click.option("--memory", "server", metavar="URL", help="A Qdrant server: measure ingest and search there too.")
@json_option
def command(steps: int, server: str | None, *, as_json: bool) -> None:
    """Measure speed and size of a memory beside the bare engine; with a URL, ingest and search there alone.

    \b
    Example:
      stitch bench perf --steps 5000 --json
      stitch bench perf --steps 9000 --memory http://localhost:6333
    """
    click.echo(f"stitch: measuring a memory of {steps} steps; at 50000 this takes some minutes", err=True)
    figures = measure_performance(steps) if server is None else measure_on_server(server, steps=steps)
    timing.print_figures(figures, as_json=as_json)


def _measure_both(memory: str, steps: int, seed: int, options: dict[str, Any]) -> Figures:
    ingest = in_a_process(_measure_ingest, memory, steps, seed, options)
    return ingest | in_a_process(_measure_search, memory, steps, seed, options)


def _import_s() -> float:
    code = "import time; began = time.perf_counter(); import stitch; print(time.perf_counter() - began)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, check=True) for _ in range(3)]
    return min(float(run.stdout) for run in runs)


def _measure_ingest(memory: str, steps: int, seed: int, options: dict[str, Any]) -> Figures:
    from stitch.factory import open_memory

    rng = random.Random(seed)
    starts, size = range(0, steps, timing.TRAJECTORY_STEPS), timing.TRAJECTORY_STEPS
    batches = [list(sample_steps(rng, min(size, steps - start))) for start in starts]
    singles = list(sample_steps(rng, min(SINGLE_ADDS, steps)))
    with open_memory(memory, **options) as opened:
        began = time.perf_counter()
        for number, batch in enumerate(batches):
            opened.add_many(batch, trajectory=f"trip-{number}")
        opened.flush()
        per_s = steps / (time.perf_counter() - began)
        adds = [took_ms(opened.add, step, trajectory="one-by-one") for step in singles]
    return {"ingest_steps_per_s": per_s, "single_add_p50_ms": percentile(adds, 50)}


def _measure_search(memory: str, steps: int, seed: int, options: dict[str, Any]) -> Figures:
    from stitch.factory import open_memory

    rng = random.Random(seed + 1)
    began = time.perf_counter()
    opened = open_memory(memory, **options)
    open_s = time.perf_counter() - began
    trips = [f"trip-{number}" for number in range(-(-steps // timing.TRAJECTORY_STEPS))]
    with opened:
        figures = {"open_s": open_s, "search_first_ms": took_ms(opened.search, sample_question(rng))}
        figures["scopes"] = float(len(opened.inventory().scopes))
        for name, ask in (
            ("search", lambda: opened.search(sample_question(rng))),
            ("search_trajectory", lambda: opened.search(sample_question(rng), trajectory=rng.choice(trips))),
            ("search_unnamed", lambda: opened.search(sample_question(rng, named=False))),
            ("search_k10", lambda: opened.search(sample_question(rng), k=10, budget_tokens=2_000)),
        ):
            began_cpu, count = time.process_time(), min(QUESTIONS, steps)
            figures |= percentiles(name, [took_ms(ask) for _ in range(count)])
            figures["search_k10_cpu_ms"] = (time.process_time() - began_cpu) / count * 1e3  # of the last of them
        resident, own = timing.resident_mb(), timing.resident_mb(mapped=False)
        return figures | {
            "rss_mb": resident,
            "rss_once_mb": resident - timing.mapped_again_mb(memory),
            "rss_own_mb": own,
        }


def _measure_erasing(memory: str, steps: int, seed: int) -> Figures:
    from stitch.factory import open_memory
    from stitch.lifecycle.selection import Selector

    batches = -(-steps // timing.TRAJECTORY_STEPS)
    oldest = max(1, min(ERASED_STEPS // timing.TRAJECTORY_STEPS, batches - 1))
    figures: Figures = {}
    with open_memory(memory) as opened:
        after = f"trip-{oldest}" if oldest < batches else "one-by-one"
        many = Selector(accepted_before=next(opened.steps(after)).recorded)
        for name, chosen in (("erase", many), ("erase_one", Selector(trajectory=after, step="0"))):
            began = time.perf_counter()
            erased = opened.lifecycle.erase(chosen)
            figures[f"{name}_s"] = time.perf_counter() - began
            figures[f"{name}_steps"] = float(erased.steps)
            figures[f"{name}_traces_left"] = float(len(erased.proof.found))
    return figures


def _measure_long(memory: str, steps: int, seed: int) -> Figures:
    from stitch.factory import open_memory
    from stitch.lifecycle.selection import Selector

    rng, size = random.Random(seed), min(LONG_STEPS, steps)
    said, after = list(sample_steps(rng, size)), list(sample_steps(rng, CHANGES + 1))
    part, middle = max(1, size // 10), size // 2
    costs, corrects, adds = [], [], []
    with open_memory(f"{memory}.long") as opened:
        for start in range(0, size, part):
            some = said[start : start + part]
            began = time.process_time()
            opened.add_many(some, trajectory="long")
            costs.append((time.process_time() - began) / len(some))
        for number, step in enumerate(after[:CHANGES]):
            changed, right = str((middle + number) % size), f"The price of the Olympus Inn is {number}."
            corrects.append(took_ms(opened.lifecycle.correct, changed, trajectory="long", text=right))
            adds.append(took_ms(opened.add, step, trajectory="long"))
        erase_ms = took_ms(opened.lifecycle.erase, Selector(trajectory="long", step=str(middle)))
        erased_ms = took_ms(opened.add, after[CHANGES], trajectory="long")
    return {
        "long_steps": float(size),
        "long_cost_ratio": costs[-1] / costs[0],
        "correct_p50_ms": percentile(corrects, 50),
        "add_after_correct_p50_ms": percentile(adds, 50),
        "erase_long_s": erase_ms / 1e3,
        "add_after_erase_ms": erased_ms,
    }
