"""Sentences that bear what a list asks for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doubles.scoring import hit_of
from stitch.retrieve.context.excerpts import excerpt_hits
from stitch.retrieve.question.reading import read_question
from stitch.text.sentences import sentences
from stitch.text.values import find_mentions

SPEECH = "This is a long opening. Read Miller (2009) and you will see. The winter was cold. Later came Lindley (2002)."


def shown(query: str, text: str, *, lists_names: bool = False) -> str:
    hits = [hit_of(text, role="pro")._replace(parts={"density": 1.0}, score=0.5)]
    (hit,) = excerpt_hits(hits, read_question(query), lists_names=lists_names)
    return hit.snippet.resolved


def test_of_a_speech_a_list_of_evidence_needs_the_sentences_that_cite() -> None:
    cited = "This is a long opening. Read Miller (2009) and you will see. … Later came Lindley (2002)."
    assert shown("List the evidence of the pro side.", SPEECH) == cited
    assert shown("Which evidence was used? Separate names by semicolons.", SPEECH) == cited


def test_who_asks_for_names_gets_the_sentences_that_name() -> None:
    text = "It rained all day. We had lunch at the Blue Door Inn. It was fine."
    named = "It rained all day. We had lunch at the Blue Door Inn."
    assert shown("Name all places that came up. List every name.", text) == named
    assert shown("What is the plan? Stay at [hotel]; Lunch at [lunch]", text) == named


WORDS = st.sampled_from(
    ["I", "We", "the", "met", "Anna's", "Blue Inn", "(2009)", "Lee", "$5", "4 stars", "Émile", "it", "٣", "of"]
)


@given(st.lists(st.lists(WORDS, min_size=1, max_size=6).map(" ".join), min_size=1, max_size=4).map(". ".join))
def test_no_sentence_that_bears_what_is_asked_for_is_left_out(text: str) -> None:
    for query, classes in (
        ("Name all places that came up. List every name.", {"name", "organization", "person", "place"}),
        ("List the evidence of the pro side.", {"citation"}),
    ):
        bearing = [each for each in sentences(text) if any(own.entity_type in classes for own in find_mentions(each))]
        told = shown(query, text)
        assert all(sentence in told for sentence in bearing)
        assert bearing or told == text
        assert told.startswith(sentences(text)[0])


@pytest.mark.parametrize(
    "query",
    ["What evidence was there?", "List the foods I like.", "What did we do at the Blue Door Inn?"],
)
def test_other_questions_get_whole_steps(query: str) -> None:
    assert shown(query, SPEECH) == SPEECH


def test_of_a_list_whole_items_are_shown_each_on_its_line() -> None:
    text = (
        "Three came up:\n\n1. Hotel Adler, plain. 90 a night.\n2. a plain room. 50 a night.\n"
        "3. Villa Rosa, by the lake. Lift.\n\nThe rest is full."
    )
    told = shown("List all hotels by name.", text)
    assert told.split("\n") == [
        "Three came up:",
        "1. Hotel Adler, plain. 90 a night. …",
        "3. Villa Rosa, by the lake. Lift.",
    ]
