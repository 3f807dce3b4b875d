"""Workers that are killed or stand still, and come back late."""

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cluster.kills import run

from doubles.qdrant import LoopbackQdrant
from stitch import Memory, Step
from stitch.cluster.opening import open_worker
from stitch.core import StepState
from stitch.errors import ConflictError
from stitch.ingest.shared import FencedWorker
from stitch.memory import MemoryParts

INN, COURT = "The Harbor Inn costs 90 dollars a night.", "The Palm Court costs 70 dollars a night."


class Halting:
    """A call that stands still before or after it is done, until it is let go."""

    def __init__(self, call: Callable[..., object]) -> None:
        self._call = call
        self.reached, self.free = threading.Event(), threading.Event()

    def __call__(self, *given: object, **named: object) -> object:
        self.reached.set()
        assert self.free.wait(timeout=120)
        return self._call(*given, **named)


@pytest.fixture
def workers(server: LoopbackQdrant, journal_url: str, open_shared: object) -> Iterator[tuple[MemoryParts, MemoryParts]]:
    made = [open_worker(server.url, journal=journal_url, concurrency=1) for _ in range(2)]
    yield made[0], made[1]
    for each in made:
        each.close()


def work(parts: MemoryParts) -> int:
    assert isinstance(parts.ingestor.worker, FencedWorker)
    return parts.ingestor.worker.work("default", "t")


def say(content: str, name: str) -> Step:
    return Step(id=name, role="user", content=content)


def test_a_worker_that_stood_still_before_its_labels_were_written_changes_nothing(
    open_shared: Callable[..., Memory], workers: tuple[MemoryParts, MemoryParts], monkeypatch: pytest.MonkeyPatch
) -> None:
    late, other = workers
    halted = Halting(late.ingestor.journal.record_labels)
    monkeypatch.setattr(late.ingestor.journal, "record_labels", halted)
    with open_shared() as memory, ThreadPoolExecutor(1) as pool:
        memory.add_many([say(INN, "0"), say("Book it for two nights.", "1")], trajectory="t")
        working = pool.submit(work, late)
        assert halted.reached.wait(timeout=120)
        work(other)
        memory.lifecycle.correct("0", trajectory="t", text=COURT)
        halted.free.set()
        with pytest.raises(ConflictError, match="changed by another process"):
            working.result(timeout=120)
        assert [entry.state for entry in memory.steps("t")] == [StepState.STORED] * 2
        assert memory.lifecycle.verify().disagreements == ()
        assert "Palm" in memory.search("What does the hotel cost?").context()


@pytest.mark.parametrize("change", ["erase", "correct"])
def test_what_a_late_worker_puts_after_a_change_is_put_as_the_journal_says(
    open_shared: Callable[..., Memory],
    workers: tuple[MemoryParts, MemoryParts],
    monkeypatch: pytest.MonkeyPatch,
    change: str,
) -> None:
    late, other = workers
    halted = Halting(late.ingestor.store.put)
    monkeypatch.setattr(late.ingestor.store, "put", halted)
    with open_shared() as memory, ThreadPoolExecutor(1) as pool:
        memory.add_many([say(INN, "0"), say("Book it for two nights.", "1")], trajectory="t")
        working = pool.submit(work, late)
        assert halted.reached.wait(timeout=120)
        work(other)
        if change == "erase":
            memory.delete("0", trajectory="t")
        else:
            memory.lifecycle.correct("0", trajectory="t", text=COURT)
        halted.free.set()
        with pytest.raises(ConflictError):
            working.result(timeout=120)
        work(other)
        assert "Harbor" not in memory.search("What does the hotel cost a night?").context()
        assert memory.lifecycle.verify().disagreements == ()
        assert {entry.state for entry in memory.steps("t")} == {StepState.STORED}


def test_what_is_killed_stands_still_or_is_cut_off_changes_nothing(
    new_url: Callable[[], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    kills = int(os.environ.get("STITCH_TEST_CLUSTER_KILLS", "3"))
    assert run(new_url(), kills=kills, seed=1, folder=tmp_path)["wrong"] == []
