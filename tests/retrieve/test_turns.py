"""The last turns of a conversation as a query: what was said last is what is asked, the rest counts beside it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doubles.scoring import retriever_of, snippet
from stitch.core import SearchRequest
from stitch.retrieve.question.turns import last_turn


def test_the_last_turn_is_read_without_its_speaker() -> None:
    assert (
        last_turn("Ann: The boat leaves at nine.\nBo Lee: Who brings the lantern oil?") == "Who brings the lantern oil?"
    )
    assert last_turn("user: one two three\nmore of it\nassistant: four five six\nseven") == "four five six\nseven"
    assert last_turn("[9:14] Ann: The boat leaves.\n[9:15] Bo: Bring lantern oil today.") == "Bring lantern oil today."


def test_a_turn_that_says_nothing_by_itself_is_read_with_the_one_before() -> None:
    asked = "Ann: Hello there\nBo: Shall we take the ferry to Skye?\nAnn: Yes, please."
    assert last_turn(asked) == "Shall we take the ferry to Skye?\nYes, please."


@pytest.mark.parametrize(
    "query",
    [
        "Who brings the oil?",
        "Ann: who brings the lantern oil?",
        "Which error came?\nTypeError: no such thing\nValueError: other",
        "",
        "https://example.org:\n//x: y",
    ],
)
def test_questions_are_no_conversations(query: str) -> None:
    assert last_turn(query) == ""


@given(st.text(max_size=300))
def test_what_is_read_stands_in_the_query(query: str) -> None:
    assert all(line.strip() in query for line in last_turn(query).splitlines())


def test_what_the_last_turn_is_about_comes_before_what_the_turns_before_were_about() -> None:
    texts = ["The ferry to Skye sails at noon.", "The museum keeps old lanterns.", "Boots are by the door."]
    kept = [snippet(text, position=number) for number, text in enumerate(texts)]
    turns = "Ann: When does the ferry to Skye sail? I love the ferry to Skye.\nBo: Which museum keeps lanterns?"
    result = retriever_of(kept).search(SearchRequest(query=turns, tenant="a", k=3))
    assert [hit.snippet.step for hit in result.hits] == ["1", "0", "2"]
    assert result.request.query == turns
