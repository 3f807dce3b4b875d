"""A memory under a stream: accepting, searching meanwhile, and growing."""

from __future__ import annotations

import random
import tempfile
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stitch.bench import timing
from stitch.bench.timing import Figures, in_a_process, percentile, percentiles, resident_mb, sample_steps, took, took_ms
from stitch.console.options import json_option

if TYPE_CHECKING:
    from stitch.memory import Memory

BATCH_STEPS = 100
"""How many steps of a trajectory come at a time; then the next one goes on, round and round."""
ACCEPTED_BATCH, ACCEPTED_STEPS = 500, 5_000
SINGLES = 200
QUESTIONS = 60
SEARCH_EVERY_S = 0.1
"""How often somebody asks during ingest."""
ALONE_BATCHES = 30
"""So many batches are added with nobody asking, right before and as many right after."""
PARTS = 10
"""At so many moments of the stream the size of the process is taken."""


def measure_stream(steps: int = 20_000, *, trajectories: int = 100, seed: int = 0) -> Figures:
    """Measure a stream of so many steps over trajectories in turn, in a process of its own.

    `accept_*` is the time until a step is durable and can be found, with labels that follow (`wait=False`).
    `*_per_cpu_s` count the processor time of the thread that adds, for machines that others use as well;
    `ingest_cost_ratio` is what a step of the last tenth of the stream cost of what one of the first tenth did;
    `rss_growth_mb` is how far the process has grown between them.

    Searches during ingest: another thread adds without a pause, to trajectories that are asked about. `search_busy_*`
    are asked ten times a second, and ingest keeps `busy_ingest_share` of the rate that it had alone, right before and
    right after; `search_busy_ratio` is these searches by those at rest.
    """
    with tempfile.TemporaryDirectory(prefix="stitch-stream-") as temporary:
        memory = str(Path(temporary) / "stream.memory")
        figures = in_a_process(_measure_growth, memory, steps, trajectories, seed)
    return {"steps": float(steps), "trajectories": float(trajectories), **figures}


@click.command(name="stream")
@click.option("--steps", default=20_000, show_default=True, type=click.IntRange(min=1_000), help="Steps of the stream.")
@click.option(
    "--trajectories", default=100, show_default=True, type=click.IntRange(min=1), help="Trajectories in turn."
)
@json_option
def command(steps: int, trajectories: int, *, as_json: bool) -> None:
    """Measure how a memory bears a stream: accepting, searching meanwhile, growing.

    \b
    Example:
      stitch bench stream --steps 200000 --trajectories 1000 --json
    """
    click.echo(f"stitch: streaming {steps} steps; a million takes a good while", err=True)
    timing.print_figures(measure_stream(steps, trajectories=trajectories), as_json=as_json)


def _measure_growth(memory: str, steps: int, trajectories: int, seed: int) -> Figures:
    from stitch.factory import open_memory

    rng = random.Random(seed)
    sizes: list[float] = []
    adding_s, cpu_s, made = 0.0, 0.0, 0
    moments = [(0, 0.0)]
    """Steps and processor seconds until each of these moments."""
    with open_memory(memory) as opened:
        for number, start in enumerate(range(0, steps, BATCH_STEPS)):
            batch, name = list(sample_steps(rng, min(BATCH_STEPS, steps - start))), f"trip-{number % trajectories}"
            spent = took(lambda batch=batch, name=name: opened.add_many(batch, trajectory=name))  # type: ignore[misc]
            adding_s, cpu_s, made = adding_s + spent[0], cpu_s + spent[1], made + len(batch)
            if made * PARTS >= steps * (len(sizes) + 1):
                sizes.append(resident_mb())
                moments.append((made, cpu_s))
                click.echo(f"stitch: {made} steps, {made / cpu_s:.0f} a processor second, {sizes[-1]:.0f} MB", err=True)
        opened.flush()
        costs = [(b - a) / (n - m) for (m, a), (n, b) in pairwise(moments)]
        figures = {
            "ingest_steps_per_s": steps / adding_s,
            "ingest_steps_per_cpu_s": steps / cpu_s,
            "ingest_cost_ratio": costs[-1] / costs[0],
            "rss_first_mb": sizes[0],
            "rss_last_mb": sizes[-1],
            "rss_growth_mb": sizes[-1] - sizes[0],
            **_measure_accepting(opened, rng),
        }
        return figures | _measure_busy(opened, rng, seed)


def _measure_accepting(opened: Memory, rng: random.Random) -> Figures:
    singles, accepted = list(sample_steps(rng, SINGLES)), list(sample_steps(rng, ACCEPTED_STEPS))
    accepts = [took_ms(opened.add, step, trajectory="followed", wait=False) for step in singles]
    opened.flush()

    def accept() -> None:
        for start in range(0, ACCEPTED_STEPS, ACCEPTED_BATCH):
            opened.add_many(accepted[start : start + ACCEPTED_BATCH], trajectory=f"batch-{start}", wait=False)

    seconds, cpu_s = took(accept)
    opened.flush()
    return {
        **percentiles("accept", accepts),
        "accept_steps_per_s": ACCEPTED_STEPS / seconds,
        "accept_steps_per_cpu_s": ACCEPTED_STEPS / cpu_s,
    }


def _measure_busy(opened: Memory, rng: random.Random, seed: int) -> Figures:
    """Searches while another thread adds, and what the two take from each other."""
    busy, ended, added = random.Random(seed + 1), threading.Event(), [0]

    def add() -> None:
        opened.add_many(list(sample_steps(busy, BATCH_STEPS)), trajectory=f"busy-{busy.randrange(20)}")
        added[0] += BATCH_STEPS

    def go_on() -> None:
        while not ended.is_set():
            add()

    def alone() -> None:
        for _ in range(ALONE_BATCHES):
            add()

    def searches(every_s: float) -> list[float]:
        times, due = [], time.perf_counter()
        for _ in range(QUESTIONS):
            time.sleep(max(0.0, due - time.perf_counter()))
            due = max(due + every_s, time.perf_counter())
            times.append(took_ms(opened.search, timing.sample_question(rng)))
        return times

    searches(0.0)
    before_s, rest = took(alone)[0], searches(SEARCH_EVERY_S)
    added[0], writer, began = 0, threading.Thread(target=go_on), time.perf_counter()
    writer.start()
    try:
        meanwhile = searches(SEARCH_EVERY_S)
    finally:
        ended.set()
        writer.join()
    per_s = added[0] / (time.perf_counter() - began)
    alone_per_s = 2 * ALONE_BATCHES * BATCH_STEPS / (before_s + took(alone)[0])
    return {
        **percentiles("search_rest", rest),
        **percentiles("search_busy", meanwhile),
        "search_busy_ratio": percentile(meanwhile, 50) / percentile(rest, 50),
        "busy_ingest_steps_per_s": per_s,
        "busy_ingest_share": per_s / alone_per_s,
    }
