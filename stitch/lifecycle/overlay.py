"""Snippets ranked beside a store, as the store would rank them if it held them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stitch.core import DensityQuery, Label, MemorySnippet, SnippetRecord, SnippetStore, StoreHit, density
from stitch.embed.lexical import LexicalEncoder
from stitch.ingest.records import words_of
from stitch.store.similarity import LEXICAL_HALF, Similarity, informativeness
from stitch.store.vectors import as_kept


def rank_beside(
    query: DensityQuery, records: Sequence[SnippetRecord], *, store: SnippetStore, lexical: LexicalEncoder
) -> list[StoreHit]:
    """Score snippets that a store does not hold by the definition of its ranking (`SnippetStore.rank`).

    Args:
        query: What is asked.
        records: Those of its tenant; what the query does not admit is left out.
        store: Tells how rare words are.
        lexical: Made the words of what the store holds.

    Returns:
        One hit a snippet, in the order of `records`.
    """
    admitted = [record for record in records if query.admits(record)]
    if not admitted:
        return []
    similarity = Similarity.of(query, dimension=len(admitted[0].vector))
    shared = {index for record in admitted for index in record.words} & (similarity.words or {}).keys()
    rarity = {index: _rarity(index, query.tenant, store, lexical) for index in sorted(shared)}
    return [
        StoreHit(record.snippet, _density(query, record.snippet), _similarity(similarity, record, rarity))
        for record in admitted
    ]


def in_order(hits: Sequence[StoreHit]) -> list[StoreHit]:
    """Hits as a store orders them, best first."""

    def place(hit: StoreHit) -> tuple[float, float, str, int, str]:
        snippet = hit.snippet
        return -hit.density, -hit.similarity, snippet.trajectory, snippet.position, snippet.step

    return sorted(hits, key=place)


def _density(query: DensityQuery, snippet: MemorySnippet) -> float:
    carried = snippet.intent.labels()
    matched = frozenset(
        label
        for label, aliases in query.labels.items()
        if any(Label(label.kind, alias) in carried for alias in aliases)
    )
    return density(matched, count=query.count)


def _similarity(similarity: Similarity, record: SnippetRecord, rarity: dict[int, float]) -> float:
    cosine = 0.0
    if similarity.vector:
        asked = np.asarray(similarity.vector, dtype=np.float32)
        cosine = float(as_kept(asked) @ as_kept(record.vector))
    asked_words = similarity.words or {}
    lexical = sum(asked_words[index] * record.words[index] * rarity[index] for index in rarity if index in record.words)
    return similarity.combine(cosine, lexical)


def _rarity(index: int, tenant: str, store: SnippetStore, lexical: LexicalEncoder) -> float:
    """The idf of a word, which stores keep to themselves: read off from the best snippet that has it.

    A word that is left in no snippet of the tenant is as rare as can be.
    """
    for hit in store.rank(DensityQuery(tenant=tenant, words={index: 1.0}, k=1)):
        weight = words_of(hit.snippet, lexical=lexical).get(index, 0.0)
        if weight and hit.similarity > 0.0:
            return LEXICAL_HALF * hit.similarity / (1.0 - hit.similarity) / weight
    return informativeness(0, snippets=store.count(tenant))
