"""What adding costs whoever adds, with an embedder whose vectors are waited for or follow.

`python -m stitch.bench.adding --embedder minilm --precision int8 --vectors after` adds made-up steps in batches, then
one at a time. Counted is the processor time of the thread that adds; what follows is made in another thread.
"""

from __future__ import annotations

import json
import random
import tempfile
import time
from typing import TYPE_CHECKING, Literal

import click

from stitch.bench.perf import _percentile, sample_steps

if TYPE_CHECKING:
    from stitch.given_settings import GivenSettings

BATCH_STEPS = 100
SINGLES = 50


def measure_adding(steps: int, *, seed: int = 0, **settings: object) -> dict[str, float]:
    """Figures of adding so many steps to a new memory.

    Args:
        steps: How many are added in batches; `SINGLES` more are added one at a time.
        seed: What they are drawn with.
        settings: Of the memory.
    """
    from stitch.assemble import open_memory

    given = list(sample_steps(random.Random(seed), steps + SINGLES))
    options: GivenSettings = {"share": False, **settings}  # type: ignore[typeddict-item]  # names of settings
    with tempfile.TemporaryDirectory(prefix="stitch-adding-") as folder, open_memory(folder, **options) as memory:
        memory.add_many(given[:1], trajectory="first")  # models are loaded
        memory.flush()
        began, spent = time.perf_counter(), time.thread_time()
        for start in range(0, steps, BATCH_STEPS):
            memory.add_many(given[start : min(start + BATCH_STEPS, steps)], trajectory="batches")
        seconds, cpu_s = time.perf_counter() - began, time.thread_time() - spent
        waiting = memory.status().without_vectors
        singles = []
        for step in given[steps:]:
            spent = time.thread_time()
            memory.add(step, trajectory="singles")
            singles.append((time.thread_time() - spent) * 1e3)
        began = time.perf_counter()
        memory.flush()
        return {
            "steps": float(steps),
            "added_per_cpu_s": steps / cpu_s,
            "added_per_s": steps / seconds,
            "single_cpu_ms": _percentile(singles, 50),
            "waiting_when_added": float(waiting),
            "flush_s": time.perf_counter() - began,
        }


@click.command()
@click.option("--steps", default=1_000, show_default=True)
@click.option("--embedder", default="static", show_default=True)
@click.option("--precision", type=click.Choice(["float", "int8"]), default="float", show_default=True)
@click.option("--vectors", type=click.Choice(["with", "after"]), default="with", show_default=True)
def command(steps: int, embedder: str, precision: Literal["float", "int8"], vectors: Literal["with", "after"]) -> None:
    """Print what adding costs, as JSON."""
    found = measure_adding(steps, embedder=embedder, embedder_precision=precision, vectors=vectors)
    click.echo(json.dumps({name: round(value, 2) for name, value in found.items()}))


if __name__ == "__main__":
    command()
