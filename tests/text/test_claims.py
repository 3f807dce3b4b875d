"""What sentences claim that may be said otherwise later, and which of them change what was said before."""

from __future__ import annotations

import pytest

from stitch.text.claims import Form, claims_in, may_say_change

Told = tuple[str, set[str], str, str, bool]


def told(text: str) -> list[Told]:
    return [(one.form.name, set(one.about), one.kind, one.value, one.changes) for one in claims_in(text)]


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("My budget for the bike is 500.", ("VALUE", {"bike", "budget"}, "amount", "500", False)),
        ("They raised our rent to $1,350.", ("VALUE", {"rent"}, "amount", "$1,350", True)),
        ("Make it 700.", ("VALUE", set(), "amount", "700", True)),
        ("The meeting is on Thursday.", ("VALUE", {"meet"}, "day", "Thursday", False)),
        ("The meeting moved to Friday.", ("VALUE", {"meet"}, "day", "Friday", True)),
        ("The flight got pushed to 5 pm.", ("VALUE", {"flight"}, "time", "5 pm", True)),
        ("I have 4 hens now.", ("VALUE", {"have", "hen"}, "amount", "4", True)),
        ("Sadly, the new deadline of May 1 is close.", ("VALUE", {"deadlin"}, "day", "May 1", True)),
        ("My favorite tea is Darjeeling now.", ("VALUE", {"favorit", "tea"}, "favorite", "Darjeeling", True)),
        ("I prefer aisle seats now.", ("PREFERENCE", {"aisl", "seat"}, "preference", "aisle seats", True)),
        ("I like tea, but I prefer coffee.", ("PREFERENCE", {"coffe"}, "preference", "coffee", False)),
        ("Should the meeting be moved to Friday?", ("MENTION", {"meet", "move"}, "day", "Friday", False)),
    ],
)
def test_a_sentence_claims_a_value_of_a_matter_and_says_whether_it_changes_it(text: str, claim: Told) -> None:
    assert told(text) == [claim]


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("The meeting is on Thursday, do you have any tips?", ["Thursday"]),
        ("The meeting is on Thursday; should I bring a cake?", ["Thursday"]),
        ("I've had Luna for 9 months, any tips?", ["9 months"]),
        ("If I could make it 700, I would.", []),
        ('She said "the party is on June 3".', []),
        ("It rains.", []),
        ("", []),
    ],
)
def test_what_asks_supposes_or_is_quoted_claims_nothing(text: str, claims: list[str]) -> None:
    assert [one.value for one in claims_in(text) if one.form is not Form.MENTION] == claims


@pytest.mark.parametrize(
    "text",
    [
        "They raised our rent to $1,350.", "Make it 700.", "The meeting moved to Friday.", "I have 4 hens now.",
        "My new wake-up time is 6 am.", "I prefer aisle seats now.", "I've had Luna for 9 months, any tips?",
    ],
)  # fmt: skip
def test_what_changes_something_is_seen_at_once(text: str) -> None:
    assert any(one.changes for one in claims_in(text))
    assert may_say_change(text)


def test_most_texts_are_seen_to_change_nothing() -> None:
    assert not may_say_change("My budget for the bike is 500.")
    assert not may_say_change("What does the boat cost?")
