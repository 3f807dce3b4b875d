"""A memory of many processes does what one in a folder does: journal in PostgreSQL, points on a server, and workers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from cluster.conftest import working
from typing_extensions import override

from contracts.memory import MemoryContract
from contracts.trees import TreesContract
from contracts.worker import LabeledBy, WorkerContract
from doubles.qdrant import LoopbackQdrant
from stitch import Memory, open_memory
from stitch.config import load_settings
from stitch.core import Labeler, Receipt, Step
from stitch.errors import StepRejectedError
from stitch.factory import open_parts
from stitch.ingest.ingestor import Ingestor

NAMES = (f"tenant-{number}" for number in count())
"""Of a tenant of its own for each test, so that one server and one worker are there for all."""
SCHEMAS = (f"contract_{os.getpid()}_{number}" for number in count())
"""One for each server: a process that is handed tests of this file twice begins with another server the second time."""


@pytest.fixture(scope="module")
def shared(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Qdrant and journal of a memory."""
    with LoopbackQdrant(shards=3) as server:
        yield server.url, f"{postgres}&options=-csearch_path%3D{next(SCHEMAS)}"


@pytest.fixture
def data_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.mark.slow  # by the same way as with workers, but for who labels
class TestMemoryOfManyProcesses(MemoryContract, TreesContract):
    @pytest.fixture
    def memory(self, shared: tuple[str, str], data_home: None) -> Iterator[Memory]:
        with open_memory(shared[0], journal=shared[1], tenant=next(NAMES)) as memory:
            yield memory


@pytest.fixture(scope="module")
def labeled_by_a_worker(postgres: str) -> Iterator[tuple[str, str]]:
    """The same, with a worker in a thread."""
    journal = f"{postgres}&options=-csearch_path%3D{next(SCHEMAS)}"
    with LoopbackQdrant(shards=3) as server, working(server.url, journal):
        yield server.url, journal


class AwaitingIngestor(Ingestor):
    """One whose receipts are those when workers have done what they can."""

    @override
    def add_each(
        self, steps: Sequence[Step], *, tenant: str, trajectory: str, **options: Any
    ) -> list[Receipt | StepRejectedError]:
        given = super().add_each(steps, tenant=tenant, trajectory=trajectory, **options)
        self.worker.finish(tenant, trajectory)
        return [self._as_it_is(each) if isinstance(each, Receipt) else each for each in given]

    def _as_it_is(self, receipt: Receipt) -> Receipt:
        entry = self.journal.entry(receipt.tenant, receipt.trajectory, receipt.step)
        return receipt.model_copy(update={"state": entry.state, "reason": entry.reason}) if entry else receipt


class TestMemoryThatWorkersLabel(MemoryContract, TreesContract):
    @pytest.fixture
    def memory(self, labeled_by_a_worker: tuple[str, str], data_home: None) -> Iterator[Memory]:
        url, journal = labeled_by_a_worker
        with open_memory(url, journal=journal, workers=True, tenant=next(NAMES)) as memory:
            memory._ingestor.__class__ = AwaitingIngestor
            yield memory


class TestWorkers(WorkerContract):
    @pytest.fixture
    def labeled_by(self, server: LoopbackQdrant, journal_url: str, data_home: None) -> LabeledBy:
        @contextmanager
        def opened(labeler: Labeler) -> Iterator[Memory]:
            loaded = load_settings(memory=server.url, journal=journal_url, workers=True)
            with (
                working(server.url, journal_url, concurrency=4, labeler=labeler),
                Memory(open_parts(loaded, labeler=labeler), tenant="default") as memory,
            ):
                yield memory

        return opened
