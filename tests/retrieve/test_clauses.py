"""A clause that says where to look, and what is asked beside it, in the similarity of question and step."""

import pytest

from doubles.storing import ListStore
from stitch.core import LabelInventory, MemorySnippet, Ranking, SearchRequest
from stitch.embed import HashingEmbedder, LexicalEncoder
from stitch.ingest.records import make_records
from stitch.retrieve import IntentRetriever, LocalFilterSelector, PieceCounter

EMBEDDER, LEXICAL = HashingEmbedder(), LexicalEncoder()
ASKED = "In the order where the city is Oslo, what was the price?"


def similarities(texts: list[str], ranking: Ranking) -> dict[str, float]:
    store = ListStore()
    steps = [
        MemorySnippet(
            tenant="a", trajectory="t", step=str(place), position=place, role="user", text=text, resolved=text,
            recorded=0.0,
        )
        for place, text in enumerate(texts)
    ]  # fmt: skip
    store.put(make_records(steps, embedder=EMBEDDER, lexical=LEXICAL))
    retriever = IntentRetriever(
        store=store,
        selector=LocalFilterSelector(),
        embedder=EMBEDDER,
        lexical=LEXICAL,
        inventories=lambda tenant, trajectory: LabelInventory(steps=len(steps)),
        counter=PieceCounter(),
    )
    found = retriever.search(SearchRequest(query=ASKED, tenant="a", k=5, ranking=ranking))
    return {hit.snippet.step: hit.similarity for hit in found.hits}


@pytest.mark.parametrize(("times", "as_a_whole"), [(1, False), (40, True)])
def test_what_is_asked_counts_once_more_beside_its_clause_unless_steps_are_long(times: int, as_a_whole: bool) -> None:
    texts = [text * times for text in ("Oslo is fine. ", "The price is high. ", "An order came. ")]
    by_hints, by_labels_alone = (similarities(texts, ranking) for ranking in (Ranking.WEIGHED, Ranking.STRICT))
    assert (by_hints == by_labels_alone) == as_a_whole
