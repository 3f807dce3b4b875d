"""Streams, and who reads what was just written; who is too fast waits, and labels follow."""

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from doubles.talk import SAID
from stitch.core import Step, StepState
from stitch.ingest.streaming import batches, take_in
from stitch.label.local import LocalLabeler


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
    assert ended.wait(120)


Add = Callable[[Any, Sequence[Step]], Any]


def one_by_one(world: Any, steps: Sequence[Step]) -> None:
    for step in steps:
        world.ingestor.add(step, tenant="a", trajectory="t")


def together(world: Any, steps: Sequence[Step]) -> None:
    world.ingestor.add_many(steps, tenant="a", trajectory="t")


def without_waiting(world: Any, steps: Sequence[Step]) -> None:
    for step in steps:
        world.ingestor.add(step, tenant="a", trajectory="t", wait=False)


def streamed(world: Any, steps: Sequence[Step]) -> None:
    take_in(partial(world.ingestor.add_each, tenant="a"), steps, trajectory="t", wait=True)


def streamed_without_waiting(world: Any, steps: Sequence[Step]) -> None:
    take_in(partial(world.ingestor.add_each, tenant="a"), steps, trajectory="t", wait=False)


FORMS: tuple[Add, ...] = (one_by_one, together, without_waiting, streamed, streamed_without_waiting)


def outcome(world: Any) -> tuple[list[Any], bytes]:
    world.ingestor.flush()
    entries = list(world.journal.entries("a", "t"))
    assert {entry.state for entry in entries} <= {StepState.STORED}
    checkpoint = world.journal.checkpoint("a", "t")
    return [entry.labels for entry in entries], checkpoint.session


@pytest.mark.parametrize("add", FORMS, ids=lambda form: form.__name__)
def test_each_form_survives_a_process_that_ends_amid_it(worlds: Callable[..., Any], add: Add, tmp_path: Path) -> None:
    steps = [Step(id=f"s{n}", role="user", content=text) for n, text in enumerate(SAID * 2)]
    whole = worlds(labeler=LocalLabeler())
    together(whole, steps)
    world = worlds(tmp_path / "j", labeler=LocalLabeler())
    add(world, steps[:9])
    world.ingestor.worker.threads.close()  # what a kill leaves: no thread, and nothing is finished any more
    world.journal.close()
    world = worlds(tmp_path / "j", labeler=LocalLabeler(), store=world.store)
    world.ingestor.recover()
    add(world, steps[9:])
    assert outcome(world) == outcome(whole)
