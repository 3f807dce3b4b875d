"""Where a summary is asked for, what stands where hits lie dense comes right after the very first hits."""

import dataclasses
from collections.abc import Sequence

import pytest

from stitch.core import LabelInventory, MemorySnippet, RetrievalResult, SearchRequest, Trust
from stitch.embed import HashingEmbedder, LexicalEncoder
from stitch.ingest.records import make_records
from stitch.retrieve import IntentRetriever, LocalFilterSelector, PieceCounter
from stitch.retrieve.constants import CONSTANTS, Constants
from stitch.retrieve.rank.beside import BESIDE
from stitch.testing.storing import ListStore

EMBEDDER, LEXICAL = HashingEmbedder(), LexicalEncoder()
SUMMARY = "Summarize the discussion about the lighthouse keeper."
FEW = dataclasses.replace(CONSTANTS, stretch_first=1, stretch_hits=4, stretch_reach=3, beside_hits=4, beside_reach=1)


def step(position: int, text: str, *, session: str | None = None, trust: Trust = Trust.MEDIUM) -> MemorySnippet:
    return MemorySnippet(
        tenant="a", trajectory="t", step=str(position), position=position, role="user", text=text, resolved=text,
        recorded=0.0, session=session, trust=trust,
    )  # fmt: skip


def told(**of_12: object) -> list[MemorySnippet]:
    """The keeper is talked about from 10 to 14, and named once more at 40; all else is of boats."""
    texts = {number: f"boats and nets {number}" for number in range(60)}
    texts[10], texts[11], texts[13] = "the lighthouse keeper", "a keeper of what", "lighthouse keeper, yes"
    texts[12], texts[14] = "who is never there", "and never paid"
    texts[40] = "the discussion of a keeper"
    steps = [step(number, text) for number, text in texts.items()]
    steps[12] = steps[12].model_copy(update=of_12)
    return steps


def search(
    steps: Sequence[MemorySnippet],
    *,
    k: int = 30,
    query: str = SUMMARY,
    constants: Constants = FEW,
    min_trust: Trust | None = None,
    fill_budget: bool = False,
) -> RetrievalResult:
    store = ListStore()
    store.put(make_records(steps, embedder=EMBEDDER, lexical=LEXICAL))
    retriever = IntentRetriever(
        store=store,
        selector=LocalFilterSelector(),
        embedder=EMBEDDER,
        lexical=LEXICAL,
        inventories=lambda tenant, trajectory: LabelInventory(steps=len(steps)),
        counter=PieceCounter(),
        constants=constants,
    )
    return retriever.search(SearchRequest(query=query, tenant="a", k=k, min_trust=min_trust, fill_budget=fill_budget))


def found(result: RetrievalResult) -> list[str]:
    return [hit.snippet.step for hit in result.hits]


def test_what_stands_among_many_hits_comes_before_a_hit_that_stands_alone() -> None:
    summary, fact = found(search(told())), found(search(told(), query="Which lighthouse has the keeper?"))
    assert set(summary[:4]) == {"10", "11", "12", "13"}
    assert summary.index("14") < summary.index("40")
    assert fact.index("40") < fact.index("12")


def spoken_by(*names: str) -> list[MemorySnippet]:
    return [each.model_copy(update={"role": names[each.position % len(names)]}) for each in told()]


FACT = "Which lighthouse has the keeper?"


@pytest.mark.parametrize(
    ("names", "among_many"),
    [
        (("Ann", "Ben", "Cem", "Ann"), True),
        (("Ann", "Ben"), False),
        (("user", "assistant", "tool", "system"), False),
    ],
)
def test_where_three_or_more_talk_a_fact_is_asked_of_a_stretch_too(names: tuple[str, ...], among_many: bool) -> None:
    order = found(search(spoken_by(*names), query=FACT))
    assert (order.index("12") < order.index("40")) == among_many


def test_those_of_another_talk_do_not_make_it_one_of_many() -> None:
    others = [each.model_copy(update={"session": f"{each.position}"} if each.position >= 20 else {})
              for each in spoken_by("Ann", "Ann", "Ben")]  # fmt: skip
    steps = [each.model_copy(update={"role": "Cem"} if each.position >= 20 else {}) for each in others]
    order = found(search(steps, query=FACT))
    assert order.index("40") < order.index("12")


def test_the_very_first_hits_stay_where_they_are() -> None:
    by_similarity = found(search(told(), k=4, constants=dataclasses.replace(FEW, stretch_first=4)))
    for first in (1, 2, 3):
        assert (
            found(search(told(), constants=dataclasses.replace(FEW, stretch_first=first)))[:first]
            == (by_similarity[:first])
        )


def test_who_asks_for_no_more_than_the_very_first_hits_gets_these() -> None:
    result = search(told(), k=10, constants=CONSTANTS)
    assert len(result.hits) == 10
    assert BESIDE not in result.rule.parts
    assert all(BESIDE not in hit.parts for hit in result.hits)


def test_a_shorter_list_of_hits_is_the_beginning_of_the_longer_one() -> None:
    longest = found(search(told()))
    assert [found(search(told(), k=k)) for k in (2, 3, 7)] == [longest[:k] for k in (2, 3, 7)]
    assert len(set(longest)) == len(longest) == 30


def test_the_order_is_that_of_the_rule_that_the_result_names() -> None:
    result = search(told())
    assert list(result.hits) == sorted(result.hits, key=result.rule.key)
    worth = [hit.parts[BESIDE] for hit in result.hits]
    assert worth[0] == 1.0
    assert all(0.0 <= each <= 0.5 for each in worth[1:])
    assert worth[1] == 0.5


def test_the_short_steps_of_stretches_fill_a_context_that_may_be_filled() -> None:
    steps = [step(n, "the lighthouse keeper" if n % 9 == 4 else f"and then {n}") for n in range(400)]
    filled = search(steps, fill_budget=True, constants=CONSTANTS)
    assert len(filled.context_hits) > filled.request.depth > 100
    assert len(search(steps, constants=CONSTANTS).hits) == 30


def test_a_long_step_has_to_be_worth_its_length() -> None:
    short, long = found(search(told())), found(search(told(text="never there " * 60)))
    assert short.index("12") < 5 < long.index("12")


def test_another_session_is_no_part_of_the_stretch() -> None:
    assert "12" not in found(search(told(session="next day")))[:8]


def test_what_the_request_does_not_trust_is_not_let_in() -> None:
    steps = told(trust=Trust.LOW)
    assert "12" in found(search(steps))[:5]
    assert "12" not in found(search(steps, min_trust=Trust.MEDIUM))
