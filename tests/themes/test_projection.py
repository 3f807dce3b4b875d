"""A hierarchy follows its journal: whatever happens to steps, it is as if it had been derived at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from contracts.hierarchy import HierarchyContract, Read
from contracts.projection import Derive, ProjectionContract
from doubles.journaling import MemoryJournal
from stitch.core import Moment, Step
from stitch.journal import Journal
from stitch.testing.hashing import HashingEmbedder
from stitch.themes import TenantThemes, ThemeProjection
from stitch.themes.reading import Themes


def everything(projection: ThemeProjection) -> Any:
    """All that a projection tells: statements, the themes in which they are, episodes."""
    projection.load()
    holding, upkeep = projection.holding, projection.upkeep
    return (
        {name: holding.with_episode(each) for name, each in sorted(holding.statements.items())},
        {theme: sorted(names) for theme, names in sorted(upkeep.grouping.members.items())},
        {name: list(line.episodes()) for name, line in sorted(holding.lines.items()) if len(line)},
        sorted(holding.usual.items()),
        sorted(upkeep.vectors.names) == sorted(holding.statements),
        sorted(upkeep.centroids.names) == sorted(upkeep.grouping.members),
    )


class TestThemeProjection(ProjectionContract):
    @pytest.fixture
    def derive(self) -> Derive:
        def made(journal: Journal) -> Any:
            projection = ThemeProjection(journal=journal, tenant="a", embedder=HashingEmbedder(32))
            return projection, lambda: everything(projection)

        return made


class TestThemes(HierarchyContract):
    @pytest.fixture
    def read(self) -> Read:
        return lambda journal: TenantThemes(journal=journal, embedder=HashingEmbedder(64)).of("a")


SAID = [
    "I bought a blue tent for the mountain trip.",
    "The mountain trip begins on Friday with a long hike.",
    "My sister Anna plays the violin in an orchestra.",
    "The orchestra of Anna gives a concert in Berlin.",
    "We repaired the kitchen sink with a new pipe.",
]


@pytest.fixture
def journal() -> MemoryJournal:
    journal = MemoryJournal()
    for number, text in enumerate(SAID):
        step = Step(role="user", content=text, id=f"s{number}")
        journal.append_many([step], tenant="a", trajectory="t", recorded=100.0 + number)
    return journal


@pytest.fixture
def themes(journal: MemoryJournal) -> Callable[[], Any]:
    held = TenantThemes(journal=journal, embedder=HashingEmbedder(64))

    def of(tenant: str = "a") -> Themes:
        return held.of(tenant)

    return of


def texts(themes: Themes) -> set[str]:
    return {themes.statement(name).text for each in themes.themes() for name in each.statements}  # type: ignore[union-attr]


def test_every_step_that_asserts_something_is_found_in_a_theme(themes: Callable[[], Any]) -> None:
    assert texts(themes()) == set(SAID)


def test_a_moment_of_the_past_shows_what_was_there_and_how_it_was_said(
    journal: MemoryJournal, themes: Callable[[], Any]
) -> None:
    themes()
    [entry] = journal.entries("a", "t", start=4)
    right = entry.step.model_copy(update={"content": "We repaired the bathroom sink with glue."})
    journal.correct(entry.seq, step=right, labels=None, at=300.0, by="ann", checkpoint=None)
    [first] = journal.entries("a", "t", stop=1)
    journal.retire([first.seq], at=400.0, reason="old")
    now = themes()
    assert texts(now) == {*SAID[1:4], "We repaired the bathroom sink with glue."}
    then = now.themes(as_of=Moment(350.0))
    assert sum(len(each.statements) for each in then) == 5
    vector = HashingEmbedder(64).embed([SAID[4]])[0]
    [(found, near)] = now.nearest(vector, limit=1, as_of=Moment(299.0))
    assert (found.text, round(near, 3)) == (SAID[4], 1.0)
    assert [each.text for each, _ in now.nearest(vector, limit=9, as_of=Moment(100.5))] == [SAID[0]]
