"""What the store of a memory takes at a size, without labeling all of it: `python -m stitch.bench.store_growth`.

A memory takes in and labels a sample of the made-up steps of `stitch bench perf`. Then their snippets are put again and
again under other trajectories, each with its vector turned a little, until the store has the size that is asked for. A
process of its own opens it, and ranks with the questions that `stitch bench perf` puts to a store. What the journal
takes is known from the sample, of which each step takes the same; label spaces of trajectories are not built.
"""

from __future__ import annotations

import json
import random
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from stitch.bench.perf import TRAJECTORY_STEPS, _in_a_process, _percentile, _resident_mb, sample_question, sample_steps
from stitch.core.progress import Progress

SAMPLED_STEPS = 3_000
QUESTIONS = 100
_TURNED = 0.3
"""How long what is added to a vector is, beside the vector: near ones stay near, and none is there twice."""


def measure_store(steps: int, *, sampled: int = SAMPLED_STEPS, seed: int = 0) -> dict[str, float]:
    """Figures of a store of so many steps: megabytes by file, resident ones of a process that ranks, milliseconds.

    Args:
        steps: How many, a multiple of what a trajectory has.
        sampled: How many of them are labeled; all others are copies.
        seed: What steps, vectors and questions are drawn with.
    """
    with tempfile.TemporaryDirectory(prefix="stitch-store-") as folder:
        made = _in_a_process(_build, folder, steps, min(sampled, steps), seed)
        files = [path for path in (Path(folder) / "grown").rglob("*") if path.is_file()]
        sizes = {f"{path.name}_mb": path.stat().st_blocks * 512 / 1e6 for path in files if path.parent.name == "store"}
        shard = sum(path.stat().st_blocks * 512 / 1e6 for path in files if "shard" in path.parts)
        asked = _in_a_process(_ask, folder, steps, seed)
    largest = {name: size for name, size in sorted(sizes.items()) if size >= 0.1}
    disk = made["journal_mb"] + sum(sizes.values()) + shard
    return {"steps": float(steps), **made, **largest, "shard_mb": shard, "disk_mb": disk, **asked}


def _build(folder: str, steps: int, sampled: int, seed: int) -> dict[str, float]:
    import numpy as np

    from stitch.assemble import open_memory
    from stitch.embed import LexicalEncoder, StaticEmbedder
    from stitch.ingest.records import make_records
    from stitch.store import EdgeStore

    rng, noise = random.Random(seed), np.random.default_rng(seed)
    sample = Path(folder) / "sample"
    with open_memory(sample, share=False) as memory:
        for start in range(0, sampled, TRAJECTORY_STEPS):
            memory.add_many(sample_steps(rng, TRAJECTORY_STEPS), trajectory=f"trip-{start}")
        names = [f"trip-{start}" for start in range(0, sampled, TRAJECTORY_STEPS)]
        snippets = [entry.snippet() for name in names for entry in memory.steps(name)]
    journal = sum(path.stat().st_blocks for path in sample.glob("journal*")) * 512 / 1e6 / len(snippets)
    embedder = StaticEmbedder()
    records = make_records(snippets, embedder=embedder, lexical=LexicalEncoder())
    progress, began = Progress("steps put", of=steps), time.process_time()
    about: dict[str, Any] = {"embedder_name": embedder.name, "dimension": embedder.dimension}
    with closing(EdgeStore(Path(folder) / "grown", **about)) as store:
        for start in range(0, steps, TRAJECTORY_STEPS):
            first = start % len(records)
            batch = records[first : first + TRAJECTORY_STEPS]
            turns = noise.standard_normal((len(batch), embedder.dimension)).astype(np.float32)
            turns *= _TURNED / np.linalg.norm(turns, axis=1, keepdims=True)
            copies = [
                each._replace(
                    snippet=each.snippet.model_copy(update={"trajectory": f"trip-{start}"}), vector=each.vector + turn
                )
                for each, turn in zip(batch, turns, strict=True)
            ]
            store.put(copies)
            progress.advance(len(copies))
        store.flush()
    return {"put_cpu_ms": (time.process_time() - began) * 1e3 / steps, "journal_mb": journal * steps}


def _ask(folder: str, steps: int, seed: int) -> dict[str, float]:
    from stitch.core import DensityQuery, Label, LabelKind
    from stitch.embed import LexicalEncoder, StaticEmbedder
    from stitch.store import EdgeStore

    rng, embedder, lexical = random.Random(seed + 1), StaticEmbedder(), LexicalEncoder()
    embedder.embed(["the table is read"])
    before = _resident_mb()["rss_mb"]
    about: dict[str, Any] = {"embedder_name": embedder.name, "dimension": embedder.dimension}
    began = time.process_time()
    with closing(EdgeStore(Path(folder) / "grown", create=False, **about)) as store:
        open_s = time.process_time() - began
        scopes = sorted({snippet.intent.scope or "" for snippet in store.scroll("default", "trip-0")} - {""})

        def spent_ms(labels: dict[Label, frozenset[str]]) -> float:
            question = sample_question(rng)
            query = DensityQuery(
                tenant="default", labels=labels, vector=embedder.embed([question])[0], words=lexical.query(question)
            )
            started = time.process_time()
            store.rank(query)
            return (time.process_time() - started) * 1e3

        none = [spent_ms({}) for _ in range(QUESTIONS)]
        asked = [rng.choice(scopes) for _ in none]
        named = [spent_ms({Label(LabelKind.SCOPE, scope): frozenset({scope})}) for scope in asked]
        resident = {**_resident_mb(), "own_mb": _own_mb()}
    return {
        "open_cpu_s": open_s,
        "rank_named_p50_cpu_ms": _percentile(named, 50),
        "rank_none_p50_cpu_ms": _percentile(none, 50),
        **resident,
        "rss_before_mb": before,
    }


def _own_mb() -> float:
    """What this process holds that is no page of a file; 0 where the system does not say."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return sum(int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith("RssAnon:"))


@click.command()
@click.option("--steps", default=300_000, show_default=True, help="How many the store has.")
def command(steps: int) -> None:
    """Print what a store of so many steps takes, as JSON."""
    click.echo(json.dumps({name: round(value, 3) for name, value in measure_store(steps).items()}, indent=1))


if __name__ == "__main__":
    command()
