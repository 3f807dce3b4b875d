"""Labels that are only likely, and standing near to what a question says of where to look, as evidence."""

from hypothesis import given
from hypothesis import strategies as st

from doubles.scoring import pool_of, ranked, snippet
from stitch.core import Label, LabelKind, LabelMerge, LabelVocabulary, ScoredSnippet
from stitch.retrieve.question.reading import read_question
from stitch.retrieve.rank.pool import Candidate

ASKED = "In the order where the city is Oslo, what was the price?"


def hit(
    position: int, text: str, *, scope: str = "one", trajectory: str = "t", similarity: float = 0.5,
    matched: tuple[LabelKind, ...] = (), density: float = 0.0,
) -> Candidate:  # fmt: skip
    said = snippet(text, position=position, trajectory=trajectory, scope=scope)
    labels = frozenset(Label(kind, f"{kind.value} {number}") for number, kind in enumerate(matched))
    return Candidate(said, labels, density, similarity)


def weighed(
    *candidates: Candidate, asked: str = ASKED, vocabulary: LabelVocabulary | None = None
) -> list[ScoredSnippet]:
    labels = frozenset(label for own in candidates for label in own.matched)
    return ranked(pool_of(asked, candidates, labels=labels, vocabulary=vocabulary))


def order(*candidates: Candidate, asked: str = ASKED, vocabulary: LabelVocabulary | None = None) -> list[str]:
    return [own.snippet.step for own in weighed(*candidates, asked=asked, vocabulary=vocabulary)]


def test_nearness_fades_and_does_not_pass_from_one_trajectory_to_another() -> None:
    hits = (
        hit(10, "Oslo.", trajectory="a", similarity=0.0),
        hit(12, "$9.", trajectory="b"),
        hit(30, "$7.", trajectory="a"),
    )
    assert order(*hits)[0] == "30"


def test_what_stands_in_the_same_scope_is_nearer() -> None:
    hits = (hit(9, "It is $9.", scope="two"), hit(10, "Oslo."), hit(11, "It is $7.", scope="one"))
    assert order(*hits) == ["10", "11", "9"]
    merged = LabelVocabulary([LabelMerge(kind=LabelKind.SCOPE, alias="two", into="one")])
    assert order(*hits, vocabulary=merged) == ["10", "9", "11"]


def test_dates_are_found_in_whatever_form_and_count_more_than_words() -> None:
    asked = "In the trip where the date is 2019-03-01, what was the fare?"
    hits = (hit(10, "A trip."), hit(50, "On March 1st.", similarity=0.4), hit(11, "$7."), hit(51, "$9."))
    assert order(*hits, asked=asked)[0] in {"50", "51"}


def test_a_matched_label_counts_and_two_of_a_kind_count_once() -> None:
    entity, scope = LabelKind.ENTITY_TYPE, LabelKind.SCOPE
    hits = weighed(
        hit(1, "x"), hit(2, "x", matched=(entity,)), hit(3, "x", matched=(entity, entity)),
        hit(4, "x", matched=(entity, scope), density=2.0), asked="?",
    )  # fmt: skip
    scores = {own.snippet.step: own.score for own in hits}
    assert 0.5 == scores["1"] < scores["2"] == scores["3"] < scores["4"]
    assert {own.similarity for own in hits} == {0.5}
    assert {own.snippet.step: own.parts["labels"] for own in hits} == {"1": 0.0, "2": 0.05, "3": 0.05, "4": 0.1}


@given(
    st.lists(st.tuples(st.sampled_from(["Oslo", "$7", "the city", ""]), st.floats(0, 1), st.floats(0, 3)), max_size=9)
)
def test_every_hit_stays_once_in_order_and_with_its_similarity(drawn: list[tuple[str, float, float]]) -> None:
    hits = [hit(n, text, similarity=alike, density=dense) for n, (text, alike, dense) in enumerate(drawn)]
    ranked = weighed(*hits)
    assert sorted(own.snippet.position for own in ranked) == list(range(len(hits)))
    assert all(own.density == 0 for own in ranked)
    assert [own.score for own in ranked] == sorted((own.score for own in ranked), reverse=True)
    assert all(own.similarity == hits[own.snippet.position].similarity <= own.score for own in ranked)


def test_a_capital_tells_a_name_in_english_alone() -> None:
    assert read_question("What did the repair shop Bosch Center find?").names
    assert not read_question("Was war laut dem Techniker an der Waschmaschine kaputt?").names
    assert not read_question("¿Cuánto dinero van a dar a los novios?").names
