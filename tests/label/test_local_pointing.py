"""Turns that point at what was raised before, in whatever words, and turns that point at nothing."""

import pytest

from stitch.core import Step, apply_rewrites
from stitch.label.local.antecedents import Raised
from stitch.label.local.meant import likeliest, purposes_meant
from stitch.label.local.naming import part_of
from stitch.label.local.pointing import find_pointers, pointed_at, readings, shipped_weights
from stitch.label.local.purposes import said_purposes
from stitch.label.local.references import ReferenceResolver


def raised(name: str, slot: str, *, spoken: int) -> Raised:
    return Raised(name, "user", "day 1", None, slot, part="day 1", spoken=spoken)


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
        ("item 2 on our lunch list", "Birch Tavern"),
        ("We take lunch candidate 1.", "Alder Kitchen"),
        ("What does the first of the lunch spots cost? We try to stay inside a budget.", "Alder Kitchen"),
        ("Lunch (not the bed, I mix these up): the second one.", "Birch Tavern"),
        ("We stay at the first one. Lunch comes later, so does dinner.", "Cedar Inn"),
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
    loose = [Raised("Alder Kitchen", "user", "s", None, "lunch")]
    assert list(pointed_at("What does the first one for lunch cost?", loose)) == []
    assert list(pointed_at("What does the first one for lunch cost?", [])) == []


def test_ordinals_of_time_and_manner_count_nothing() -> None:
    assert [pointer.place for pointer in find_pointers("On second thought, we stayed last night.")] == [None]
    assert [pointer.place for pointer in find_pointers("the 2. restaurant, or the latter")] == [2, -1]


def test_the_purpose_nearest_to_what_counts_is_its_own() -> None:
    first, second = find_pointers(
        "The first one for dinner, and what with all that was said before the third for lunch?"
    )
    assert (likeliest(first.meant), likeliest(second.meant)) == ("dinner", "lunch")


def test_a_number_behind_a_noun_counts_unless_it_counts_days_or_is_a_price_or_a_time() -> None:
    assert [pointer.place for pointer in find_pointers("Is pick 2 or pick 3 better?", ITEMS)] == [2, 3]
    for text in ("Back to day 2.", "We come at noon 12:30.", "It takes about 3 hours.", "They want the 10% off."):
        assert [pointer.place for pointer in find_pointers(text, ITEMS)] == [None]


def test_what_is_described_in_words_that_were_told_of_it_alone_is_found() -> None:
    items = [raised("Alder Kitchen", "lunch", spoken=1), raised("Birch Tavern", "lunch", spoken=2)]
    items[0].answers = ["barley", "soup", "smoked", "trout", "garden"]
    items[1].answers = ["stuffed", "vine", "leaves", "garden", "quiet"]
    for text, name in (
        ("How much is the lunch place with the stuffed vine leaves?", "Birch Tavern"),
        ("We take the lunch place that has barley soup with smoked trout.", "Alder Kitchen"),
    ):
        assert [item.name for _, item, _ in pointed_at(text, items)] == [name]
    (pointer,) = find_pointers("that lunch place with the garden")
    told = [one.numbers["told"] for one in readings(pointer, "that lunch place with the garden", items)[:2]]
    assert told == [0.0, 0.0]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Is that tavern for lunch any good?", "Birch Tavern"),
        ("We take the kitchen for lunch.", "Alder Kitchen"),
        ("What does the cheaper one for lunch cost?", "Birch Tavern"),
        ("We take the less expensive one for lunch.", "Birch Tavern"),
        ("Is the pricey one for lunch any good?", "Alder Kitchen"),
        ("Is the $34.70 place for lunch any good?", "Alder Kitchen"),
        ("We take what Ruth wants for lunch.", "Alder Kitchen"),
        ("I have such old shoes. How is Gil's pick for lunch rated?", "Birch Tavern"),
    ],
)
def test_a_thing_is_found_by_its_name_its_price_and_whose_idea_it_was(text: str, name: str) -> None:
    said = resolved(
        "user: Ruth is all for Alder Kitchen, for lunch.",
        "agent: A fine idea.",
        "user: Birch Tavern for lunch? That is Gil talking.",
        "agent: Many people like it.",
        "user: How much is Alder Kitchen?",
        "agent: It is $34.70 at Alder Kitchen. There are 70 seats.",
        "user: How much is Birch Tavern?",
        "agent: It is $9.50 at Birch Tavern.",
        f"user: {text}",
    )
    names = [each for each in ("Alder Kitchen", "Birch Tavern") if each in said[-1]]
    assert names == [name]


def test_where_one_eats_is_no_sight_because_visitors_are_asked_about() -> None:
    said = resolved(
        "user: Alder River Kitchen for lunch?",
        "agent: A fine idea.",
        "user: Elm Park for the outing?",
        "agent: It is by the canal.",
        "user: How do visitors like Alder River Kitchen?",
        "agent: They love it.",
        "user: What does the last one for the outing cost?",
    )
    assert "Elm Park" in said[-1]


def test_the_other_one_is_the_one_that_was_not_spoken_of_last() -> None:
    items = [raised("Alder Kitchen", "lunch", spoken=1), raised("Birch Tavern", "lunch", spoken=9)]
    (pointer,) = find_pointers("the other lunch place")
    first, second, nothing = readings(pointer, "the other lunch place", items)
    assert first.numbers["the other"]
    assert not second.numbers["the other"]
    assert nothing.item is None
    assert nothing.numbers["nothing: purpose"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("We settle for the lunch place that I put forward afterwards.", "Birch Tavern"),
        ("And the elder of my ideas for lunch, is it any good?", "Alder Kitchen"),
        ("Please contrast it: lunch candidate one.", "Alder Kitchen"),
    ],
)
def test_words_that_order_things_count_without_a_number(text: str, name: str) -> None:
    assert [item.name for _, item, _ in pointed_at(text, ITEMS)] == [name]


def test_a_number_that_stands_for_a_word_or_a_part_of_the_plan_counts_nothing() -> None:
    for text in ("the one by the corner 4 lunch?", "We return to day 2. We are slow.", "our first meal of the day"):
        assert [pointer.place for pointer in find_pointers(text, ITEMS)] == [None]


def test_a_thing_of_two_that_is_spent_is_not_meant_a_second_time() -> None:
    for text in ("Is the latest lunch place better than the other one for lunch?", "Birch Tavern, or lunch option 2?"):
        names = [item.name for _, item, _ in pointed_at(text, ITEMS, named=["Birch Tavern"] * ("Birch" in text))]
        assert len(names) == len(set(names))
        assert "Birch" not in text or "Birch Tavern" not in names


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


def resolved(*turns: str) -> list[str]:
    resolver, said = ReferenceResolver(), []
    for number, turn in enumerate(("user: Let's plan the first day.", *turns)):
        role, text = turn.split(": ", 1)
        step = Step(role=role, content=text, id=f"{number}")
        said.append(apply_rewrites(text, resolver.resolve(step, scope="day 1").references))
    return said


RAISED = (
    "user: Saw Alder River Kitchen on the map, would that do for lunch?",
    "agent: A fine idea.",
    "user: Cedar Rose Inn for the night?",
    "agent: Many people like it.",
    "user: Birch Garden Tavern could be another for lunch.",
    "agent: They have a garden.",
)


def test_what_somebody_puts_forward_is_raised_and_not_who_does() -> None:
    asked = "user: Aunt Peg wants Elm Harbor Grill for lunch."

    assert "(Elm Harbor Grill)" in resolved(*RAISED, asked, "agent: Good.", "user: What is #3 for lunch like?")[-1]


def test_what_one_says_to_have_seen_is_called_by_its_name_alone() -> None:
    assert "(Alder River Kitchen)" in resolved(*RAISED, "user: how much is #1 for lunch?")[-1]


def test_the_second_one_of_a_list_for_another_purpose_is_not_meant() -> None:
    listed = "user: Compare Alder River Kitchen and Birch Garden Tavern."
    said = resolved(
        *RAISED, "user: Dove Hill Inn might do for the night too.", listed, "user: We sleep at the second one."
    )
    assert "Dove Hill Inn" in said[-1]
    assert "Birch" not in said[-1]
    assert "Birch Garden Tavern" in resolved(*RAISED, listed, "user: We eat at the second one.")[-1]


def test_the_second_one_that_somebody_put_forward_is_no_place_in_a_list() -> None:
    said = resolved(
        *RAISED, "user: Compare Cedar Rose Inn and Alder River Kitchen.", "user: Lunch at the second one I named."
    )
    assert "Birch Garden Tavern" in said[-1]


def test_the_kind_that_a_phrase_counts_narrows_it_down_in_the_part_of_the_plan() -> None:
    resolver = ReferenceResolver()
    for scope, text in (
        ("day 1", "Let's plan the first day."),
        ("day 1", "Alder River Kitchen could be nice for lunch."),
        ("a thought", "For sightseeing, what about Elm Copper Tower?"),
    ):
        resolver.resolve(Step(role="user", content=text), scope=scope)
    text = "The first sight I asked about for that day, what does it cost?"
    found = resolver.resolve(Step(role="user", content=text), scope="day 1").references
    assert "Elm Copper Tower" in apply_rewrites(text, found)


def test_parts_of_a_plan_are_named_by_number_or_by_word() -> None:
    assert part_of("Back to the second day, please, or day 3?") == "day 3"
    assert part_of("Now our second day.") == "day 2"
    assert part_of("In case 4 nothing happens.") == ""


def test_purposes_are_read_in_other_words_and_not_in_names() -> None:
    assert [word for _, word in said_purposes("somewhere to sleep, an evening meal")] == ["stay", "dinner"]
    assert [word for _, word in said_purposes("something to see")] == ["outing"]
    assert said_purposes("a phone that stays switched off, in bed last night") == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Alder for our noon meal", "lunch"),
        ("the evening feed: Alder", "dinner"),
        ("Alder for the night", "stay"),
        ("Alder for the touristy bit", "outing"),
        ("my brekfast idea: Alder", "breakfast"),
        ("P.m. meal: assess Alder.", "dinner"),
        ("For the dining room at noon, Alder", "lunch"),
        ("zog: Alder?", "zog"),
        ("Alder (zog)", "zog"),
    ],
)
def test_what_a_thing_is_for_is_read_from_meaning_misspelled_words_and_the_place_of_an_own_word(
    text: str, found: str
) -> None:
    start = text.index("Alder")
    meant = purposes_meant(text, start, start + len("Alder"), raises=True)
    assert likeliest(meant) == found
    assert sum(meant.values()) == pytest.approx(1.0, abs=0.01)


def test_what_a_thing_is_for_stays_open_where_words_leave_it_open() -> None:
    assert purposes_meant("what about Alder?", 11, 16, raises=True) == {}
    shares = purposes_meant("Alder, a good meal", 0, 5, raises=True)
    assert shares["breakfast"] == shares["lunch"] == shares["dinner"] > shares["stay"]
    name = "Alder Fountain Inn"
    assert likeliest(purposes_meant(name, 0, len(name), name=name, raises=True)) == "stay"


def test_the_speakers_own_word_for_a_purpose_is_known_again() -> None:
    own = [raised("Alder Kitchen", "zog", spoken=1), raised("Birch Tavern", "zog", spoken=2), ITEMS[0]]
    assert [item.name for _, item, _ in pointed_at("my second zog idea, stars?", own)] == ["Birch Tavern"]


def test_a_price_that_was_told_of_one_thing_points_at_it() -> None:
    items = [raised("Alder Kitchen", "lunch", spoken=1), raised("Birch Tavern", "lunch", spoken=9)]
    items[0].answers, items[1].answers = ["83", "45"], ["12", "50"]
    assert [item.name for _, item, _ in pointed_at("Book the $83.45 place for lunch.", items)] == ["Alder Kitchen"]


def test_two_things_set_side_by_side_are_both_found_where_one_is_not_counted() -> None:
    items = [*ITEMS, raised("Elm Grill", "dinner", spoken=5)]
    for said in (
        "How does the second one for lunch compare with the dinner place?",
        "second lunch item vs. dinner item",
    ):
        assert [item.name for _, item, _ in pointed_at(said, items)] == ["Birch Tavern", "Elm Grill"]


def test_beside_a_thing_that_is_named_only_what_counts_points_at_another() -> None:
    text = "Is Alder Kitchen better than the second one for lunch?"
    assert [item.name for _, item, _ in pointed_at(text, ITEMS, ["Alder Kitchen"])] == ["Birch Tavern"]
    assert list(pointed_at("Alder Kitchen for lunch, then.", ITEMS, ["Alder Kitchen"])) == []
    assert list(pointed_at("Or Fir House, the second one for lunch?", ITEMS, ["Fir House"])) == []


def test_what_answers_a_turn_about_one_thing_or_two_has_their_names() -> None:
    said = resolved(
        *RAISED,
        "user: How much is the first one for lunch?",
        "agent: Twelve dollars, all in.",
        "agent: Cards are fine.",
        "user: And compare the first and the second for lunch.",
        "agent: Quiet, the one as the other.",
        "user: We like walking.",
        "agent: Good to know.",
    )
    assert "(Alder River Kitchen)" in said[-6]
    assert "(Alder River Kitchen)" in said[-5]
    assert "(Alder River Kitchen) (Birch Garden Tavern)" in said[-3]
    assert said[-1] == "Good to know."


def test_a_figure_told_of_a_thing_that_was_pointed_at_points_at_it_later() -> None:
    said = resolved(
        *RAISED,
        "user: How much is the first one for lunch?",
        "agent: They ask $83.45.",
        "user: And the second one for lunch?",
        "agent: They ask $12.50.",
        "user: We take the $83.45 one for lunch.",
    )
    assert "(Alder River Kitchen)" in said[-1]
