"""Scorers: the contract of each, that each can be left out, and steps that say the question's own words."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.scorer import ScorerContract
from doubles.scoring import pool_of, retriever_of, snippet
from stitch.core import (
    ContextualIntent,
    DecidedBy,
    IntentFilter,
    Label,
    LabelInventory,
    LabelKind,
    MemorySnippet,
    Ranking,
    ScopeSummary,
    SearchRequest,
)
from stitch.retrieve import SCORERS, Candidate, IntentRetriever, Pool, Scorer
from stitch.retrieve.constants import CONSTANTS
from stitch.retrieve.rank.scorers import OF_RUNS, STRICT, WEIGHTED
from stitch.retrieve.rank.verbatim import repeater
from stitch.text.words import words

DAY, DECIDE = Label(LabelKind.SCOPE, "day 1"), Label(LabelKind.EVENT_TYPE, "decide")
QUERIES = {
    "verbatim": "we took the blue door inn",
    "nearness": "Is there an inn?",
    "speaker": "What did Ann say?",
    "time": "What was said on 8 May 2023?",
    "asking": "Which inn was good?",
    "standing": "Which inn should we take?",
    "clock": "What was said last?",
    "latest": "Where do I work?",
}


def said(step: int, text: str, **fields: Any) -> MemorySnippet:
    return snippet(text, position=step, scope="day 1", labeled_by="gpt-x", **fields)


CANDIDATES = (
    Candidate(said(1, "Is the Blue Door Inn good?", role="ann"), frozenset([DAY]), 1.0, 0.5),
    Candidate(said(2, "It has four stars.", role="bo", happened="2023-05-08"), frozenset(), 0.0, 0.2),
    Candidate(said(9, "Then we took the Blue Door Inn.", role="ann"), frozenset([DAY]), 1.0, 0.4),
    Candidate(said(12, "My choice is now the Red Door Inn, which I prefer.", role="bo"), frozenset([DAY]), 1.0, 0.3),
    Candidate(said(20, "I work at the mill.", role="user"), frozenset(), 0.0, 0.48),
    Candidate(said(21, "I work at the bakery by now.", role="user"), frozenset(), 0.0, 0.46),
)


@pytest.mark.parametrize("name", [name for name in SCORERS if name not in OF_RUNS])
class TestScorers(ScorerContract):
    @pytest.fixture
    def scorer(self, name: str) -> Scorer:
        return SCORERS[name]

    @pytest.fixture
    def pool(self, name: str) -> Pool:
        return pool_of(QUERIES.get(name, "inn"), CANDIDATES, labels=frozenset([DAY, DECIDE]))


def test_scorers_of_runs_say_nothing_of_talk() -> None:
    asked = pool_of("Which error did it give at the end, I ask?", CANDIDATES, labels=frozenset([DAY]))
    assert [name for name in OF_RUNS if SCORERS[name](asked) is not None] == []


def test_every_part_of_every_rule_has_a_scorer_and_every_scorer_a_rule() -> None:
    assert {part for rule in (STRICT, WEIGHTED) for part in rule.parts} == set(SCORERS)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("hotel 7 in Lisbon", True),
        ("So: Hotel 7 in Lisbon!", True),
        ("hotel 7, the one in old Lisbon", True),
        ("hotel 77 in Lisbon", False),
        ("in Lisbon, hotel 7", False),
        ("hotel 7 is far away, and I have never been to the old city nor in Lisbon", False),
        ("", False),
    ],
)
def test_a_step_says_the_words_of_a_question_in_their_order_and_close_together(text: str, same: bool) -> None:
    assert repeater(words("hotel 7 in Lisbon"), constants=CONSTANTS)(text) is same


def retriever(texts: list[str], *, scope: str) -> IntentRetriever:
    """One over steps of which all but the last are in a scope that was left and taken up again."""
    made = [
        said(n, text).model_copy(update={"intent": ContextualIntent(scope=scope if text != texts[-1] else "another")})
        for n, text in enumerate(texts)
    ]
    scopes = ScopeSummary(name=scope, trajectory="t", spans=((0, 1), (3, 4)), steps=len(texts) - 1)
    return retriever_of(made, inventory=LabelInventory(scopes=(scopes,), steps=len(texts)))


@given(
    said=st.lists(st.sampled_from(["we", "paid", "for", "the", "tram", "in", "oslo", "twice"]), min_size=3, max_size=8),
    others=st.lists(st.sampled_from(["hotel 7 it is", "more of hotel 7", "the tram", "oslo"]), min_size=2, max_size=60),
)
def test_no_label_that_words_licensed_hides_a_step_that_says_the_questions_own_words(
    said: list[str], others: list[str]
) -> None:
    query = " ".join(["hotel 7", *said])
    asked = SearchRequest(query=query, tenant="a", k=1)
    found = retriever([*others, query], scope="hotel 7").search(asked)
    assert found.hits[0].snippet.text == query
    assert found.hits[0].parts["verbatim"]


@pytest.mark.parametrize("query", ["hotel 7 in Lisbon", "What about Lisbon?", "What is it, in the end, in hotel 7?"])
def test_asked_for_the_strict_ranking_is_that_of_the_paper_and_nothing_else(query: str) -> None:
    texts = ["hotel 7 is full", "hotel 7 in Lisbon is open", "b", "hotel 7 in Lisbon"]
    found = retriever(texts, scope="hotel 7").search(
        SearchRequest(query=query, tenant="a", k=9, ranking=Ranking.STRICT)
    )
    assert found.rule.tiers == (("density",),)
    assert found.rule.summed == ("similarity",)
    keys = [(-hit.density, -hit.similarity, hit.snippet.position) for hit in found.hits]
    assert keys == sorted(keys)
    assert all(set(hit.parts) <= {"density", "similarity"} for hit in found.hits)


def test_asked_for_the_weighed_ranking_adds_labels_whoever_chose_them() -> None:
    texts = ["hotel 7 is full", "hotel 7 is open", "b", "hotel 7 in Lisbon"]
    for chosen, part, worth in ((None, "labels", 0.05), (IntentFilter(scopes=("hotel 7",)), "density", 1.0)):
        found = retriever(texts, scope="hotel 7").search(
            SearchRequest(query="Is hotel 7 open?", tenant="a", k=9, ranking=Ranking.WEIGHED, intent_filter=chosen)
        )
        assert (found.ranking, found.decided_by) == (Ranking.WEIGHED, DecidedBy.WEIGHED_LABELS)
        added = {hit.snippet.step: hit.parts[part] for hit in found.hits}
        assert added == {"0": worth, "1": worth, "2": worth, "3": 0}
