"""What decides inside a tier besides similarity: who spoke, when, and in which order."""

import pytest

from doubles import scoring
from doubles.scoring import pool_of, snippet
from stitch.core import Label, LabelKind, SearchRequest
from stitch.retrieve.question.hints import named_speakers, read_hints
from stitch.retrieve.rank.pool import Candidate

DEBATE = ("pro-side-debater", "con-side-debater", "judge")


def hit(
    step: str, similarity: float, *, role: str = "user", happened: str | None = None, density: float = 0.0
) -> Candidate:
    return Candidate(snippet(step, position=int(step), role=role, happened=happened), frozenset(), density, similarity)


LABELS = frozenset([Label(LabelKind.SCOPE, "trip")])


def ranked(query: str, *candidates: Candidate, asked_at: str | None = None) -> list[str]:
    pool = pool_of(query, candidates, labels=LABELS, asked_at=asked_at, sure=True)
    return [own.snippet.step for own in scoring.ranked(pool)]


def order(query: str, *candidates: Candidate, asked_at: str | None = None) -> str:
    return "".join(ranked(query, *candidates, asked_at=asked_at))


def test_what_was_said_at_the_time_asked_for_comes_before_what_is_hardly_nearer() -> None:
    hits = (hit("1", 0.55, happened="2023-05-09"), hit("2", 0.50, happened="2023-04-26"))
    assert order("What did I plant two weeks ago?", *hits, asked_at="2023-05-10") == "21"
    assert order("What did I plant?", *hits, asked_at="2023-05-10") == "12"


def test_last_saturday_asks_for_a_day_and_not_for_the_last_of_something() -> None:
    def asked(query: str) -> int:
        return read_hints(SearchRequest(query=query, tenant="a", asked_at="2023-05-10")).order

    assert asked("Who gave me a ring last Saturday?") == 0
    assert asked("What did I plant last month?") == 0
    assert asked("Which hotel came last?") == 1
    assert asked("What was the last ring that I got?") == 1


@pytest.mark.parametrize(
    ("query", "order"),
    [
        ("How many customers left in the first 30 days?", 0), ("What happened in the last four months?", 0),
        ("Which repair worked at the first try?", 0), ("Was it love at first sight?", 0),
        ("What is her last name?", 0), ("Who won first place?", 0), ("Who had it in the first quarter?", 0),
        ("What did the first try stop at?", -1), ("Which error came at first?", -1), ("What was the first one?", -1),
        ("What did the last run say?", 1), ("What do we do now in the first 30 days?", 1),
    ],
)  # fmt: skip
def test_first_and_last_of_a_calendar_or_in_a_phrase_ask_for_no_order(query: str, order: int) -> None:
    assert read_hints(SearchRequest(query=query, tenant="a")).order == order


@pytest.mark.parametrize(
    ("query", "order"),
    [
        ("Which flat does she live in now?", 1), ("What is the current price?", 1), ("Which ticket is valid?", 1),
        ("Who keeps the cat, after the neighbor had refused?", 1), ("What did they settle on?", 1),
        ("Which plan came before any other?", -1), ("What was meant at the start?", -1),
        ("What did the owner originally want?", -1), ("Who kept the cat?", 0), ("What happened after lunch?", 0),
    ],
)  # fmt: skip
def test_a_question_for_what_holds_now_came_last_or_first_is_one_of_order(query: str, order: int) -> None:
    assert read_hints(SearchRequest(query=query, tenant="a")).order == order


def test_a_speaker_is_named_by_what_tells_him_from_the_others_and_as_who_acts() -> None:
    def named(query: str) -> set[str]:
        return set(named_speakers(query, DEBATE))

    assert named("which evidence did the pro side use") == {"pro-side-debater"}
    assert named("the evidence used by the con side") == {"con-side-debater"}
    assert named("which evidence was brought up against the first point of the pro side") == {
        "con-side-debater",
        "judge",
    }
    assert named("which evidence was used by both sides") == set()
    assert named("was the judge at the side of the debater") == {"judge"}
    assert named_speakers("did ann or did bo go", ("ann", "bo")) == frozenset()
    assert named_speakers("did ann go", ("ann",)) == frozenset()
    assert named_speakers("where was ann's bag", ("ann", "bo")) == frozenset()
