"""What an utterance leaves out is filled in from what was said before, or left out where that is unsure."""

from __future__ import annotations

import pytest

from stitch.core import Step
from stitch.label.local.references import rewrite_utterance


def rewritten(*said: str) -> str:
    """The last of alternating utterances, the last one by the user, as read after the others."""
    roles = ["user", "assistant"] if len(said) % 2 else ["assistant", "user"]
    history = [Step(role=roles[place % 2], content=content) for place, content in enumerate(said[:-1])]
    return rewrite_utterance(history, Step(role="user", content=said[-1]))


ROOM = ("I want a cheap room in the old part of town.", "What price range do you prefer?")


@pytest.mark.parametrize(
    ("answer", "filled"),
    [
        ("I don't care about it.", "I don't care about the price range."),
        ("No preference.", "No preference about the price range."),
        ("It doesn't matter.", "the price range doesn't matter."),
        ("Any is fine.", "Any price range is fine."),
        ("I care a lot.", "I care a lot."),
    ],
)
def test_indifference_names_what_was_asked(answer: str, filled: str) -> None:
    assert rewritten(*ROOM, answer) == filled


@pytest.mark.parametrize(
    ("question", "filled"),
    [
        ("Do you have a preference for the floor?", "I don't care about the floor."),
        ("Is there a particular street you like?", "I don't care about the street."),
        ("Would you prefer hills or lakes?", "I don't care about hills or lakes."),
        ("Would you like their phone number?", "I don't care about their phone number."),
        ("What is the date that suits you?", "I don't care about the date."),
        ("Shall we go on?", "I don't care."),
    ],
)
def test_a_question_says_what_it_asks_for(question: str, filled: str) -> None:
    assert rewritten("I want a room.", question, "I don't care.") == filled


def test_an_accepted_offer_is_named() -> None:
    history = ("Find me a bistro.", "Casa Verde is a bistro. Would you like their address?")
    assert rewritten(*history, "Yes, I would like that please.") == "Yes, I would like their address please."


def test_what_is_accepted_without_an_offer_stays() -> None:
    assert rewritten("Hello.", "Which color do you want?", "I want that.") == "I want that."


def test_a_demonstrative_is_told_as_it_was_told_before() -> None:
    history = ("I want a cheap room in the old part of town.", "There is none.")
    assert rewritten(*history, "And an inn in that part of town?") == "And an inn in the old part of town?"


@pytest.mark.parametrize(
    "text", ["I like the book that people read.", "That is fine.", "We met that night.", "I doubt that Alan knows."]
)
def test_that_is_left_where_it_tells_nothing_apart(text: str) -> None:
    assert rewritten("I read the new book on a cold night.", "The red book, people say.", text) == text


def test_that_with_the_kind_of_thing_in_focus_is_the_thing() -> None:
    history = ("I am looking for a bistro.", "Casa Verde is a bistro by the river.")
    assert rewritten(*history, "Where is that bistro?") == "Where is Casa Verde?"


def test_there_is_the_place_that_was_named() -> None:
    history = ("I am looking for a room in the old part of town.", "I see none.")
    assert rewritten(*history, "Is any food served there?") == "Is any food served in the old part of town?"
    assert rewritten(*history, "Are you still there?") != "Are you still in the old part of town?"


def test_there_stays_where_no_place_was_named() -> None:
    assert rewritten("Hello.", "Hi.", "Is any food served there?") == "Is any food served there?"


def test_there_that_only_says_that_something_is_stays() -> None:
    history = ("I am looking for a room in the old part of town.", "I see none.")
    assert rewritten(*history, "What rooms are there?") == "What rooms are there?"


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("How about a quiet one?", "How about a quiet cottage?"),
        ("Are there other ones?", "Are there other cottages?"),
        ("I saw my old house, not a new one.", "I saw my old house, not a new one."),
        ("Day one was good.", "Day one was good."),
    ],
)
def test_one_is_what_was_asked_for(text: str, filled: str) -> None:
    assert rewritten("I am looking for a small cottage.", "There is none.", text) == filled


def test_one_is_what_the_question_offered() -> None:
    asked = "Would you like the cheap or the moderate price range?"
    assert rewritten("I want a room.", asked, "The cheap one please.") == "The cheap price range please."
    assert rewritten("I want a room.", "Do you want red wine or white wine?", "The red one.") == "The red wine."


def test_any_one_is_what_the_question_asked_for() -> None:
    assert rewritten("I want a room.", "Which floor do you want?", "Any one.") == "Any floor."


def test_one_without_article_is_a_noun_without_article() -> None:
    history = ("I am looking for a place that serves fresh fish.", "We have fried fish only.")
    assert rewritten(*history, "Grilled one then.") == "Grilled fish then."


def test_one_stays_where_nothing_was_asked_for() -> None:
    assert rewritten("Hello.", "Hi.", "A quiet one.") == "A quiet one."


def test_anything_else_is_what_was_asked_for() -> None:
    history = ("I am looking for a cheap room in the old part of town.", "Casa Verde is one.")
    assert rewritten(*history, "Is there anything else?") == ("Is there any cheap room in the old part of town else?")
    assert rewritten(*history, "Are there any in the new part?") == "Are there any rooms in the new part?"


def test_help_with_anything_else_stays() -> None:
    offer = Step(role="assistant", content="Is there anything else I can do?")
    history = [Step(role="assistant", content="I want a cheap room.")]
    assert rewrite_utterance(history, offer) == "Is there anything else I can do?"


def test_a_changed_request_keeps_its_conditions() -> None:
    history = ("I am looking for a room in the old part of town.", "There is none.")
    assert rewritten(*history, "How about a small flat?") == "How about a small flat in the old part of town?"


def test_a_changed_request_keeps_its_other_modifiers() -> None:
    history = ("I want a cheap furnished room.", "There is none.")
    assert rewritten(*history, "How about unfurnished rooms?") == "How about cheap unfurnished rooms?"


def test_a_changed_request_with_a_condition_of_its_own_stays() -> None:
    history = ("I am looking for a room in the old part of town.", "There is none.")
    assert rewritten(*history, "How about a flat in the new part?") == "How about a flat in the new part?"


def test_a_changed_request_stays_where_nothing_was_asked_before() -> None:
    assert rewritten("Hello.", "Hi.", "How about a small flat?") == "How about a small flat?"


def test_an_attribute_of_nothing_in_particular_stays() -> None:
    assert rewritten("Hello.", "Hi.", "What is the phone number?") == "What is the phone number?"


def test_an_attribute_with_an_owner_stays() -> None:
    history = ("Find me a bistro.", "Casa Verde is a bistro.")
    assert rewritten(*history, "What is my phone number?") == "What is my phone number?"


@pytest.mark.parametrize(
    ("asked", "filled"),
    [
        ("What is the address please?", "What is the address of Casa Verde please?"),
        ("What is the postcode again?", "What is the postcode of Casa Verde again?"),
        ("May I have the address and menu please?", "May I have the address and menu of Casa Verde please?"),
        ("I'd like the postcode too please.", "I'd like the postcode of Casa Verde too please."),
        ("Address, please.", "Address of Casa Verde, please."),
        ("Once more, please.", "Once more, please."),
    ],
)  # fmt: skip
def test_courtesy_is_no_part_of_what_is_asked_for(asked: str, filled: str) -> None:
    assert rewritten("Find me a bistro.", "Casa Verde is a bistro in the old town.", asked) == filled
