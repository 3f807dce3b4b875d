"""Short steps beside the first hits come right after these; the first hits themselves stay as they are."""

import dataclasses
from collections.abc import Sequence

import pytest

from stitch.core import LabelInventory, MemorySnippet, RetrievalResult, SearchRequest, SnippetRecord, Trust
from stitch.embed import HashingEmbedder, LexicalEncoder
from stitch.ingest.records import make_records
from stitch.retrieve import IntentRetriever, LocalFilterSelector, PieceCounter
from stitch.retrieve.constants import CONSTANTS
from stitch.retrieve.rank.beside import BESIDE
from stitch.testing.storing import ListStore

EMBEDDER, LEXICAL = HashingEmbedder(), LexicalEncoder()
ASKED = "the lighthouse keeper"


def step(position: int, text: str, *, session: str | None = None, trust: Trust = Trust.MEDIUM) -> MemorySnippet:
    return MemorySnippet(
        tenant="a", trajectory="t", step=str(position), position=position, role="user", text=text, resolved=text,
        recorded=0.0, session=session, trust=trust,
    )  # fmt: skip


def told(*, session_of_last: str | None = None, trust_of_last: Trust = Trust.MEDIUM) -> list[MemorySnippet]:
    """Two hits far apart, each with something short and something long beside, among much of something else."""
    texts = {number: f"boats and nets {number}" for number in range(60)}
    texts[10], texts[50] = "the lighthouse keeper spoke", "a keeper of bees"
    texts[11], texts[12] = "he said no", "boats " * 200
    steps = [step(number, text) for number, text in texts.items()]
    steps[9] = step(9, "why, then?", session=session_of_last, trust=trust_of_last)
    return steps


def search(steps: Sequence[MemorySnippet], *, k: int, hits: int = 2, min_trust: Trust | None = None) -> RetrievalResult:
    store = ListStore()
    records: list[SnippetRecord] = make_records(steps, embedder=EMBEDDER, lexical=LEXICAL)
    store.put(records)
    constants = dataclasses.replace(CONSTANTS, beside_hits=hits, beside_reach=2)
    retriever = IntentRetriever(
        store=store,
        selector=LocalFilterSelector(),
        embedder=EMBEDDER,
        lexical=LEXICAL,
        inventories=lambda tenant, trajectory: LabelInventory(steps=len(steps)),
        counter=PieceCounter(),
        constants=constants,
    )
    return retriever.search(SearchRequest(query=ASKED, tenant="a", k=k, min_trust=min_trust))


def found(result: RetrievalResult) -> list[str]:
    return [hit.snippet.step for hit in result.hits]


def test_short_neighbors_of_a_better_hit_come_first_and_long_ones_stay_where_they_are() -> None:
    result = search(told(), k=40)
    assert found(result)[:8] == ["10", "50", "11", "9", "8", "51", "49", "52"]
    assert "12" not in found(result)[:9]


def test_the_order_is_that_of_the_rule_that_the_result_names() -> None:
    result = search(told(), k=40)
    assert list(result.hits) == sorted(result.hits, key=result.rule.key)
    assert [hit.parts[BESIDE] for hit in result.hits[:3]] == [1.0, 1.0, pytest.approx(0.9)]
    assert {hit.parts[BESIDE] for hit in result.hits[9:]} == {0.0}


def test_a_shorter_list_of_hits_is_the_beginning_of_the_longer_one() -> None:
    assert found(search(told(), k=7)) == found(search(told(), k=40))[:7]
    assert found(search(told(), k=2)) == found(search(told(), k=40))[:2]


def test_who_asks_for_no_more_than_the_first_hits_gets_no_neighbors() -> None:
    result = search(told(), k=20, hits=20)
    assert BESIDE not in result.rule.parts
    assert all(BESIDE not in hit.parts for hit in result.hits)


def test_another_session_is_not_beside() -> None:
    assert found(search(told(session_of_last="next day"), k=40))[:4] == ["10", "50", "11", "8"]


def test_what_the_request_does_not_trust_is_not_let_in_as_a_neighbor() -> None:
    steps = told(trust_of_last=Trust.LOW)
    assert "9" in found(search(steps, k=40))[:5]
    assert "9" not in found(search(steps, k=40, min_trust=Trust.MEDIUM))
