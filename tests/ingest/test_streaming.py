"""Streams: what comes is stored as it comes, who is too fast waits, and labels follow where nobody waits."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

from stitch import open_memory
from stitch.core import Step, StepState
from stitch.ingest.streaming import batches


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
