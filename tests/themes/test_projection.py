"""A hierarchy follows its journal, in however many parts and by whomever it is read, and stays in shape."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.hierarchy import HierarchyContract, Read
from contracts.projection import live_and_erase
from doubles.journaling import MemoryJournal
from stitch.core import Moment, Step
from stitch.testing.hashing import HashingEmbedder
from stitch.themes import TenantThemes, ThemeProjection
from stitch.themes.grouping import decode, encode
from stitch.themes.objective import candidates, sparsity, typical
from stitch.themes.reading import Themes
from stitch.themes.upkeep import MOST, Upkeep


def everything(projection: ThemeProjection) -> Any:
    """All that a projection tells: statements, the themes in which they are, episodes."""
    projection.bring_up()
    holding, upkeep = projection.holding, projection.upkeep
    return (
        {name: holding.with_episode(each) for name, each in sorted(holding.statements.items())},
        {theme: sorted(names) for theme, names in sorted(upkeep.grouping.members.items())},
        {name: list(line.episodes()) for name, line in sorted(holding.lines.items())},
        sorted(holding.usual.items()),
        sorted(upkeep.vectors.names) == sorted(holding.statements),
        sorted(upkeep.centroids.names) == sorted(upkeep.grouping.members),
    )


def told(themes: Themes) -> Any:
    """All that can be read of a hierarchy."""
    trajectories = {each.trajectory for each in themes.statements()}
    return themes.statements(), themes.themes(), {each: themes.episodes(each) for each in trajectories}


def test_what_has_followed_a_journal_equals_what_is_read_anew() -> None:
    for seed in range(6):
        journal = MemoryJournal()
        held = TenantThemes(journal=journal, embedder=HashingEmbedder(32))
        for part in range(3):
            live_and_erase(journal, held, seed=10 * seed + part)
            followed = told(held.of("a"))
            again = TenantThemes(journal=journal, embedder=HashingEmbedder(32))
            assert told(again.of("a")) == followed, f"seed {seed}, part {part}"


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


DIMENSION = 8


def unit(rows: Any) -> Any:
    vectors = np.asarray(rows, np.float32)
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), np.float32(1e-9))


def some(count: int, *, seed: int, topics: int = 6) -> Any:
    """Vectors that lie around some centers."""
    chance = np.random.default_rng(seed)
    centers = unit(chance.normal(size=(topics, DIMENSION)))
    return unit(centers[chance.integers(topics, size=count)] + 0.25 * chance.normal(size=(count, DIMENSION)))


def check(upkeep: Upkeep, there: set[str]) -> None:
    members = upkeep.grouping.members
    placed = [name for names in members.values() for name in names]
    assert sorted(placed) == sorted(there), "every statement is in one theme"
    assert {name: theme for theme, names in members.items() for name in names} == upkeep.grouping.theme_of
    assert all(1 <= len(names) <= MOST for names in members.values())
    assert set(upkeep.centroids.names) == set(members)
    assert set(upkeep.vectors.names) == there


@given(seed=st.integers(0, 10_000), leaves=st.lists(st.integers(0, 119), max_size=40), count=st.integers(1, 120))
def test_every_statement_is_in_one_theme_of_bounded_size(seed: int, leaves: list[int], count: int) -> None:
    upkeep, there = Upkeep(DIMENSION), set[str]()
    vectors = some(count, seed=seed)
    for number, vector in enumerate(vectors):
        upkeep.attach(f"s{number}", vector, at=float(number))
        there.add(f"s{number}")
        for leaving in leaves[number::count]:
            if f"s{leaving}" in there:
                there.remove(f"s{leaving}")
                upkeep.detach(f"s{leaving}", at=float(number))
    check(upkeep, there)
    again = Upkeep(DIMENSION)
    kept = decode(encode(upkeep.events, next_theme=upkeep.grouping.next, measures=upkeep.measures()))
    again.recall(kept.measures, next_theme=kept.next)
    again.settle(kept.events, {name: upkeep.vectors[name].copy() for name in there})
    check(again, there)
    assert again.grouping.members == upkeep.grouping.members
    assert again.grouping.next == upkeep.grouping.next
    assert again.measures() == upkeep.measures()
    for theme in upkeep.grouping.members:
        near, wanted = (each.neighbors(theme, limit=3) for each in (again, upkeep))
        assert [similarity for similarity, _ in near] == pytest.approx([similarity for similarity, _ in wanted])


def test_what_is_alike_comes_together_and_what_is_not_stays_apart() -> None:
    upkeep = Upkeep(DIMENSION)
    chance = np.random.default_rng(1)
    centers = np.eye(DIMENSION, dtype=np.float32)[:4]
    topics = chance.integers(4, size=80)
    for number, topic in enumerate(topics):
        vector = unit(centers[topic] + 0.1 * chance.normal(size=DIMENSION))
        upkeep.attach(f"s{number}", vector, at=0.0)
    pure = 0
    for names in upkeep.grouping.members.values():
        found = [topics[int(name[1:])] for name in names]
        pure += max(found.count(topic) for topic in set(found))
    assert pure == 80
    assert len(upkeep.grouping.members) < 40


def test_of_an_erased_statement_nothing_is_left_and_no_event_tells_of_it() -> None:
    upkeep = Upkeep(DIMENSION)
    for number, vector in enumerate(some(20, seed=3)):
        upkeep.attach(f"s{number}", vector, at=0.0)
    before = len(upkeep.events)
    upkeep.forget(["s3", "s4"])
    check(upkeep, {f"s{number}" for number in range(20)} - {"s3", "s4"})
    assert len(upkeep.events) == before


@given(seed=st.integers(0, 10_000), count=st.integers(2, 30), alike=st.booleans())
def test_each_way_to_split_has_all_statements_in_two_parts(seed: int, count: int, alike: bool) -> None:
    vectors = some(count, seed=seed)
    ways = candidates(np.repeat(vectors[:1], count, axis=0) if alike else vectors)
    assert len({str(way) for way in ways}) == len(ways) > 0
    for way in ways:
        assert all(way)
        assert sorted(place for part in way for place in part) == list(range(count))


def test_the_objective_is_that_of_the_paper_where_it_is_defined() -> None:
    assert sparsity([4, 4, 4]) == pytest.approx(1.0)
    assert sparsity([9, 1]) == pytest.approx(100 / (2 * 82))
    nearest = [0.1, 0.2, 0.4, 0.8]
    middle, sigma = 0.3, 0.15
    wanted = [np.exp(-((each - middle) ** 2) / (2 * sigma**2)) for each in nearest]
    assert typical(nearest) == pytest.approx(wanted)
