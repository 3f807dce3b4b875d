"""A question and its answer, taken as one where a fact is asked of something that is named."""

from hypothesis import given
from hypothesis import strategies as st

from doubles import scoring
from stitch.core import Label, LabelKind, ScoredSnippet
from stitch.retrieve.rank.pool import Candidate
from stitch.retrieve.rank.scorers import WEIGHTED

RATED = "How is Blue Door Inn rated, as told in the conversation?"
PRICE, RATING = (Label(LabelKind.ENTITY_TYPE, name) for name in ("price", "rating"))


def hit(
    position: int, role: str, text: str, *, density: float = 0.0, similarity: float = 0.1, session: str | None = None,
    trajectory: str = "t", matched: frozenset[Label] = frozenset(),
) -> Candidate:  # fmt: skip
    said = scoring.snippet(text, position=position, role=role, trajectory=trajectory, session=session)
    return Candidate(said, matched, density, similarity)


def ranked(*candidates: Candidate, asked: str = RATED) -> list[ScoredSnippet]:
    return scoring.ranked(scoring.pool_of(asked, candidates, labels=frozenset([PRICE, RATING]), sure=True))


def order(*candidates: Candidate, asked: str = RATED) -> list[str]:
    return [own.snippet.step for own in ranked(*candidates, asked=asked)]


ASKED = hit(4, "user", "And is the Blue Door Inn well reviewed?", similarity=0.5)
TOLD = hit(5, "agent", "Reviewers have settled at 4.0.")
OTHER = hit(9, "agent", "The Red Door is rated 2.0.", density=1.0, similarity=0.4, matched=frozenset([RATING]))


def test_the_answer_to_a_question_that_names_the_thing_stands_beside_it() -> None:
    assert order(OTHER, ASKED, TOLD) == ["4", "5", "9"]
    named = hit(5, "agent", "The Blue Door Inn has 4.0.", similarity=0.5)
    assert order(OTHER, named, hit(4, "user", "How is it rated?")) == ["4", "5", "9"]


def test_a_call_and_its_result_belong_together() -> None:
    call = hit(4, "agent", "look_up(name='Blue Door Inn')", similarity=0.5)
    assert order(OTHER, call, hit(5, "tool", '{"rating": 4.0}')) == ["4", "5", "9"]


def test_what_is_no_exchange_about_the_thing_stays_where_it_is() -> None:
    assert order(OTHER, hit(4, "user", "Is the Green Door Inn good?", similarity=0.5), TOLD) == ["9", "4", "5"]
    assert order(OTHER, hit(4, "user", "Is the Inn of the Blue Door good?", similarity=0.5), TOLD) == ["9", "4", "5"]
    for told in (
        hit(5, "user", "Reviewers have settled at 4.0."),
        hit(5, "agent", "It has 4.0.", session="later"),
        hit(5, "agent", "It has 4.0.", trajectory="u"),
        hit(6, "agent", "It has 4.0."),
    ):
        assert order(OTHER, ASKED, told) == ["4", "9", told.snippet.step]


def test_other_questions_are_left_alone() -> None:
    asked_of_others = "What is the plan for Day 1?", "What is the name of Blue's dog?", "How old is Blue?"
    for asked in ("Where did we sleep, at the Blue Door Inn?", "What does it cost?", *asked_of_others):
        assert order(OTHER, ASKED, TOLD, asked=asked) == ["9", "4", "5"]


TEXTS = st.sampled_from(["Is the Blue Door Inn good?", "It is.", "The Blue Door Inn has 4.0.", "Why?"])


@given(st.lists(st.tuples(st.sampled_from("ab"), TEXTS, st.floats(0, 1), st.integers(0, 2)), max_size=8))
def test_nothing_is_lost_nothing_falls_and_the_result_is_ranked(
    said: list[tuple[str, str, float, int]],
) -> None:
    hits = [hit(n, role, text, similarity=near, density=dense) for n, (role, text, near, dense) in enumerate(said)]
    joined = ranked(*hits)
    assert joined == sorted(joined, key=WEIGHTED.key)
    assert sorted(own.snippet.position for own in joined) == list(range(len(hits)))
    for own in joined:
        before = hits[own.snippet.position]
        assert (own.density, own.similarity, own.matched) == (before.density, before.similarity, before.matched)
        assert own.score >= before.density + before.similarity - 1e-9
