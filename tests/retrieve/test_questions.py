"""What is read in questions before anything is searched: a file of `questions` for each thing that is read."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doubles.golden import compare_phrases
from doubles.scoring import retriever_of, snippet
from stitch.core import SearchRequest
from stitch.retrieve.question import form_of, last_turn, read_question
from stitch.retrieve.run_question import asked_of_memory, is_task, read_run_question
from stitch.retrieve.speakers import named_speakers

ORDERS = {1: "what came last", -1: "what came first", 0: "no order"}
OF_RUNS = ("error", "task", "requests", "calls")


def order(_: str, query: str) -> str:
    return ORDERS[read_question(query).order]


def of_runs(_: str, query: str) -> str:
    found = read_run_question(query)
    return ", ".join(name for name in OF_RUNS if getattr(found, name))


READ: dict[str, Callable[[str, str], str]] = {
    "forms": lambda _, query: form_of(query).value,
    "orders": order,
    "runs": of_runs,
    "tasks": lambda _, text: "a task" if is_task(text) else "a question",
    "turns": lambda _, text: last_turn(text).replace("\n", "\\n"),
}


@pytest.mark.parametrize("kind", READ)
def test_what_is_read_in_each_question_is_what_was_looked_at(kind: str) -> None:
    compare_phrases(Path(__file__).parent / "questions" / f"{kind}.txt", READ[kind])


@given(st.text(max_size=300))
def test_any_question_can_be_read(text: str) -> None:
    read_run_question(text)
    assert text.endswith(asked_of_memory(text))
    assert is_task(text) in (True, False)
    assert all(line.strip() in text for line in last_turn(text).splitlines())


@pytest.mark.parametrize(
    "frame", ["Please tell me: {}", "I'd like to know, {}", "Do you remember {}", "Hey, could you tell me {}"]
)
def test_a_question_is_read_alike_behind_a_courtesy(frame: str) -> None:
    plain = "which call was refused first, and why?"
    assert read_run_question(frame.format(plain)) == read_run_question(plain)


@pytest.mark.parametrize(
    ("query", "clause", "classes"),
    [
        ("In the order where the city is Oslo, what was the price?", "In the order where the city is Oslo", "price"),
        ("What was the fare in the trip where the city is Oslo?", "in the trip where the city is Oslo", "price"),
        ("In the trip to Oslo, what was the album?", "In the trip to Oslo", "name organization person place"),
        ("What was the album?", "", ""),
        ("List all albums that were played.", "", "name organization person place"),
        ("When did she leave?", "", "date day time"),
        ("Which contact number did they give?", "", "contact phone"),
        ("How many stops are there?", "", "number quantity"),
        ("Why did she leave?", "", ""),
    ],
)
def test_a_question_says_where_to_look_and_what_kind_of_value_would_answer_it(
    query: str, clause: str, classes: str
) -> None:
    found = read_question(query)
    assert found.clause == clause
    assert set(found.classes) == set(classes.split())


DEBATE = ("pro-side-debater", "con-side-debater", "judge")


def test_a_speaker_is_named_by_what_tells_him_from_the_others_and_as_who_acts() -> None:
    def named(query: str) -> set[str]:
        return set(named_speakers(query, DEBATE))

    assert named("which evidence did the pro side use") == {"pro-side-debater"}
    assert named("the evidence used by the con side") == {"con-side-debater"}
    assert named("which evidence was used by both sides") == set()
    assert named("was the judge at the side of the debater") == {"judge"}
    assert named_speakers("did ann or did bo go", ("ann", "bo")) == frozenset()
    assert named_speakers("did ann go", ("ann",)) == frozenset()
    assert named_speakers("where was ann's bag", ("ann", "bo")) == frozenset()


def test_what_the_last_turn_is_about_comes_before_what_the_turns_before_were_about() -> None:
    texts = ["The ferry to Skye sails at noon.", "The museum keeps old lanterns.", "Boots are by the door."]
    kept = [snippet(text, position=number) for number, text in enumerate(texts)]
    turns = "Ann: When does the ferry to Skye sail? I love the ferry to Skye.\nBo: Which museum keeps lanterns?"
    result = retriever_of(kept).search(SearchRequest(query=turns, tenant="a", k=3))
    assert [hit.snippet.step for hit in result.hits] == ["1", "0", "2"]
    assert result.request.query == turns


def test_what_was_said_at_the_time_asked_for_comes_before_what_is_hardly_nearer() -> None:
    kept = [snippet("roses and beans", position=1, happened="2023-05-09"),
            snippet("roses and beans", position=2, happened="2023-04-26")]  # fmt: skip
    for query, first in (("What did I plant two weeks ago?", "2"), ("What did I plant yesterday?", "1")):
        asked = SearchRequest(query=query, tenant="a", asked_at="2023-05-10", k=1)
        assert [hit.snippet.step for hit in retriever_of(kept).search(asked).hits] == [first]
