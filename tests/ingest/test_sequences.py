"""However steps come in, in batches or from threads, the result is the same."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stitch.core import Step

Make = Callable[..., Any]


def test_threads_may_add_to_the_same_trajectory(world: Any) -> None:
    def add(who: str) -> None:
        for n in range(15):
            world.add(Step(role=who, content=f"{who} {n}"))

    threads = [threading.Thread(target=add, args=(f"agent{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    entries = list(world.journal.entries("a", "t"))
    assert [entry.position for entry in entries] == list(range(60))
    assert [entry.labels.summary for entry in entries] == [f"step {n}" for n in range(60)]
    said = [[e.step.content for e in entries if e.step.role == f"agent{n}"] for n in range(4)]
    assert said == [[f"agent{n} {i}" for i in range(15)] for n in range(4)]


contents = st.lists(
    st.sampled_from(["Book a room", "It costs 76", "It is full", "Compare 2 hotels", "Why", "It It"]), max_size=14
)


@given(said=contents, data=st.data())
def test_any_division_into_batches_gives_the_same_store(world_type: Make, said: list[str], data: st.DataObject) -> None:
    steps = [Step(role="user", content=content) for content in said]
    cuts = sorted(data.draw(st.sets(st.integers(0, len(steps)))))
    one, many = world_type(), world_type()
    if steps:
        one.add(*steps)
    for start, stop in zip([0, *cuts], [*cuts, len(steps)], strict=True):
        many.add(*steps[start:stop])
    assert many.snippets() == one.snippets()
    assert many.truth() == one.truth()
    assert many.inventory() == one.inventory()
    one.journal.close()
    many.journal.close()
