"""Snippets, hits, candidates and pools of them, and a retriever over a store of snippets, for tests of ranking."""

from collections.abc import Sequence
from typing import Any

from doubles.storing import ListStore
from stitch.core import (
    ContextualIntent,
    IntentFilter,
    LabelInventory,
    LabelVocabulary,
    MemorySnippet,
    ScoredSnippet,
    SearchRequest,
    Selection,
    StoreHit,
)
from stitch.embed import HashingEmbedder, LexicalEncoder
from stitch.ingest.records import make_records
from stitch.retrieve import IntentRetriever, LocalFilterSelector
from stitch.retrieve.candidates import Pool
from stitch.retrieve.order import WEIGHTED, rank
from stitch.retrieve.question import read_request

EMBEDDER, LEXICAL = HashingEmbedder(), LexicalEncoder()


def snippet(text: str = "x", *, position: int = 1, scope: str | None = None, **fields: Any) -> MemorySnippet:
    """A step of the user in one trajectory; its id is its position."""
    own: dict[str, Any] = {"tenant": "a", "trajectory": "t", "step": str(position), "role": "user", "resolved": text}
    own |= {"intent": ContextualIntent(scope=scope), "recorded": 0.0}
    return MemorySnippet(text=text, position=position, **{**own, **fields})


def hit_of(text: str = "x", **fields: Any) -> ScoredSnippet:
    return ScoredSnippet(snippet(text, **fields), frozenset(), {}, 0.0)


def retriever_of(snippets: Sequence[MemorySnippet], **options: Any) -> IntentRetriever:
    """The retriever by labels over a store of these snippets, whose labels are those of the `inventory`."""
    store, inventory = ListStore(), options.pop("inventory", LabelInventory(steps=len(snippets)))
    store.put(make_records(snippets, embedder=EMBEDDER))
    return IntentRetriever(
        store=store, selector=LocalFilterSelector(), embedder=EMBEDDER, lexical=LEXICAL,
        inventories=lambda tenant, trajectory: inventory, **options,
    )  # fmt: skip


def pool_of(query: str, candidates: Sequence[StoreHit], *, asked_at: str | None = None, **fields: Any) -> Pool:
    """Candidates of a question to which words chose no label; `fields` replace those of the pool."""
    request = SearchRequest(query=query, tenant="a", asked_at=asked_at)
    own: dict[str, Any] = {
        "question": read_request(request),
        "selection": Selection(IntentFilter()),
        "labels": frozenset(),
        "vocabulary": LabelVocabulary(),
        "rule": WEIGHTED,
    }
    return Pool(request=request, candidates=candidates, **{**own, **fields})


def ranked(pool: Pool) -> list[ScoredSnippet]:
    return rank(pool, k=len(pool.candidates))
