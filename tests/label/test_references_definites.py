"""Phrases that point at what is spoken of without naming it come to that thing, and stay where that is unsure."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.core import Step, apply_rewrites
from stitch.label.local.references import ReferenceResolver


def user(content: str) -> Step:
    return Step(role="user", content=content)


def agent(content: str) -> Step:
    return Step(role="assistant", content=content)


def told(*steps: Step) -> str:
    """The last step, resolved after the others."""
    resolver = ReferenceResolver()
    for step in steps[:-1]:
        resolver.resolve(step, scope="trip")
    return apply_rewrites(steps[-1].content, resolver.resolve(steps[-1], scope="trip").references)


STAY = user("I found a hotel called Casa Serena.")
VISIT = user("I found a museum called Light House Nine.")
TWO = user("Could you compare Casa Serena with Hotel Aurora?")


@pytest.mark.parametrize(
    ("said", "resolved"),
    [
        ("The hotel has a garden.", "Casa Serena has a garden."),
        ("I know that place well.", "I know Casa Serena well."),
        ("The hotel boasts a pool.", "Casa Serena boasts a pool."),
        ("The hotel phone number is 12.", "Casa Serena phone number is 12."),
        ("They repaired the roof last year.", "Casa Serena repaired the roof last year."),
        ("That sounds good! It is known for its garden.", "That sounds good! Casa Serena is known for its garden."),
    ],
)
def test_what_points_at_the_one_thing_that_was_just_raised_becomes_its_name(said: str, resolved: str) -> None:
    assert told(STAY, agent(said)) == resolved


@pytest.mark.parametrize(
    "said",
    [
        "The hotel rooms are small.",
        "The hotel in Porto is older.",
        "The museum is closed on Mondays.",
        "There is a hotel nearby, and the hotel has a pool.",
        "It is raining all over the place.",
        "The dinner is late.",
    ],
)
def test_what_may_point_elsewhere_stays(said: str) -> None:
    assert told(STAY, agent(said)) == said


def test_a_thing_is_called_what_it_was_said_to_be() -> None:
    assert told(VISIT, agent("The museum is free.")) == "Light House Nine is free."
    assert told(user("Casa Verde is a very small bistro."), agent("The bistro is cheap.")) == "Casa Verde is cheap."
    assert told(VISIT, agent("The hotel is free.")) == "The hotel is free."


def test_it_opens_a_sentence_about_the_thing_unless_the_sentence_before_brought_something_else() -> None:
    assert told(STAY, agent("You will like the calm. It lies by the river.")).endswith("Casa Serena lies by the river.")
    for before in ("A bench stands outside.", "The garden is large.", "You may see a fountain."):
        said = f"{before} It is old."
        assert told(STAY, agent(said)) == said


def test_people_of_the_text_are_they_before_the_staff_of_a_place_are() -> None:
    said = "Many people come back, as they like the view."
    assert told(STAY, agent(said)) == said


def test_the_topic_holds_while_its_teller_goes_on() -> None:
    steps = (STAY, agent("You hear the bells."), agent("Free Wi-Fi is included."), agent("Nobody will press you."))
    assert told(*steps, agent("That place is calm.")) == "Casa Serena is calm."


def test_the_topic_ends_with_the_next_thing_that_is_raised_and_after_a_while() -> None:
    assert told(STAY, user("I found a hotel called Villa Rosa."), agent("The hotel is full.")) == "Villa Rosa is full."
    silence = [agent("Fine.")] * 7
    assert told(STAY, *silence, agent("The hotel is full.")) == "The hotel is full."
    assert told(STAY, TWO, agent("The hotel is full.")) == "The hotel is full."


def test_an_older_thing_is_never_it_where_another_was_raised_since() -> None:
    steps = (user("I like Casa Verde. Casa Verde is a bistro."), agent("Casa Verde is open."))
    said = "When does it open?"
    assert "Casa Verde" not in told(
        *steps, user("We could go to the opera with Ann Smith."), agent("Fine."), user(said)
    )


@pytest.mark.parametrize(
    ("said", "resolved"),
    [
        ("Both take requests.", "Both Casa Serena and Hotel Aurora take requests."),
        ("Neither takes requests.", "Neither Casa Serena nor Hotel Aurora takes requests."),
        ("I like both.", "I like both Casa Serena and Hotel Aurora."),
        ("Both sides are right.", "Both sides are right."),
        ("Both my sisters came.", "Both my sisters came."),
    ],
)
def test_two_things_that_are_compared_are_both_of_them(said: str, resolved: str) -> None:
    assert told(TWO, agent(said)) == resolved


def test_a_question_about_something_without_a_name_is_answered_about_that() -> None:
    assert told(STAY, user("When does the concert begin?"), agent("It begins at five.")) == "It begins at five."


def test_a_name_of_single_letters_is_called_nothing() -> None:
    assert told(user("I saw X Y today."), agent("The place is full.")) == "The place is full."


def test_every_replacement_names_its_antecedent_step() -> None:
    resolver = ReferenceResolver()
    resolver.resolve(STAY.model_copy(update={"id": "first"}), scope="trip")
    (found,) = resolver.resolve(agent("The hotel is full."), scope="trip").references
    assert (found.antecedent, found.replacement) == ("first", "Casa Serena")


SAID = st.sampled_from(
    [
        STAY,
        VISIT,
        TWO,
        agent("The hotel is full."),
        agent("They are closed."),
        agent("Both are old."),
    ]
)


@given(st.lists(SAID, max_size=8), st.integers(0, 8))
def test_saving_in_between_changes_nothing(steps: list[Step], place: int) -> None:
    whole, parts = ReferenceResolver(), ReferenceResolver()
    for number, step in enumerate(steps):
        if number == place:
            parts = ReferenceResolver.load(json.loads(json.dumps(parts.save())))
        assert whole.resolve(step, scope="trip") == parts.resolve(step, scope="trip")


def test_a_turn_to_another_unit_leaves_what_was_spoken_of() -> None:
    turned = user("Now for day 3, please. I want it to feel unhurried.")
    assert told(STAY, turned) == turned.content
    for said in ("It can be slow.", "They close at nine.", "The hotel is full."):
        assert told(STAY, turned, agent(said)) == said


def test_what_is_wished_and_what_is_told_apart_in_the_text_are_no_references() -> None:
    for said in ("It should not be too far.", "I meant Tuesday, not now, I often confuse them."):
        assert told(STAY, user(said)) == said


def test_a_branch_is_not_a_second_thing() -> None:
    found = user("I found a salon called Rose Garden - Santa Rosa.")
    assert "and Santa Rosa" not in told(found, agent("They are open."))
