"""Themes stay in shape whatever comes and goes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.themes.grouping import Event, Grouping, decode, encode, without
from stitch.themes.objective import Group, group_of, median, objective, sparsity, typical
from stitch.themes.rows import Rows
from stitch.themes.splits import candidates
from stitch.themes.upkeep import MOST, Percentiles, Upkeep

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
    again.recall(kept.measures, next_theme=kept.next_theme)
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


def test_a_merged_theme_is_found_by_its_old_name_and_a_number_is_never_used_twice() -> None:
    grouping = Grouping()
    for event in (
        Event(1.0, "attached", 1, ("a",)),
        Event(2.0, "attached", 2, ("b",)),
        Event(3.0, "merged", 2, (), 1),
        Event(4.0, "split", 1, ("b",), 3),
        Event(5.0, "left", 0, ("b",)),
        Event(6.0, "left", 0, ("unknown",)),
    ):
        grouping.take(event)
    assert grouping.now(2) == 1
    assert grouping.now(3) is None
    assert (grouping.members, grouping.next) == ({1: {"a": None}}, 4)


def test_events_without_a_statement_have_no_trace_of_it() -> None:
    events = [Event(1.0, "attached", 1, ("a",)), Event(2.0, "split", 1, ("a", "b"), 2), Event(3.0, "merged", 2, (), 1)]
    assert without(events, frozenset({"a"})) == [Event(2.0, "split", 1, ("b",), 2), events[2]]


def test_of_an_erased_statement_nothing_is_left_and_no_event_tells_of_it() -> None:
    upkeep = Upkeep(DIMENSION)
    for number, vector in enumerate(some(20, seed=3)):
        upkeep.attach(f"s{number}", vector, at=0.0)
    before = len(upkeep.events)
    upkeep.forget(["s3", "s4"])
    check(upkeep, {f"s{number}" for number in range(20)} - {"s3", "s4"})
    assert len(upkeep.events) == before


@given(seed=st.integers(0, 10_000), count=st.integers(2, 30), edge=st.floats(-1, 1), most=st.integers(1, 12))
def test_each_way_to_split_has_all_statements_in_bounded_parts(seed: int, count: int, edge: float, most: int) -> None:
    ways = candidates(some(count, seed=seed), edge=edge, most=most)
    assert len({str(way) for way in ways}) == len(ways)
    for way in ways:
        assert sorted(place for part in way for place in part) == list(range(count))
        assert len(way) > 1
        assert all(0 < len(part) <= most for part in way)


def test_there_are_more_than_two_ways_to_split() -> None:
    assert len(candidates(some(13, seed=5), edge=0.6, most=12)) > 2


def test_equal_statements_can_be_split_too() -> None:
    same = np.tile(unit([1.0] * DIMENSION), (13, 1))
    assert all(len(part) <= 12 for way in candidates(same, edge=0.5, most=12) for part in way)


def test_the_objective_is_that_of_the_paper_where_it_is_defined() -> None:
    assert sparsity([4, 4, 4]) == pytest.approx(1.0)
    assert sparsity([9, 1]) == pytest.approx(100 / (2 * 82))
    nearest = [0.1, 0.2, 0.4, 0.8]
    middle, sigma = 0.3, 0.15
    wanted = [np.exp(-((each - middle) ** 2) / (2 * sigma**2)) for each in nearest]
    assert typical(nearest) == pytest.approx(wanted)
    assert median([3, 1, 2]) == 2


def test_few_themes_and_equal_distances_do_not_make_the_objective_fall_apart() -> None:
    assert typical([0.8, 0.8, 0.5]) == [1.0, 1.0, 1.0]
    assert typical([0.5] * 6) == [1.0] * 6
    assert objective([]) == 0.0
    group = group_of(unit(np.ones((3, DIMENSION))))
    assert (group.size, round(group.cohesion, 4)) == (3, 1.0)
    assert objective([group]) == pytest.approx(2.0)
    assert objective([Group(1, group.centroid, 1.0)] * 5) == pytest.approx(2.0)
    assert group_of(np.zeros((2, DIMENSION), np.float32)).cohesion == 0.0


@given(values=st.lists(st.floats(-1, 1), min_size=60, max_size=300), share=st.floats(0.05, 0.95))
def test_a_percentile_is_about_where_that_share_of_all_lies(values: list[float], share: float) -> None:
    counted = Percentiles()
    for value in values:
        counted.add(value)
    found = counted.at(share)
    below = sum(value < found - 0.01 for value in values) / len(values)
    up_to = sum(value <= found + 0.01 for value in values) / len(values)
    assert below - 0.12 <= share <= up_to + 0.12
    again = Percentiles()
    again.recall(counted.counts())
    assert again.at(share) == counted.at(share)


def test_old_similarities_fade() -> None:
    counted = Percentiles()
    for _ in range(9_000):
        counted.add(0.2)
    for _ in range(9_000):
        counted.add(0.8)
    assert counted.at(0.4) > 0.7


@given(seed=st.integers(0, 10_000), count=st.integers(1, 60), limit=st.integers(1, 80), gone=st.integers(0, 59))
def test_what_is_nearest_is_found_whatever_was_removed(seed: int, count: int, limit: int, gone: int) -> None:
    vectors, rows = some(count, seed=seed), Rows[int](DIMENSION)
    for number, vector in enumerate(vectors):
        rows.put(number, vector)
    for number in range(0, count, 1 + gone):
        rows.remove(number)
    left = [number for number in range(count) if number % (1 + gone)]
    found = rows.nearest(vectors[0], limit=limit, but=1)
    exact = sorted(-float(vectors[each] @ vectors[0]) for each in left if each != 1)[:limit]
    assert [-similarity for similarity, _ in found] == pytest.approx(exact, abs=1e-6)
    assert len({name for _, name in found}) == len(found)


def quality(vectors: Any, topics: Any, order: Any) -> tuple[float, float]:
    """Which share of statements is in a theme of its topic, and how alike those of a theme are, if they come so."""
    upkeep = Upkeep(DIMENSION)
    for place in order:
        upkeep.attach(f"s{place}", vectors[place], at=0.0)
    pure, alike = 0, 0.0
    for theme, names in upkeep.grouping.members.items():
        found = [int(topics[int(name[1:])]) for name in names]
        pure += max(found.count(topic) for topic in set(found))
        alike += upkeep.group(theme).cohesion * len(names)
    return pure / len(vectors), alike / len(vectors)


def test_the_order_of_trajectories_changes_quality_by_no_more_than_five_hundredths() -> None:
    chance = np.random.default_rng(4)
    centers = unit(chance.normal(size=(12, DIMENSION)))
    topics = chance.integers(12, size=300)
    vectors = unit(centers[topics] + 0.2 * chance.normal(size=(300, DIMENSION)))
    trajectories = np.split(np.arange(300), 10)
    found = []
    for seed in range(5):
        shuffled = np.random.default_rng(seed).permutation(10)
        found.append(quality(vectors, topics, np.concatenate([trajectories[each] for each in shuffled])))
    purities, cohesions = zip(*found, strict=True)
    assert max(purities) - min(purities) <= 0.05
    assert max(cohesions) - min(cohesions) <= 0.05
