"""How a memory bears a stream: accepting, searching meanwhile, growing, and being opened again."""

from __future__ import annotations

import random
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stitch.bench.figures import plain
from stitch.bench.perf import _in_a_process, _ms, _percentile, _resident_mb, sample_question, sample_steps
from stitch.console.options import json_option
from stitch.console.printing import print_json
from stitch.core import Step

if TYPE_CHECKING:
    from stitch.memory import Memory

BATCH_STEPS = 100
"""How many steps of a trajectory come at a time; then the next one goes on, round and round."""
ACCEPTED_BATCH = 500
ACCEPTED_STEPS = 5_000
SINGLES = 200
QUESTIONS = 60
SEARCH_EVERY_S = 0.1
"""How often somebody asks during ingest; `nonstop` asks without a pause."""
ALONE_BATCHES = 30
"""So many batches are added with nobody asking, right before and as many right after."""
PARTS = 10
"""At so many moments of the stream the size of the process is taken."""


def measure_stream(
    steps: int = 20_000, *, trajectories: int = 100, folder: Path | None = None, seed: int = 0
) -> dict[str, float]:
    """Measure a stream of so many steps, the second opening of its memory in a process of its own.

    `accept_*` is the time until a step is durable and can be found, with labels that follow (`wait=False`); `add_*`
    waits for local labels. `*_per_cpu_s` count the processor time of the thread that adds, for machines that others use
    as well; `ingest_cost_ratio` is what a step of the last tenth of the stream cost of what one of the first tenth did.

    Searches during ingest: another thread adds without a pause, to trajectories that are asked about. `search_busy_*`
    are asked ten times a second, and ingest keeps `busy_ingest_share` of the rate that it had alone, right before and
    right after: a step costs more the longer its trajectory is, and other work on the machine comes and goes;
    `search_nonstop_*` are asked one after the other, and it keeps `nonstop_ingest_share`: then the two threads share
    what Python lets one of them do at a time. `*_ratio` are these searches by those at rest.

    Of memory, `rss_*` is the process after the first tenth of the stream and at its end. It has two parts: pages of
    mapped files (`mapped_last_mb`), which the system takes away when it needs them, and all others (`anonymous_*`).
    Of these, a process that only opens the memory needs `index_mb`, beside the `empty_anonymous_mb` that one needs
    with an empty memory; and `label_space_mb` more once it has searched by labels (`first_search_ms`). What the stream
    held beyond `index_mb` are its buffers (`buffers_mb`): what is remembered of the trajectories that go on, caches,
    and what was freed and not given back.

    Args:
        steps: How many steps come.
        trajectories: Over how many trajectories, in turn.
        folder: Where to make the memory; a temporary folder if None.
        seed: What steps and questions are drawn with.
    """
    with tempfile.TemporaryDirectory(prefix="stitch-stream-") as temporary:
        memory = str((folder or Path(temporary)) / "stream.memory")
        empty = _in_a_process(_measure_open, f"{memory}.empty", seed)["anonymous_mb"]
        figures = _in_a_process(_measure_growth, memory, steps, trajectories, seed)
        opened = _in_a_process(_measure_open, memory, seed)
        needed = opened.pop("anonymous_mb")
        index_mb = needed - empty
        return {
            "steps": float(steps),
            "trajectories": float(trajectories),
            **figures,
            "empty_anonymous_mb": empty,
            "index_mb": index_mb,
            "index_bytes_per_step": index_mb * 1e6 / opened["opened_snippets"],
            "buffers_mb": figures["anonymous_last_mb"] - needed,
            **opened,
        }


@click.command(name="stream")
@click.option("--steps", default=20_000, show_default=True, type=click.IntRange(min=1_000), help="Steps of the stream.")
@click.option(
    "--trajectories", default=100, show_default=True, type=click.IntRange(min=1), help="Trajectories in turn."
)
@json_option
def command(steps: int, trajectories: int, *, as_json: bool) -> None:
    """Measure how a memory bears a stream: accepting, searching meanwhile, growing, opening again.

    \b
    Example:
      stitch bench stream --steps 200000 --trajectories 1000 --json
    """
    click.echo(f"stitch: streaming {steps} steps; a million takes a good while", err=True)
    figures = plain(measure_stream(steps, trajectories=trajectories))
    if as_json:
        print_json(figures)
        return
    for name, value in figures.items():
        click.echo(f"{name:28} {value:12,.3f}")


def _batches(rng: random.Random, steps: int, trajectories: int) -> Iterator[tuple[str, list[Step]]]:
    """The stream: a batch of each trajectory in turn."""
    made = 0
    while made < steps:
        for number in range(trajectories):
            size = min(BATCH_STEPS, steps - made)
            if size <= 0:
                return
            yield f"trip-{number}", list(sample_steps(rng, size))
            made += size


def _measure_growth(memory: str, steps: int, trajectories: int, seed: int) -> dict[str, float]:
    from stitch.assemble import open_memory

    rng = random.Random(seed)
    sizes: list[dict[str, float]] = []
    adding_s, cpu_s, made = 0.0, 0.0, 0
    costs = [(0, 0.0)]
    """Steps and processor seconds until each of these moments."""
    with open_memory(memory) as opened:
        for name, batch in _batches(rng, steps, trajectories):
            began, began_cpu = time.perf_counter(), time.thread_time()
            opened.add_many(batch, trajectory=name)
            adding_s, cpu_s = adding_s + time.perf_counter() - began, cpu_s + time.thread_time() - began_cpu
            made += len(batch)
            if made * PARTS >= steps * (len(sizes) + 1):
                sizes.append(_sizes())
                costs.append((made, cpu_s))
                rss, own = sizes[-1]["rss_mb"], sizes[-1]["anonymous_mb"]
                said = f"{made} steps, {made / cpu_s:.0f} a processor second, {rss:.0f} MB, {own:.0f} of them no file's"
                click.echo(f"stitch: {said}", err=True)
        opened.flush()
        figures = {
            "ingest_steps_per_s": steps / adding_s,
            "ingest_steps_per_cpu_s": steps / cpu_s,
            "ingest_cost_ratio": _cost(costs[-2:]) / _cost(costs[:2]),
            "rss_first_mb": sizes[0]["rss_mb"],
            "rss_last_mb": sizes[-1]["rss_mb"],
            "rss_growth_mb": sizes[-1]["rss_mb"] - sizes[0]["rss_mb"],
            "mapped_last_mb": sizes[-1]["rss_mb"] - sizes[-1]["anonymous_mb"],
            "anonymous_first_mb": sizes[0]["anonymous_mb"],
            "anonymous_last_mb": sizes[-1]["anonymous_mb"],
            "anonymous_growth_mb": sizes[-1]["anonymous_mb"] - sizes[0]["anonymous_mb"],
        }
        figures["anonymous_bytes_per_step"] = figures["anonymous_growth_mb"] * 1e6 / (steps * (1 - 1 / PARTS))
        singles = list(sample_steps(rng, 2 * SINGLES))
        adds = [_ms(opened.add, step, trajectory="waited") for step in singles[:SINGLES]]
        accepts = [_ms(opened.add, step, trajectory="followed", wait=False) for step in singles[SINGLES:]]
        opened.flush()
        accepted = list(sample_steps(rng, ACCEPTED_STEPS))
        began, began_cpu = time.perf_counter(), time.thread_time()
        for start in range(0, ACCEPTED_STEPS, ACCEPTED_BATCH):
            opened.add_many(accepted[start : start + ACCEPTED_BATCH], trajectory=f"batch-{start}", wait=False)
        accepting_s, accepting_cpu_s = time.perf_counter() - began, time.thread_time() - began_cpu
        opened.flush()
        figures |= {
            "add_p50_ms": _percentile(adds, 50),
            "accept_p50_ms": _percentile(accepts, 50),
            "accept_p95_ms": _percentile(accepts, 95),
            "accept_steps_per_s": ACCEPTED_STEPS / accepting_s,
            "accept_steps_per_cpu_s": ACCEPTED_STEPS / accepting_cpu_s,
            "journal_steps_per_s": _journal_steps_per_s(memory, accepted),
        }
        figures |= _measure_busy(opened, rng, seed)
    return figures


def _measure_busy(opened: Memory, rng: random.Random, seed: int) -> dict[str, float]:
    """Searches while another thread adds, and what the two take from each other."""
    busy, ended, added = random.Random(seed + 1), threading.Event(), [0]

    def add() -> None:
        opened.add_many(list(sample_steps(busy, BATCH_STEPS)), trajectory=f"busy-{busy.randrange(20)}")
        added[0] += BATCH_STEPS

    def go_on() -> None:
        while not ended.is_set():
            add()

    def alone() -> float:
        """How many seconds some batches take while nobody asks."""
        began = time.perf_counter()
        for _ in range(ALONE_BATCHES):
            add()
        return time.perf_counter() - began

    def searches(every_s: float) -> list[float]:
        took, due = [], time.perf_counter()
        for _ in range(QUESTIONS):
            time.sleep(max(0.0, due - time.perf_counter()))
            due = max(due + every_s, time.perf_counter())
            took.append(_ms(opened.search, sample_question(rng)))
        return took

    figures: dict[str, float] = {}
    searches(0.0)
    for name, every_s in (("busy", SEARCH_EVERY_S), ("nonstop", 0.0)):
        alone_s = alone()
        rest = searches(every_s)
        ended.clear()
        added[0], writer, began = 0, threading.Thread(target=go_on), time.perf_counter()
        writer.start()
        try:
            meanwhile = searches(every_s)
        finally:
            ended.set()
            writer.join()
        per_s = added[0] / (time.perf_counter() - began)
        alone_per_s = 2 * ALONE_BATCHES * BATCH_STEPS / (alone_s + alone())
        if name == "busy":
            figures |= {"search_rest_p50_ms": _percentile(rest, 50), "search_rest_p95_ms": _percentile(rest, 95)}
        figures |= {
            f"search_{name}_p50_ms": _percentile(meanwhile, 50),
            f"search_{name}_p95_ms": _percentile(meanwhile, 95),
            f"search_{name}_ratio": _percentile(meanwhile, 50) / _percentile(rest, 50),
            f"{name}_ingest_steps_per_s": per_s,
            f"{name}_ingest_share": per_s / alone_per_s,
        }
    return figures


def _cost(moments: Sequence[tuple[int, float]]) -> float:
    """What a step cost between two moments, in processor seconds."""
    (steps, cpu_s), (steps_then, cpu_s_then) = moments
    return (cpu_s_then - cpu_s) / (steps_then - steps)


def _journal_steps_per_s(memory: str, steps: list[Step]) -> float:
    """The durable part of accepting alone: batches written to a journal of their own on the same disk."""
    from stitch.journal import SqliteJournal

    path = Path(f"{memory}.journal")
    journal = SqliteJournal(path)
    began = time.perf_counter()
    for start in range(0, len(steps), ACCEPTED_BATCH):
        batch = steps[start : start + ACCEPTED_BATCH]
        journal.append_many(batch, tenant="a", trajectory=str(start), recorded=0.0)
    per_s = len(steps) / (time.perf_counter() - began)
    journal.close()
    for left in path.parent.glob(f"{path.name}*"):
        left.unlink()
    return per_s


def _measure_open(memory: str, seed: int) -> dict[str, float]:
    from stitch.assemble import open_memory

    began, began_cpu = time.perf_counter(), time.process_time()
    opened = open_memory(memory)
    open_s, open_cpu_s = time.perf_counter() - began, time.process_time() - began_cpu
    with opened:
        count = opened.status().snippets
        opened.search(sample_question(random.Random(seed)), retriever="dense")  # reads the embedder's table
        anonymous_mb = _sizes()["anonymous_mb"]
        first_ms = _ms(opened.search, sample_question(random.Random(seed)))
        return {
            "anonymous_mb": anonymous_mb,
            "open_s": open_s,
            "open_cpu_s": open_cpu_s,
            "opened_snippets": float(count),
            "first_search_ms": first_ms,
            "label_space_mb": _sizes()["anonymous_mb"] - anonymous_mb,
        }


def _sizes() -> dict[str, float]:
    """What the process holds now, in megabytes."""
    rollup = Path("/proc/self/smaps_rollup")
    anonymous = 0.0
    if rollup.exists():
        lines = (line.split() for line in rollup.read_text().splitlines())
        anonymous = next((int(words[1]) * 1024 / 1e6 for words in lines if words[0] == "Anonymous:"), 0.0)
    return {**_resident_mb(), "anonymous_mb": anonymous}
