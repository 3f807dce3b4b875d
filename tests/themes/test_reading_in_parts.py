"""In however many parts a journal is read, and by however many processes, the hierarchy is the same."""

import random
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from doubles.journaling import MemoryJournal
from stitch.core import Step
from stitch.testing.hashing import HashingEmbedder
from stitch.themes import ThemeProjection
from themes.test_projection import everything

MATTERS = [
    "tent mountain hike trail summit camp",
    "violin orchestra concert Berlin music stage",
    "kitchen sink pipe plumber leak tap",
    "garden tomato soil harvest basil seed",
    "novel author chapter library reading plot",
]


class Unsteady(HashingEmbedder):
    """An embedder that may be away, as one on a server."""

    is_away = False

    def embed(self, texts: Sequence[str]) -> Any:
        if self.is_away:
            raise ConnectionError
        return super().embed(texts)


def told(count: int, *, seed: int) -> list[Step]:
    """Steps that each say something of one of a few matters."""
    chance = random.Random(seed)
    steps = []
    for number in range(count):
        said = chance.sample(chance.choice(MATTERS).split(), 3)
        steps.append(
            Step(
                role="user", content=f"We talked of the {said[0]} and the {said[1]} near the {said[2]}.", id=f"{number}"
            )
        )
    return steps


def add(journal: MemoryJournal, steps: list[Step]) -> None:
    for step in steps:
        journal.append_many([step], tenant="a", trajectory=f"t{int(step.id or 0) % 3}", recorded=100.0)


def whole(projection: ThemeProjection) -> Any:
    projection.bring_up()
    upkeep = projection.upkeep
    near = {theme: upkeep.neighbors(theme, limit=5) for theme in sorted(upkeep.grouping.members)}
    return everything(projection), near, upkeep.measures(), upkeep.grouping.next, upkeep.grouping.merged_into


@settings(max_examples=settings().max_examples // 2)
@given(
    seed=st.integers(0, 1_000),
    parts=st.lists(st.tuples(st.integers(1, 40), st.sampled_from(["goes on", "ends", "is interrupted"])), max_size=12),
)
def test_the_hierarchy_does_not_depend_on_how_its_steps_were_read(seed: int, parts: list[tuple[int, str]]) -> None:
    steps = told(150, seed=seed)
    at_once = MemoryJournal()
    add(at_once, steps)
    expected = ThemeProjection(journal=at_once, tenant="a", embedder=HashingEmbedder(32))
    expected.bring_up()
    kinds = {event.kind for event in expected.events()}
    assert {"split", "merged"} <= kinds, "these steps try all that can happen to themes"

    journal, read, embedder = MemoryJournal(), 0, Unsteady(32)

    def process() -> ThemeProjection:
        return ThemeProjection(journal=journal, tenant="a", embedder=embedder)

    projection = process()
    for size, then in [*parts, (len(steps), "goes on")]:
        add(journal, steps[read : read + size])
        read += size
        embedder.is_away = then == "is interrupted"
        with suppress(ConnectionError):
            projection.bring_up()
        embedder.is_away = False
        if then == "ends":
            projection = process()
    projection.bring_up()
    assert whole(projection) == whole(expected)
    assert whole(process()) == whole(expected)
