"""Turns that point at what was raised before, in whatever words, and turns that point at nothing."""

import pytest

from stitch.core import Step, apply_rewrites
from stitch.label.local.antecedents import Raised
from stitch.label.local.hypernyms import purpose, said_purposes
from stitch.label.local.naming import part_of
from stitch.label.local.pointing import find_pointers, pointed_at, readings, shipped_weights
from stitch.label.local.references import ReferenceResolver


def raised(name: str, slot: str, *, spoken: int, chosen: int = 0) -> Raised:
    return Raised(name, "user", "day 1", "day 1", None, [], slot, part="day 1", spoken=spoken, chosen=chosen)


LUNCHES = [raised("Alder Kitchen", "lunch", spoken=1), raised("Birch Tavern", "lunch", spoken=2)]
ITEMS = [raised("Cedar Inn", "stay", spoken=3), *LUNCHES, raised("Dove Inn", "stay", spoken=4)]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("What would the first one for lunch cost?", "Alder Kitchen"),
        ("lunch option 2 - how much", "Birch Tavern"),
        ("#1 for lunch, stars?", "Alder Kitchen"),
        ("And the earlier of my two for the night, is it expensive?", "Cedar Inn"),
        ("We take the newest idea for the night.", "Dove Inn"),
        ("How much is number one on my lunch pile?", "Alder Kitchen"),
    ],
)
def test_what_is_counted_is_found_among_things_for_the_same_purpose(text: str, name: str) -> None:
    assert [item.name for _, item, _ in pointed_at(text, ITEMS)] == [name]


def test_two_things_that_are_counted_are_both_found() -> None:
    found = pointed_at("For lunch, is the first or the second one better?", ITEMS)
    assert [item.name for _, item, _ in found] == ["Alder Kitchen", "Birch Tavern"]


def test_a_turn_to_another_day_points_at_nothing() -> None:
    assert list(pointed_at("Let's go on with day 2.", ITEMS)) == []


def test_long_turns_and_things_outside_of_plans_are_left_alone() -> None:
    assert list(pointed_at("The first one for lunch? " + "We like it quiet. " * 40, ITEMS)) == []
    loose = [Raised("Alder Kitchen", "user", "s", "", None, [], "lunch")]
    assert list(pointed_at("What does the first one for lunch cost?", loose)) == []
    assert list(pointed_at("What does the first one for lunch cost?", [])) == []


def test_ordinals_of_time_and_manner_count_nothing() -> None:
    assert [pointer.place for pointer in find_pointers("On second thought, we stayed last night.")] == [None]
    assert [pointer.place for pointer in find_pointers("the 2. restaurant, or the latter")] == [2, -1]


def test_the_purpose_nearest_to_what_counts_is_its_own() -> None:
    first, second = find_pointers(
        "The first one for dinner, and what with all that was said before the third for lunch?"
    )
    assert (first.purpose, second.purpose) == ("dinner", "lunch")


def test_what_else_was_raised_for_it_the_choice_and_common_words_count() -> None:
    items = [raised("Alder Kitchen", "lunch", spoken=1, chosen=5), raised("Birch Tavern", "lunch", spoken=9)]
    items[0].answers = ["river", "clock"]
    (pointer,) = find_pointers("the other lunch place by the river, is it the one we booked?")
    first, second, nothing = readings(pointer, "the other lunch place by the river, the one we booked?", items)
    assert first.numbers["the other"]
    assert not second.numbers["the other"]
    assert first.numbers["chosen, asked of"]
    assert first.numbers["words"] > second.numbers["words"]
    assert nothing.item is None
    assert nothing.numbers["nothing: purpose"]


def test_the_weights_know_no_feature_that_is_not_there() -> None:
    (pointer,) = find_pointers("that lunch place")
    known = {name for reading in readings(pointer, "that lunch place", ITEMS) for name in reading.numbers}
    assert set(shipped_weights()) == known


def test_names_are_put_in_where_a_plan_is_spoken_of_and_said_in_other_words() -> None:
    resolver, said = ReferenceResolver(), []
    for role, text in (
        ("user", "Let's plan the first day."),
        ("user", "Alder River Kitchen could be nice for lunch."),
        ("agent", "A fine idea. It lies by the canal."),
        ("user", "Or Birch Garden Tavern for lunch?"),
        ("agent", "Many people like it."),
        ("user", "how much is #1 for lunch"),
        ("agent", "They ask $12.50."),
    ):
        step = Step(role=role, content=text)
        found = resolver.resolve(step, scope="day 1")
        said.append((apply_rewrites(text, found.references), found.context))
    assert "Alder River Kitchen" in said[5][0]
    assert "Alder River Kitchen" in said[6][1]


def test_parts_of_a_plan_are_named_by_number_or_by_word() -> None:
    assert part_of("Back to the second day, please, or day 3?") == "day 3"
    assert part_of("Now our second day.") == "day 2"
    assert part_of("In case 4 nothing happens.") == ""


def test_purposes_are_read_in_other_words_and_not_in_names() -> None:
    assert [word for _, word in said_purposes("somewhere to sleep, and an evening meal")] == ["stay", "dinner"]
    assert purpose(["Harbor Hotel would do for an evening meal."], name="Harbor Hotel") == "dinner"
    assert purpose(["Ann likes Oslo as well."], name="Oslo") == ""
    assert purpose(["We need it for work."]) == "work"
