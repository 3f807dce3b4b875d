"""Snippets, hits, candidates and pools of them, and a retriever over a store of snippets, for tests of ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from doubles.storing import ListStore
from stitch.core import (
    ContextualIntent,
    IntentFilter,
    Label,
    LabelInventory,
    LabelVocabulary,
    MemorySnippet,
    RankingRule,
    ScoredSnippet,
    SearchRequest,
    Selection,
    density,
)
from stitch.embed import HashingEmbedder, LexicalEncoder
from stitch.ingest.records import make_records
from stitch.retrieve import IntentRetriever, LocalFilterSelector, PieceCounter
from stitch.retrieve.question.hints import read_hints
from stitch.retrieve.question.reading import read_question
from stitch.retrieve.rank.pool import Candidate, Pool, Scorer, rank
from stitch.retrieve.rank.scorers import SCORERS, WEIGHTED, scorers_for

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
    store.put(make_records(snippets, embedder=EMBEDDER, lexical=LEXICAL))
    return IntentRetriever(
        store=store, selector=LocalFilterSelector(), embedder=EMBEDDER, lexical=LEXICAL, counter=PieceCounter(),
        inventories=lambda tenant, trajectory: inventory, **options,
    )  # fmt: skip


def pool_of(
    query: str,
    candidates: Sequence[Candidate],
    *,
    labels: frozenset[Label] = frozenset(),
    asked_at: str | None = None,
    vocabulary: LabelVocabulary | None = None,
    sure: bool = False,
    of_runs: bool = False,
) -> Pool:
    request = SearchRequest(query=query, tenant="a", asked_at=asked_at)
    return Pool(
        request=request,
        question=read_question(query),
        hints=read_hints(request),
        selection=Selection(IntentFilter()),
        labels=labels,
        vocabulary=vocabulary or LabelVocabulary(),
        candidates=candidates,
        density_of=density,
        sure=sure,
        of_runs=of_runs,
    )


def ranked(pool: Pool, *, rule: RankingRule = WEIGHTED, scorers: Mapping[str, Scorer] = SCORERS) -> list[ScoredSnippet]:
    return rank(pool, scorers_for(pool, scorers), rule, k=len(pool.candidates))
