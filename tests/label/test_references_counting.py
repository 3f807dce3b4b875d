"""Phrases that count what was listed or raised come to the right thing."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.core import Step, apply_rewrites
from stitch.label.local.antecedents import Antecedents
from stitch.label.local.counting import find_counting
from stitch.label.local.references import ReferenceResolver
from stitch.text.names import find_names, last_unit, straighten_quotes
from stitch.text.numbers import fold_words, ordinal

TRIP = (
    ("user", "Let's plan day 1."),
    ("user", "One idea for breakfast is the Sunrise Cafe."),
    ("user", "Let's plan day 2."),
    ("user", "One idea for breakfast is Golden Spoon."),
    ("user", "How about Morning Bell for breakfast?"),
    ("user", "How about Morning Bell for the night?"),
    ("user", "And Hotel Aurora for our stay?"),
)


def asked(question: str, *, by: str = "user", before: tuple[tuple[str, str], ...] = TRIP, scope: str = "trip") -> str:
    resolver = ReferenceResolver()
    for role, content in before:
        resolver.resolve(Step(role=role, content=content), scope=scope)
    step = Step(role=by, content=question)
    return apply_rewrites(question, resolver.resolve(step, scope=scope).references)


@pytest.mark.parametrize(
    ("phrase", "name"),
    [
        ("the second restaurant I raised for breakfast", "Morning Bell"),
        ("the cafe that came first among my ideas for breakfast", "Golden Spoon"),
        ("the restaurant I suggested last for breakfast", "Morning Bell"),
        ("the second place I mentioned for our stay", "Hotel Aurora"),
        ("the first place I mentioned for the night", "Morning Bell"),
    ],
)
def test_what_counts_in_a_plan_counts_what_was_raised_for_the_day_and_the_purpose(phrase: str, name: str) -> None:
    assert f"({name})" in asked(f"Tell me about {phrase}.")


def test_a_count_that_comes_to_nothing_stays() -> None:
    assert asked("The first time I laughed was good.", before=()) == "The first time I laughed was good."


def test_numbered_items_are_counted_as_listed() -> None:
    before = (("assistant", "Here are some:\n1) Plain rice: easy\n2) Fried rice: quick\n3) Rice soup: warm"),)
    assert asked("I'd like the third one.", before=before) == "I'd like Rice soup."
    assert asked("I'd like the last option.", before=before) == "I'd like Rice soup."
    assert asked("I'd like the ninth one.", before=before) == "I'd like the ninth one."


def test_he_is_no_place_and_it_is_no_person() -> None:
    before = (("user", "Ada Lovelace worked with Charles Babbage in Turin."), ("assistant", "Charles Babbage was old."))
    assert asked("Where was he born?", before=before) == "Where was Charles Babbage born?"
    before = (("user", "I went to Turin."), ("assistant", "Nice."))
    assert asked("He was there.", before=before) == "He was there."


def test_a_nearer_person_is_not_replaced_by_one_with_a_name() -> None:
    before = (("user", "Ada Lovelace was a countess."),)
    assert asked("My sister said she likes it.", before=before) == "My sister said she likes it."
    before = (("user", "Ada Lovelace was a countess. My friend told me."),)
    assert asked("Did she write?", before=before) == "Did she write?"


@pytest.mark.parametrize("text", ["My cats are nice when they eat.", "I have a ring and it shines."])
def test_a_nearer_noun_is_not_replaced_by_a_name(text: str) -> None:
    assert asked(text, before=(("user", "Casa Verde is a bistro."),)) == text


def test_a_blanked_name_inside_a_sentence_is_replaced_whatever_stands_before_it() -> None:
    before = (("user", "What does breakfast at Casa Verde cost?"),)
    assert asked("A breakfast at It is $12.", by="assistant", before=before) == "A breakfast at Casa Verde is $12."


def test_a_speaker_is_never_what_it_stands_for() -> None:
    before = (("Nate", "Hi, Nate is a gamer."), ("Joanna", "Nate is a gamer."))
    assert asked("It is fun.", by="Joanna", before=before) == "It is fun."


def test_two_equally_present_names_leave_the_pronoun() -> None:
    known = Antecedents()
    assert known.find("Casa Verde") is None
    before = (("user", "A bistro called Casa Verde, a bar called Blue Door, an inn called Red Lion."),)
    assert asked("Where is it?", before=before) == "Where is it?"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Compare Harbor Grill with Morning Bell.", ["Harbor Grill", "Morning Bell"]),
        ("De Luca Cucina and Bar is a bistro.", ["De Luca Cucina and Bar"]),
        ("Mr. Fox met J. R. R. Tolkien.", ["Mr. Fox", "J. R. R. Tolkien"]),
        ("The Missing Sock is a pub.", ["The Missing Sock"]),
        ("It is located at 12 Mill Road Chesterton.", []),
        ("See you on Monday, March 5 or on Thursdays.", []),
        ("Hiking is a joy. Luckily I slept.", []),
        ("I like Portuguese food.", []),
        ("golden wok serves noodles", ["golden wok"]),
        ("there is bangkok city which serves noodles", ["bangkok city"]),
        ("a pub called the cow", ["the cow"]),
        ("the price is a secret", []),
        ("We saw Apollo's rooms.", ["Apollo"]),
        ("Room 12 is free.", []),
    ],
)
def test_names_are_found_as_they_are_written(text: str, names: list[str]) -> None:
    assert [mention.text for mention in find_names(straighten_quotes(text))] == names


@pytest.mark.parametrize(
    ("word", "number"), [("second", 2), ("2nd", 2), ("1th", 1), ("last", -1), ("latest", -1), ("two", None)]
)
def test_words_that_count_have_numbers(word: str, number: int | None) -> None:
    assert ordinal(word) == number


def test_folded_words_count_alike_however_they_are_written() -> None:
    assert fold_words("the 1st activity") == fold_words("The first activities".replace("ies", "y"))
    assert fold_words("1th b 2 glass plans") == ["1.", "2", "glass", "plan"]


def test_a_unit_is_a_word_with_a_number() -> None:
    assert last_unit("From day 1 to Day 2, on May 5") == "day 2"
    assert last_unit("no unit, just 5") == ""


_PIECES = """the first second last I you we raised mentioned one of them my our suggestion entry on list for day 1 's
breakfast that came among ideas as and cheaper latter hotel . , place proposed"""


@given(st.lists(st.sampled_from(_PIECES.split()), max_size=24))
def test_counting_phrases_never_overlap(pieces: list[str]) -> None:
    text = " ".join(pieces)
    spans = sorted((found.start, found.end) for found in find_counting(text))
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    assert all(0 <= start < end <= len(text) for start, end in spans)


@pytest.mark.parametrize(
    ("text", "unit"),
    [("It gets 1.5 of 5.", ""), ("I see 3 out of 5.", ""), ("See page 12.", "page 12"), ("It costs 40", "")],
)
def test_a_score_is_no_unit(text: str, unit: str) -> None:
    assert last_unit(text) == unit


@pytest.mark.parametrize(
    "text",
    ["It would not have been my first idea.", "It sits in the former customs quarter.", "That was my last option."],
)
def test_what_says_what_something_is_counts_nothing(text: str) -> None:
    assert list(find_counting(text)) == []
