"""Short steps beside the first hits, and stretches where hits lie dense, come right after the very first hits."""

import dataclasses
from collections.abc import Sequence

import pytest

from doubles.scoring import retriever_of, snippet
from stitch.core import MemorySnippet, RetrievalResult, SearchRequest, Trust
from stitch.retrieve.constants import CONSTANTS, Constants
from stitch.retrieve.rank.beside import BESIDE

SUMMARY, FACT = "Summarize the discussion about the lighthouse keeper.", "Which lighthouse has the keeper?"
DENSE = dataclasses.replace(CONSTANTS, stretch_first=1, stretch_hits=4, stretch_reach=3, beside_hits=4, beside_reach=1)
NEAR = dataclasses.replace(CONSTANTS, beside_hits=2, beside_reach=2)


def steps_of(texts: dict[int, str], **of: dict[str, object]) -> list[MemorySnippet]:
    """Steps of boats and nets with others among them; `s12={...}` says more of step 12."""
    every = {number: f"boats and nets {number}" for number in range(60)} | texts
    return [
        snippet(text, position=position, trust=Trust.MEDIUM).model_copy(update=of.get(f"s{position}", {}))
        for position, text in every.items()
    ]


def dense(**of: dict[str, object]) -> list[MemorySnippet]:
    """The keeper is talked about from 10 to 14, and named once more at 40."""
    said = (
        "the lighthouse keeper",
        "a keeper of what",
        "who is never there",
        "lighthouse keeper, yes",
        "and never paid",
    )
    return steps_of({**dict(enumerate(said, 10)), 40: "the discussion of a keeper"}, **of)


def apart(**of: dict[str, object]) -> list[MemorySnippet]:
    """Two hits far apart, each with something short and something long beside."""
    said = {9: "why, then?", 10: "the lighthouse keeper spoke", 11: "he said no", 12: "boats " * 200}
    return steps_of({**said, 50: "a keeper of bees"}, **of)


def search(
    steps: Sequence[MemorySnippet], query: str, *, k: int = 30, constants: Constants = DENSE, **given: object
) -> RetrievalResult:
    request = SearchRequest.model_validate({"query": query, "tenant": "a", "k": k, **given})
    return retriever_of(steps, constants=constants).search(request)


def found(steps: Sequence[MemorySnippet], query: str = SUMMARY, **given: object) -> list[str]:
    return [hit.snippet.step for hit in search(steps, query, **given).hits]  # type: ignore[arg-type]


def beside(steps: Sequence[MemorySnippet], *, k: int = 40, **given: object) -> list[str]:
    return found(steps, "the lighthouse keeper", k=k, constants=NEAR, **given)


def test_short_neighbors_of_a_better_hit_come_first_and_long_ones_stay_where_they_are() -> None:
    order = beside(apart())
    assert order[:8] == ["10", "50", "11", "9", "8", "51", "49", "52"]
    assert "12" not in order[:9]


def test_a_shorter_list_of_hits_is_the_beginning_of_the_longer_one() -> None:
    longest = found(dense())
    assert [found(dense(), k=k) for k in (2, 3, 7)] == [longest[:k] for k in (2, 3, 7)]
    assert len(set(longest)) == len(longest) == 30
    assert [beside(apart(), k=k) for k in (2, 7)] == [beside(apart())[:k] for k in (2, 7)]


def test_the_order_is_that_of_the_rule_that_the_result_names() -> None:
    summary, fact = search(dense(), SUMMARY), search(apart(), "the lighthouse keeper", k=40, constants=NEAR)
    for result in (summary, fact):
        assert list(result.hits) == sorted(result.hits, key=result.rule.key)
    worth = [hit.parts[BESIDE] for hit in summary.hits]
    assert (worth[0], worth[1]) == (1.0, 0.5)
    assert all(0.0 <= each <= 0.5 for each in worth[1:])
    assert [hit.parts[BESIDE] for hit in fact.hits[:3]] == [1.0, 1.0, pytest.approx(0.9)]


def test_the_short_steps_of_stretches_fill_a_context_that_may_be_filled() -> None:
    steps = steps_of({n: "the lighthouse keeper" if n % 9 == 4 else f"and then {n}" for n in range(400)})
    filled = search(steps, SUMMARY, fill_budget=True, constants=CONSTANTS)
    assert len(filled.context_hits) > filled.request.depth > 100
    assert len(found(steps, constants=CONSTANTS)) == 30


def test_another_session_and_what_is_not_trusted_are_not_let_in() -> None:
    assert "12" not in found(dense(s12={"session": "next day"}))[:8]
    assert beside(apart(s9={"session": "next day"}))[:4] == ["10", "50", "11", "8"]
    low: dict[str, object] = {"trust": Trust.LOW}
    assert "12" in found(dense(s12=low))[:5]
    assert "12" not in found(dense(s12=low), min_trust=Trust.MEDIUM)
    assert "9" in beside(apart(s9=low))[:5]
    assert "9" not in beside(apart(s9=low), min_trust=Trust.MEDIUM)
