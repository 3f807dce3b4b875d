"""`stitch worker`."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, Any

import click

from stitch.console.idle import labeled_by_model
from stitch.console.options import labeling_options
from stitch.errors import require_extra

if TYPE_CHECKING:
    from stitch.memory_parts import MemoryParts

_MODEL_CONCURRENCY, _LOCAL_CONCURRENCY = 64, 2


@click.command()
@click.option("--memory", "-m", metavar="URL", help="The memory: the URL of a Qdrant server or cluster.")
@click.option("--journal", metavar="DSN", help="Its journal, as postgresql://USER:PASSWORD@HOST/DATABASE.")
@click.option("--config", metavar="FILE", type=click.Path(), help="A YAML file of settings.")
@click.option("--concurrency", type=click.IntRange(1, 1_000), metavar="N",
              help="The number of trajectories labeled at once.  [default: 64 if a model labels, else 2]")  # fmt: skip
@labeling_options
def command(memory: str | None, journal: str | None, concurrency: int | None, **settings: Any) -> None:
    """Label what other processes add to a shared memory, until Ctrl-C or SIGTERM.

    Any number of workers may run, on any number of machines. Processes that add need `workers: true` in their settings,
    and the same embedder and labels. Steps of one trajectory are labeled in order, by one worker at a time. Other
    workers take over from one that was killed after six seconds.

    \b
    Example:
      stitch worker --memory http://qdrant:6333 --journal postgresql://stitch@db/stitch
    """
    require_extra("postgres", package="procrastinate", needed_by="stitch worker")
    from stitch.cluster.opening import open_worker

    settings = labeled_by_model({"memory": memory, "journal": journal, **settings})
    many = concurrency or (_MODEL_CONCURRENCY if settings["labels"] == "model" else _LOCAL_CONCURRENCY)
    parts = open_worker(**settings, concurrency=many)
    try:
        asyncio.run(_work(parts, concurrency=many))
    finally:
        parts.close()


async def _work(parts: MemoryParts, *, concurrency: int) -> None:
    from stitch.cluster.worker import ClusterWorker

    worker, loop = ClusterWorker(parts.ingestor, concurrency=concurrency), asyncio.get_running_loop()

    def end() -> None:
        worker.stop()
        parts.ingestor.interrupt()  # a call of a model that is under way is made again by whoever goes on

    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, end)
    click.echo(f"labeling up to {concurrency} trajectories at once; Ctrl-C ends it", err=True)
    await worker.run()
