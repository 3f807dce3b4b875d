"""What every `Retriever` must pass: subclass `RetrieverContract`, give it a `retriever` over `RECORDS`, run pytest."""

import pytest

from stitch.core import ContextualIntent, IntentFilter, MemorySnippet, Retriever, SearchRequest, SnippetRecord
from stitch.embed.lexical import LexicalEncoder
from stitch.testing.hashing import HashingEmbedder

EMBEDDER = HashingEmbedder(64)
LEXICAL = LexicalEncoder()


def snippet(
    text: str, *, step: str, tenant: str = "a", trajectory: str = "trip", intent: ContextualIntent | None = None
) -> MemorySnippet:
    return MemorySnippet(
        tenant=tenant, trajectory=trajectory, step=step, position=int(step), role="user", text=text, resolved=text,
        intent=intent or ContextualIntent(), recorded=0.0,
    )  # fmt: skip


def record(kept: MemorySnippet) -> SnippetRecord:
    return SnippetRecord(kept, EMBEDDER.embed([kept.resolved])[0], LEXICAL.document(kept.resolved))


def _of(scope: str, *entity_types: str, event: str = "inform") -> ContextualIntent:
    return ContextualIntent(scope=scope, entity_types=entity_types, event_types=(event,))


SNIPPETS = (
    snippet("Let's plan day 1. I would like a quiet hotel.", step="0", intent=_of("day 1 itinerary", event="ask")),
    snippet("The Apollo Seaside Resort is quiet.", step="1", intent=_of("day 1 itinerary", "name")),
    snippet("It is $291.72 a night.", step="2", intent=_of("day 1 itinerary", "price")),
    snippet(
        "Now day 2. What does the hotel cost there?", step="3", intent=_of("day 2 itinerary", "price", event="ask")
    ),
    snippet("The hotel costs $80 a night.", step="4", intent=_of("day 2 itinerary", "price")),
    snippet("The hotel costs a fortune.", step="0", trajectory="other", intent=_of("day 1 itinerary", "price")),
    snippet("The hotel costs nothing.", step="0", tenant="b", intent=_of("day 1 itinerary", "price")),
)
RECORDS = tuple(map(record, SNIPPETS))
"""What the retriever under test searches: two tenants, one of them with two trajectories."""

QUERY = "What does the hotel for day 1 cost?"


class RetrieverContract:
    """Inherit, name the class `Test…`, and override the fixture `retriever`."""

    @pytest.fixture
    def retriever(self) -> Retriever:
        raise NotImplementedError

    def test_it_is_a_retriever_and_says_so_in_its_results(self, retriever: Retriever) -> None:
        assert isinstance(retriever, Retriever)
        assert retriever.search(SearchRequest(query=QUERY, tenant="a")).mode == retriever.mode

    def test_nothing_of_another_tenant_is_found(self, retriever: Retriever) -> None:
        hits = retriever.search(SearchRequest(query=QUERY, tenant="a", k=99)).hits
        assert {hit.snippet.tenant for hit in hits} == {"a"}
        assert not retriever.search(SearchRequest(query=QUERY, tenant="nobody")).hits

    def test_a_trajectory_is_searched_alone_when_it_is_named(self, retriever: Retriever) -> None:
        hits = retriever.search(SearchRequest(query=QUERY, tenant="a", trajectory="trip", k=99)).hits
        assert {hit.snippet.trajectory for hit in hits} == {"trip"}

    def test_no_more_than_k_hits_come_and_they_begin_the_longer_ranking(self, retriever: Retriever) -> None:
        two = retriever.search(SearchRequest(query=QUERY, tenant="a", k=2)).hits
        more = retriever.search(SearchRequest(query=QUERY, tenant="a", k=99)).hits
        assert len(two) == 2
        assert more[:2] == two

    @pytest.mark.parametrize("budget_tokens", [1, 20, 60, 4096])
    def test_the_context_keeps_to_its_budget_and_to_the_hits(self, retriever: Retriever, budget_tokens: int) -> None:
        result = retriever.search(SearchRequest(query=QUERY, tenant="a", budget_tokens=budget_tokens))
        assert result.context_tokens <= budget_tokens
        assert set(result.context_hits) <= {hit.snippet.id for hit in result.hits}
        assert bool(result.context()) == bool(result.context_hits)

    def test_a_question_without_words_is_answered(self, retriever: Retriever) -> None:
        assert len(retriever.search(SearchRequest(query="?!", tenant="a", k=3)).hits) == 3


class DensityContract:
    """For retrievers that rank by label density (§2.3): inherit beside `RetrieverContract`."""

    def test_hits_are_ranked_by_density_then_similarity(self, retriever: Retriever) -> None:
        chosen = IntentFilter(scopes=("day 1 itinerary",), entity_types=("price",))
        request = SearchRequest(query=QUERY, tenant="a", k=99, intent_filter=chosen)
        hits = retriever.search(request).hits
        keys = [(-hit.density, -hit.similarity) for hit in hits]
        assert keys == sorted(keys)
        assert [hit.density for hit in hits] == [2.0, 2.0, 1.0, 1.0, 1.0, 1.0]
        assert all(hit.density == len(hit.matched) for hit in hits)

    def test_what_carries_no_label_stays_below_and_is_not_dropped(self, retriever: Retriever) -> None:
        chosen = IntentFilter(entity_types=("name",))
        hits = retriever.search(SearchRequest(query=QUERY, tenant="a", k=99, intent_filter=chosen)).hits
        assert [hit.density for hit in hits] == [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
