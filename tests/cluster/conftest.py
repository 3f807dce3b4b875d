"""A memory that workers label: PostgreSQL, a stand-in of Qdrant over three shards, processes of `stitch worker`."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path

import pytest

from doubles.postgres import MakeUrl, new_url, postgres
from doubles.qdrant import LoopbackQdrant
from stitch import Memory, open_memory
from stitch.cluster.worker import ClusterWorker
from stitch.config import load_settings
from stitch.core import Labeler
from stitch.factory import open_parts
from stitch.ingest import Role

__all__ = ["new_url", "postgres"]

Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def journal_url(new_url: MakeUrl) -> str:
    return new_url()


@pytest.fixture
def server() -> Iterator[LoopbackQdrant]:
    with LoopbackQdrant(shards=3) as started:
        yield started


@pytest.fixture
def open_shared(
    server: LoopbackQdrant, journal_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Memory]:
    """Opens the memory for who adds and asks."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return lambda **settings: open_memory(server.url, **{"journal": journal_url, "workers": True, **settings})


@pytest.fixture
def worker(server: LoopbackQdrant, journal_url: str, tmp_path: Path) -> Iterator[None]:
    """A worker in a thread of this process, which is there much sooner than a process."""
    with working(server.url, journal_url):
        yield


@contextmanager
def working(memory: str, journal: str, *, concurrency: int = 2, labeler: Labeler | None = None) -> Iterator[None]:
    """A worker in a thread, as long as this is entered."""
    loaded = load_settings(memory=memory, journal=journal, workers=True, vectors="with")
    parts = open_parts(loaded, role=Role.WORKER, labeler=labeler)
    made: Future[tuple[ClusterWorker, asyncio.AbstractEventLoop]] = Future()

    async def work() -> None:
        worker = ClusterWorker(parts.ingestor, concurrency=concurrency)
        made.set_result((worker, asyncio.get_running_loop()))
        await worker.run()

    thread = threading.Thread(target=lambda: asyncio.run(work()))
    thread.start()
    worker, loop = made.result(timeout=120)
    try:
        yield
    finally:
        loop.call_soon_threadsafe(worker.stop)
        thread.join(timeout=120)
        assert not thread.is_alive()
        parts.close()


@pytest.fixture
def start_worker(server: LoopbackQdrant, journal_url: str, tmp_path: Path) -> Iterator[Start]:
    """Starts a process of `stitch worker`, and waits until it works."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "stitch", "worker", "--memory", server.url, "--journal", journal_url, *options]
        said = tmp_path / f"worker-{len(started)}.log"
        with said.open("wb") as log:
            started.append(subprocess.Popen(command, stderr=log))
        while "labeling up to" not in said.read_text():
            assert started[-1].poll() is None, said.read_text()
            time.sleep(0.05)
        return started[-1]

    yield start
    for each in started:
        each.send_signal(signal.SIGCONT)
        each.kill()
        each.wait()
