"""Streams: what comes is stored as it comes, who is too fast waits, and labels follow where nobody waits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stitch import open_memory
from stitch.core import Receipt, Rejection, SourcedStep, Step, StepState
from stitch.errors import InputError
from stitch.ingest.streaming import batches

Make = Callable[..., Any]


def test_whoever_is_too_fast_waits_at_the_bound() -> None:
    made = [0]

    def fast() -> Iterator[int]:
        for number in range(100):
            made[0] = number + 1
            yield number

    taken: list[int] = []
    sizes = []
    for batch in batches(fast(), bound=5):
        taken += batch
        sizes.append(len(batch))
        assert made[0] <= len(taken) + 6
    assert taken == list(range(100))
    assert max(sizes) <= 5


def test_a_stream_that_is_left_takes_no_more() -> None:
    ended = threading.Event()

    def endless() -> Iterator[int]:
        try:
            while True:
                yield 1
        finally:
            ended.set()

    coming = batches(endless(), bound=2)
    next(coming)
    coming.close()
    assert ended.wait(60)


def test_a_stream_gives_a_receipt_a_step_in_order(tmp_path: Path, steps: Make) -> None:
    told = steps(6)
    items = [
        SourcedStep("a", told[0], "f", 1), told[1], Rejection(source="f", line=2, reason="no"),
        SourcedStep("b", told[2], "f", 3), SourcedStep("a", Step(role="user", content="other", id="s0"), "f", 4),
    ]  # fmt: skip
    with open_memory(tmp_path / "m") as memory:
        results = list(memory.stream(iter(items), trajectory="own"))
        assert [(r.trajectory, r.step, r.state.value) for r in results if isinstance(r, Receipt)] == [
            ("a", "s0", "stored"), ("own", "s1", "stored"), ("b", "s2", "stored"),
        ]  # fmt: skip
        refused = [r for r in results if isinstance(r, Rejection)]
        assert [r.line for r in refused] == [2, 4]
        assert "known with other content" in refused[1].reason
        with pytest.raises(InputError, match="has no trajectory"):
            list(memory.stream(told))


def test_many_writers_of_one_trajectory_and_of_several_lose_nothing(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m") as memory:

        def write(writer: int) -> None:
            for number in range(12):
                step = Step(role="user", content=f"writer {writer} says {number} of the hotel")
                memory.add(step, trajectory="shared" if number % 2 else f"own-{writer}", wait=number % 3 == 0)

        threads = [threading.Thread(target=write, args=(writer,)) for writer in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        memory.flush()
        said = [entry for name in memory.trajectories() for entry in memory.steps(name)]
        assert len({entry.step.content for entry in said}) == len(said) == 72
        assert {entry.state for entry in said} == {StepState.STORED}
        assert [entry.position for entry in memory.steps("shared")] == list(range(36))
        assert memory.lifecycle.verify().disagreements == ()
