"""Short steps beside the first hits, and segments where hits lie dense, come right after the very first hits."""

from collections.abc import Sequence
from typing import Any

import pytest

from doubles.scoring import retriever_of, snippet
from stitch.core import MemorySnippet, RetrievalResult, ScoredSnippet, SearchRequest, Trust
from stitch.retrieve.neighbors import BESIDE, FIRST_HITS, SEGMENT_FIRST, with_neighbors
from stitch.retrieve.order import WEIGHTED

SUMMARY, FACT = "Summarize the discussion about the lighthouse keeper.", "Which lighthouse had the keeper?"
KEEPER = "the lighthouse keeper, said Ann"


def steps_of(texts: dict[int, str], *, size: int = 120, **of: Any) -> list[MemorySnippet]:
    """Steps of boats and nets with others among them; `s12={...}` says more of step 12."""
    every = {number: f"boats and nets {number}" for number in range(size)} | texts
    return [
        snippet(text, position=position, trust=Trust.MEDIUM).model_copy(update=of.get(f"s{position}", {}))
        for position, text in every.items()
    ]


def apart(**of: Any) -> list[MemorySnippet]:
    """Hits far apart, as many as come first; beside one of them something short and something long."""
    hits = dict.fromkeys(range(3, 6 * FIRST_HITS, 6), KEEPER)
    return steps_of({**hits, 4: "he said no", 2: "boats " * 200}, **of)


def search(steps: Sequence[MemorySnippet], query: str, *, k: int = 40, **given: object) -> RetrievalResult:
    request = SearchRequest.model_validate({"query": query, "tenant": "a", "k": k, **given})
    return retriever_of(steps).search(request)


def found(steps: Sequence[MemorySnippet], query: str, **given: object) -> list[str]:
    return [hit.snippet.step for hit in search(steps, query, **given).hits]  # type: ignore[arg-type]


def test_short_neighbors_come_right_after_the_first_hits_and_long_ones_stay_where_they_are() -> None:
    order = found(apart(), FACT)
    assert {"4", "5"} <= set(order[FIRST_HITS:])
    assert "4" not in order[:FIRST_HITS]
    assert "2" not in order


def test_as_many_hits_as_come_first_bring_nothing_along() -> None:
    assert not any(BESIDE in hit.parts for hit in search(apart(), FACT, k=FIRST_HITS).hits)
    assert not any(BESIDE in hit.parts for hit in search(apart(), SUMMARY, k=SEGMENT_FIRST).hits)


@pytest.mark.parametrize("query", [SUMMARY, FACT])
def test_a_shorter_list_of_hits_is_the_beginning_of_the_longer_one(query: str) -> None:
    longest = found(apart(), query, k=60)
    assert [found(apart(), query, k=k) for k in (2, 7, 50)] == [longest[:k] for k in (2, 7, 50)]
    assert len(set(longest)) == len(longest) == 60


@pytest.mark.parametrize("query", [SUMMARY, FACT])
def test_the_order_is_that_of_the_rule_that_the_result_names(query: str) -> None:
    result = search(apart(), query)
    assert list(result.hits) == sorted(result.hits, key=result.rule.key)
    worth = [hit.parts[BESIDE] for hit in result.hits]
    first = SEGMENT_FIRST if query == SUMMARY else FIRST_HITS
    assert worth[:first] == [1.0] * first
    assert all(each < 1.0 for each in worth[first:])


def test_after_them_comes_what_is_worth_most_for_its_length() -> None:
    def hit(place: int, *, repeated: int, score: float) -> ScoredSnippet:
        return ScoredSnippet(snippet("boats " * repeated, position=9 * place), frozenset(), {"words": score}, score)

    first = [hit(place, repeated=80, score=2.0) for place in range(FIRST_HITS)]
    long, short, worse = (
        hit(50, repeated=80, score=0.6),
        hit(51, repeated=20, score=0.5),
        hit(52, repeated=20, score=0.1),
    )
    found = with_neighbors([*first, long, short, worse], near=lambda *_: (), rule=WEIGHTED, k=FIRST_HITS + 3)
    assert [one.snippet for one in found[FIRST_HITS:]] == [one.snippet for one in (short, long, worse)]


def test_the_short_steps_of_segments_fill_a_context_that_may_be_filled() -> None:
    steps = steps_of({n: KEEPER if n % 9 == 4 else f"and then {n}" for n in range(400)}, size=400)
    filled = search(steps, SUMMARY, k=30, budget_tokens=4096, fill_budget=True)
    assert len(filled.context_hits) > filled.request.depth > 100
    assert len(found(steps, SUMMARY, k=30)) == 30


def test_another_session_and_what_is_not_trusted_are_not_let_in() -> None:
    assert "4" in found(apart(), FACT)
    assert "4" not in found(apart(s4={"session": "next day"}), FACT)[: FIRST_HITS + 10]
    low: dict[str, object] = {"trust": Trust.LOW}
    assert "4" in found(apart(s4=low), FACT)
    assert "4" not in found(apart(s4=low), FACT, min_trust=Trust.MEDIUM)
