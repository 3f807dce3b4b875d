"""Storyboards obey the pragmatic constraints, whatever the seed and the size."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.bench.generate.environment import build_debate_world, build_travel_world
from stitch.bench.generate.storyboard import KIND_OF_SLOT, Operation, Storyboard, plan_debate, plan_trip
from stitch.bench.generate.verify import VerificationError, check_plan

WORLD = build_travel_world(Random(1))
DEBATE = build_debate_world(Random(1), evidence=50)


def test_a_world_has_a_hundred_places_of_each_kind_with_names_and_prices_of_their_own() -> None:
    places = [place for kind in WORLD.places.values() for place in kind]
    assert {kind: len(found) for kind, found in WORLD.places.items()} == {
        "hotel": 100,
        "restaurant": 100,
        "attraction": 100,
    }
    assert len({place.price for place in places}) == 300
    assert len({place.name.split()[0] for place in places}) == 300


@pytest.mark.parametrize("number", [50, 200])
def test_citations_name_an_author_and_a_year_and_are_unique(number: int) -> None:
    world = build_debate_world(Random(3), evidence=number)
    citations = {evidence.citation for evidence in world.evidence.values()}
    assert len(citations) == number
    for evidence in world.evidence.values():
        author, year = evidence.citation.split()
        assert author.isalpha()
        assert year.strip("()").isdigit()
        assert author not in evidence.title + evidence.finding


@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(0, 300))
def test_every_trip_obeys_the_constraints_and_fills_every_slot(seed: int, days: int, exchanges: int) -> None:
    board = plan_trip(WORLD, Random(seed), days=days, exchanges=exchanges)
    check_plan(board)
    assert board.days() == days


@given(st.integers(0, 10_000), st.integers(12, 200), st.integers(0, 20))
def test_every_debate_obeys_the_constraints_and_has_the_length_wanted(seed: int, turns: int, citations: int) -> None:
    board = plan_debate(DEBATE, Random(seed), turns=turns, citations=citations)
    check_plan(board)
    assert len(board.operations) == turns
    for side in ("pro", "con"):
        for action in ("attack", "defend"):
            uses = [
                op.cited[0] for op in board.operations if op.cited and op.action == action and op.role.startswith(side)
            ]
            assert len(uses) == len(set(uses)) <= citations


def test_days_are_left_and_resumed() -> None:
    board = plan_trip(WORLD, Random(5), days=3, exchanges=90)
    visits = Counter(op.day for op in board.by_user("SET_DAY"))
    assert min(visits.values()) >= 2
    assert set(visits) == {1, 2, 3}


def test_places_come_back_for_other_days_and_meals() -> None:
    board = plan_trip(WORLD, Random(5), days=4, exchanges=160)
    goals: dict[str, set[tuple[int, str]]] = {}
    for op in board.by_user("PROPOSE"):
        goals.setdefault(op.objects[0], set()).add((op.day, op.slot))
    assert sum(len(found) > 1 for found in goals.values()) > len(goals) / 2


def test_no_attribute_of_a_place_is_asked_twice() -> None:
    board = plan_trip(WORLD, Random(7), days=5, exchanges=400)
    asked = Counter((op.objects[0], wish) for op in board.by_user("INQUIRE") for wish in op.asked)
    assert set(asked.values()) == {1}
    assert len(asked) > 50


def test_some_decisions_are_revised() -> None:
    board = plan_trip(WORLD, Random(7), days=5, exchanges=400)
    decided = [board.decided(day, slot) for day in range(1, 6) for slot in KIND_OF_SLOT]
    assert sum(len(set(choices)) > 1 for choices in decided) >= 5


def test_both_sides_use_evidence_of_the_same_pool() -> None:
    board = plan_debate(DEBATE, Random(2), turns=300, citations=10)
    used = {
        side: {name for op in board.operations if op.role.startswith(side) for name in op.cited}
        for side in ("pro", "con")
    }
    assert used["pro"] & used["con"]


def spoken(*operations: Operation) -> Storyboard:
    """A storyboard of operations that are numbered in their order."""
    return Storyboard(tuple(op._replace(moment=moment) for moment, op in enumerate(operations)))


def user(action: str, *objects: str, day: int = 1, slot: str = "lunch") -> Operation:
    return Operation(0, "user", action, objects, day, slot)


def debater(action: str, target: str, side: str = "pro") -> Operation:
    return Operation(0, f"{side}-side-debater", action, (target,), target=target)


@pytest.mark.parametrize(
    ("board", "complaint"),
    [
        (spoken(user("SET_DAY", slot=""), user("SET_DAY", slot="")), "planned already"),
        (spoken(user("SET_DAY", slot=""), user("PROPOSE", "A", day=2)), "another day"),
        (spoken(user("SET_DAY", slot=""), user("PROPOSE", "A"), user("PROPOSE", "A")), "twice"),
        (spoken(user("SET_DAY", slot=""), user("INQUIRE", "A")), "not proposed"),
        (spoken(user("SET_DAY", slot=""), user("PROPOSE", "A", slot="dinner"), user("DECIDE", "A")), "not proposed"),
        (spoken(user("SET_DAY", slot=""), user("PROPOSE", "A"), user("COMPARE", "A", "A")), "two things"),
        (spoken(user("SET_DAY", slot=""), user("PROPOSE", "A"), user("DECIDE", "A")), "never decided"),
        (spoken(debater("attack", "con_contention_1")), "before the contention was proposed"),
        (
            spoken(debater("propose", "pro_contention_1"), debater("attack", "pro_contention_1", "con"),
                   debater("concede", "pro_contention_1")),
            "before an attack and a defense",
        ),
        (
            spoken(debater("propose", "pro_contention_1"), debater("attack", "pro_contention_1", "con"),
                   debater("defend", "pro_contention_1"), debater("concede", "pro_contention_1"),
                   debater("defend", "pro_contention_1")),
            "after the contention was conceded",
        ),
        (spoken(debater("propose", "pro_contention_1")), "not one of two summaries"),
    ],
)  # fmt: skip
def test_a_plan_that_breaks_a_constraint_is_refused(board: Storyboard, complaint: str) -> None:
    with pytest.raises(VerificationError, match=complaint):
        check_plan(board)
