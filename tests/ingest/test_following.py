"""Vectors that follow: steps are found by words and labels at once, and by similarity when their vectors are there."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from doubles.labeling import ScriptedLabeler
from stitch.core import StepState
from stitch.embed import HashingEmbedder
from stitch.ingest import threads
from stitch.ingest.snippets import EmbedMode
from stitch.ingest.worker import FOLLOWS

Make = Callable[..., Any]


class SlowEmbedder(HashingEmbedder):
    """An embedder that makes no vector before it is let."""

    def __init__(self, *, let: bool = False) -> None:
        super().__init__(16)
        self.let, self.begun = threading.Event(), threading.Event()
        self.error: Exception | None = None
        if let:
            self.let.set()

    def embed(self, texts: Sequence[str]) -> Any:
        """Return the vectors when that is allowed."""
        self.begun.set()
        assert self.let.wait(120)
        if self.error is not None:
            raise self.error
        return super().embed(texts)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "FAILED_S", 0.001)


@pytest.fixture
def slow() -> Any:
    embedder = SlowEmbedder()
    yield embedder
    embedder.let.set()  # or a thread would wait for good


def after(worlds: Make, embedder: SlowEmbedder, *arguments: Any, **options: Any) -> Any:
    return worlds(*arguments, embedder=embedder, vectors=EmbedMode.AFTER, **options)


def states(world: Any, tenant: str = "a") -> list[str]:
    return [receipt.state.value for receipt in world.ingestor.receipts(tenant)]


def without_vectors(world: Any) -> int:
    return sum(not record.vector.any() for record in world.store.records.values())


def kill(world: Any, embedder: SlowEmbedder) -> None:
    """Leave what a kill leaves: no thread, and no vector is made any more."""
    embedder.error = ZeroDivisionError()
    embedder.let.set()
    world.ingestor.worker.threads.close()
    world.journal.close()


def test_a_step_is_labeled_and_found_while_its_vector_is_not_there(
    worlds: Make, steps: Make, slow: SlowEmbedder
) -> None:
    world = after(worlds, slow)
    receipts = world.add(*steps(3))
    assert [(r.state, r.reason) for r in receipts] == [(StepState.LABELED, FOLLOWS)] * 3
    assert (world.store.count("a"), without_vectors(world)) == (3, 3)
    assert all(record.words and record.snippet.labeled_by for record in world.store.records.values())
    assert world.ingestor.counts("a").waiting == 3
    slow.let.set()
    world.ingestor.flush()
    assert (states(world), without_vectors(world)) == (["stored"] * 3, 0)


def test_what_came_to_be_is_what_would_have_been_with_vectors_at_once(worlds: Make, steps: Make) -> None:
    at_once, followed = worlds(), after(worlds, SlowEmbedder(let=True))
    for world in (at_once, followed):
        world.add(*steps(40))
        world.add(*steps(5), trajectory="u")
        world.add(*steps(5), tenant="b")
        world.ingestor.flush()
    assert followed.snippets() == at_once.snippets()
    assert followed.truth() == at_once.truth()


def test_after_a_kill_the_next_process_labels_nothing_again_and_makes_the_vectors(
    worlds: Make, steps: Make, slow: SlowEmbedder, tmp_path: Path
) -> None:
    killed = after(worlds, slow, tmp_path / "j")
    killed.add(*steps(4))
    kill(killed, slow)
    again = after(worlds, SlowEmbedder(let=True), tmp_path / "j", store=killed.store, labeler=ScriptedLabeler())
    again.ingestor.recover()
    again.ingestor.flush()
    assert (states(again), without_vectors(again)) == (["stored"] * 4, 0)
    assert again.labeler.calls == []


def test_what_is_erased_before_its_vector_came_stays_erased(worlds: Make, steps: Make, slow: SlowEmbedder) -> None:
    world = after(worlds, slow)
    world.add(*steps(3))
    assert slow.begun.wait(120)
    entry = world.journal.entry("a", "t", "s1")
    world.store.delete("a", [entry.snippet().id])
    world.ingestor.rework("a", "t", lambda: world.journal.erase([entry.seq], tenant="a", trajectory="t"))
    slow.let.set()
    world.ingestor.flush()
    assert sorted(record.snippet.step for record in world.store.records.values()) == ["s0", "s2"]
    assert (states(world), without_vectors(world)) == (["stored"] * 2, 0)
